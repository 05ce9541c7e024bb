import { AslError, DATA_LIMIT_EXCEEDED } from './errors.ts';
import { MAX_ASSIGN_BYTES, MAX_VARIABLES_BYTES } from './limits.ts';
import { type Json, type Payload } from './payload.ts';

/** Bytes that all variables of one execution take. */
export interface VariableLedger {
  bytes: number;
}

/** Variables of one block of states. Inner blocks read outer ones; the loader keeps their names apart. */
export class VariableScope {
  readonly #values = new Map<string, { readonly payload: Payload; readonly bytes: number }>();
  readonly #ledger: VariableLedger;
  readonly #outer: VariableScope | undefined;

  constructor(ledger: VariableLedger, outer?: VariableScope) {
    this.#ledger = ledger;
    this.#outer = outer;
  }

  lookup(name: string): Json | undefined {
    const own = this.#values.get(name);
    return own === undefined ? this.#outer?.lookup(name) : own.payload.value;
  }

  /** @throws AslError States.DataLimitExceeded over 256 KiB in one Assign or 10 MiB in one execution; nothing is set. */
  assign(entries: readonly (readonly [string, Payload])[]): void {
    const sized = entries.map(([name, payload]) => ({ name, payload, bytes: Buffer.byteLength(payload.text) }));
    const added = sized.reduce((sum, { bytes }) => sum + bytes, 0);
    if (added > MAX_ASSIGN_BYTES) {
      throw new AslError(DATA_LIMIT_EXCEEDED, `One Assign sets ${added} bytes; ${MAX_ASSIGN_BYTES} are allowed.`);
    }
    const replaced = sized.reduce((sum, { name }) => sum + (this.#values.get(name)?.bytes ?? 0), 0);
    const total = this.#ledger.bytes + added - replaced;
    if (total > MAX_VARIABLES_BYTES) {
      throw new AslError(
        DATA_LIMIT_EXCEEDED,
        `The variables of the execution take ${total} bytes; ${MAX_VARIABLES_BYTES} are allowed.`,
      );
    }
    this.#ledger.bytes = total;
    for (const { name, payload, bytes } of sized) this.#values.set(name, { payload, bytes });
  }

  /** Ends the scope: its variables are gone and no longer counted. */
  close(): void {
    for (const { bytes } of this.#values.values()) this.#ledger.bytes -= bytes;
    this.#values.clear();
  }
}
