// A turn at an agent's terminal: what is typed goes there key by key, as long as it is ours.
import { useEffect, useRef, useState } from "preact/hooks";
import { agentPath, Failure, post } from "./api";
import type { TakeTerminalResponse } from "./messages";
import { attempt, say } from "./ui";

/** mostKeys is how much one call types, in characters of JavaScript; apart the least time between two, in ms. */
const mostKeys = 1000,
  apart = 25;

/** binary gives the bytes of a text as the API takes them. */
const binary = (text: string): string => btoa(String.fromCharCode(...new TextEncoder().encode(text)));

interface Size {
  columns: number;
  rows: number;
}

export interface Turn {
  /** grant is the number of our turn; empty: the terminal is not ours. */
  grant: string;
  busy: boolean;
  take: () => void;
  release: () => void;
  /** type sends keys, in the order in which they come. */
  type: (keys: string) => void;
  /** resize gives the terminal a size for as long as it is ours. */
  resize: (columns: number, rows: number) => void;
  /** over says that the turn has ended by itself. */
  over: (why: string) => void;
}

interface State {
  grant: string;
  seq: number;
  keys: string;
  size: Size | undefined;
  sending: boolean;
}

/** begun is a turn of which nothing was sent yet. */
const begun = (grant: string): State => ({ grant, seq: 0, keys: "", size: undefined, sending: false });

/** useTurn takes the terminal of an agent when asked to, and gives it back when the view goes. */
export function useTurn(agent: string): Turn {
  const [grant, set] = useState("");
  const [busy, setBusy] = useState(false);
  const now = useRef(begun(""));
  const path = agentPath(agent);
  const end = (): void => {
    now.current = begun("");
    set("");
  };
  const over = (why: string): void => {
    if (!now.current.grant) return;
    end();
    say(why, true);
  };
  const pump = async (): Promise<void> => {
    const t = now.current;
    if (t.sending) return;
    t.sending = true;
    while (t.grant && (t.keys || t.size)) {
      const size = t.size;
      t.size = undefined;
      const keys = t.keys.slice(0, mostKeys);
      t.keys = t.keys.slice(keys.length);
      t.seq++;
      const body = { grant: t.grant, seq: String(t.seq), keys: binary(keys), ...size };
      for (let left = 3; ; left--) {
        try {
          await post(`${path}:type`, body);
          break;
        } catch (e) {
          if (now.current !== t) return; // given back meanwhile
          const f = e instanceof Failure ? e : undefined;
          if (left > 0 && (f?.code === "unavailable" || f?.status === 0)) {
            await new Promise((r) => setTimeout(r, 700)); // its number has it typed once
            continue;
          }
          if (f?.code === "superseded") return over(f.message);
          if (!keys) break; // it stays as it is, as with an older server
          t.keys = "";
          say(f?.message ?? "That could not be typed.", true);
          break;
        }
      }
      await new Promise((r) => setTimeout(r, apart));
    }
    t.sending = false;
  };
  const take = async (): Promise<void> => {
    setBusy(true);
    await attempt(`The terminal of ${agent} is yours.`, async () => {
      const got = await post<TakeTerminalResponse>(`${path}:take-terminal`);
      now.current = begun(got.grant!);
      set(got.grant!);
    });
    setBusy(false);
  };
  const release = (): void => {
    const mine = now.current.grant;
    if (!mine) return;
    end();
    void attempt("The terminal is free again.", () => post(`${path}:release-terminal`, { grant: mine }));
  };
  useEffect(() => release, [agent]);
  return {
    grant,
    busy,
    take: () => void take(),
    release,
    over,
    resize: (columns, rows) => {
      now.current.size = { columns, rows };
      void pump();
    },
    type: (keys) => {
      now.current.keys += keys;
      void pump();
    },
  };
}
