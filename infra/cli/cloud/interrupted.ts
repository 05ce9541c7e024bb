import { RemoteError } from '#cli/remote/remote-error';

const SIGNALS = ['SIGINT', 'SIGTERM'] as const;

/** Works until it is done or interrupted; then nothing more is begun, and the work's own cleaning up is let finish. */
export async function untilInterrupted<T>(
  tell: (line: string) => void,
  work: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const stop = new AbortController();
  const onSignal = (name: string): void => {
    tell(`${name}: what was started is ended first, which takes some minutes`);
    stop.abort(new RemoteError('request', `stopped by ${name}; what was started has been ended`));
  };
  for (const name of SIGNALS) process.on(name, onSignal);
  try {
    return await work(stop.signal);
  } catch (error) {
    throw stop.signal.aborted ? stop.signal.reason : error;
  } finally {
    for (const name of SIGNALS) process.off(name, onSignal);
  }
}
