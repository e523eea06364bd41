// Search: names, tasks, hosts and commands, by keyboard. Ctrl-K or / opens it.
import { signal } from "@preact/signals";
import type { JSX } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { read } from "./api";
import type { SearchResponse } from "./messages";
import { go } from "./router";
import { Wrong } from "./ui";

export interface Command {
  name: string;
  go: () => void;
}

interface Row {
  kind: string;
  name: string;
  text?: string | undefined;
  go: () => void;
}

const open = signal(false);

/** search opens the search. */
export const search = (): void => void (open.value = true);

addEventListener("keydown", (e) => {
  const typing = e.target instanceof HTMLElement && e.target.matches("input, textarea, select, .xterm *");
  if (
    ((e.ctrlKey || e.metaKey) && !e.altKey && e.key.toLowerCase() === "k") ||
    (e.key === "/" && !typing && !e.ctrlKey && !e.metaKey && !e.altKey)
  ) {
    e.preventDefault();
    open.value = !open.value;
  }
});

const paths: Record<string, string> = { room: "/room/", agent: "/agent/", task: "/task/", host: "/host/" };

export function Palette({ commands }: { commands: Command[] }): JSX.Element | null {
  return open.value ? <Box commands={commands} /> : null;
}

function Box({ commands }: { commands: Command[] }): JSX.Element {
  const box = useRef<HTMLDialogElement>(null);
  const [text, set] = useState("");
  const [hits, setHits] = useState<Row[]>([]);
  const [error, setError] = useState<unknown>();
  const [more, setMore] = useState(false);
  const [at, move] = useState(0);
  useEffect(() => {
    const before = document.activeElement as HTMLElement | null;
    box.current!.showModal();
    return () => before?.focus();
  }, []);
  useEffect(() => {
    const abort = new AbortController();
    if (!text.trim()) {
      setHits([]);
      setMore(false);
      return;
    }
    const timer = window.setTimeout(async () => {
      try {
        const got = await read<SearchResponse>("v1/search", { query: text, limit: 20 }, abort.signal);
        setHits(
          got.hits.map((h) => ({
            kind: h.kind ?? "",
            name: h.name ?? "",
            text: h.text,
            go: () => go(`${paths[h.kind ?? ""] ?? "/room/"}${h.name}`),
          })),
        );
        setMore(!!got.more);
        setError(undefined);
      } catch (e) {
        if (!abort.signal.aborted) setError(e);
      }
    }, 120);
    return () => (clearTimeout(timer), abort.abort());
  }, [text]);
  const words = text.toLowerCase().split(/\s+/).filter(Boolean);
  const rows: Row[] = [
    ...hits,
    ...commands
      .filter((c) => words.every((w) => c.name.toLowerCase().includes(w)))
      .map((c) => ({ kind: "command", name: c.name, go: c.go })),
  ];
  const here = Math.min(at, rows.length - 1);
  const take = (r: Row | undefined): void => {
    if (!r) return;
    open.value = false;
    r.go();
  };
  const keys = (e: KeyboardEvent): void => {
    const by = { ArrowDown: 1, ArrowUp: -1, PageDown: 8, PageUp: -8 }[e.key];
    if (by) move(Math.max(0, Math.min(rows.length - 1, here + by)));
    else if (e.key === "Enter") take(rows[here]);
    else return;
    e.preventDefault();
  };
  useEffect(() => document.getElementById(`hit-${here}`)?.scrollIntoView({ block: "nearest" }), [here]);
  return (
    <dialog
      class="palette"
      ref={box}
      aria-label="Search"
      onClose={() => (open.value = false)}
      onClick={(e) => e.target === box.current && (open.value = false)}
    >
      <input
        type="text"
        role="combobox"
        aria-expanded="true"
        aria-controls="hits"
        aria-activedescendant={rows.length > 0 ? `hit-${here}` : undefined}
        aria-label="Rooms, agents, tasks, hosts, commands"
        placeholder="Rooms, agents, tasks, hosts, commands"
        value={text}
        maxLength={200}
        autocomplete="off"
        onInput={(e) => (set(e.currentTarget.value), move(0))}
        onKeyDown={keys}
      />
      <Wrong error={error} />
      <ul id="hits" role="listbox" aria-label="Hits">
        {rows.map((r, i) => (
          <li
            key={`${r.kind} ${r.name}`}
            id={`hit-${i}`}
            role="option"
            aria-selected={i === here}
            onClick={() => take(r)}
          >
            <span class="faint">{r.kind}</span>
            <b>{r.name}</b>
            <span class="text">{r.text}</span>
          </li>
        ))}
      </ul>
      {rows.length === 0 && <p class="empty">Nothing has these words.</p>}
      {more && <p class="empty">There may be more: say more of the name.</p>}
    </dialog>
  );
}
