import type { UploadGrant } from '#contracts/guest';

import type { ObjectSource, OpenObject } from './object-source.ts';
import { checksumOf } from './object-upload.ts';
import { RequestRefusal } from './request-refusal.ts';
import type { RequestSigner } from './request-signer.ts';

/** Objects of this process's own store by what it has signed, without the way over HTTP. */
export interface SignedObjects {
  /** Whether a URL is one of this store's. */
  isOwn(url: string): boolean;
  /** @throws RequestRefusal as the object server would answer. */
  open(url: string): Promise<OpenObject>;
  /** @throws RequestRefusal as the object server would answer. */
  receive(grant: UploadGrant, key: string, body: Uint8Array): Promise<void>;
}

/** The same checks as the object server's: signature, expiry, policy and size. */
export function createSignedObjects(baseUrl: () => string, source: ObjectSource, signer: RequestSigner): SignedObjects {
  return {
    isOwn: (url) => url.startsWith(`${baseUrl()}/`),
    open: async (url) => {
      const object = await source.open(signer.checkUrl('GET', new URL(url)));
      if (object !== undefined) return object;
      throw new RequestRefusal(404, 'NoSuchKey', 'The specified key does not exist.');
    },
    receive: async ({ url, fields }, key, body) => {
      const form = new Map(Object.entries(fields).map(([name, value]) => [name.toLowerCase(), value]));
      const { ref, maxBytes } = signer.checkForm(new URL(url), form.set('key', key));
      if (body.byteLength > maxBytes) {
        const message = `Your proposed upload exceeds the maximum allowed size of ${String(maxBytes)} bytes`;
        throw new RequestRefusal(400, 'EntityTooLarge', message);
      }
      await source.receive(ref, [body], checksumOf(form));
    },
  };
}
