import { RemoteError } from './remote-error.ts';

export interface Patience {
  /** Told when the host stops answering, and when it does again. */
  readonly tell: (line: string) => void;
  readonly delay: (seconds: number) => Promise<void>;
  /** A clock that only goes forward. */
  readonly nowSeconds: () => number;
  /** What stays as it is meanwhile, in a sentence; ends the message of giving up. */
  readonly meanwhile: string;
}

const FIRST_WAIT_SECONDS = 5;
const LONGEST_WAIT_SECONDS = 60;
/** A host that is away longer than this is not having a hiccup. */
const GIVE_UP_SECONDS = 1800;
const PASSING: readonly string[] = ['unreachable', 'timeout', 'throttled', 'host'];

/** Asks until there is an answer, over hiccups of network and host. @throws RemoteError for what waiting does not mend. */
export async function patiently<Answer>(ask: () => Promise<Answer>, patience: Patience): Promise<Answer> {
  const started = patience.nowSeconds();
  let isTold = false;
  for (let wait = FIRST_WAIT_SECONDS; ; wait = Math.min(wait * 2, LONGEST_WAIT_SECONDS)) {
    try {
      const answer = await ask();
      if (isTold) patience.tell('the host answers again');
      return answer;
    } catch (error) {
      if (!(error instanceof RemoteError)) throw error;
      const isPassing = PASSING.includes(error.kind) && !(error.kind === 'host' && (error.status ?? 0) < 500);
      if (!isPassing || patience.nowSeconds() - started > GIVE_UP_SECONDS) {
        // Nothing is known to go on of what is not there.
        if (error.status === 404) throw error;
        throw new RemoteError(error.kind, `${error.message}\n${patience.meanwhile}`, { cause: error });
      }
      if (!isTold) patience.tell(`${error.message}\n${patience.meanwhile} Asking again until the host answers.`);
      isTold = true;
      await patience.delay(wait);
    }
  }
}
