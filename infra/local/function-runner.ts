import { pathToFileURL } from 'node:url';
import { ExamHallError } from '#core/errors';
import type { FunctionDeclaration } from '#contracts/function-declaration';
import { FUNCTIONS, functionNamed } from '#contracts/functions';
import { grantedPorts } from '#runtime/granted-ports';
import type { HostClock } from '#local/clock';
import { sourceHandler, type HostCode } from '#local/host-code';
import type { Ports } from '#ports/ports';
import type { Handler } from '#runtime/define-handler';
import { withPorts } from '#runtime/ports-registry';

/** Lambda's limit of a request and of a response. */
export const MAX_INVOCATION_BYTES = 6 * 1024 * 1024;

interface LoadedFunction {
  readonly declaration: FunctionDeclaration;
  readonly handler: Handler;
  /** As the function may use them. */
  readonly ports: Ports;
}

/**
 * Invokes declared functions in this process under Lambda's rules: JSON in and out, 6 MB each way, the declared
 * timeout, no more at once than the reserved concurrency, and no port that is not declared.
 */
export class FunctionRunner {
  readonly #ports: () => Ports;
  readonly #clock: HostClock;
  readonly #handlerFile: HostCode['handlerFile'];
  readonly #loaded = new Map<string, Promise<LoadedFunction>>();
  readonly #running = new Map<string, number>();

  constructor(ports: () => Ports, clock: HostClock, handlerFile: HostCode['handlerFile'] = sourceHandler) {
    this.#ports = ports;
    this.#clock = clock;
    this.#handlerFile = handlerFile;
  }

  /**
   * The clock is told of a call by whoever makes it, once, so that a function which sleeps lets virtual time go on.
   * @throws Error named `Lambda.TooManyRequestsException` above the reserved concurrency, `Sandbox.Timedout` after the
   * timeout, `Function.ResponseSizeTooLarge`, or what the handler throws.
   */
  async invoke(name: string, payloadJson: string): Promise<string> {
    const { declaration, handler, ports } = await this.#load(name);
    if (Buffer.byteLength(payloadJson) > MAX_INVOCATION_BYTES) {
      throw named(
        'Lambda.RequestTooLargeException',
        `the payload of ${name} is over ${String(MAX_INVOCATION_BYTES)} bytes`,
      );
    }
    this.#enter(declaration);
    try {
      const event: unknown = JSON.parse(payloadJson);
      const work = withPorts(ports, async () => await handler(event));
      const result = await this.#withinTimeout(declaration, work);
      const text = JSON.stringify(result ?? null);
      if (Buffer.byteLength(text) > MAX_INVOCATION_BYTES) {
        throw named(
          'Function.ResponseSizeTooLarge',
          `the answer of ${name} is over ${String(MAX_INVOCATION_BYTES)} bytes`,
        );
      }
      return text;
    } finally {
      this.#running.set(name, (this.#running.get(name) ?? 1) - 1);
    }
  }

  /** Loads every declared handler, so that a broken one is no surprise later. */
  async loadAll(): Promise<void> {
    await Promise.all(FUNCTIONS.map(async ({ name }) => await this.#load(name)));
  }

  async #load(name: string): Promise<LoadedFunction> {
    const known = this.#loaded.get(name);
    if (known !== undefined) return await known;
    const declaration = functionNamed(name);
    const loading = loadHandler(this.#handlerFile(name)).then((handler): LoadedFunction => {
      return { declaration, handler, ports: grantedPorts(declaration, this.#ports()) };
    });
    this.#loaded.set(name, loading);
    return await loading;
  }

  #enter({ name, reservedConcurrency }: FunctionDeclaration): void {
    const running = this.#running.get(name) ?? 0;
    if (reservedConcurrency !== undefined && running >= reservedConcurrency) {
      throw named(
        'Lambda.TooManyRequestsException',
        `${name} runs ${String(running)} times already; reserved: ${String(reservedConcurrency)}`,
      );
    }
    this.#running.set(name, running + 1);
  }

  async #withinTimeout<R>({ name, timeoutSeconds }: FunctionDeclaration, work: Promise<R>): Promise<R> {
    return await new Promise<R>((resolve, reject) => {
      const cancel = this.#clock.setTimer(timeoutSeconds * 1000, () => {
        reject(named('Sandbox.Timedout', `${name} did not end within ${String(timeoutSeconds)} seconds`));
      });
      void work.then(resolve, reject).finally(cancel);
    });
  }
}

const handlers = new Map<string, Promise<Handler>>();

/** One import of a file serves every host of the process; one that failed is tried again. */
async function loadHandler(file: string): Promise<Handler> {
  const known = handlers.get(file) ?? importHandler(file);
  handlers.set(file, known);
  known.catch(() => handlers.delete(file));
  return await known;
}

async function importHandler(file: string): Promise<Handler> {
  const module: unknown = await import(pathToFileURL(file).href);
  if (typeof module === 'object' && module !== null && 'handler' in module && typeof module.handler === 'function') {
    return module.handler as Handler;
  }
  throw new ExamHallError('EnvironmentInvalidError', `${file} exports no handler`);
}

function named(name: string, message: string): Error {
  const error = new Error(message);
  error.name = name;
  return error;
}
