// Inbox: everything that waits for a human.
import type { JSX } from "preact";
import { priorityTone, sentence, words } from "./format";
import type { InboxItem } from "./messages";
import { link } from "./router";
import { Age, Badge } from "./ui";

/** Items lists what waits, a line each. */
export function Items({ items, at }: { items: InboxItem[]; at: number }): JSX.Element {
  return (
    <ul class="items">
      {items.map((i) => (
        <li key={i.key}>
          <a href={link(`/inbox?at=${encodeURIComponent(i.key ?? "")}`)}>
            <Badge tone={priorityTone(i.priority)}>{i.priority}</Badge>
            <b>{i.subject}</b>
            <span class="text">{sentence(i.text)}</span>
            <Age of={i.age} at={at} />
          </a>
        </li>
      ))}
    </ul>
  );
}

export function kindName(i: InboxItem): string {
  return sentence(words(i.kind));
}
