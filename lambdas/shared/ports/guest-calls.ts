import type { GuestCallAnswer, RpcCall } from '#contracts/guest';

/** Passes calls on to the cua-server at an address inside the network. */
export interface GuestCalls {
  /**
   * One request for each call, in order, each answered as the server does; a call without time left is not begun. `GET /status`
   * and `GET /commands` are calls too.
   * @throws ChannelUnavailableError when nobody passes anything on.
   */
  answer(url: string, calls: readonly RpcCall[], timeoutSeconds: number): Promise<readonly GuestCallAnswer[]>;
}
