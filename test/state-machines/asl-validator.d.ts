/** What we use of `asl-validator`, which ships no types for ES modules. */
declare module 'asl-validator' {
  interface Validation {
    readonly isValid: boolean;
    readonly errors: readonly unknown[];
  }
  export default function validate(definition: unknown): Validation;
}
