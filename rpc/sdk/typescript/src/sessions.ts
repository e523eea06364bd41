// Write ids: what makes it safe to send a write again.

import { now } from "./spans.js";

// How far the numbers of a session's unanswered writes may lie apart. The cluster keeps the last 64 answers of a
// session, so the answer to a number is still there however the network reorders and repeats them.
const WINDOW = 32;
const REST = 5 * 60_000; // ms that a session may be unused: half of what the cluster allows

interface Session {
  readonly id: string;
  next: number;
  low: number; // the lowest number without an answer
  readonly done: Set<number>; // answered, and not the lowest
  used: number;
  dead: boolean;
}

/** The right to one write. */
export class Ticket {
  constructor(
    readonly session: Session,
    readonly seq: number,
  ) {}

  /** The value of the header Idempotency-Key. */
  get key(): string {
    return `${this.session.id}-${this.seq}`;
  }
}

/** Numbers writes, from few sessions while few are under way. */
export class Sessions {
  private list: Session[] = [];
  private opening: Promise<void> | undefined;

  constructor(private readonly open: () => Promise<string>) {}

  /** Gives a number; it fails as opening a session does, or when the signal comes first. */
  async take(signal: AbortSignal): Promise<Ticket> {
    for (;;) {
      signal.throwIfAborted();
      const s = this.free();
      if (s) {
        s.used = now();
        return new Ticket(s, s.next++);
      }
      this.opening ??= this.more().finally(() => (this.opening = undefined));
      await until(this.opening, signal);
    }
  }

  private free(): Session | undefined {
    this.list = this.list.filter((s) => !s.dead && (s.next > s.low || now() - s.used < REST));
    return this.list.find((s) => s.next - s.low < WINDOW);
  }

  private async more(): Promise<void> {
    const id = await this.open();
    this.list.push({ id, next: 1, low: 1, done: new Set(), used: now(), dead: false });
  }

  /** Takes a number back: its write is answered or will never be repeated. */
  put(t: Ticket): void {
    const s = t.session;
    s.done.add(t.seq);
    while (s.done.delete(s.low)) s.low++;
  }

  /** Forgets a session that the cluster no longer knows. */
  drop(t: Ticket): void {
    t.session.dead = true;
  }

  /** The sessions without unanswered writes; they are given out no more. */
  idle(): string[] {
    const idle = this.list.filter((s) => !s.dead && s.next === s.low);
    for (const s of idle) s.dead = true;
    return idle.map((s) => s.id);
  }
}

/** What a promise gives, unless the signal comes first. */
export function until<T>(promise: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const end = (): void => reject(signal.reason as Error);
    if (signal.aborted) return end();
    signal.addEventListener("abort", end, { once: true });
    promise.then(resolve, reject).finally(() => signal.removeEventListener("abort", end));
  });
}
