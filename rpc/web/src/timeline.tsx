// Timeline: what the time was filled with, on lanes, from three weeks to a second.
import type { JSX } from "preact";
import { useEffect, useState } from "preact/hooks";
import { read } from "./api";
import { clock, count, words } from "./format";
import { useKeys } from "./keys";
import { Drawing } from "./lanes";
import { onNews } from "./stream";
import type { Timeline as Line } from "./messages";
import { link, params } from "./router";
import { Card, Empty, Wrong } from "./ui";

const second = 1000,
  widest = 21 * 86400 * second;

const presets: [string, number][] = [
  ["1 m", 60 * second],
  ["10 m", 600 * second],
  ["1 h", 3600 * second],
  ["6 h", 6 * 3600 * second],
  ["1 d", 86400 * second],
  ["1 w", 7 * 86400 * second],
];

/** Seen is the span that is looked at; without an end it goes on until now. */
interface Seen {
  wide: number;
  to?: number | undefined;
}

const clamp = (s: Seen): Seen => {
  const wide = Math.min(widest, Math.max(second, s.wide));
  return { wide, to: s.to !== undefined && s.to < Date.now() ? s.to : undefined };
};

export function useTimeline(
  q: { room?: string; agent?: string },
  seen: Seen,
): { line?: Line; error?: unknown; from: number } {
  const [got, set] = useState<{ line?: Line; error?: unknown; from: number }>({ from: 0 });
  useEffect(() => {
    const abort = new AbortController();
    let timer = 0,
      busy = false;
    const load = async (): Promise<void> => {
      busy = true;
      const to = seen.to ?? Date.now(),
        from = to - seen.wide;
      try {
        const line = await read<Line>(
          "v1/timeline",
          {
            ...q,
            from: new Date(from).toISOString(),
            to: seen.to === undefined ? undefined : new Date(to).toISOString(),
            limit: 200,
          },
          abort.signal,
        );
        set({ line, from });
      } catch (error) {
        if (!abort.signal.aborted) set((was) => ({ ...was, error }));
      }
      busy = false;
    };
    timer = window.setTimeout(load, 120);
    const off = onNews((fresh) => {
      if (seen.to !== undefined || busy || fresh.length === 0) return;
      clearTimeout(timer);
      timer = window.setTimeout(load, Math.min(5000, Math.max(1000, seen.wide / 300)));
    });
    const tick =
      seen.to === undefined
        ? window.setInterval(
            () => document.visibilityState === "visible" && !busy && void load(),
            Math.min(30000, Math.max(1000, seen.wide / 100)),
          )
        : 0;
    return () => (abort.abort(), clearTimeout(timer), clearInterval(tick), off());
  }, [q.room, q.agent, seen.wide, seen.to]);
  return got;
}

export function TimelineView(): JSX.Element {
  const room = params.value.get("room") ?? "";
  const [seen, look] = useState<Seen>({ wide: 3600 * second });
  const { line, error, from } = useTimeline({ room }, seen);
  const to = (): number => seen.to ?? Date.now();
  const zoom = (by: number, at = 0.5): void =>
    look((s) => {
      const end = s.to ?? Date.now(),
        wide = Math.min(widest, Math.max(second, s.wide * by)),
        middle = end - s.wide * (1 - at);
      return clamp({ wide, to: s.to === undefined && at > 0.97 ? undefined : middle + wide * (1 - at) });
    });
  const shift = (by: number): void => look((s) => clamp({ wide: s.wide, to: to() + by * s.wide }));
  useKeys({
    "+": () => zoom(0.5),
    "=": () => zoom(0.5),
    "-": () => zoom(2),
    ArrowLeft: () => shift(-0.2),
    ArrowRight: () => shift(0.2),
    "0": () => look({ wide: 3600 * second }),
  });
  return (
    <div class="grid">
      <Card wide>
        <div class="line timebar">
          <div class="filters" role="group" aria-label="So long">
            {presets.map(([name, wide]) => (
              <button
                key={name}
                type="button"
                class={seen.wide === wide ? "choice on" : "choice"}
                aria-pressed={seen.wide === wide}
                onClick={() => look(clamp({ wide, to: seen.to }))}
              >
                {name}
              </button>
            ))}
          </div>
          <div class="filters" role="group" aria-label="Move">
            <button type="button" aria-label="Earlier" onClick={() => shift(-0.5)}>
              ←
            </button>
            <button type="button" aria-label="Later" onClick={() => shift(0.5)}>
              →
            </button>
            <button type="button" aria-label="Closer" onClick={() => zoom(0.5)}>
              +
            </button>
            <button type="button" aria-label="Farther" onClick={() => zoom(2)}>
              −
            </button>
            <button type="button" disabled={seen.to === undefined} onClick={() => look({ wide: seen.wide })}>
              Now
            </button>
          </div>
          <span class="faint hint">wheel or pinch to zoom, drag to move; + − ← → 0</span>
        </div>
        <Wrong error={error} />
        {line && <Drawing line={line} from={from} wide={seen.wide} zoom={zoom} shift={shift} />}
        <Legend />
        {line?.lanes.length === 0 && <Empty>Nothing has happened to an agent in this time.</Empty>}
        {line && line.more > 0 && <Empty>{count(line.more)} more agents are not shown; choose a room.</Empty>}
        {line?.cut && <Empty>Not all of this time was looked at: come closer.</Empty>}
        {line?.begins && <Empty>The history begins {new Date(line.begins).toLocaleString("en-GB")}.</Empty>}
      </Card>
      {line && <AsTable line={line} from={from} />}
    </div>
  );
}

function Legend(): JSX.Element {
  return (
    <p class="legend faint">
      {[
        ["life", "life"],
        ["task", "task"],
        ["bad", "ended badly, fault"],
        ["paused", "paused"],
        ["election", "election"],
        ["whole", "servers, pauses, brake"],
      ].map(([tone, name]) => (
        <span key={tone} class={`swatch ${tone}`}>
          {name}
        </span>
      ))}
    </p>
  );
}

/** AsTable says what is drawn, for those who do not see it and for those who want words. */
function AsTable({ line, from }: { line: Line; from: number }): JSX.Element {
  const [open, set] = useState(false);
  const at = (ms: number): string => clock(new Date(from + ms).toISOString());
  return (
    <details class="card wide" onToggle={(e) => set(e.currentTarget.open)}>
      <summary>As a table</summary>
      {open && (
        <table class="list" id="lanes-table">
          <thead>
            <tr>
              <th scope="col">Of</th>
              <th scope="col">What</th>
              <th scope="col">From</th>
              <th scope="col">To</th>
              <th scope="col">End</th>
            </tr>
          </thead>
          <tbody>
            {line.lanes.flatMap((l) =>
              l.spans.slice(-20).map((s) => (
                <tr key={`${l.name} ${s.kind} ${s.name} ${s.begin}`}>
                  <td>{l.name}</td>
                  <td>
                    <a href={link(`/events?at=${s.seq ?? 0}`)}>
                      {words(s.kind)} {s.name}
                    </a>
                  </td>
                  <td class="num" data-of="from">
                    {at(s.begin)}
                  </td>
                  <td class="num" data-of="to">
                    {s.open ? "goes on" : at(s.end)}
                  </td>
                  <td class="text">
                    {s.text}
                    {s.joined > 0 && ` (${s.joined} short ones)`}
                  </td>
                </tr>
              )),
            )}
          </tbody>
        </table>
      )}
    </details>
  );
}
