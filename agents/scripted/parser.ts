export { parseTranscript as parse } from '../_shared/transcript.ts';
