// How a timeline is drawn: lanes with spans and marks on them, and where on the drawing each stands.
import { words } from "./format";
import type { Lane, Mark, Span, Timeline as Line } from "./messages";

const second = 1000,
  row = 26,
  top = 26;

/** heightOf is the height of the drawing of these lanes, in pixels. */
export const heightOf = (line: Line): number => top + line.lanes.length * row + 6;

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

/** What a place on the drawing leads to. */
export interface Hit {
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

/** draw draws all, and tells where what stands. */
export function draw(
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

