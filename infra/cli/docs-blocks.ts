import { cloudCallTable, functionCostTable, idleCostTable, unitCostTable } from './docs-costs.ts';
import type { FunctionDeclaration } from '#contracts/function-declaration';
import { FUNCTIONS } from '#contracts/functions';
import { renderBlameTable } from '#core/blame';
import { ERROR_KINDS, ERROR_NAMES } from '#core/errors';
import { commandTable } from './command-table.ts';

/** Blocks of the documentation that are made from the code, by name. */
export const DOC_BLOCKS: Readonly<Record<string, () => string>> = {
  'blame-table': renderBlameTable,
  'command-table': commandTable,
  'function-table': functionTable,
  'error-table': errorTable,
  'unit-cost-table': unitCostTable,
  'cloud-call-table': cloudCallTable,
  'function-cost-table': functionCostTable,
  'idle-cost-table': idleCostTable,
};

/** Documents that hold generated blocks, relative to the repository. */
export const DOCUMENTS: readonly string[] = ['README.md', 'lambdas/README.md', 'infra/README.md'];

function functionTable(): string {
  const rows = FUNCTIONS.map((each) => {
    const reserved = each.reservedConcurrency === undefined ? '' : String(each.reservedConcurrency);
    const cells = [
      `\`${each.name}\``,
      triggerText(each),
      needsText(each),
      String(each.memoryMiB),
      String(each.ephemeralStorageMiB),
      String(each.timeoutSeconds),
      reserved,
    ];
    return `| ${cells.join(' | ')} |`;
  });
  const head = [
    '| function | runs when | may touch | MiB | disk, MiB | timeout, s | reserved |',
    '| --- | --- | --- | --- | --- | --- | --- |',
  ];
  return `${[...head, ...rows].join('\n')}\n`;
}

function triggerText({ trigger }: FunctionDeclaration): string {
  switch (trigger.kind) {
    case 'state':
      return `state ${trigger.state} of ${trigger.machine}`;
    case 'schedule':
      return `every ${String(trigger.everySeconds)} s`;
    case 'api':
      return 'a route of the API is called';
    case 'call':
      return 'another function passes calls on';
    case 'timer':
      return 'one-time timer of a sandbox';
    case 'event': {
      const every = trigger.everySeconds === undefined ? '' : `, and every ${String(trigger.everySeconds)} s`;
      const heard = [trigger, ...(trigger.also ?? [])].flatMap(({ detailTypes }) => detailTypes);
      return `event ${heard.join(', ')}${every}`;
    }
  }
}

function needsText({ needs }: FunctionDeclaration): string {
  const texts = needs.map((need) => {
    if (need.port === 'artifacts') return `${need.bucket} (${need.access} ${need.keyPrefixes.join(' ')})`;
    if (need.port === 'executions') return `start ${need.machines.join(', ')}`;
    return 'access' in need ? `${need.port} (${need.access})` : need.port;
  });
  return texts.join('; ');
}

function errorTable(): string {
  const rows = ERROR_NAMES.map((name) => {
    const { stage, blame, retryable } = ERROR_KINDS[name];
    return `| \`${name}\` | ${stage} | ${blame} | ${retryable ? 'yes' : 'no'} |`;
  });
  return `${['| error | stage | blame | the state may be tried again |', '| --- | --- | --- | --- |', ...rows].join('\n')}\n`;
}

/**
 * The document with each `<!-- generated: <name> -->` ... `<!-- end -->` filled anew.
 * @throws TypeError for a block that nothing makes.
 */
export function withBlocks(text: string): string {
  return text.replace(
    /(<!-- generated: ([\w-]+) -->\n)[\s\S]*?(<!-- end -->)/gu,
    (_all, open: string, name: string, close: string) => {
      const make = DOC_BLOCKS[name];
      if (make === undefined)
        throw new TypeError(`nothing makes the block ${name}; known: ${Object.keys(DOC_BLOCKS).join(', ')}`);
      return `${open}\n<!-- prettier-ignore-start -->\n${make()}<!-- prettier-ignore-end -->\n\n${close}`;
    },
  );
}
