import { COMMAND_ENDS, COMMAND_SOURCE, COMMAND_STATUS_TYPE } from '#contracts/events';

export type Machine = 'sweep' | 'unit' | 'grade';

/** Events of one source. */
interface HeardEvents {
  readonly source: string;
  readonly detailTypes: readonly string[];
  readonly detail?: Readonly<Record<string, readonly string[]>>;
}

/** What starts a function. */
export type Trigger =
  | { readonly kind: 'state'; readonly machine: Machine; readonly state: string }
  | {
      readonly kind: 'event';
      readonly source: string;
      readonly detailTypes: readonly string[];
      readonly detail?: Readonly<Record<string, readonly string[]>>;
      /** Facts that others tell, beside those of `source`. */
      readonly also?: readonly HeardEvents[];
      /** Also run at this rate. */
      readonly everySeconds?: number;
    }
  | { readonly kind: 'schedule'; readonly everySeconds: number }
  | { readonly kind: 'timer' }
  /** Functions that declare calls to guests. */
  | { readonly kind: 'call' }
  /** Routes of `#contracts/api-routes` that name the function. */
  | { readonly kind: 'api' };

/** Ends of commands. Whoever hears them picks those of our own document out by its name, which a deployment gives. */
export const COMMAND_EVENTS: HeardEvents = {
  source: COMMAND_SOURCE,
  detailTypes: [COMMAND_STATUS_TYPE],
  detail: { status: COMMAND_ENDS },
};
