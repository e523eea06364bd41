// Messages of the browser about what waits for a human, where the person allows them.
import { signal } from "@preact/signals";
import type { JSX } from "preact";
import { read } from "./api";
import { kindName } from "./inbox";
import type { InboxItem, ListInboxResponse } from "./messages";
import { go } from "./router";
import { overview } from "./stream";
import { say } from "./ui";

const kept = "vigil-notify";
const can = typeof Notification !== "undefined" && isSecureContext;
const on = signal(can && localStorage.getItem(kept) === "on" && Notification.permission === "granted");

/** lookEvery is how often it is looked, in milliseconds: counts stay where one thing comes as another one goes. */
const lookEvery = 15_000;
/** most is how many things are looked at: as many as an answer has. */
const most = 1000;

/** known are the keys of what waited when it was looked at last; undefined: nobody has looked yet. */
let known: Set<string> | undefined,
  seen = "", // the counts of that look
  looking = false,
  again = false;

async function toggle(): Promise<void> {
  known = undefined; // what comes while they are off is no news later
  if (on.value) {
    on.value = false;
    localStorage.removeItem(kept);
    return;
  }
  if ((await Notification.requestPermission()) !== "granted") {
    say("The browser does not allow messages of this page.", true);
    return;
  }
  localStorage.setItem(kept, "on");
  on.value = true;
  void look();
}

const counts = (): string => JSON.stringify(overview.value?.inbox ?? {});

/** look tells what waits newly. One that fails is made up for at the next overview, one during another one at once. */
async function look(): Promise<void> {
  if (!on.value) return;
  if (looking) {
    again = true;
    return;
  }
  looking = true;
  const now = counts();
  try {
    tell((await read<ListInboxResponse>("v1/inbox", { limit: most })).items);
    seen = now;
  } catch {
    // without an answer there is nothing to say, and the page itself says that
  }
  looking = false;
  if (again) {
    again = false;
    void look();
  }
}

function tell(items: InboxItem[]): void {
  const fresh = known ? items.filter((i) => !known!.has(i.key ?? "") && i.lasts && !i.ack_by) : [];
  known = new Set(items.map((i) => i.key ?? ""));
  if (!on.value || document.hasFocus()) return;
  for (const i of fresh.slice(0, 3)) {
    // Names and fixed words only: what an agent has written stays on the page.
    const n = new Notification(`${kindName(i)}: ${i.subject}`, { body: i.text ?? "", tag: i.key ?? "" });
    n.onclick = () => (focus(), go(`/inbox?at=${encodeURIComponent(i.key ?? "")}`), n.close());
  }
}

/** watchInbox looks at what waits whenever there is more or less of it, and every so often. */
export function watchInbox(): void {
  overview.subscribe((o) => {
    if (o && counts() !== seen) void look();
  });
  setInterval(() => void look(), lookEvery);
}

export function Notify(): JSX.Element | null {
  if (!can) return null;
  return (
    <button type="button" aria-pressed={on.value} onClick={() => void toggle()}>
      Messages: {on.value ? "on" : "off"}
    </button>
  );
}
