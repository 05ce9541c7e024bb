/** The one door for authors of tasks and agents. */
export type {
  CommandResult,
  EvaluateContext,
  Evaluation,
  FileReader,
  LoadContext,
  Session,
  StartContext,
  StartedService,
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
export type { Recording, RecordingPlace, RecordingStep } from '#core/recording';
export { prepareOutput, readAgentText, shellQuote } from '#grading/output-folder';
export { readTable, type Table, type TableReading } from '#grading/csv';
export { scoreForm, type FieldKind, type FormFields, type FormScore } from '#grading/form';
export { compareLeaves, findShapeFault, isJsonObject, listLeaves, readJson, type JsonReading } from '#grading/json';
export { isSameMoney, parseMoney } from '#grading/money';
export { isWithin, parseDecimal } from '#grading/numbers';
export { compareTables, type ColumnRule, type TableComparison, type TableRules } from '#grading/table';
export { decodePng, encodePng } from '#adapters/png-pixels';
export { readBitmapText, type GlyphTable, type TextReading, type TextRules } from '#core/bitmap-text';
export {
  bandShares,
  clip,
  findRegions,
  parseColor,
  type Raster,
  type Rectangle,
  type Region,
  type RegionRules,
} from '#core/raster';
