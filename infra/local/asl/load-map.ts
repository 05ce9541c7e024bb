import type { ItemReader, MapState, ResultWriter, StatesBlock } from './definition.ts';
import { DISTRIBUTED_FIELDS, PROCESSOR_FIELDS } from './fields.ts';
import { MAX_SECONDS } from './limits.ts';
import { loadFallible } from './load-states.ts';
import type { DefinitionReader, RawObject } from './reader.ts';

const READER_RESOURCE = 'arn:aws:states:::s3:getObject';
const WRITER_RESOURCE = 'arn:aws:states:::s3:putObject';
const MAX_LABEL_LENGTH = 40;

const WHOLE = { min: 0, max: MAX_SECONDS };
const NOTHING = { kind: 'constant', value: '' } as const;

/** Loads a Map, inline or distributed. */
export function loadMapState(
  reader: DefinitionReader,
  name: string,
  raw: RawObject,
  loadBlock: (raw: RawObject) => StatesBlock,
): MapState {
  const place = `state '${name}'`;
  const processor = reader.object(raw['ItemProcessor'], place, "'ItemProcessor'");
  reader.onlyFields(processor, PROCESSOR_FIELDS, `${place}, ItemProcessor`);
  const isDistributed = readMode(reader, processor, `${place}, ProcessorConfig`);
  if (!isDistributed) {
    for (const field of DISTRIBUTED_FIELDS) {
      if (raw[field] !== undefined)
        reader.problem(place, `the field '${field}' is interpreted only in a DISTRIBUTED map`);
    }
  }
  if (raw['Items'] !== undefined && raw['ItemReader'] !== undefined) {
    reader.problem(place, "a Map has either 'Items' or 'ItemReader'");
  }
  return {
    ...loadFallible(reader, name, raw),
    type: 'Map',
    processor: loadBlock(processor),
    isDistributed,
    label: readLabel(reader, raw, place) ?? name,
    items: readItemsField(reader, raw, place),
    itemReader: readItemReader(reader, raw, place),
    itemSelector: reader.template(raw, 'ItemSelector', { place }),
    maxConcurrency: reader.numberTemplate(raw, 'MaxConcurrency', { place }, WHOLE),
    toleratedFailurePercentage: reader.numberTemplate(
      raw,
      'ToleratedFailurePercentage',
      { place },
      { min: 0, max: 100, isInteger: false },
    ),
    toleratedFailureCount: reader.numberTemplate(raw, 'ToleratedFailureCount', { place }, WHOLE),
    resultWriter: readResultWriter(reader, raw, place),
  };
}

function readMode(reader: DefinitionReader, processor: RawObject, place: string): boolean {
  if (processor['ProcessorConfig'] === undefined) return false;
  const config = reader.object(processor['ProcessorConfig'], place, "'ProcessorConfig'");
  reader.onlyFields(config, ['Mode', 'ExecutionType'], place);
  const mode = reader.oneOf(config, 'Mode', place, ['INLINE', 'DISTRIBUTED']) ?? 'INLINE';
  const type = reader.oneOf(config, 'ExecutionType', place, ['STANDARD']);
  if (mode === 'DISTRIBUTED' && type === undefined) {
    reader.problem(place, "a DISTRIBUTED map needs 'ExecutionType': STANDARD");
  }
  return mode === 'DISTRIBUTED';
}

function readLabel(reader: DefinitionReader, raw: RawObject, place: string): string | undefined {
  if (raw['Label'] === undefined) return undefined;
  const label = reader.text(raw, 'Label', place);
  if (label.length > MAX_LABEL_LENGTH) {
    reader.problem(place, `'Label' has ${label.length} characters; ${MAX_LABEL_LENGTH} are allowed`);
  }
  return label;
}

function readItemsField(reader: DefinitionReader, raw: RawObject, place: string): MapState['items'] {
  const template = reader.template(raw, 'Items', { place });
  if (template?.kind === 'object' || (template?.kind === 'constant' && !Array.isArray(template.value))) {
    reader.problem(place, "'Items' must be a list or an expression that yields one");
  }
  return template;
}

function readItemReader(reader: DefinitionReader, raw: RawObject, place: string): ItemReader | undefined {
  if (raw['ItemReader'] === undefined) return undefined;
  const at = `${place}, ItemReader`;
  const object = reader.object(raw['ItemReader'], place, "'ItemReader'");
  reader.onlyFields(object, ['Resource', 'Arguments', 'ReaderConfig'], at);
  checkResource(reader, object, at, READER_RESOURCE);
  const args = reader.object(object['Arguments'], at, "'Arguments'");
  reader.onlyFields(args, ['Bucket', 'Key'], at);
  const config = reader.object(object['ReaderConfig'], at, "'ReaderConfig'");
  reader.onlyFields(config, ['InputType', 'MaxItems'], at);
  const inputType = reader.oneOf(config, 'InputType', at, ['JSON', 'JSONL']);
  if (config['InputType'] === undefined) reader.problem(at, "'ReaderConfig' lacks 'InputType': JSON or JSONL");
  return {
    bucket: requiredTemplate(reader, args, 'Bucket', { at, location: 'ItemReader/Arguments/Bucket' }),
    key: requiredTemplate(reader, args, 'Key', { at, location: 'ItemReader/Arguments/Key' }),
    inputType: inputType ?? 'JSON',
    maxItems: reader.numberTemplate(
      config,
      'MaxItems',
      { place: at, location: 'ItemReader/ReaderConfig/MaxItems' },
      { min: 1, max: 100_000_000 },
    ),
  };
}

function readResultWriter(reader: DefinitionReader, raw: RawObject, place: string): ResultWriter | undefined {
  if (raw['ResultWriter'] === undefined) return undefined;
  const at = `${place}, ResultWriter`;
  const object = reader.object(raw['ResultWriter'], place, "'ResultWriter'");
  reader.onlyFields(object, ['Resource', 'Arguments'], at);
  checkResource(reader, object, at, WRITER_RESOURCE);
  const args = reader.object(object['Arguments'], at, "'Arguments'");
  reader.onlyFields(args, ['Bucket', 'Prefix'], at);
  return {
    bucket: requiredTemplate(reader, args, 'Bucket', { at, location: 'ResultWriter/Arguments/Bucket' }),
    prefix: reader.template(args, 'Prefix', { place: at, location: 'ResultWriter/Arguments/Prefix' }),
  };
}

function checkResource(reader: DefinitionReader, raw: RawObject, place: string, expected: string): void {
  const resource = reader.text(raw, 'Resource', place);
  if (resource !== expected) {
    reader.problem(place, `the resource '${resource}' is not interpreted here; the only one is ${expected}`);
  }
}

function requiredTemplate(
  reader: DefinitionReader,
  raw: RawObject,
  field: string,
  { at, location }: { readonly at: string; readonly location: string },
): ItemReader['bucket'] {
  if (raw[field] === undefined) reader.problem(at, `'Arguments' lacks '${field}'`);
  return reader.template(raw, field, { place: at, location }) ?? NOTHING;
}
