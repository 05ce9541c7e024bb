import { shorten } from '#core/cua/frames';

/** The server did the asking and says it failed (`success: false`). */
export class CuaCommandError extends Error {
  override readonly name = 'CuaCommandError';
  readonly command: string;
  readonly reason: string;
  readonly fields: Readonly<Record<string, unknown>>;

  constructor(at: CuaAddress, reason: string, fields: Readonly<Record<string, unknown>>) {
    super(`cua-server at ${at.url}: ${at.command} failed: ${shorten(reason)}`);
    this.command = at.command;
    this.reason = reason;
    this.fields = fields;
  }
}

/** The server refuses the request itself: an unknown command (400), no permission (401), a route of another backend (409). */
export class CuaRequestError extends Error {
  override readonly name = 'CuaRequestError';
  readonly command: string;
  readonly statusCode: number;
  readonly detail: string;

  constructor(at: CuaAddress, statusCode: number, detail: string) {
    const advice = ADVICE[statusCode] ?? '';
    super(`cua-server at ${at.url}: ${at.command} was answered with HTTP ${statusCode}: ${shorten(detail)}${advice}`);
    this.command = at.command;
    this.statusCode = statusCode;
    this.detail = detail;
  }
}

/** Why no proper answer came. Only after `unreachable` is it certain that nothing ran. */
export type CuaTransportFault = 'unreachable' | 'silent' | 'cut' | 'broken' | 'too-large' | 'aborted' | 'lost';

/** No proper answer came: what was asked may or may not have been done. */
export class CuaTransportError extends Error {
  override readonly name = 'CuaTransportError';
  readonly command: string;
  readonly fault: CuaTransportFault;
  /** False when the command cannot have reached the server. */
  readonly mayHaveRun: boolean;

  constructor(at: CuaAddress, fault: CuaTransportFault, reason: string, cause?: unknown) {
    const mayHaveRun = fault !== 'unreachable';
    const end = mayHaveRun && !at.isRepeatable ? '; it may have run, so it was not sent again' : '';
    super(`cua-server at ${at.url}: ${at.command}: ${shorten(reason)}${end}`, { cause });
    this.command = at.command;
    this.fault = fault;
    this.mayHaveRun = mayHaveRun;
  }
}

/** What an error says about where it happened. */
export interface CuaAddress {
  readonly url: string;
  readonly command: string;
  readonly isRepeatable: boolean;
}

const ADVICE: Readonly<Record<number, string>> = {
  401: '; start the server with CONTAINER_NAME unset, or put the access control in front of it',
  404: '; is this the address of a cua-server?',
  503: '; start the server with UNAVAILABLE_WITHOUT_CONTAINER_NAME unset',
};
