/** Providers whose machines are the caller's own: nobody sends a bill for them. */
const WITHOUT_BILL: ReadonlySet<string> = new Set(['process', 'desktop', 'docker', 'qemu', 'static', 'noop']);

export function isWithoutBill(provider: string): boolean {
  return WITHOUT_BILL.has(provider);
}

/** The most one attempt may cost in USD; null where no price sheet says so. Tokens are paid to somebody else. */
export function attemptCostUsd(provider: string): number | null {
  return isWithoutBill(provider) ? 0 : null;
}
