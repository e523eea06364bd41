// Rooms, and one room: roles, tasks as a board, agents.
import type { JSX } from "preact";
import { pauses } from "./actions";
import { read } from "./api";
import { count, plural, seconds, sentence, span, taskTone, words } from "./format";
import { AgentRows, states } from "./lists";
import { useLive } from "./live";
import { Conversations } from "./mails";
import type { ListAgentsResponse, ListRoomsResponse, ListTasksResponse, Room, Task } from "./messages";
import { Behind, More, page, usePages } from "./pages";
import { link, params, rest } from "./router";
import { Act, Badge, Bar, Card, Empty, Wrong } from "./ui";
import { RoomUsage } from "./usage";

export function Rooms(): JSX.Element {
  const after = params.value.get("after") ?? "";
  const list = usePages(
    (at, limit, abort) => read<ListRoomsResponse>("v1/rooms", { limit, after: at }, abort),
    (r) => r.rooms,
    (e) => /^(room|agent|task)\./.test(e.kind ?? ""),
    [],
    0,
    after,
  );
  return (
    <div class="grid">
      <p class="wide line">
        <a class="choice on" href={link("/apply")}>
          Apply a room file
        </a>
      </p>
      <Wrong error={list.error} />
      {after && <Behind name={`room ${after}`} to="/rooms" />}
      {list.value?.list.map((r) => (
        <RoomCard key={r.name} r={r} />
      ))}
      {list.value?.list.length === 0 && !after && <Empty>There is no room yet: vigil apply declares one.</Empty>}
      <More of={list} to="/rooms" />
    </div>
  );
}

function sumTasks(r: Room, state: string): number {
  return r.roles.reduce((n, x) => n + (x.tasks[state] ?? 0), 0);
}

function RoomCard({ r }: { r: Room }): JSX.Element {
  const open = states.slice(0, 4).map((s) => ({ name: s, n: sumTasks(r, s), tone: taskTone(s) }));
  return (
    <section class="card" aria-label={r.name}>
      <header>
        <h2>
          <a href={link(`/room/${r.name}`)}>{r.name}</a>
        </h2>
        <div class="side">
          {r.paused && <Badge tone="warn">paused</Badge>} {plural(r.roles.length, "role")}
        </div>
      </header>
      <Bar parts={open} />
      <dl class="facts">
        <dt>Agents</dt>
        <dd class="num">
          {count(r.roles.reduce((n, x) => n + x.agents_live, 0))}{" "}
          <span class="faint">of {count(r.roles.reduce((n, x) => n + x.agents, 0))} in the room</span>
        </dd>
        <dt>Open tasks</dt>
        <dd class="num">{count(open.reduce((n, p) => n + p.n, 0))}</dd>
        <dt>Silent for</dt>
        <dd>
          {r.quiet?.silent ? <span class="num">{span(seconds(r.quiet.silent))}</span> : "–"}{" "}
          <span class="faint">{words(r.quiet?.state)}</span>
        </dd>
      </dl>
    </section>
  );
}

/** shown is how many tasks a column of the board shows. */
const shown = 12;

/** columns of the board: who waits longest comes first, of what has ended the newest. */
const columns: { title: string; of: string[]; newest: boolean }[] = [
  { title: "Waiting", of: ["QUEUED", "PENDING"], newest: false },
  { title: "At work", of: ["ACKNOWLEDGED", "IN_PROGRESS"], newest: false },
  { title: "Done", of: ["COMPLETED"], newest: true },
  { title: "Not done", of: ["FAILED", "QUARANTINED", "CANCELED"], newest: true },
];

const counted = (r: Room, of: string[]): number => of.reduce((n, s) => n + sumTasks(r, s), 0);

/** board reads a room and, for each column, no more tasks than it shows and the room counts. */
async function board(name: string, abort: AbortSignal): Promise<{ r: Room; tasks: Task[][] }> {
  const r = await read<Room>(`v1/rooms/${encodeURIComponent(name)}`, {}, abort);
  const tasks = columns.map(async ({ of, newest }) => {
    const limit = Math.min(shown, counted(r, of));
    if (limit === 0) return [];
    const ask = { room: name, states: of, newest_first: newest, limit };
    return (await read<ListTasksResponse>("v1/tasks", ask, abort)).tasks;
  });
  return { r, tasks: await Promise.all(tasks) };
}

