// Inbox: everything that waits for a human, with the answers.
import type { JSX } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { Answers } from "./answers";
import { read } from "./api";
import { plural, priorityTone, sentence, verdictTone, words } from "./format";
import { useKeys } from "./keys";
import { useLive } from "./live";
import type { Event, InboxItem, ListInboxResponse, Mail, Task } from "./messages";
import { go, link, params } from "./router";
import { Screen } from "./screen";
import { Age, Badge, Empty, Wrong } from "./ui";

/** touchesInbox tells whether an event can change what waits for a human. */
export const touchesInbox = (e: Event): boolean =>
  !/^(agent\.(joined|left)|task\.(created|claimed|started|completed)|order\.)/.test(e.kind ?? "");

const place = (i: InboxItem): string => `/inbox?at=${encodeURIComponent(i.key ?? "")}`;

export function Inbox(): JSX.Element {
  const list = useLive((abort) => read<ListInboxResponse>("v1/inbox", {}, abort), touchesInbox, [], 3000);
  const items = list.value?.items ?? [];
  const wanted = params.value.get("at");
  const wide = useWide();
  // What is shown without being asked for stays until it is gone: something more urgent that comes meanwhile must not
  // get the answer that somebody is about to give to this.
  const first = useRef<string>();
  const at =
    items.find((i) => i.key === wanted) ??
    (wide && !wanted ? (items.find((i) => i.key === first.current) ?? items[0]) : undefined);
  first.current = wanted ? undefined : at?.key;
  const step = (by: number): void => {
    const from = at ? items.indexOf(at) : -1;
    const next = items[Math.min(items.length - 1, Math.max(0, from + by))];
    if (next) go(place(next));
  };
  useKeys({ j: () => step(1), k: () => step(-1), Escape: () => go("/inbox") });
  if (!list.value) return list.error ? <Wrong error={list.error} /> : <Empty>Looking…</Empty>;
  if (items.length === 0) {
    return (
      <div class="calm">
        <p class="sum good">Nothing waits for you.</p>
        <p class="faint">
          Escalations, permission prompts, questions of agents and failed tasks come here, the most urgent
          first.
        </p>
      </div>
    );
  }
  return (
    <div class={at ? "inbox open" : "inbox"}>
      <div class="list">
        <Items items={items} at={list.at} here={at?.key} />
        {list.value.more > 0 && <Empty>{plural(list.value.more, "less urgent thing")} more.</Empty>}
        <p class="hint">
          <kbd>j</kbd> <kbd>k</kbd> to move, the letters on the buttons to answer
        </p>
      </div>
      {at ? (
        <Item key={at.key} i={at} readAt={list.at} again={list.again} />
      ) : (
        wanted && (
          <div class="detail">
            <Empty>This waits no longer.</Empty>
            <a href={link("/inbox")}>Back to the list</a>
          </div>
        )
      )}
    </div>
  );
}

function useWide(): boolean {
  const [wide, set] = useState(() => matchMedia("(min-width: 761px)").matches);
  useEffect(() => {
    const m = matchMedia("(min-width: 761px)");
    const on = (): void => set(m.matches);
    m.addEventListener("change", on);
    return () => m.removeEventListener("change", on);
  }, []);
  return wide;
}

/** Items lists what waits, a line each. */
export function Items({
  items,
  at,
  here,
}: {
  items: InboxItem[];
  at: number;
  here?: string | undefined;
}): JSX.Element {
  return (
    <ul class="items">
      {items.map((i) => (
        <li key={i.key}>
          <a
            href={link(place(i))}
            aria-current={i.key === here ? "true" : undefined}
            class={i.ack_by || !i.lasts ? "old" : ""}
          >
            <Badge tone={priorityTone(i.priority)}>{i.priority}</Badge>
            <b>{i.subject}</b>
            <span class="text">
              {kindName(i)}
              {i.said ? `: ${i.said}` : ""}
            </span>
            <Age of={i.age} at={at} />
          </a>
        </li>
      ))}
    </ul>
  );
}

const kinds: Record<string, string> = {
  prompt: "Waits at a permission prompt",
  permission_prompt: "Waits at a permission prompt",
  needs_input: "Asks for input",
  parked: "Restarts are paused",
  breaker_open: "Restarts are paused",
  task_failed: "Failed",
  task_quarantined: "Quarantined",
  unserved: "Work that nobody takes",
  half_open: "Most tasks fail",
  role_failing: "Most tasks fail",
  limit_lasts: "Waits in vain for its tool",
  mail_unacknowledged: "Mail without an answer",
  agent_stuck: "Is stuck",
  mass_failure: "Many were lost at once",
};

