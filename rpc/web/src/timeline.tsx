// Timeline: what the time was filled with, on lanes, from three weeks to a second.
import type { JSX } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { read } from "./api";
import { count, words } from "./format";
import { useKeys } from "./keys";
import { onNews } from "./stream";
import type { Lane, Mark, Span, Timeline as Line } from "./messages";
import { go, link, params } from "./router";
import { Card, Empty, Wrong } from "./ui";

const second = 1000,
  widest = 21 * 86400 * second,
  row = 26,
  top = 26;

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

const css = (name: string): string =>
  getComputedStyle(document.documentElement).getPropertyValue(name).trim();

const steps = [1, 2, 5, 10, 30, 60, 120, 300, 600, 1800, 3600, 7200, 21600, 43200, 86400, 172800, 604800];

/** tick is how a moment is written on the axis. */
function tick(ms: number, step: number): string {
  const d = new Date(ms);
  const time = d.toLocaleTimeString("en-GB", step < 60 ? {} : { hour: "2-digit", minute: "2-digit" });
  return step >= 86400 || (d.getHours() === 0 && d.getMinutes() === 0 && d.getSeconds() === 0)
    ? d.toLocaleDateString("en-GB", { day: "numeric", month: "short" })
    : time;
}

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

/** What a place on the drawing leads to. */
interface Hit {
  x: number;
  y: number;
  w: number;
  h: number;
  seq: string;
  say: string;
}

function spanText(l: Lane, s: Span): string {
  const what = s.kind === "life" ? `life ${s.name}` : s.kind === "task" ? `task ${s.name}` : words(s.kind);
  const many = s.joined > 0 ? ` and others, ${s.joined} in all` : "";
  return `${l.name}: ${what}${many}${s.open ? ", goes on" : s.text ? `, ${s.text}` : ""}`;
}

function Drawing({
  line,
  from,
  wide,
  zoom,
  shift,
}: {
  line: Line;
  from: number;
  wide: number;
  zoom: (by: number, at?: number) => void;
  shift: (by: number) => void;
}): JSX.Element {
  const canvas = useRef<HTMLCanvasElement>(null);
  const hits = useRef<Hit[]>([]);
  const moves = useRef({ zoom, shift, gutter: 0, width: 1 });
  Object.assign(moves.current, { zoom, shift });
  const [over, setOver] = useState("");
  const height = top + line.lanes.length * row + 6;
  useEffect(() => {
    const c = canvas.current!;
    const again = (): void => {
      const got = draw(c, line, from, wide, height);
      hits.current = got.hits;
      moves.current.gutter = got.gutter;
      moves.current.width = got.width;
    };
    again();
    const size = new ResizeObserver(again);
    size.observe(c.parentElement!);
    const dark = matchMedia("(prefers-color-scheme: dark)");
    dark.addEventListener("change", again);
    return () => (size.disconnect(), dark.removeEventListener("change", again));
  }, [line, from, wide]);
  const find = (e: { offsetX: number; offsetY: number }): Hit | undefined =>
    hits.current.findLast(
      (h) =>
        e.offsetX >= h.x - 3 && e.offsetX <= h.x + h.w + 3 && e.offsetY >= h.y - 3 && e.offsetY <= h.y + h.h + 3,
    );
  useEffect(() => {
    const c = canvas.current!;
    const place = (x: number): number =>
      Math.min(1, Math.max(0, (x - moves.current.gutter) / moves.current.width));
    const fingers = new Map<number, number>();
    let apart = 0,
      began = 0,
      moved = false;
    const wheel = (e: WheelEvent): void => {
      e.preventDefault();
      if (Math.abs(e.deltaX) > Math.abs(e.deltaY)) moves.current.shift(e.deltaX / 800);
      else moves.current.zoom(Math.exp(e.deltaY / 400), place(e.offsetX));
    };
    const down = (e: PointerEvent): void => {
      fingers.set(e.pointerId, e.offsetX);
      c.setPointerCapture(e.pointerId);
      began = e.offsetX;
      if (fingers.size === 1) moved = false;
      apart = 0;
    };
    const move = (e: PointerEvent): void => {
      if (!fingers.has(e.pointerId)) return;
      const was = fingers.get(e.pointerId)!;
      fingers.set(e.pointerId, e.offsetX);
      if (fingers.size === 2) {
        const [a, b] = [...fingers.values()] as [number, number];
        const now = Math.max(20, Math.abs(a - b));
        if (apart > 0) moves.current.zoom(apart / now, place((a + b) / 2));
        apart = now;
        moved = true;
      } else if (moved || Math.abs(e.offsetX - began) > 4) {
        moved = true;
        moves.current.shift((was - e.offsetX) / moves.current.width);
      }
    };
    const up = (e: PointerEvent): void => {
      fingers.delete(e.pointerId);
      if (moved || e.type !== "pointerup") return;
      const hit = find(e);
      if (hit) go(`/events?at=${hit.seq}`);
    };
    c.addEventListener("wheel", wheel, { passive: false });
    c.addEventListener("pointerdown", down);
    c.addEventListener("pointermove", move);
    c.addEventListener("pointerup", up);
    c.addEventListener("pointercancel", up);
    return () => {
      c.removeEventListener("wheel", wheel);
      c.removeEventListener("pointerdown", down);
      c.removeEventListener("pointermove", move);
      c.removeEventListener("pointerup", up);
      c.removeEventListener("pointercancel", up);
    };
  }, []);
  return (
    <div class="lanes" id="lanes">
      <canvas
        ref={canvas}
        role="img"
        aria-label="Lives and tasks of agents over time; the table below says the same"
        onMouseMove={(e) => {
          const hit = find(e);
          setOver(hit?.say ?? "");
          e.currentTarget.style.cursor = hit ? "pointer" : "grab";
        }}
        onMouseLeave={() => setOver("")}
      />
      <p class="over num" aria-hidden="true">
        {over || " "}
      </p>
    </div>
  );
}

