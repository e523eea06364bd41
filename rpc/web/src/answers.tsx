// The answers to what waits for a human.
import type { JSX } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { agentActions } from "./actions";
import { agentPath, once, post } from "./api";
import { useKeys } from "./keys";
import type { InboxItem } from "./messages";
import { Act, attempt } from "./ui";

/** Answers are what a human can do about an item. */
export function Answers({
  i,
  again,
  dialog,
}: {
  i: InboxItem;
  again: () => void;
  dialog: string | undefined; // what stands on the screen beside them
}): JSX.Element {
  const escalation = `v1/escalations/${i.escalation}`,
    task = `v1/tasks/${i.task}`;
  const ofAgent = i.agent
    ? agentActions({ name: i.agent, life: i.incarnation ?? "", rev: i.agent_rev ?? "0", task: i.task })
    : undefined;
  const one = (name: string): JSX.Element | null => {
    switch (name) {
      case "answer":
        return i.agent ? <Answer key={name} i={i} again={again} dialog={dialog} /> : null;
      case "nudge":
        return i.agent ? <Answer key={name} i={i} again={again} nudge /> : null;
      case "mail":
        return i.agent ? <Reply key={name} i={i} again={again} /> : null;
      case "restart":
        return ofAgent ? <Act key={name} {...ofAgent.restart} keys="r" then={again} /> : null;
      case "stop":
        return ofAgent ? <Act key={name} {...ofAgent.stop} keys="s" then={again} /> : null;
      case "unpark":
        return ofAgent ? <Act key={name} {...ofAgent.unpark} keys="u" kind="primary" then={again} /> : null;
      case "ack":
        return (
          <Act
            key={name}
            label="I look after it"
            keys="e"
            done="It is yours; nobody is told of it again."
            go={() => post(`${escalation}:ack`)}
            then={again}
          />
        );
      case "close":
        return (
          <Act
            key={name}
            label="Close"
            keys="c"
            done="Closed."
            go={() => post(`${escalation}:close`)}
            then={again}
          />
        );
      case "retry":
        return (
          <Act
            key={name}
            label="Try again"
            keys="t"
            kind="primary"
            done="The task is in the queue again."
            go={() => post(`${task}:retry`, { if_rev: i.task_rev })}
            then={again}
          />
        );
      case "unquarantine":
        return (
          <Act
            key={name}
            label="Release"
            keys="t"
            kind="primary"
            done="The task is in the queue again."
            of={i.task_rev}
            sure={`Task ${i.task} goes back into the queue; what counted against it is forgotten.`}
            go={() => post(`${task}:unquarantine`, { if_rev: i.task_rev })}
            then={again}
          />
        );
      case "cancel":
        return (
          <Act
            key={name}
            label="Cancel the task"
            keys="x"
            kind="danger"
            done="The task is canceled."
            of={i.task_rev}
            sure={`Task ${i.task} ends for good.`}
            go={() => post(`${task}:cancel`, { if_rev: i.task_rev })}
            then={again}
          />
        );
      case "release_brake":
        return (
          <Act
            key={name}
            label="Release the brake"
            keys="b"
            kind="primary"
            done="The brake is released."
            sure="Agents of lost hosts are started elsewhere at once."
            go={() => post("v1/brake:release")}
            then={again}
          />
        );
      case "lift":
        return (
          <Act
            key={name}
            label="Lift the budget"
            keys="l"
            done="It goes on beyond its budget."
            sure={`${i.role ? `Role ${i.role} and its agents go` : `Room ${i.room} goes`} on beyond the budget for 25 hours.`}
            go={() => post(`v1/rooms/${i.room}:liftBudget`, { role: i.role })}
            then={again}
          />
        );
      case "reopen":
        return (
          <Act
            key={name}
            label="Reopen the room"
            keys="o"
            kind="primary"
            done="The room is open again."
            go={() => post(`v1/rooms/${i.room}:reopen`)}
            then={again}
          />
        );
      case "confirm_dead":
        return i.host ? (
          <Act
            key={name}
            label="The host is dead"
            keys="d"
            kind="danger"
            done="Its agents are started elsewhere."
            sure={`You vouch that nothing of ${i.host} runs any more. If it does, two lives run at once.`}
            go={() => post(`v1/hosts/${encodeURIComponent(i.host!)}:confirm-dead`)}
            then={again}
          />
        ) : null;
    }
    return null;
  };
  const typed = i.actions.filter((a) => ["answer", "nudge", "mail"].includes(a));
  const pressed = i.actions.filter((a) => !typed.includes(a));
  return (
    <div class="answers">
      {typed.map(one)}
      <div class="buttons">{pressed.map(one)}</div>
    </div>
  );
}

