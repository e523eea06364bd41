// One exchange with a server, which shows now and then that it is there.

import { pause } from "./spans.js";
import { Lost, type Answer, type Request, type Wire } from "./wire.js";

// After how many ms without an answer a server is asked for a sign of life, and how long it has for that.
const CALL = { every: 1000, limit: 2000 };
const LONG = { every: 10_000, limit: 5000 };

/**
 * Sends a request and gives its answer. A server that stops to answer at all is left before the time of the call is
 * over; long: the call may take minutes, absent: nobody is asked, since the other end is on this machine.
 */
export async function exchange(
  wire: Wire,
  addr: string,
  request: Request,
  signal: AbortSignal,
  timeout: number,
  long?: boolean,
): Promise<Answer> {
  if (long === undefined) return wire.exchange(addr, request, [signal], timeout);
  const dead = new AbortController();
  const over = new AbortController();
  void probe(wire, addr, long ? LONG : CALL, dead, over.signal);
  try {
    return await wire.exchange(addr, request, [signal, dead.signal], timeout);
  } catch (e) {
    if (!dead.signal.aborted) throw e;
    throw new Lost(`server ${addr} has stopped answering`, true, false, false, { cause: e });
  } finally {
    over.abort();
  }
}

/** Asks a server that owes an answer for a sign of life, and breaks the call off when it gives none. */
async function probe(
  wire: Wire,
  addr: string,
  { every, limit }: typeof CALL,
  dead: AbortController,
  over: AbortSignal,
): Promise<void> {
  const live: Request = { verb: "GET", path: "/livez", headers: {}, body: undefined };
  for (;;) {
    await pause(every, over);
    if (over.aborted) return;
    try {
      await wire.exchange(addr, live, [over], limit);
    } catch {
      if (!over.aborted) dead.abort();
      return;
    }
  }
}
