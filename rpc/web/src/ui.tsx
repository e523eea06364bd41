// The small parts that all views are made of. What agents wrote is always a child of an element, so it is
// text: nothing here takes markup.
import { signal } from "@preact/signals";
import type { ComponentChildren, JSX } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { Failure } from "./api";
import { seconds, span, words, type Tone } from "./format";
import { now } from "./stream";

export function Badge({ tone, children }: { tone: Tone; children: ComponentChildren }): JSX.Element {
  return (
    <span class={`badge ${tone}`}>
      <i aria-hidden="true" />
      {children}
    </span>
  );
}

/** Age shows a span of the API that goes on growing (or, with down, shrinking) since it was read. */
export function Age({
  of,
  at,
  down,
}: {
  of: string | undefined;
  at: number;
  down?: boolean;
}): JSX.Element | null {
  if (of === undefined) return null;
  const passed = Math.max(0, (now.value - at) / 1000);
  return <span class="num">{span(seconds(of) + (down ? -passed : passed))}</span>;
}

export function Card({
  title,
  side,
  children,
  wide,
  id,
}: {
  title?: string;
  side?: ComponentChildren;
  children: ComponentChildren;
  wide?: boolean;
  id?: string;
}): JSX.Element {
  return (
    <section class={wide ? "card wide" : "card"} id={id} aria-label={title}>
      {title && (
        <header>
          <h2>{title}</h2>
          {side && <div class="side">{side}</div>}
        </header>
      )}
      {children}
    </section>
  );
}

export function Empty({ children }: { children: ComponentChildren }): JSX.Element {
  return <p class="empty">{children}</p>;
}

/** Wrong shows why something could not be read or done, in the words of the server. */
export function Wrong({ error }: { error: unknown }): JSX.Element | null {
  if (!error) return null;
  const text = error instanceof Failure ? error.message : "This could not be read.";
  return (
    <p class="wrong" role="alert">
      {text}
    </p>
  );
}

/** Bar shows parts of a whole; the list beside it says the same in words. */
export function Bar({ parts }: { parts: { name: string; n: number; tone: Tone }[] }): JSX.Element {
  const all = parts.reduce((sum, p) => sum + p.n, 0) || 1;
  return (
    <div class="bar" aria-hidden="true">
      {parts
        .filter((p) => p.n > 0)
        .map((p) => (
          <span
            key={p.name}
            class={p.tone}
            style={{ width: `${(100 * p.n) / all}%` }}
            title={`${words(p.name)}: ${p.n}`}
          />
        ))}
    </div>
  );
}

/** said are short messages about what was done, that go by themselves. */
const said = signal<{ id: number; text: string; bad: boolean }[]>([]);
let nextSaid = 0;

export function say(text: string, bad = false): void {
  const id = ++nextSaid;
  said.value = [...said.value.slice(-3), { id, text, bad }];
  setTimeout(() => (said.value = said.value.filter((m) => m.id !== id)), bad ? 9000 : 4000);
}

export function Said(): JSX.Element {
  return (
    <div class="said" role="status" aria-live="polite">
      {said.value.map((m) => (
        <p key={m.id} class={m.bad ? "bad" : ""}>
          {m.text}
        </p>
      ))}
    </div>
  );
}

/** attempt does something and says how it went. */
export async function attempt(done: string, what: () => Promise<unknown>): Promise<boolean> {
  try {
    await what();
    say(done);
    return true;
  } catch (e) {
    const stale = e instanceof Failure && e.code === "conflict";
    say((stale ? "Nothing was changed. " : "") + (e instanceof Error ? e.message : "That has failed."), true);
    return false;
  }
}

interface Deed {
  label: string;
  /** of is what the question is about where that may be followed by something else: a life, a revision. */
  of?: string | undefined;
  done: string;
  sure?: string;
  kind?: "primary" | "danger";
  keys?: string;
  go: () => Promise<unknown>;
  then?: () => void;
}

/**
 * Act is a button that does something; with sure it asks first and says what will happen. An answer is one to what was
 * asked: where that is over, and something else has taken its place, servers refuse it as any click on what has changed.
 */
export function Act(deed: Deed): JSX.Element {
  const [asked, ask] = useState<Deed>();
  const [busy, setBusy] = useState(false);
  const box = useRef<HTMLSpanElement>(null);
  const button = useRef<HTMLButtonElement>(null);
  const back = useRef(false);
  const run = async (d: Deed): Promise<void> => {
    ask(undefined);
    setBusy(true);
    await attempt(d.done, d.go);
    deed.then?.(); // after a refusal too: what is shown is old then
    setBusy(false);
  };
  // Whoever says no by keyboard stays at the button.
  const no = (): void => {
    back.current = true;
    ask(undefined);
  };
  useEffect(() => {
    if (asked) box.current?.querySelector<HTMLButtonElement>("button")?.focus();
    else if (back.current) button.current?.focus();
    back.current = false;
  }, [asked]);
  if (asked) {
    const d = asked.of === deed.of && asked.label === deed.label ? deed : asked;
    return (
      <span
        class="sure"
        ref={box}
        role="group"
        aria-label={d.label}
        onKeyDown={(e) => e.key === "Escape" && (e.stopPropagation(), no())}
      >
        <span>{d.sure}</span>
        <button type="button" class={d.kind ?? "primary"} onClick={() => void run(d)}>
          {d.label}
        </button>
        <button type="button" onClick={no}>
          No
        </button>
      </span>
    );
  }
  const { label, sure, kind, keys } = deed;
  return (
    <button
      type="button"
      ref={button}
      class={kind}
      data-key={keys}
      disabled={busy}
      onClick={() => (sure ? ask(deed) : void run(deed))}
      aria-keyshortcuts={keys}
    >
      {label}
      {keys && <kbd aria-hidden="true">{keys}</kbd>}
    </button>
  );
}