/** readFor is for how long a prompt that has taken the place of another one takes no answer, in milliseconds. */
const readFor = 800;

/** useNew tells for a moment that another prompt has come: who presses then means the one that was there before. */
function useNew(dialog: string | undefined): boolean {
  const [fresh, set] = useState(false);
  const before = useRef(dialog);
  useEffect(() => {
    const was = before.current;
    before.current = dialog;
    if (!was || was === dialog) return;
    set(true);
    const timer = setTimeout(() => set(false), readFor);
    return () => (clearTimeout(timer), set(false));
  }, [dialog]);
  return fresh;
}

/** Answer types a line into the agent's terminal. */
function Answer({
  i,
  again,
  nudge,
  dialog,
}: {
  i: InboxItem;
  again: () => void;
  nudge?: boolean;
  dialog?: string | undefined;
}): JSX.Element {
  const [text, set] = useState("");
  const [sending, setBusy] = useState(false);
  const field = useRef<HTMLInputElement>(null);
  const prompt = i.kind === "prompt" || i.kind === "permission_prompt";
  const fresh = useNew(dialog);
  const busy = sending || fresh || (prompt && !nudge && !dialog); // nobody answers what was not shown
  useKeys({ a: () => field.current?.focus() });
  const send = async (line: string): Promise<void> => {
    setBusy(true);
    const ok = await attempt(`Typed to ${i.agent}.`, () =>
      post(`${agentPath(i.agent!)}:nudge`, {
        text: line,
        reason: "answered on the page",
        if_rev: i.agent_rev,
        answer: prompt && !nudge, // a question in words has no prompt that keys could choose from
        if_dialog: prompt && !nudge ? dialog : undefined, // an answer is for the prompt that was shown
      }),
    );
    setBusy(false);
    if (ok) set("");
    again(); // after a refusal too: what is shown is old then
  };
  return (
    <form class="answer" onSubmit={(e) => (e.preventDefault(), text && !busy && void send(text))}>
      {prompt && (
        <div class="quick" role="group" aria-label="Usual answers">
          {["1", "2", "3", "y", "n"].map((a) => (
            <button key={a} type="button" disabled={busy} onClick={() => void send(a)}>
              {a}
            </button>
          ))}
          <button type="button" disabled={busy} title="Press Enter alone" onClick={() => void send("")}>
            ⏎
          </button>
        </div>
      )}
      <label>
        <span class="hidden">{nudge ? "Words for the agent" : "Answer"}</span>
        <input
          ref={field}
          value={text}
          disabled={sending}
          maxLength={4000}
          autocomplete="off"
          data-key="a"
          aria-keyshortcuts="a"
          placeholder={nudge ? "Type something into its terminal" : "Type an answer into its terminal"}
          onInput={(e) => set(e.currentTarget.value)}
        />
      </label>
      <button type="submit" class="primary" disabled={busy || !text}>
        {nudge ? "Type" : "Answer"}
      </button>
    </form>
  );
}

/** Reply sends a mail. */
function Reply({ i, again }: { i: InboxItem; again: () => void }): JSX.Element {
  const [text, set] = useState("");
  const [busy, setBusy] = useState(false);
  const send = async (): Promise<void> => {
    setBusy(true);
    if (
      await attempt(`Mail is on its way to ${i.agent}.`, () =>
        once("v1/mail", {
          to: i.agent!.includes(".") ? i.agent : i.agent + ".1",
          subject: "Answer",
          body: text,
          priority: "high",
        }),
      )
    ) {
      set("");
      again();
    }
    setBusy(false);
  };
  return (
    <form class="answer" onSubmit={(e) => (e.preventDefault(), void send())}>
      <label>
        <span class="hidden">Answer by mail</span>
        <input
          value={text}
          disabled={busy}
          maxLength={8000}
          placeholder="Or answer by mail"
          onInput={(e) => set(e.currentTarget.value)}
        />
      </label>
      <button type="submit" disabled={busy || !text}>
        Mail
      </button>
    </form>
  );
}