export function RoomView(): JSX.Element {
  const name = rest.value;
  const concerns = (e: { room?: string }): boolean => e.room === name;
  const room = useLive((abort) => board(name, abort), concerns, [name]);
  const agents = useLive(
    (abort) => read<ListAgentsResponse>("v1/agents", { room: name, limit: page }, abort),
    concerns,
    [name],
  );
  if (!room.value) return room.error ? <Wrong error={room.error} /> : <Empty>Looking…</Empty>;
  const { r, tasks } = room.value;
  const takes = r.roles.find((x) => !x.retired)?.spec?.name;
  return (
    <div class="grid">
      {r.paused && (
        <p class="warn banner wide">
          Paused by {r.pause_by}
          {r.pause_why && `: ${r.pause_why}`}. <Act {...pauses(name).resume} then={room.again} />
        </p>
      )}
      {!r.paused && (
        <div class="buttons wide">
          <Act {...pauses(name).pause} then={room.again} />
        </div>
      )}
      {r.quiet?.why && <p class="faint wide">{sentence(r.quiet.why)}.</p>}
      <Card title="Roles" wide>
        <table class="list">
          <thead>
            <tr>
              <th scope="col">Role</th>
              <th scope="col">Agents</th>
              <th scope="col" class="n">
                Waiting
              </th>
              <th scope="col" class="n">
                At work
              </th>
              <th scope="col" class="n">
                Done
              </th>
              <th scope="col">State</th>
            </tr>
          </thead>
          <tbody>
            {r.roles.map((x) => (
              <tr key={x.spec?.name}>
                <td>
                  <b>{x.spec?.name}</b> <span class="faint">{x.spec?.runner}</span>
                </td>
                <td class="num" data-of="agents">
                  {x.agents_live} of {x.agents}
                </td>
                <td class="n num" data-of="waiting">
                  {count((x.tasks.QUEUED ?? 0) + (x.tasks.PENDING ?? 0))}
                </td>
                <td class="n num" data-of="at work">
                  {count((x.tasks.ACKNOWLEDGED ?? 0) + (x.tasks.IN_PROGRESS ?? 0))}
                </td>
                <td class="n num" data-of="done">
                  {count(x.tasks.COMPLETED)}
                </td>
                <td class="text">{x.half_open || (x.retired ? "retired" : "")}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </Card>
      <RoomUsage room={name} />
      <Card title="Tasks" wide side={
          <>
            {takes && <a href={link(`/new-task?to=${name}/${takes}`)}>New task</a>}
            <a href={link(`/tasks?room=${name}`)}>All tasks</a>
            <a href={link(`/timeline?room=${name}`)}>Timeline</a>
          </>
        }>
        <div class="board">
          {columns.map(({ title, of, newest }, at) => {
            const n = counted(r, of),
              all = `/tasks?room=${name}&state=${of.join(",")}&oldest=${newest ? "" : "1"}`;
            return (
              <section key={title} aria-label={title}>
                <h3>
                  {title} <span class="num">{count(n)}</span>
                </h3>
                {tasks[at]!.map((t) => (
                  <a key={t.id} class="note" href={link(`/task/${t.id}`)}>
                    <span class="t">{t.title || `Task ${t.id}`}</span>
                    <span class="faint">
                      {t.id} · {t.role}
                      {t.holder && ` · ${t.holder.split("/")[1]}`}
                    </span>
                  </a>
                ))}
                {n > shown && <a href={link(all)}>All {count(n)}</a>}
              </section>
            );
          })}
        </div>
      </Card>
      <Card title="Mail" wide id="mail">
        <Conversations room={name} />
      </Card>
      <Card title="Agents" wide>
        {agents.value && <AgentRows list={agents.value.agents} at={agents.at} />}
        {agents.value?.more && (
          <p class="line">
            <span class="faint">These are the first {count(page)}.</span>{" "}
            <a href={link(`/agents?room=${name}`)}>All agents of {name}</a>
          </p>
        )}
      </Card>
    </div>
  );
}
