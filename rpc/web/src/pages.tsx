// Lists that go on: how many rows are shown, and where the next ones are.
import type { JSX } from "preact";
import { useRef } from "preact/hooks";
import { useLive, type Live } from "./live";
import type { Event } from "./messages";
import { link } from "./router";

/** page is how many rows a list shows at first, and by how many it grows; most is how many it shows at once, and how
 * many an answer has at most. */
export const page = 200;
const most = 1000;

/** calls is how often servers are asked for each page of a list: an answer ends after a bounded look, perhaps without
 * a row. */
const calls = 20;

interface Answer {
  more?: boolean;
  next?: string | number;
}

/** Rows are those of a list; next is what to ask for behind them, empty at the end. */
export interface Rows<T> {
  list: T[];
  next: string;
}

/** gather asks until there are limit rows, or no more; Infinity: all. */
export async function gather<T, R extends Answer>(
  load: (after: string, limit: number) => Promise<R>,
  rows: (r: R) => T[],
  limit: number,
  from = "",
): Promise<Rows<T>> {
  const list: T[] = [];
  let at = from;
  for (let i = 0; i < (calls * limit) / page && list.length < limit; i++) {
    const got = await load(at, Math.min(most, limit - list.length));
    list.push(...rows(got));
    at = got.next && got.next !== "0" ? String(got.next) : "";
    if (!at) break;
  }
  return { list, next: at };
}

/** Pages is a list that is read again as useLive does it, with more rows when somebody asks for them. */
export interface Pages<T> extends Live<Rows<T>> {
  grow: () => void;
  /** full tells that it grows no more. */
  full: boolean;
}

export function usePages<T, R extends Answer>(
  load: (after: string, limit: number, abort: AbortSignal) => Promise<R>,
  rows: (r: R) => T[],
  concerns: (e: Event) => boolean,
  deps: string[],
  every = 0,
  from = "",
): Pages<T> {
  const key = JSON.stringify([...deps, from]);
  const size = useRef({ key, limit: page });
  if (size.current.key !== key) size.current = { key, limit: page };
  const live = useLive(
    (abort) => gather((after, n) => load(after, n, abort), rows, size.current.limit, from),
    concerns,
    [key],
    every,
  );
  const grow = (): void => {
    size.current.limit = Math.min(most, size.current.limit + page);
    live.again();
  };
  return { ...live, grow, full: size.current.limit >= most };
}

/** Behind says that a list begins somewhere in the middle. */
export function Behind({ name, to }: { name: string; to: string }): JSX.Element {
  return (
    <p class="line wide">
      <span class="faint">Behind {name}.</span> <a href={link(to)}>From the beginning</a>
    </p>
  );
}

/** More leads on where a list has more; to is its address, to which where to go on is added. */
export function More<T>({ of, to, older }: { of: Pages<T>; to?: string; older?: boolean }): JSX.Element | null {
  const v = of.value;
  if (!v?.next) return null;
  return (
    <p class="line wide">
      {!of.full ? (
        <button type="button" onClick={of.grow}>
          {older ? "Show older ones" : "Show more"}
        </button>
      ) : (
        to && <a href={link(`${to}${to.includes("?") ? "&" : "?"}after=${v.next}`)}>Go on behind these</a>
      )}
    </p>
  );
}
