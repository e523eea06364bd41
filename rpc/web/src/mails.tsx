// Mail of a room or an agent as conversations.
import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { read } from "./api";
import { Write } from "./compose";
import { clock, plural, priorityTone } from "./format";
import { useLive } from "./live";
import type { ListMailResponse, Mail } from "./messages";
import { More, usePages } from "./pages";
import { Badge, Empty, Wrong } from "./ui";

/** Letter is one mail, which may be in the mailbox of several agents. */
interface Letter {
  mail: Mail;
  to: string[];
  open: number;
}

/** Conversations are those of a room, or of the mailbox of an agent: the one with the newest mail first. */
export function Conversations({ room = "", agent = "" }: { room?: string; agent?: string }): JSX.Element {
  const list = usePages(
    (after, limit, abort) =>
      read<ListMailResponse>("v1/mail", { room, agent, newest_first: true, limit, after }, abort),
    (r) => r.mails,
    (e) => (agent ? e.agent === agent : e.room === room) && /^mail\./.test(e.kind ?? ""),
    [room, agent],
    10000,
  );
  const threads = new Map<string, Mail[]>();
  for (const m of list.value?.list ?? []) {
    const id = m.thread && m.thread !== "0" ? m.thread : m.id!;
    threads.set(id, [...(threads.get(id) ?? []), m]);
  }
  return (
    <>
      <Wrong error={list.error} />
      <Write to={room || (agent.includes(".") ? agent : `${agent}.1`)} then={list.again} />
      {[...threads].map(([id, mails]) => (
        <Thread key={id} id={id} letters={lettersOf(mails.toReversed())} again={list.again} />
      ))}
      {list.value?.list.length === 0 && !list.value.next && (
        <Empty>{room ? "Nobody has written here yet." : "Its mailbox is empty."}</Empty>
      )}
      <More of={list} older />
    </>
  );
}

/** lettersOf joins the copies of one mail for several agents. */
function lettersOf(mails: Mail[]): Letter[] {
  const letters: Letter[] = [];
  for (const m of mails) {
    const last = letters.at(-1);
    const open = m.state === "acknowledged" ? 0 : 1;
    if (last && last.mail.from === m.from && last.mail.sent_at === m.sent_at && last.mail.subject === m.subject) {
      last.to.push(m.to ?? "");
      last.open += open;
    } else letters.push({ mail: m, to: [m.to ?? ""], open });
  }
  return letters;
}

function Thread({ id, letters, again }: { id: string; letters: Letter[]; again: () => void }): JSX.Element {
  const [open, set] = useState(false);
  const first = letters[0]!,
    waits = letters.reduce((n, l) => n + l.open, 0);
  const to = letters.at(-1)!.mail.from ?? "";
  return (
    <details class="thread" onToggle={(e) => set(e.currentTarget.open)}>
      <summary>
        <time class="num faint">{clock(letters.at(-1)!.mail.sent_at)}</time>
        <b>{first.mail.subject || "(no subject)"}</b>
        <span class="faint">
          {first.mail.from} to {first.to.length > 3 ? plural(first.to.length, "agent") : first.to.join(", ")}
          {letters.length > 1 && `, ${plural(letters.length - 1, "answer")}`}
        </span>
        <Badge tone={waits > 0 ? "warn" : "good"}>{waits > 0 ? `${waits} not read` : "read"}</Badge>
      </summary>
      {open && (
        <>
          <ol class="talk">
            {letters.map((l) => (
              <Body key={l.mail.id} l={l} />
            ))}
          </ol>
          <Write
            to={to.includes("/") ? to : (first.to[0] ?? "")}
            thread={id}
            subject={/^re: /i.test(first.mail.subject ?? "") ? first.mail.subject! : `Re: ${first.mail.subject}`}
            then={again}
          />
        </>
      )}
    </details>
  );
}

function Body({ l }: { l: Letter }): JSX.Element {
  const mail = useLive(
    (abort) => read<Mail>(`v1/mail/${l.mail.id}`, {}, abort),
    () => false,
    [l.mail.id],
  );
  return (
    <li>
      <p class="line">
        <b>{l.mail.from}</b>
        <span class="faint">
          to {l.to.join(", ")}, {clock(l.mail.sent_at)}
        </span>
        {l.mail.priority !== "normal" && (
          <Badge tone={priorityTone(l.mail.priority)}>{l.mail.priority}</Badge>
        )}
      </p>
      <Wrong error={mail.error} />
      <div class="words">{mail.value?.body}</div>
    </li>
  );
}
