import type { ApiClient } from './api-client.ts';
import type { HostOptions } from './host-options.ts';

/** A client of the host that a command line names. What it needs is loaded here, so that help and local commands stay quick. */
export async function openClient(options: HostOptions): Promise<ApiClient> {
  const { connect } = await import('./connect.ts');
  return await connect(options, {
    env: process.env,
    warn: (line) => void process.stderr.write(`warning: ${line}\n`),
  });
}

/** Prints one JSON object on one line, or a text that ends with a line feed. */
export function print(isJson: boolean | undefined, value: unknown, text: () => string): void {
  process.stdout.write(isJson === true ? `${JSON.stringify(value)}\n` : `${text()}\n`);
}
