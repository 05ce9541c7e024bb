/** An answer that refuses a request, in S3's words: status, code and message. */
export class RequestRefusal extends Error {
  override readonly name = 'RequestRefusal';
  readonly status: number;
  readonly code: string;

  constructor(status: number, code: string, message: string) {
    super(message);
    this.status = status;
    this.code = code;
  }
}
