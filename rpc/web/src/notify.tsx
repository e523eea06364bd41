// Messages of the browser about what waits for a human, where the person allows them.
import { signal } from "@preact/signals";
import type { JSX } from "preact";
import { read } from "./api";
import { kindName } from "./inbox";
import type { ListInboxResponse } from "./messages";
import { go } from "./router";
import { overview } from "./stream";
import { say } from "./ui";

const kept = "vigil-notify";
const can = typeof Notification !== "undefined" && isSecureContext;
const on = signal(can && localStorage.getItem(kept) === "on" && Notification.permission === "granted");

async function toggle(): Promise<void> {
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
}

/** known are the keys of what waited when it was looked at last; undefined: nobody has looked yet. */
let known: Set<string> | undefined,
  looking = false;

async function look(): Promise<void> {
  if (looking) return;
  looking = true;
  try {
    const items = (await read<ListInboxResponse>("v1/inbox", { limit: 50 })).items;
    const fresh = known ? items.filter((i) => !known!.has(i.key ?? "") && i.lasts && !i.ack_by) : [];
    known = new Set(items.map((i) => i.key ?? ""));
    if (!on.value || document.hasFocus()) return;
    for (const i of fresh.slice(0, 3)) {
      // Names and fixed words only: what an agent has written stays on the page.
      const n = new Notification(`${kindName(i)}: ${i.subject}`, { body: i.text ?? "", tag: i.key ?? "" });
      n.onclick = () => (focus(), go(`/inbox?at=${encodeURIComponent(i.key ?? "")}`), n.close());
    }
  } catch {
    // without an answer there is nothing to say, and the page itself says that
  } finally {
    looking = false;
  }
}

/** watchInbox looks at what waits whenever there is more or less of it. */
export function watchInbox(): void {
  let was = "";
  overview.subscribe((o) => {
    const now = JSON.stringify(o?.inbox ?? {});
    if (o && now !== was) {
      was = now;
      void look();
    }
  });
}

export function Notify(): JSX.Element | null {
  if (!can) return null;
  return (
    <button type="button" aria-pressed={on.value} onClick={() => void toggle()}>
      Messages: {on.value ? "on" : "off"}
    </button>
  );
}