/** draw draws all, and tells where what stands. */
function draw(
  c: HTMLCanvasElement,
  line: Line,
  from: number,
  wide: number,
  height: number,
): { hits: Hit[]; gutter: number; width: number } {
  const all = c.parentElement!.clientWidth,
    gutter = all < 600 ? 92 : 168,
    width = all - gutter - 4,
    scale = devicePixelRatio || 1;
  c.width = all * scale;
  c.height = height * scale;
  c.style.width = `${all}px`;
  c.style.height = `${height}px`;
  const g = c.getContext("2d")!;
  g.scale(scale, scale);
  const x = (ms: number): number => gutter + (ms / wide) * width;
  const hits: Hit[] = [];
  const colors = {
    line: css("--line"),
    text: css("--text"),
    muted: css("--muted"),
    life: css("--good-soft"),
    lifeEdge: css("--good"),
    task: css("--accent"),
    bad: css("--bad"),
    badSoft: css("--bad-soft"),
    warn: css("--warn"),
    raised: css("--raised"),
  };
  g.font = "11px system-ui, sans-serif";
  g.textBaseline = "middle";
  const step = steps.find((s) => (s * second * width) / wide > 74) ?? 604800;
  const local = new Date(from).getTimezoneOffset() * 60 * second;
  for (let t = Math.ceil((from - local) / (step * second)) * step * second + local; t < from + wide; t += step * second) {
    const at = Math.round(x(t - from)) + 0.5;
    g.strokeStyle = colors.line;
    g.beginPath();
    g.moveTo(at, top - 6);
    g.lineTo(at, height);
    g.stroke();
    g.fillStyle = colors.muted;
    g.textAlign = "center";
    if (at < all - 24) g.fillText(tick(t, step), at, 9);
  }
  const election = (m: Mark): void => {
    const at = Math.round(x(m.at)) + 0.5,
      lead = m.kind?.startsWith("leader.");
    g.strokeStyle = lead ? colors.task : colors.warn;
    g.setLineDash([3, 3]);
    g.beginPath();
    g.moveTo(at, top - 6);
    g.lineTo(at, height);
    g.stroke();
    g.setLineDash([]);
    hits.push({ x: at - 1, y: 0, w: 2, h: height, seq: m.seq ?? "0", say: `${words(m.kind)}: ${m.text ?? ""}` });
  };
  line.marks.forEach(election);
  line.lanes.forEach((l, i) => {
    const y = top + i * row;
    g.fillStyle = l.kind === "host" ? colors.muted : colors.text;
    g.textAlign = "left";
    g.fillText(fitText(g, l.name ?? "", gutter - 10), 0, y + row / 2 - 1);
    g.strokeStyle = colors.line;
    g.beginPath();
    g.moveTo(0, y + row - 2.5);
    g.lineTo(all, y + row - 2.5);
    g.stroke();
    for (const s of [...l.spans].sort((a, b) => order(a) - order(b))) {
      const left = x(s.begin),
        w = Math.max(2, x(s.end) - left);
      const task = s.kind === "task",
        life = s.kind === "life";
      const h = task ? 8 : 16,
        at = task ? y + 8 : y + 4;
      g.fillStyle = task
        ? s.bad
          ? colors.bad
          : colors.task
        : life
          ? colors.life
          : s.kind === "paused"
            ? colors.raised
            : s.bad
              ? colors.badSoft
              : colors.raised;
      g.beginPath();
      g.roundRect(left, at, w, h, 3);
      g.fill();
      if (!task) {
        g.strokeStyle = life ? colors.lifeEdge : s.bad ? colors.bad : colors.muted;
        g.stroke();
      }
      if (life && !s.open) {
        g.fillStyle = s.bad ? colors.bad : colors.lifeEdge;
        g.fillRect(left + w - 3, at, 3, h);
      }
      const name = life ? `#${s.name}` : task ? "" : words(s.kind);
      if (name && w > 44 && !task) {
        g.fillStyle = colors.muted;
        g.font = "9px system-ui, sans-serif";
        if (!l.spans.some((o) => o.kind === "task" && o.begin < s.begin + (30 / width) * wide && o.end > s.begin)) {
          g.fillText(name, left + 5, at + h / 2 + 0.5);
        }
        g.font = "11px system-ui, sans-serif";
      }
      hits.push({ x: left, y: at, w, h, seq: s.seq ?? "0", say: spanText(l, s) });
    }
    for (const m of l.marks) {
      const at = x(m.at);
      g.fillStyle = /ready|undrained/.test(m.kind ?? "") ? colors.lifeEdge : colors.warn;
      g.beginPath();
      g.moveTo(at, y + 2);
      g.lineTo(at + 4, y + 6);
      g.lineTo(at, y + 10);
      g.lineTo(at - 4, y + 6);
      g.fill();
      hits.push({
        x: at - 4,
        y: y + 2,
        w: 8,
        h: 8,
        seq: m.seq ?? "0",
        say: `${l.name}: ${words(m.kind?.split(".")[1])}${m.text ? `, ${m.text}` : ""}`,
      });
    }
  });
  return { hits, gutter, width };
}

const order = (s: Span): number => (s.kind === "life" ? 0 : s.kind === "task" ? 2 : 1);

function fitText(g: CanvasRenderingContext2D, text: string, most: number): string {
  if (g.measureText(text).width <= most) return text;
  while (text.length > 1 && g.measureText(text + "…").width > most) text = text.slice(1);
  return "…" + text;
}

/** AsTable says what is drawn, for those who do not see it and for those who want words. */
function AsTable({ line, from }: { line: Line; from: number }): JSX.Element {
  const [open, set] = useState(false);
  const at = (ms: number): string => new Date(from + ms).toLocaleTimeString("en-GB");
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
