// Events: live, filtered by any field, and back to the oldest.
import type { JSX } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { read } from "./api";
import { Feed } from "./feed";
import { count } from "./format";
import { onNews } from "./stream";
import type { Event, ListEventsResponse } from "./messages";
import { params, put } from "./router";
import { Card, Empty, Wrong } from "./ui";

const fields: [string, string][] = [
  ["kind", "task. or agent.exited"],
  ["room", "web"],
  ["agent", "web/builder"],
  ["host", "h1"],
  ["task", "17"],
  ["words", "in any field"],
];

/** most is how many events are shown at once; more are no help and cost memory. */
const most = 5000;
/** live is how many stay while the newest are looked at: each second draws all of them. */
const live = 300;

/** fits is the rule of the servers, for what streams in. */
export function fits(e: Event, f: Record<string, string>): boolean {
  if (f.room && e.room !== f.room) return false;
  if (f.agent && e.agent !== f.agent) return false;
  if (f.host && e.host !== f.host) return false;
  if (f.task && e.task !== f.task) return false;
  if (f.kind && !e.kind?.startsWith(f.kind)) return false;
  const text = [e.kind, e.room, e.agent, e.host, e.text, e.task && `task ${e.task}`].join(" ").toLowerCase();
  return (f.words ?? "")
    .toLowerCase()
    .split(/\s+/)
    .every((w) => text.includes(w));
}

export function Events(): JSX.Element {
  const filter = Object.fromEntries(
    fields.map(([name]) => [name, params.value.get(name) ?? ""]).filter(([, v]) => v),
  ) as Record<string, string>;
  const around = params.value.get("at") ?? "";
  const change = (name: string, value: string): void => {
    const q = new URLSearchParams(Object.entries({ ...filter, [name]: value.trim() }).filter(([, v]) => v));
    put("/events" + (q.size ? `?${q}` : ""));
  };
  return (
    <Card>
      <form class="fields" role="search" aria-label="Only events with" onSubmit={(e) => e.preventDefault()}>
        {fields.map(([name, example]) => (
          <label key={name} class={name === "words" ? "most" : ""}>
            <span>{name}</span>
            <input
              type="search"
              value={filter[name] ?? ""}
              placeholder={example}
              onInput={(e) => change(name, e.currentTarget.value)}
            />
          </label>
        ))}
      </form>
      <Back key={JSON.stringify(filter) + around} filter={filter} around={around} />
    </Card>
  );
}

function Back({ filter, around }: { filter: Record<string, string>; around: string }): JSX.Element {
  const [list, set] = useState<Event[]>([]);
  const [next, setNext] = useState<string | undefined>(around ? String(Number(around) + 31) : "0");
  const [error, setError] = useState<unknown>();
  const [more, ask] = useState(0);
  const end = useRef<HTMLDivElement>(null);
  const seen = useRef(false);
  const rows = useRef<Event[]>([]);
  const old = useRef(false); // what is shown stays until what takes its place has been read
  const show = (all: Event[]): void => {
    rows.current = all;
    if (!old.current) set(all);
  };
  const ours = JSON.stringify(filter);
  useEffect(() => {
    if (next === undefined || rows.current.length >= most) return;
    const abort = new AbortController();
    const timer = window.setTimeout(
      async () => {
        try {
          const last = rows.current.at(-1)?.seq;
          const got = await read<ListEventsResponse>(
            "v1/events:back",
            { ...filter, before: next === "0" ? last : next, limit: 100 },
            abort.signal,
          );
          if (rows.current.at(-1)?.seq !== last) {
            // the end is another one by now: it is asked for again, or when it is seen
            if (seen.current || last === undefined) ask((n) => n + 1);
            return;
          }
          old.current = false;
          show([...rows.current, ...got.events]);
          setNext(got.next && got.next !== "0" ? got.next : undefined);
          setError(undefined);
          // an answer without events has only looked: the end is still to be seen, so go on
          if (got.events.length === 0 || seen.current) ask((n) => n + 1);
        } catch (e) {
          if (abort.signal.aborted) return;
          old.current = false;
          set(rows.current);
          setError(e);
        }
      },
      list.length === 0 ? 200 : 0,
    );
    return () => (clearTimeout(timer), abort.abort());
  }, [more]);
  useEffect(() => {
    const watch = new IntersectionObserver(
      ([x]) => {
        seen.current = !!x?.isIntersecting;
        if (seen.current) ask((n) => n + 1);
      },
      { rootMargin: "400px" },
    );
    watch.observe(end.current!);
    return () => watch.disconnect();
  }, []);
  useEffect(() => {
    if (around) return;
    return onNews((fresh, _, gap) => {
      const fit = fresh.filter((e) => fits(e, filter)).toReversed();
      if (gap) {
        // What is missing is read from here on, as far back as one scrolls.
        old.current = fit.length === 0;
        show(fit);
        setNext(fit.at(-1)?.seq ?? "0");
        if (fit.length === 0 || seen.current) ask((n) => n + 1);
        return;
      }
      if (fit.length === 0) return;
      const newest = Number(rows.current[0]?.seq ?? 0),
        all = [...fit.filter((e) => Number(e.seq) > newest), ...rows.current];
      // Whoever looks at the newest has no use for thousands that were shown: they come back when one scrolls.
      const kept = all.slice(0, scrollY < 200 ? live : most);
      show(kept);
      if (kept.length < all.length) setNext(kept.at(-1)!.seq);
    });
  }, [ours]);
  return (
    <>
      <Wrong error={error} />
      {around && (
        <p class="line">
          <span class="faint">Around event {count(around)}.</span>
          <button type="button" onClick={() => put("/events")}>
            Show the newest
          </button>
        </p>
      )}
      <Feed list={list} here={around} />
      {list.length === 0 && next === undefined && <Empty>No event is like that.</Empty>}
      {list.length >= most && <Empty>{count(most)} events are shown; choose fewer by a filter.</Empty>}
      {list.length > 0 && next === undefined && <Empty>The history begins here.</Empty>}
      <div ref={end} />
    </>
  );
}
