/** What is written into the text, checked: no value can end a literal or a here-document that it stands in. */
export interface BootFacts {
  readonly isBare: boolean;
  readonly privilege: 'upstream' | 'restricted';
  readonly resolution: string;
  readonly expiresAt: string;
  readonly endsAt: Date;
  readonly archive: { readonly url: string; readonly sha256: string } | null;
}
