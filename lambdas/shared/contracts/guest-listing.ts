import type { CollectEntry, CollectLimits, CollectRoot } from '#contracts/guest';

/** What `runner list` is given: the folders of a collect job whose bytes the host fetches itself. */
export interface ListingRequest {
  readonly roots: readonly CollectRoot[];
  readonly limits: CollectLimits;
}

/** A path of a listed folder: settled like in a manifest, or a regular file within the limits. */
export type ListedEntry =
  | { readonly settled: CollectEntry }
  | {
      readonly file: {
        /** As in a manifest. */
        readonly path: string;
        /** Null for a name that is no UTF-8: it cannot be asked for by name. */
        readonly absolute: string | null;
        /** Below the grant's and the root's prefix. */
        readonly key: string;
        readonly sizeBytes: number;
      };
    };

/** What `runner list` prints: one entry for each root, in the order asked. */
export interface FolderListing {
  readonly roots: readonly {
    readonly keyPrefix: string;
    readonly missing: boolean;
    readonly entries: readonly ListedEntry[];
  }[];
}
