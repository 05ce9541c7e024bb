declare module 'asl-validator' {
  interface Validation {
    readonly isValid: boolean;
    readonly errors: readonly unknown[];
  }
  const validate: (definition: unknown) => Validation;
  export default validate;
}
