import { createScratchWorkspace, type ShortWay } from '#adapters/scratch-workspace';
import { answeredBadly } from '#adapters/scratch-http';
import { RequestRefusal } from '#local/stores/request-refusal';
import type { SignedObjects } from '#local/stores/signed-objects';
import type { Workspace } from '#ports/workspace';

/** Scratch folders below `parent`, and transfers: straight from `own` where it signed them, else over HTTP. */
export function createDiskWorkspace(parent: string, own?: SignedObjects): Workspace {
  return createScratchWorkspace(parent, own === undefined ? undefined : shortWayTo(own));
}

function shortWayTo(own: SignedObjects): ShortWay {
  return {
    isFor: (url) => own.isOwn(url),
    open: async (url) => {
      const object = await refusable(url, async () => await own.open(url));
      const small = object.readSmall();
      return small === undefined ? object.read() : [small];
    },
    send: async (grant, key, body) => {
      await refusable(grant.url, async () => {
        await own.receive(grant, key, body);
      });
    },
  };
}

/** What the store would have answered over HTTP, as that answer. */
async function refusable<R>(url: string, work: () => Promise<R>): Promise<R> {
  try {
    return await work();
  } catch (error) {
    throw error instanceof RequestRefusal ? answeredBadly(url, error.status) : error;
  }
}
