// Inbox: everything that waits for a human, with the answers.
import type { JSX } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { agentActions } from "./actions";
import { agentPath, post, read } from "./api";
import { plural, priorityTone, sentence, verdictTone, words } from "./format";
import { useKeys } from "./keys";
import { useLive } from "./live";
import type { Event, InboxItem, ListInboxResponse, Mail, Task } from "./messages";
import { go, link, params } from "./router";
import { Screen } from "./screen";
import { Act, Age, Badge, Empty, Wrong, attempt } from "./ui";

/** touchesInbox tells whether an event can change what waits for a human. */
export const touchesInbox = (e: Event): boolean => !/^(agent\.(joined|left)|task\.(created|claimed|started|completed)|order\.)/.test(e.kind ?? "");

const place = (i: InboxItem): string => `/inbox?at=${encodeURIComponent(i.key ?? "")}`;

export function Inbox(): JSX.Element {
  const list = useLive((abort) => read<ListInboxResponse>("v1/inbox", {}, abort), touchesInbox, [], 3000);
  const items = list.value?.items ?? [];
  const wanted = params.value.get("at");
  const wide = useWide();
  const at = items.find((i) => i.key === wanted) ?? (wide && !wanted ? items[0] : undefined);
  const step = (by: number): void => {
    const from = at ? items.indexOf(at) : -1;
    const next = items[Math.min(items.length - 1, Math.max(0, from + by))];
    if (next) go(place(next));
  };
  useKeys({ j: () => step(1), k: () => step(-1), Escape: () => go("/inbox") });
  if (!list.value) return list.error ? <Wrong error={list.error} /> : <Empty>Looking…</Empty>;
  if (items.length === 0) {
    return <div class="calm"><p class="sum good">Nothing waits for you.</p>
      <p class="faint">Escalations, permission prompts, questions of agents and failed tasks come here, the most urgent first.</p></div>;
  }
  return (
    <div class={at ? "inbox open" : "inbox"}>
      <div class="list">
        <Items items={items} at={list.at} here={at?.key} />
        {list.value.more > 0 && <Empty>{plural(list.value.more, "less urgent thing")} more.</Empty>}
        <p class="hint"><kbd>j</kbd> <kbd>k</kbd> to move, the letters on the buttons to answer</p>
      </div>
      {at ? <Item key={at.key} i={at} readAt={list.at} again={list.again} /> :
        wanted && <div class="detail"><Empty>This waits no longer.</Empty><a href={link("/inbox")}>Back to the list</a></div>}
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
export function Items({ items, at, here }: { items: InboxItem[]; at: number; here?: string | undefined }): JSX.Element {
  return (
    <ul class="items">
      {items.map((i) => (
        <li key={i.key}>
          <a href={link(place(i))} aria-current={i.key === here ? "true" : undefined} class={i.ack_by || !i.lasts ? "old" : ""}>
            <Badge tone={priorityTone(i.priority)}>{i.priority}</Badge>
            <b>{i.subject}</b>
            <span class="text">{kindName(i)}{i.said ? `: ${i.said}` : ""}</span>
            <Age of={i.age} at={at} />
          </a>
        </li>
      ))}
    </ul>
  );
}

const kinds: Record<string, string> = {
  prompt: "Waits at a permission prompt", permission_prompt: "Waits at a permission prompt", needs_input: "Asks for input",
  parked: "Restarts are paused", breaker_open: "Restarts are paused", task_failed: "Failed", task_quarantined: "Quarantined",
  unserved: "Work that nobody takes", half_open: "Most tasks fail", role_failing: "Most tasks fail",
  mail_unacknowledged: "Mail without an answer", agent_stuck: "Is stuck", mass_failure: "Many were lost at once",
};

export function kindName(i: InboxItem): string {
  return kinds[i.kind ?? ""] ?? sentence(words(i.kind));
}

/** Item is one thing, with what led to it and the answers. */
function Item({ i, readAt, again }: { i: InboxItem; readAt: number; again: () => void }): JSX.Element {
  const screen = !!i.agent && ["prompt", "permission_prompt", "needs_input", "agent_stuck", "mail_unacknowledged"].includes(i.kind ?? "");
  return (
    <article class="detail" id="detail" aria-label={i.subject}>
      <header>
        <a class="back" href={link("/inbox")}>← Inbox</a>
        <h2>{kindName(i)}</h2>
        <p class="line">
          <Badge tone={priorityTone(i.priority)}>{i.priority}</Badge>
          {i.agent && <a href={link(`/agent/${i.agent}`)}><b>{i.agent}</b></a>}
          {!i.agent && i.task === undefined && <b>{i.subject}</b>}
          {i.incarnation && <span class="faint">life {i.incarnation}</span>}
          {i.task && <a href={link(`/task/${i.task}`)}>task {i.task}</a>}
          {i.host && <span class="faint">on {i.host}</span>}
          <span class="faint">for <Age of={i.age} at={readAt} /></span>
          {i.verdict && <Badge tone={verdictTone(i.verdict)}>{words(i.verdict)}</Badge>}
        </p>
      </header>
      <p>{sentence(i.text)}.{Number(i.count ?? 0) > 1 && <span class="faint"> {i.count} times.</span>}</p>
      {i.said && i.kind !== "task_failed" && <blockquote class="words" aria-label="In its own words">{i.said}</blockquote>}
      {!i.lasts && <p class="faint">It is over by itself and waits only to be closed.</p>}
      {i.ack_by && <p class="faint">{i.ack_by} looks after it.</p>}
      {i.reasons.length > 0 && (
        <ul class="reasons">{i.reasons.map((r) => <li key={r.text} class="bad">{sentence(r.text)}{r.age && <span class="faint"> for <Age of={r.age} at={readAt} /></span>}</li>)}</ul>
      )}
      {i.mail && <MailText id={i.mail} />}
      {i.task && <TaskText id={i.task} />}
      {screen && <Screen agent={i.agent!} />}
      <Answers i={i} again={again} />
      {i.done && <p class="faint note">vigil: {i.done}.</p>}
    </article>
  );
}

function MailText({ id }: { id: string }): JSX.Element {
  const mail = useLive((abort) => read<Mail>(`v1/mail/${id}`, {}, abort), () => false, [id]);
  if (!mail.value) return <Wrong error={mail.error} />;
  return <blockquote class="words" aria-label="The mail"><b>{mail.value.from}: {mail.value.subject}</b>{"\n"}{mail.value.body}</blockquote>;
}

function TaskText({ id }: { id: string }): JSX.Element {
  const task = useLive((abort) => read<Task>(`v1/tasks/${id}`, {}, abort), (e) => e.task === id, [id]);
  if (!task.value) return <Wrong error={task.error} />;
  const t = task.value, failed = t.failed.at(-1);
  return (
    <div class="about">
      <p><b>{t.title || `Task ${t.id}`}</b> <span class="faint">attempt {t.attempt}</span></p>
      {failed && <blockquote class="words" aria-label="Why it failed">{failed.reason}</blockquote>}
      {!failed && (t.result || t.note) && <blockquote class="words" aria-label="What was said last">{t.result || t.note}</blockquote>}
    </div>
  );
}

/** Answers are what a human can do about an item. */
function Answers({ i, again }: { i: InboxItem; again: () => void }): JSX.Element {
  const escalation = `v1/escalations/${i.escalation}`, task = `v1/tasks/${i.task}`;
  const ofAgent = i.agent ? agentActions({ name: i.agent, life: i.incarnation ?? "", rev: i.agent_rev ?? "0", task: i.task }) : undefined;
  const one = (name: string): JSX.Element | null => {
    switch (name) {
      case "answer": return i.agent ? <Answer key={name} i={i} again={again} /> : null;
      case "nudge": return i.agent ? <Answer key={name} i={i} again={again} nudge /> : null;
      case "mail": return i.agent ? <Reply key={name} i={i} again={again} /> : null;
      case "restart": return ofAgent ? <Act key={name} {...ofAgent.restart} keys="r" then={again} /> : null;
      case "stop": return ofAgent ? <Act key={name} {...ofAgent.stop} keys="s" then={again} /> : null;
      case "unpark": return ofAgent ? <Act key={name} {...ofAgent.unpark} keys="u" kind="primary" then={again} /> : null;
      case "ack": return <Act key={name} label="I look after it" keys="e" done="It is yours; nobody is told of it again." go={() => post(`${escalation}:ack`)} then={again} />;
      case "close": return <Act key={name} label="Close" keys="c" done="Closed." go={() => post(`${escalation}:close`)} then={again} />;
      case "retry": return <Act key={name} label="Try again" keys="t" kind="primary" done="The task is in the queue again." go={() => post(`${task}:retry`, { if_rev: i.task_rev })} then={again} />;
      case "unquarantine": return <Act key={name} label="Release" keys="t" kind="primary" done="The task is in the queue again." sure={`Task ${i.task} goes back into the queue, its deaths forgiven.`} go={() => post(`${task}:unquarantine`, { if_rev: i.task_rev })} then={again} />;
      case "cancel": return <Act key={name} label="Cancel the task" keys="x" kind="danger" done="The task is canceled." sure={`Task ${i.task} ends for good.`} go={() => post(`${task}:cancel`, { if_rev: i.task_rev })} then={again} />;
      case "release_brake": return <Act key={name} label="Release the brake" keys="b" kind="primary" done="The brake is released." sure="Agents of lost hosts are started elsewhere at once." go={() => post("v1/brake:release")} then={again} />;
      case "reopen": return <Act key={name} label="Reopen the room" keys="o" kind="primary" done="The room is open again." go={() => post(`v1/rooms/${i.room}:reopen`)} then={again} />;
      case "confirm_dead": return i.host ? <Act key={name} label="The host is dead" keys="d" kind="danger" done="Its agents are started elsewhere." sure={`You vouch that nothing of ${i.host} runs any more. If it does, two lives run at once.`} go={() => post(`v1/hosts/${encodeURIComponent(i.host!)}:confirm-dead`)} then={again} /> : null;
    }
    return null;
  };
  const typed = i.actions.filter((a) => ["answer", "nudge", "mail"].includes(a));
  const pressed = i.actions.filter((a) => !typed.includes(a));
  return <div class="answers">{typed.map(one)}<div class="buttons">{pressed.map(one)}</div></div>;
}

/** Answer types a line into the agent's terminal. */
function Answer({ i, again, nudge }: { i: InboxItem; again: () => void; nudge?: boolean }): JSX.Element {
  const [text, set] = useState("");
  const [busy, setBusy] = useState(false);
  const field = useRef<HTMLInputElement>(null);
  const prompt = i.kind === "prompt" || i.kind === "permission_prompt";
  useKeys({ a: () => field.current?.focus() });
  const send = async (line: string): Promise<void> => {
    if (!line) return;
    setBusy(true);
    const ok = await attempt(`Typed to ${i.agent}.`, () => post(`${agentPath(i.agent!)}:nudge`,
      { text: line, reason: "answered on the page", if_rev: i.agent_rev }));
    setBusy(false);
    if (ok) {
      set("");
      again();
    }
  };
  return (
    <form class="answer" onSubmit={(e) => (e.preventDefault(), void send(text))}>
      {prompt && (
        <div class="quick" role="group" aria-label="Usual answers">
          {["1", "2", "3", "y", "n"].map((a) => <button key={a} type="button" disabled={busy} onClick={() => void send(a)}>{a}</button>)}
        </div>
      )}
      <label>
        <span class="hidden">{nudge ? "Words for the agent" : "Answer"}</span>
        <input ref={field} value={text} disabled={busy} maxLength={4000} autocomplete="off" data-key="a" aria-keyshortcuts="a"
          placeholder={nudge ? "Type something into its terminal" : "Type an answer into its terminal"} onInput={(e) => set(e.currentTarget.value)} />
      </label>
      <button type="submit" class="primary" disabled={busy || !text}>{nudge ? "Type" : "Answer"}</button>
    </form>
  );
}

/** Reply sends a mail. */
function Reply({ i, again }: { i: InboxItem; again: () => void }): JSX.Element {
  const [text, set] = useState("");
  const [busy, setBusy] = useState(false);
  const send = async (): Promise<void> => {
    setBusy(true);
    if (await attempt(`Mail is on its way to ${i.agent}.`, () => post("v1/mail",
      { to: i.agent!.includes(".") ? i.agent : i.agent + ".1", subject: "Answer", body: text, priority: "high" }))) {
      set("");
      again();
    }
    setBusy(false);
  };
  return (
    <form class="answer" onSubmit={(e) => (e.preventDefault(), void send())}>
      <label>
        <span class="hidden">Answer by mail</span>
        <input value={text} disabled={busy} maxLength={8000} placeholder="Or answer by mail" onInput={(e) => set(e.currentTarget.value)} />
      </label>
      <button type="submit" disabled={busy || !text}>Mail</button>
    </form>
  );
}
