// Events, a line each.
import type { JSX } from "preact";
import { clock, eventTone } from "./format";
import type { Event } from "./messages";
import { link } from "./router";

export function Feed({ list, here = "" }: { list: Event[]; here?: string }): JSX.Element {
  return (
    <ol class="feed">
      {list.map((e) => (
        <li
          key={e.seq}
          class={e.seq === here ? "here" : ""}
          aria-current={e.seq === here ? "true" : undefined}
        >
          <time class="num">{clock(e.at)}</time>
          <span class={`kind ${eventTone(e.kind ?? "")}`}>{e.kind}</span>
          <span class="who">
            <Subject e={e} />
          </span>
          <span class="text">{e.text}</span>
        </li>
      ))}
    </ol>
  );
}

function Subject({ e }: { e: Event }): JSX.Element {
  return (
    <>
      {e.agent && (
        <a href={link(`/agent/${e.agent}`)}>
          {e.agent}
          {e.incarnation && <span class="faint">#{e.incarnation}</span>}
        </a>
      )}
      {e.task && <a href={link(`/task/${e.task}`)}>task {e.task}</a>}
      {!e.agent &&
        !e.task &&
        (e.host ? (
          <a href={link(`/host/${e.host}`)}>{e.host}</a>
        ) : (
          e.room && <a href={link(`/room/${e.room}`)}>{e.room}</a>
        ))}
    </>
  );
}
