// Mail of a room as conversations.
import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { read } from "./api";
import { Write } from "./compose";
import { clock, plural, priorityTone } from "./format";
import { useLive } from "./live";
import type { ListMailResponse, Mail } from "./messages";
import { Badge, Empty, Wrong } from "./ui";

/** pages is how many pages of mail are read at most, a thousand each. */
const pages = 10;

async function all(room: string, abort: AbortSignal): Promise<Mail[]> {
  let list: Mail[] = [],
    after = "0";
  for (let i = 0; i < pages; i++) {
    const got = await read<ListMailResponse & { more?: boolean; next?: string }>(
      "v1/mail",
      { room, limit: 1000, after },
      abort,
    );
    list = [...list, ...got.mails].slice(-1000);
    if (!got.more || !got.next) break;
    after = got.next;
  }
  return list;
}

/** Letter is one mail, which may be in the mailbox of several agents. */
interface Letter {
  mail: Mail;
  to: string[];
  open: number;
}

export function Conversations({ room }: { room: string }): JSX.Element {
  const list = useLive(
    (abort) => all(room, abort),
    (e) => e.room === room && /^mail\./.test(e.kind ?? ""),
    [room],
    10000,
  );
  const threads = new Map<string, Letter[]>();
  for (const m of list.value ?? []) {
    const id = m.thread && m.thread !== "0" ? m.thread : m.id!;
    const letters = threads.get(id) ?? [];
    const last = letters.at(-1);
    const open = m.state === "acknowledged" ? 0 : 1;
    if (last && last.mail.from === m.from && last.mail.sent_at === m.sent_at && last.mail.subject === m.subject) {
      last.to.push(m.to ?? "");
      last.open += open;
    } else letters.push({ mail: m, to: [m.to ?? ""], open });
    threads.set(id, letters);
  }
  const newest = [...threads].toReversed().slice(0, 50);
  return (
    <>
      <Wrong error={list.error} />
      <Write to={room} then={list.again} />
      {newest.map(([id, letters]) => (
        <Thread key={id} id={id} letters={letters} again={list.again} />
      ))}
      {list.value && newest.length === 0 && <Empty>Nobody has written here yet.</Empty>}
    </>
  );
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
