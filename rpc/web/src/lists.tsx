// Lists: agents, tasks, events.
import type { JSX } from "preact";
import { read } from "./api";
import { count, taskTone, verdicts, verdictTone, words } from "./format";
import { useLive } from "./live";
import type { Agent, ListAgentsResponse, ListTasksResponse, Task } from "./messages";
import { link, params } from "./router";
import { Age, Badge, Card, Empty, Wrong } from "./ui";

/** page is how many rows a list asks for at once. */
export const page = 200;

export function AgentRows({ list, at }: { list: Agent[]; at: number }): JSX.Element {
  return (
    <table class="list">
      <thead>
        <tr>
          <th scope="col">Agent</th>
          <th scope="col">Verdict</th>
          <th scope="col">Task</th>
          <th scope="col">Host</th>
          <th scope="col" class="n">
            Up
          </th>
          <th scope="col">Why</th>
        </tr>
      </thead>
      <tbody>
        {list.map((a) => (
          <tr key={a.name}>
            <td>
              <a href={link(`/agent/${a.name}`)}>
                <b>{a.name}</b>
              </a>
              {a.incarnation && <span class="faint"> #{a.incarnation}</span>}
            </td>
            <td>
              <Badge tone={verdictTone(a.verdict?.kind)}>{words(a.verdict?.kind)}</Badge>
            </td>
            <td data-of="task">
              {a.task && a.task !== "0" ? (
                <a href={link(`/task/${a.task}`)}>{a.task}</a>
              ) : (
                <span class="faint">–</span>
              )}
            </td>
            <td data-of="on">{a.host || <span class="faint">–</span>}</td>
            <td class="n" data-of="up">
              <Age of={a.up} at={at} />
            </td>
            <td class="text">{a.why}</td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}

export function Agents(): JSX.Element {
  const verdict = params.value.get("verdict") ?? "",
    room = params.value.get("room") ?? "";
  const list = useLive(
    (abort) => read<ListAgentsResponse>("v1/agents", { room, limit: 1000 }, abort),
    (e) => /^(agent|host|room)\./.test(e.kind ?? ""),
    [room],
    5000,
  );
  const all = list.value?.agents ?? [];
  const shown = verdict ? all.filter((a) => a.verdict?.kind === verdict) : all;
  return (
    <Card>
      <div class="filters" role="group" aria-label="Only these">
        <Choice label="all" on={!verdict} to={`/agents?room=${room}`} />
        {verdicts
          .filter((v) => v === verdict || all.some((a) => a.verdict?.kind === v))
          .map((v) => (
            <Choice key={v} label={words(v)} on={v === verdict} to={`/agents?verdict=${v}&room=${room}`} />
          ))}
      </div>
      <Wrong error={list.error} />
      <AgentRows list={shown.slice(0, page)} at={list.at} />
      {list.value && shown.length === 0 && <Empty>No agent is like that.</Empty>}
      {(shown.length > page || list.value?.more) && (
        <Empty>{count(page)} are shown of more; choose a room or a verdict.</Empty>
      )}
    </Card>
  );
}

function Choice({ label, on, to }: { label: string; on: boolean; to: string }): JSX.Element {
  return (
    <a href={link(to)} class={on ? "choice on" : "choice"} aria-current={on ? "true" : undefined}>
      {label}
    </a>
  );
}

export function TaskRows({ list, at }: { list: Task[]; at: number }): JSX.Element {
  return (
    <table class="list">
      <thead>
        <tr>
          <th scope="col" class="n">
            Task
          </th>
          <th scope="col">State</th>
          <th scope="col">Title</th>
          <th scope="col">Role</th>
          <th scope="col">Holder</th>
          <th scope="col" class="n">
            Since
          </th>
        </tr>
      </thead>
      <tbody>
        {list.map((t) => (
          <tr key={t.id}>
            <td class="n">
              <a href={link(`/task/${t.id}`)}>{t.id}</a>
            </td>
            <td>
              <Badge tone={taskTone(t.state)}>{words(t.state)}</Badge>
            </td>
            <td class="text">
              <a href={link(`/task/${t.id}`)}>{t.title || "–"}</a>
            </td>
            <td data-of="for">
              {t.room}/{t.role}
            </td>
            <td data-of="by">
              {t.holder ? <a href={link(`/agent/${t.holder}`)}>{t.holder}</a> : <span class="faint">–</span>}
            </td>
            <td class="n">
              <Age of={t.in_state} at={at} />
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}

/** states in the order of how much they want to be seen. */
export const states = [
  "PENDING",
  "QUEUED",
  "ACKNOWLEDGED",
  "IN_PROGRESS",
  "COMPLETED",
  "FAILED",
  "QUARANTINED",
  "CANCELED",
];

export function Tasks(): JSX.Element {
  const state = params.value.get("state") ?? "",
    room = params.value.get("room") ?? "";
  const list = useLive(
    (abort) =>
      read<ListTasksResponse>(
        "v1/tasks",
        { room, states: state ? [state] : [], newest_first: true, limit: page },
        abort,
      ),
    (e) => /^(task|room)\./.test(e.kind ?? ""),
    [state, room],
  );
  return (
    <Card>
      <div class="filters" role="group" aria-label="Only these">
        <Choice label="all" on={!state} to={`/tasks?room=${room}`} />
        {states.map((s) => (
          <Choice key={s} label={words(s)} on={s === state} to={`/tasks?state=${s}&room=${room}`} />
        ))}
        <a class="choice new" href={link("/new-task")}>
          New task
        </a>
      </div>
      <Wrong error={list.error} />
      {list.value && <TaskRows list={list.value.tasks} at={list.at} />}
      {list.value?.tasks.length === 0 && <Empty>No task is like that.</Empty>}
      {list.value?.more && <Empty>These are the newest {count(page)}.</Empty>}
    </Card>
  );
}
