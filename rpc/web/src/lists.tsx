// Lists: agents, tasks, events.
import type { JSX } from "preact";
import { read } from "./api";
import { count, taskTone, verdicts, verdictTone, words } from "./format";
import { useLive } from "./live";
import type { Agent, ListAgentsResponse, ListTasksResponse, Overview, Task } from "./messages";
import { Behind, More, usePages } from "./pages";
import { link, params } from "./router";
import { Age, Badge, Card, Empty, Wrong } from "./ui";

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
            <td data-of="on">
              {a.host ? <a href={link(`/host/${a.host}`)}>{a.host}</a> : <span class="faint">–</span>}
            </td>
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
    room = params.value.get("room") ?? "",
    after = params.value.get("after") ?? "";
  const list = usePages(
    (at, limit, abort) =>
      read<ListAgentsResponse>("v1/agents", { room, verdicts: verdict ? [verdict] : [], limit, after: at }, abort),
    (r) => r.agents,
    (e) => /^(agent|host|room)\./.test(e.kind ?? ""),
    [room, verdict],
    5000,
    after,
  );
  const sums = useLive(
    (abort) => read<Overview>("v1/overview", { room }, abort),
    (e) => /^(agent|host|room)\./.test(e.kind ?? ""),
    [room],
    5000,
  );
  const n = (v: string): number => sums.value?.verdicts[v] ?? 0;
  return (
    <Card>
      <div class="filters" role="group" aria-label="Only these">
        <Choice label={room ? `all of ${room}` : "all"} on={!verdict} to={`/agents?room=${room}`} />
        {verdicts
          .filter((v) => v === verdict || n(v) > 0)
          .map((v) => (
            <Choice
              key={v}
              label={`${words(v)} ${count(n(v))}`}
              on={v === verdict}
              to={`/agents?verdict=${v}&room=${room}`}
            />
          ))}
        {room && <Choice label="every room" on={false} to={`/agents?verdict=${verdict}`} />}
      </div>
      <Wrong error={list.error} />
      {after && <Behind name={after} to={`/agents?verdict=${verdict}&room=${room}`} />}
      {list.value && <AgentRows list={list.value.list} at={list.at} />}
      {list.value?.list.length === 0 && !list.value.next && <Empty>No agent is like that.</Empty>}
      <More of={list} to={`/agents?verdict=${verdict}&room=${room}`} />
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
    room = params.value.get("room") ?? "",
    role = params.value.get("role") ?? "",
    oldest = params.value.get("oldest") ?? "",
    after = params.value.get("after") ?? "";
  const to = (state: string, oldest: string): string =>
    `/tasks?state=${state}&room=${room}&role=${role}&oldest=${oldest}`;
  const list = usePages(
    (at, limit, abort) =>
      read<ListTasksResponse>(
        "v1/tasks",
        { room, role, states: state ? state.split(",") : [], newest_first: !oldest, limit, after: at },
        abort,
      ),
    (r) => r.tasks,
    (e) => /^(task|room)\./.test(e.kind ?? ""),
    [state, room, role, oldest],
    0,
    after,
  );
  return (
    <Card>
      <div class="filters" role="group" aria-label="Only these">
        <Choice label="all" on={!state} to={to("", oldest)} />
        {states.map((s) => (
          <Choice key={s} label={words(s)} on={s === state} to={to(s, oldest)} />
        ))}
        <Choice label="oldest first" on={!!oldest} to={to(state, oldest ? "" : "1")} />
        <a class="choice new" href={link("/new-task")}>
          New task
        </a>
      </div>
      {(room || role) && (
        <p class="line">
          <span class="faint">
            Only of {room}
            {role && `/${role}`}.
          </span>{" "}
          <a href={link(`/tasks?state=${state}&oldest=${oldest}`)}>Of every room</a>
        </p>
      )}
      <Wrong error={list.error} />
      {after && <Behind name={`task ${after}`} to={to(state, oldest)} />}
      {list.value && <TaskRows list={list.value.list} at={list.at} />}
      {list.value?.list.length === 0 && !list.value.next && <Empty>No task is like that.</Empty>}
      <More of={list} to={to(state, oldest)} older={!oldest} />
    </Card>
  );
}
