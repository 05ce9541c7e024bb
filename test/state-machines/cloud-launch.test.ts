import { describeScenarios } from './cloud-scenario-suite.ts';

describeScenarios('launch');
