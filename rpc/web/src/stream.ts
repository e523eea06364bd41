// The one stream of the page: how the fleet is, and what happens. It is taken up again where it broke.
import { computed, signal } from "@preact/signals";
import { Failure, lines, signedOut } from "./api";
import type { Event, News, Overview } from "./messages";

/** oldAfter is when what is shown counts as old, in milliseconds; a sign of life comes each second. */
const oldAfter = 2000;
/** deadAfter is when a silent stream is given up, in milliseconds. */
const deadAfter = 4000;
/** eventsKept is how many events the page remembers. */
const eventsKept = 1000;

export const overview = signal<Overview | undefined>(undefined);
export const overviewAt = signal(0);
export const news = signal<News | undefined>(undefined);
/** heard is when the last sign of life came, by performance.now(). */
export const heard = signal(0);
/** events are the newest that came, the newest first. */
export const events = signal<Event[]>([]);
/** now ticks once a second, for what is shown as an age; in milliseconds as performance.now(). */
export const now = signal(performance.now());
/** trouble is why the stream does not stand; empty: it stands, or begins. */
export const trouble = signal("");

/** silent is for how many seconds the page has heard nothing, when that is too long; 0: it hears. */
export const silent = computed(() => {
  const ms = now.value - heard.value;
  return heard.value > 0 && ms > oldAfter ? Math.floor(ms / 1000) : 0;
});

/** fresh tells that what is shown is what the fleet is now. */
export const fresh = computed(() => heard.value > 0 && silent.value === 0 && !!news.value?.leader);

type Listener = (fresh: Event[], anew: boolean, gap: boolean) => void;
const listeners = new Set<Listener>();

/** onNews calls fn with what has happened; anew: something may be missing, so read again; gap: events are missing
 * before these, or all that came before are of another history. */
export function onNews(fn: Listener): () => void {
  listeners.add(fn);
  return () => listeners.delete(fn);
}

let after = "0",
  epoch = 0,
  /** asked is when the stream was asked for that stop would end. */
  asked = 0,
  stop: AbortController | undefined;

function take(n: News): void {
  const at = performance.now();
  const gone = heard.value > 0 && at - heard.value > oldAfter;
  heard.value = at;
  now.value = at;
  trouble.value = "";
  after = n.seq ?? after;
  epoch = n.epoch ?? 0;
  news.value = n;
  if (n.overview) {
    overview.value = n.overview;
    overviewAt.value = at;
  }
  const gap = n.reset || Number(n.left_out ?? 0) > 0;
  if (n.events.length > 0 || n.reset) {
    events.value = [...n.events.toReversed(), ...(n.reset ? [] : events.value)].slice(0, eventsKept);
  }
  if (n.events.length > 0 || gone || gap) {
    for (const fn of listeners) fn(n.events, gone || gap, gap);
  }
}

async function follow(): Promise<void> {
  for (let pause = 100; ; pause = Math.min(pause * 2, 2000)) {
    const began = (asked = performance.now());
    const abort = (stop = new AbortController());
    try {
      await lines<News>(
        "v1/follow",
        { after: after === "0" ? undefined : after, epoch: epoch || undefined },
        abort.signal,
        take,
      );
    } catch (e) {
      if (e instanceof Failure) trouble.value = e.message;
    }
    if (performance.now() - began > 5000) pause = 100;
    while (signedOut.value) await new Promise((r) => setTimeout(r, 300));
    await new Promise((r) => setTimeout(r, pause));
  }
}

/** begin opens the stream; it stands as long as the page does. */
export function begin(): void {
  void follow();
  setInterval(() => {
    now.value = performance.now();
    if (stop && heard.value > 0 && now.value - Math.max(heard.value, asked) > deadAfter) {
      stop.abort();
      stop = undefined;
    }
  }, 500);
}
