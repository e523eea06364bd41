// What a view reads, and reads again when something has happened that concerns it.
import { useEffect, useState } from "preact/hooks";
import { onNews } from "./stream";
import type { Event } from "./messages";

/** Live is what was read last. */
export interface Live<T> {
  value?: T;
  /** error is why reading failed; the value before it stays. */
  error?: unknown;
  /** at is when it was read, as performance.now(). */
  at: number;
  /** again reads it now. */
  again: () => void;
}

/** apart is the least time between two reads, in milliseconds, gather how long what happens is gathered. Reads take a
 * tenth of the time at most, which leaves servers in peace that have to look through a large fleet for the rows of a
 * list; rest is the longest pause for that. */
const apart = 1000,
  gather = 150,
  share = 9,
  rest = 60_000;

/**
 * useLive reads by load, and again when an event concerns it, when something was missed, and every so many
 * milliseconds where no event tells of a change. deps are what load depends on.
 */
export function useLive<T>(
  load: (abort: AbortSignal) => Promise<T>,
  concerns: (e: Event) => boolean,
  deps: unknown[],
  every = 0,
): Live<T> {
  const [state, set] = useState<{ value?: T; error?: unknown; at: number }>({ at: 0 });
  const [again, setAgain] = useState<() => void>(() => () => undefined);
  useEffect(() => {
    let timer = 0,
      last = 0,
      took = 0,
      busy = false,
      more = false,
      asked = false,
      over = false;
    const abort = new AbortController();
    const run = async (now = false): Promise<void> => {
      if (busy) {
        more = true;
        asked ||= now;
        return;
      }
      busy = true;
      last = performance.now();
      try {
        const value = await load(abort.signal);
        took = performance.now() - last;
        if (!over) set({ value, at: performance.now() });
      } catch (error) {
        took = 0; // of one that has failed it says nothing
        if (!over) set((was) => ({ ...was, error }));
      }
      busy = false;
      if (more && !over) {
        const now = asked;
        more = asked = false;
        if (now) void run();
        else soon();
      }
    };
    const soon = (): void => {
      clearTimeout(timer);
      timer = window.setTimeout(
        () => void run(),
        Math.max(gather, last + Math.max(apart, took + Math.min(rest, share * took)) - performance.now()),
      );
    };
    set({ at: 0 });
    setAgain(() => () => void run(true));
    void run();
    const off = onNews((fresh, anew) => {
      if (anew || fresh.some(concerns)) soon();
    });
    const tick =
      every > 0 ? window.setInterval(() => document.visibilityState === "visible" && soon(), every) : 0;
    return () => {
      over = true;
      abort.abort();
      clearTimeout(timer);
      clearInterval(tick);
      off();
    };
  }, deps);
  return { ...state, again };
}