export function kindName(i: InboxItem): string {
  if (i.kind === "task_failed" && i.escalation) return "Tasks of a role failed";
  return kinds[i.kind ?? ""] ?? sentence(words(i.kind));
}

/** Item is one thing, with what led to it and the answers. */
function Item({ i, readAt, again }: { i: InboxItem; readAt: number; again: () => void }): JSX.Element {
  const screen =
    !!i.agent &&
    ["prompt", "permission_prompt", "needs_input", "agent_stuck", "mail_unacknowledged"].includes(
      i.kind ?? "",
    );
  // The last prompt that was shown, also when it has gone: an answer that comes late is for that one, and is refused.
  const [dialog, setDialog] = useState<string>();
  return (
    <article class="detail" id="detail" aria-label={i.subject}>
      <header>
        <a class="back" href={link("/inbox")}>
          ← Inbox
        </a>
        <h2>{kindName(i)}</h2>
        <p class="line">
          <Badge tone={priorityTone(i.priority)}>{i.priority}</Badge>
          {i.agent && (
            <a href={link(`/agent/${i.agent}`)}>
              <b>{i.agent}</b>
            </a>
          )}
          {!i.agent && i.task === undefined && <b>{i.subject}</b>}
          {i.incarnation && <span class="faint">life {i.incarnation}</span>}
          {i.task && <a href={link(`/task/${i.task}`)}>task {i.task}</a>}
          {i.host && <span class="faint">on {i.host}</span>}
          {i.age && (
            <span class="faint">
              for <Age of={i.age} at={readAt} />
            </span>
          )}
          {i.verdict && <Badge tone={verdictTone(i.verdict)}>{words(i.verdict)}</Badge>}
        </p>
      </header>
      <p>
        {sentence(i.text)}.{Number(i.count ?? 0) > 1 && <span class="faint"> {i.count} times.</span>}
      </p>
      {i.said && i.kind !== "task_failed" && (
        <blockquote class="words" aria-label="In its own words">
          {i.said}
        </blockquote>
      )}
      {!i.lasts && <p class="faint">It is over by itself and waits only to be closed.</p>}
      {i.ack_by && <p class="faint">{i.ack_by} looks after it.</p>}
      {i.reasons.length > 0 && (
        <ul class="reasons">
          {i.reasons.map((r) => (
            <li key={r.text} class="bad">
              {sentence(r.text)}
            </li>
          ))}
        </ul>
      )}
      {i.mail && <MailText id={i.mail} />}
      {i.task && <TaskText id={i.task} />}
      {screen && <Screen agent={i.agent!} seen={(d) => d && setDialog(d)} />}
      <Answers i={i} again={again} dialog={dialog} />
      {i.done && <p class="faint note">vigil: {i.done}.</p>}
    </article>
  );
}

function MailText({ id }: { id: string }): JSX.Element {
  const mail = useLive(
    (abort) => read<Mail>(`v1/mail/${id}`, {}, abort),
    () => false,
    [id],
  );
  if (!mail.value) return <Wrong error={mail.error} />;
  return (
    <blockquote class="words" aria-label="The mail">
      <b>
        {mail.value.from}: {mail.value.subject}
      </b>
      {"\n"}
      {mail.value.body}
    </blockquote>
  );
}

function TaskText({ id }: { id: string }): JSX.Element {
  const task = useLive(
    (abort) => read<Task>(`v1/tasks/${id}`, {}, abort),
    (e) => e.task === id,
    [id],
  );
  if (!task.value) return <Wrong error={task.error} />;
  const t = task.value,
    failed = t.failed.at(-1);
  return (
    <div class="about">
      <p>
        <b>{t.title || `Task ${t.id}`}</b> <span class="faint">attempt {t.attempt}</span>
      </p>
      {failed && (
        <blockquote class="words" aria-label="Why it failed">
          {failed.reason}
        </blockquote>
      )}
      {!failed && (t.result || t.note) && (
        <blockquote class="words" aria-label="What was said last">
          {t.result || t.note}
        </blockquote>
      )}
    </div>
  );
}
