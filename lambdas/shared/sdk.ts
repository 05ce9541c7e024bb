/** The one door for authors of tasks and agents. */
export type {
  CommandResult,
  EvaluateContext,
  Evaluation,
  FileReader,
  LoadContext,
  Session,
  StartContext,
  TaskModule,
  TaskPaths,
  TaskVariant,
} from '#core/task-module';
export type {
  ContentPart,
  ObservationResult,
  ParseContext,
  ParserModule,
  StepMetrics,
  ToolCall,
  TrajectoryDraft,
  TrajectoryStep,
} from '#core/trajectory-types';
export { prepareOutput, readAgentText, shellQuote } from '#grading/output-folder';
