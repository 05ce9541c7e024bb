/** Any JSON value. */
export type Json = null | boolean | number | string | readonly Json[] | { readonly [key: string]: Json };

/** JSON that passes between states: held as text, parsed once on first use, never shared as an object. */
export class Payload {
  readonly text: string;
  #value: Json | undefined;

  /** @param value what the text parses to, when the caller has just parsed it and keeps no hold of it. */
  constructor(text: string, value?: Json) {
    this.text = text;
    this.#value = value;
  }

  static of(value: Json): Payload {
    return new Payload(JSON.stringify(value));
  }

  get value(): Json {
    this.#value ??= JSON.parse(this.text) as Json;
    return this.#value;
  }
}
