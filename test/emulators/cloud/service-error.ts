/** What a service answers instead of a result. */
export class ServiceError extends Error {
  readonly code: string;
  readonly status: number;

  constructor(code: string, message: string, status = 400) {
    super(message);
    this.name = code;
    this.code = code;
    this.status = status;
  }
}

/** The effect took place, and the caller hears nothing: its connection is cut. */
export class AnswerLost extends Error {
  override readonly name = 'AnswerLost';
}
