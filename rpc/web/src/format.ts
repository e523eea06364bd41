// How values of the API are read and shown.

/** seconds of a span as the API writes it, "1.5s"; 0 where there is none. */
export function seconds(span: string | undefined): number {
  if (!span) return 0;
  const n = parseFloat(span);
  return Number.isFinite(n) ? n : 0;
}

/** span shows seconds with two units at most: 42s, 3m 20s, 2h 5m, 4d 3h. */
export function span(s: number): string {
  s = Math.max(0, Math.floor(s));
  if (s < 60) return `${s}s`;
  const units: [string, number][] = [
    ["d", 86400],
    ["h", 3600],
    ["m", 60],
    ["s", 1],
  ];
  const at = units.findIndex(([, n]) => s >= n);
  const [name, size] = units[at]!;
  const [next, small] = units[at + 1]!;
  const rest = Math.floor((s % size) / small);
  return `${Math.floor(s / size)}${name}${rest ? ` ${rest}${next}` : ""}`;
}

const whole = new Intl.NumberFormat("en");

/** count shows a whole number, which may be a string of the API. */
export function count(n: number | string | undefined): string {
  return whole.format(Number(n ?? 0));
}

/** plural joins a count and a noun. */
export function plural(n: number | string | undefined, one: string, many = one + "s"): string {
  return `${count(n)} ${Number(n ?? 0) === 1 ? one : many}`;
}

/** clock shows when something was, by the reader's own clock: the time today, the day before that. */
export function clock(at: string | undefined): string {
  if (!at) return "";
  const d = new Date(at);
  if (Number.isNaN(d.getTime())) return "";
  const time = d.toLocaleTimeString("en-GB");
  if (d.toDateString() === new Date().toDateString()) return time;
  const two = (n: number): string => String(n).padStart(2, "0");
  return `${d.getFullYear()}-${two(d.getMonth() + 1)}-${two(d.getDate())} ${time}`;
}

/** words makes the name of a state readable: needs_input, IN_PROGRESS. */
export function words(name: string | undefined): string {
  return (name ?? "").replaceAll("_", " ").toLowerCase();
}

/** sentence begins with a capital. */
export function sentence(text: string | undefined): string {
  return text ? text[0]!.toUpperCase() + text.slice(1) : "";
}

/** Tone is how something is coloured; colour is never the only sign of it. */
export type Tone = "good" | "busy" | "warn" | "bad" | "off";

const verdictTones: Record<string, Tone> = {
  healthy: "good",
  busy: "busy",
  idle: "good",
  degraded: "warn",
  needs_input: "warn",
  sleeping: "off",
  suspect: "warn",
  deaf: "bad",
  stalled: "bad",
  unresponsive: "bad",
  offline: "off",
  not_found: "off",
};

/** verdicts in the order in which they are shown. */
export const verdicts = [
  "unresponsive",
  "stalled",
  "deaf",
  "needs_input",
  "suspect",
  "degraded",
  "busy",
  "healthy",
  "idle",
  "sleeping",
  "offline",
];

export function verdictTone(kind: string | undefined): Tone {
  return verdictTones[kind ?? ""] ?? "off";
}

const taskTones: Record<string, Tone> = {
  QUEUED: "off",
  PENDING: "warn",
  ACKNOWLEDGED: "busy",
  IN_PROGRESS: "busy",
  COMPLETED: "good",
  FAILED: "bad",
  CANCELED: "off",
  QUARANTINED: "bad",
};

export function taskTone(state: string | undefined): Tone {
  return taskTones[state ?? ""] ?? "off";
}

const hostTones: Record<string, Tone> = {
  ready: "good",
  suspect: "warn",
  lost: "bad",
  returning: "busy",
  draining: "busy",
  left: "off",
};

export function hostTone(state: string | undefined): Tone {
  return hostTones[state ?? ""] ?? "off";
}

const priorityTones: Record<string, Tone> = { urgent: "bad", high: "warn", normal: "busy", low: "off" };

export function priorityTone(priority: string | undefined): Tone {
  return priorityTones[priority ?? ""] ?? "off";
}

/** eventTone tells good news from bad. */
export function eventTone(kind: string): Tone {
  if (
    /(lost|ended|parked|unkillable|failed|quarantined|diverged|brake\.set|stuck|needs_human|canceled|exited|recovered|surrendered)/.test(
      kind,
    )
  ) {
    return "bad";
  }
  if (
    /(suspect|returning|drained|blocked|start_limit|stopped|paused|late_result|nudged|woken|interrupted|stalling|untaken)/.test(
      kind,
    )
  ) {
    return "warn";
  }
  if (/(started|joined|adopted|completed|ready|over$|undrained)/.test(kind)) return "good";
  return "off";
}
