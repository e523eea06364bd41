// What an agent's terminal shows, and a turn at it. Its escapes go through xterm.js and nowhere else.
import type { JSX } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { agentPath, get, lines } from "./api";
import { useLive } from "./live";
import type { GetAgentResponse, LogChunk, Screen as Shot } from "./messages";
import type { Pane } from "./term";
import { useTurn } from "./terminal";
import { Age, Wrong } from "./ui";

/** againAfter is when a screen or output is asked for again whose stream has ended, in milliseconds. */
const againAfter = 1500;

/** useShots follows a screen: the stream brings it when it has changed. */
function useShots(agent: string): { shot?: Shot; error?: unknown } {
  const [state, set] = useState<{ shot?: Shot; error?: unknown }>({});
  useEffect(() => {
    const abort = new AbortController();
    const follow = async (): Promise<void> => {
      while (!abort.signal.aborted) {
        try {
          await lines<Shot>(`${agentPath(agent)}/screen/follow`, {}, abort.signal, (shot) => set({ shot }));
        } catch (error) {
          if (!abort.signal.aborted) set((was) => ({ ...was, error }));
        }
        await new Promise((r) => setTimeout(r, againAfter));
      }
    };
    set({});
    void follow();
    return () => abort.abort();
  }, [agent]);
  return state;
}

/**
 * Screen shows a terminal as it is, and has one human at a time type there. It tells seen the mark of what stands
 * there.
 */
export function Screen({
  agent,
  seen,
}: {
  agent: string;
  seen?: (dialog: string | undefined) => void;
}): JSX.Element {
  const { shot, error } = useShots(agent);
  useEffect(() => seen?.(shot?.dialog), [shot?.dialog]);
  const turn = useTurn(agent);
  const about = useLive(
    (abort) => get<GetAgentResponse>(agentPath(agent), {}, abort),
    (e) => e.agent === agent && (e.kind ?? "").startsWith("agent.terminal"),
    [agent, turn.grant],
  );
  const typist = about.value?.agent?.typist;
  useEffect(() => {
    if (turn.grant && about.value && typist?.grant !== turn.grant)
      turn.over(typist ? `${typist.by} has taken the terminal.` : "The terminal was given back.");
  }, [about.value]);
  if (!shot) return <Wrong error={error} />;
  const mine = turn.grant !== "";
  return (
    <>
      <Terminal
        name={`Screen of ${agent}`}
        shot={shot}
        keys={mine ? turn.type : undefined}
        resize={turn.resize}
        leave={turn.release}
      />
      <Wrong error={error} />
      <p class="line turn" role="status">
        {mine ? (
          <>
            <b>What you type goes to {agent}, key by key.</b>
            <button type="button" class="primary" onClick={turn.release}>
              Give back
            </button>
            <span class="faint">Ctrl-] does, too, and a minute without a key.</span>
          </>
        ) : typist ? (
          <span>
            <b>{typist.by || "Somebody"}</b> types here since <Age of={typist.since} at={about.at} />.
          </span>
        ) : (
          <button type="button" data-key="w" aria-keyshortcuts="w" disabled={turn.busy} onClick={turn.take}>
            Take over<kbd aria-hidden="true">w</kbd>
          </button>
        )}
      </p>
    </>
  );
}

/** Terminal draws a screen. */
function Terminal({
  name,
  shot,
  keys,
  resize,
  leave,
}: {
  name: string;
  shot: Shot;
  keys: ((text: string) => void) | undefined;
  resize: (columns: number, rows: number) => void;
  leave: () => void;
}): JSX.Element {
  const box = useRef<HTMLDivElement>(null);
  const pane = useRef<Pane>();
  const last = useRef({ shot, keys, resize, leave });
  last.current = { shot, keys, resize, leave };
  const listen = (): void =>
    pane.current?.listen(
      last.current.keys && {
        keys: (text) => last.current.keys?.(text),
        resize: (columns, rows) => last.current.resize(columns, rows),
        leave: () => last.current.leave(),
      },
    );
  useEffect(() => {
    let over = false;
    void import("./term").then(({ open }) => {
      if (over || !box.current) return;
      pane.current = open(box.current, true);
      pane.current.show(last.current.shot);
      if (last.current.keys) listen();
    });
    return () => {
      over = true;
      pane.current?.close();
      pane.current = undefined;
    };
  }, []);
  useEffect(() => pane.current?.show(shot), [shot]);
  useEffect(listen, [keys !== undefined]);
  return (
    <div class={keys ? "pane screen typing" : "pane screen"} ref={box} role="region" aria-label={name} tabIndex={0} />
  );
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
      let begun = false;
      while (!abort.signal.aborted) {
        let again = begun; // what comes first is shown already
        begun = true;
        try {
          await lines<LogChunk>(`${agentPath(agent)}/logs`, { follow: true, lines: 500 }, abort.signal, (c) => {
            if (again) shown.clear();
            again = false;
            setError(undefined);
            shown.write(Uint8Array.from(atob(c.data ?? ""), (ch) => ch.charCodeAt(0)));
          });
        } catch (e) {
          if (!abort.signal.aborted) setError(e);
        }
        await new Promise((r) => setTimeout(r, againAfter));
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
