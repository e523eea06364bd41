// What an agent's terminal shows. Its escapes go through xterm.js and nowhere else.
import type { JSX } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { agentPath, get, lines } from "./api";
import type { LogChunk, Screen as Shot } from "./messages";
import type { Pane } from "./term";
import { Wrong } from "./ui";

/** lookEvery is how often an open screen is looked at, in milliseconds. No event tells that one has changed. */
const lookEvery = 1500;

/** Screen shows a terminal as it is, for reading. */
export function Screen({ agent }: { agent: string }): JSX.Element {
  const [text, set] = useState<string | undefined>();
  const [error, setError] = useState<unknown>();
  useEffect(() => {
    let over = false,
      timer = 0;
    const abort = new AbortController();
    const look = async (): Promise<void> => {
      if (document.visibilityState === "visible") {
        try {
          const shot = await get<Shot>(`${agentPath(agent)}/screen`, {}, abort.signal);
          if (over) return;
          set(shot.text ?? "");
          setError(undefined);
        } catch (e) {
          if (!over) setError(e);
        }
      }
      if (!over) timer = window.setTimeout(look, lookEvery);
    };
    void look();
    return () => {
      over = true;
      abort.abort();
      clearTimeout(timer);
    };
  }, [agent]);
  if (text === undefined) return <Wrong error={error} />;
  return <Terminal name={`Screen of ${agent}`} text={text} />;
}

/** Terminal draws text with escapes. */
function Terminal({ name, text }: { name: string; text: string }): JSX.Element {
  const box = useRef<HTMLDivElement>(null);
  const pane = useRef<Pane>();
  const last = useRef(text);
  last.current = text;
  useEffect(() => {
    let over = false;
    void import("./term").then(({ open }) => {
      if (over || !box.current) return;
      pane.current = open(box.current);
      pane.current.show(last.current);
    });
    return () => {
      over = true;
      pane.current?.close();
      pane.current = undefined;
    };
  }, []);
  useEffect(() => pane.current?.show(text), [text]);
  return <div class="pane" ref={box} role="region" aria-label={name} tabIndex={0} />;
}

/** Output shows what an agent's processes print, as they print it. */
export function Output({ agent }: { agent: string }): JSX.Element {
  const box = useRef<HTMLDivElement>(null);
  const [error, setError] = useState<unknown>();
  useEffect(() => {
    let pane: Pane | undefined;
    const abort = new AbortController();
    void (async () => {
      const { open } = await import("./term");
      if (abort.signal.aborted || !box.current) return;
      pane = open(box.current);
      const shown = pane;
      try {
        await lines<LogChunk>(`${agentPath(agent)}/logs`, { follow: true, lines: 500 }, abort.signal, (c) => {
          shown.write(Uint8Array.from(atob(c.data ?? ""), (ch) => ch.charCodeAt(0)));
        });
      } catch (e) {
        if (!abort.signal.aborted) setError(e);
      }
    })();
    return () => {
      abort.abort();
      pane?.close();
    };
  }, [agent]);
  return (
    <>
      <Wrong error={error} />
      <div class="pane tall" ref={box} role="region" aria-label={`Output of ${agent}`} tabIndex={0} />
    </>
  );
}
