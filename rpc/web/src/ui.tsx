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

/** Act is a button that does something; with sure it asks first and says what will happen. */
export function Act({
  label,
  done,
  sure,
  kind,
  keys,
  go,
  then,
}: {
  label: string;
  done: string;
  sure?: string;
  kind?: "primary" | "danger";
  keys?: string;
  go: () => Promise<unknown>;
  then?: () => void;
}): JSX.Element {
  const [asking, ask] = useState(false);
  const [busy, setBusy] = useState(false);
  const box = useRef<HTMLSpanElement>(null);
  const run = async (): Promise<void> => {
    ask(false);
    setBusy(true);
    if (await attempt(done, go)) then?.();
    setBusy(false);
  };
  useEffect(() => {
    if (asking) box.current?.querySelector<HTMLButtonElement>("button")?.focus();
  }, [asking]);
  if (asking) {
    return (
      <span
        class="sure"
        ref={box}
        role="group"
        aria-label={label}
        onKeyDown={(e) => e.key === "Escape" && (e.stopPropagation(), ask(false))}
      >
        <span>{sure}</span>
        <button type="button" class={kind ?? "primary"} onClick={run}>
          {label}
        </button>
        <button type="button" onClick={() => ask(false)}>
          No
        </button>
      </span>
    );
  }
  return (
    <button
      type="button"
      class={kind}
      data-key={keys}
      disabled={busy}
      onClick={() => (sure ? ask(true) : void run())}
      aria-keyshortcuts={keys}
    >
      {label}
      {keys && <kbd aria-hidden="true">{keys}</kbd>}
    </button>
  );
}
