import { PutEventsCommand, type EventBridgeClient, type PutEventsResultEntry } from '@aws-sdk/client-eventbridge';
import { EVENT_SOURCE } from '#contracts/events';
import { ExamHallError } from '#core/errors';
import type { Events } from '#ports/hosting';
import { callService, isPassingName, serviceUnavailable } from './aws-service-fault.ts';

/** The service takes a request of 1 MiB; what is set aside or handed on elsewhere is bound to 256 KiB. */
const MAX_ENTRY_BYTES = 256 * 1024;
const SERVICE = 'EventBridge';
/** A call is answered well although its entry failed; the SDK sees no reason to try again. */
const ENTRY_TRIES = 4;
const ENTRY_BASE_DELAY_MILLISECONDS = 100;

export interface EventBridgeEventsOptions {
  readonly client: EventBridgeClient;
  /** Name or ARN. */
  readonly eventBus: string;
  /** Waits between tries of an entry; default real time. */
  readonly sleep?: (milliseconds: number) => Promise<void>;
}

/** Facts on an event bus of our own, one call each. */
export function createEventBridgeEvents({ client, eventBus, sleep = wait }: EventBridgeEventsOptions): Events {
  return {
    publish: async (detailType, detail) => {
      const Detail = JSON.stringify(detail);
      checkSize(detailType, Detail);
      const entry = { EventBusName: eventBus, Source: EVENT_SOURCE, DetailType: detailType, Detail };
      for (let tried = 1; ; tried += 1) {
        const answer = await callService(SERVICE, () => client.send(new PutEventsCommand({ Entries: [entry] })));
        const failed = (answer.FailedEntryCount ?? 0) > 0 ? (answer.Entries?.[0] ?? {}) : undefined;
        if (failed === undefined) return;
        refuseUnlessPassing(detailType, failed, tried);
        await sleep(ENTRY_BASE_DELAY_MILLISECONDS * 2 ** (tried - 1));
      }
    },
  };
}

async function wait(milliseconds: number): Promise<void> {
  await new Promise((resolve) => setTimeout(resolve, milliseconds));
}

/** As the service counts an entry without a time: source, type and detail in UTF-8. */
function checkSize(detailType: string, detail: string): void {
  const bytes = [EVENT_SOURCE, detailType, detail].reduce((sum, text) => sum + Buffer.byteLength(text), 0);
  if (bytes <= MAX_ENTRY_BYTES) return;
  const message = `event ${detailType} has ${String(bytes)} bytes; allowed: ${String(MAX_ENTRY_BYTES)}; put large content into the store and name its key`;
  throw new ExamHallError('PayloadInvalidError', message, { detailType, bytes });
}

function refuseUnlessPassing(detailType: string, entry: PutEventsResultEntry, tried: number): void {
  const { ErrorCode: code = 'unknown', ErrorMessage: told = '' } = entry;
  const seen = `${code}: ${told} (event ${detailType}, try ${String(tried)} of ${String(ENTRY_TRIES)})`;
  if (!isPassingName(code)) {
    throw new ExamHallError('PayloadInvalidError', `${SERVICE} refused an event: ${seen}`, { detailType, code });
  }
  if (tried >= ENTRY_TRIES) throw serviceUnavailable(SERVICE, seen);
}
