/** Binds a seal's key to its use; part of the derivation on both sides. */
export const SEAL_INFO = 'examhall guest request 1';
/** What a sealed text begins with: its kind, and a letter that no command line takes for an option. */
export const SEAL_MARK = 's1';

/**
 * A request or where it lies, sealed for one guest: X25519 with an ephemeral key; HKDF-SHA256 with both public keys (the ephemeral
 * one first) as salt and `SEAL_INFO`; AES-256-GCM over the JSON of `SealedContent`. Written as `SEAL_MARK` and base64url of
 * `<ephemeral public key (32 bytes)><nonce (12)><ciphertext><tag (16)>`.
 */
export type SealedContent =
  | { readonly url: string; readonly sha256: string }
  /** A request that says little itself, as JSON. */
  | { readonly request: string };
