// Lists: rooms, agents, tasks, hosts, servers, events.
import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { post, read } from "./api";
import { clock, count, hostTone, plural, sentence, taskTone, verdicts, verdictTone, words } from "./format";
import { Feed } from "./feed";
import { useLive } from "./live";
import type { Agent, Host, ListAgentsResponse, ListHostsResponse, ListRoomsResponse, ListServersResponse, ListTasksResponse, Room, Task } from "./messages";
import { go, link, params, rest } from "./router";
import { events } from "./stream";
import { Act, Age, Badge, Bar, Card, Empty, Wrong } from "./ui";

/** page is how many rows a list asks for at once. */
const page = 200;

export function AgentRows({ list, at }: { list: Agent[]; at: number }): JSX.Element {
  return (
    <table class="list">
      <thead><tr><th scope="col">Agent</th><th scope="col">Verdict</th><th scope="col">Task</th><th scope="col">Host</th><th scope="col" class="n">Up</th><th scope="col">Why</th></tr></thead>
      <tbody>
        {list.map((a) => (
          <tr key={a.name}>
            <td><a href={link(`/agent/${a.name}`)}><b>{a.name}</b></a>{a.incarnation && <span class="faint"> #{a.incarnation}</span>}</td>
            <td><Badge tone={verdictTone(a.verdict?.kind)}>{words(a.verdict?.kind)}</Badge></td>
            <td data-of="task">{a.task && a.task !== "0" ? <a href={link(`/task/${a.task}`)}>{a.task}</a> : <span class="faint">–</span>}</td>
            <td data-of="on">{a.host || <span class="faint">–</span>}</td>
            <td class="n" data-of="up"><Age of={a.up} at={at} /></td>
            <td class="text">{a.why}</td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}

export function Agents(): JSX.Element {
  const verdict = params.value.get("verdict") ?? "", room = params.value.get("room") ?? "";
  const list = useLive((abort) => read<ListAgentsResponse>("v1/agents", { room, limit: 1000 }, abort), (e) => /^(agent|host|room)\./.test(e.kind ?? ""), [room], 5000);
  const all = list.value?.agents ?? [];
  const shown = verdict ? all.filter((a) => a.verdict?.kind === verdict) : all;
  return (
    <Card>
      <div class="filters" role="group" aria-label="Only these">
        <Choice label="all" on={!verdict} to={`/agents?room=${room}`} />
        {verdicts.filter((v) => v === verdict || all.some((a) => a.verdict?.kind === v)).map((v) => (
          <Choice key={v} label={words(v)} on={v === verdict} to={`/agents?verdict=${v}&room=${room}`} />
        ))}
      </div>
      <Wrong error={list.error} />
      <AgentRows list={shown.slice(0, page)} at={list.at} />
      {list.value && shown.length === 0 && <Empty>No agent is like that.</Empty>}
      {(shown.length > page || list.value?.more) && <Empty>{count(page)} are shown of more; choose a room or a verdict.</Empty>}
    </Card>
  );
}

function Choice({ label, on, to }: { label: string; on: boolean; to: string }): JSX.Element {
  return <a href={link(to)} class={on ? "choice on" : "choice"} aria-current={on ? "true" : undefined}>{label}</a>;
}

export function TaskRows({ list, at }: { list: Task[]; at: number }): JSX.Element {
  return (
    <table class="list">
      <thead><tr><th scope="col" class="n">Task</th><th scope="col">State</th><th scope="col">Title</th><th scope="col">Role</th><th scope="col">Holder</th><th scope="col" class="n">Since</th></tr></thead>
      <tbody>
        {list.map((t) => (
          <tr key={t.id}>
            <td class="n"><a href={link(`/task/${t.id}`)}>{t.id}</a></td>
            <td><Badge tone={taskTone(t.state)}>{words(t.state)}</Badge></td>
            <td class="text"><a href={link(`/task/${t.id}`)}>{t.title || "–"}</a></td>
            <td data-of="for">{t.room}/{t.role}</td>
            <td data-of="by">{t.holder ? <a href={link(`/agent/${t.holder}`)}>{t.holder}</a> : <span class="faint">–</span>}</td>
            <td class="n"><Age of={t.in_state} at={at} /></td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}

const states = ["PENDING", "QUEUED", "ACKNOWLEDGED", "IN_PROGRESS", "COMPLETED", "FAILED", "QUARANTINED", "CANCELED"];

export function Tasks(): JSX.Element {
  const state = params.value.get("state") ?? "", room = params.value.get("room") ?? "";
  const list = useLive((abort) => read<ListTasksResponse>("v1/tasks", { room, states: state ? [state] : [], newest_first: true, limit: page }, abort),
    (e) => /^(task|room)\./.test(e.kind ?? ""), [state, room]);
  return (
    <Card>
      <div class="filters" role="group" aria-label="Only these">
        <Choice label="all" on={!state} to={`/tasks?room=${room}`} />
        {states.map((s) => <Choice key={s} label={words(s)} on={s === state} to={`/tasks?state=${s}&room=${room}`} />)}
      </div>
      <Wrong error={list.error} />
      {list.value && <TaskRows list={list.value.tasks} at={list.at} />}
      {list.value?.tasks.length === 0 && <Empty>No task is like that.</Empty>}
      {list.value?.more && <Empty>These are the newest {count(page)}.</Empty>}
    </Card>
  );
}

export function Rooms(): JSX.Element {
  const list = useLive((abort) => read<ListRoomsResponse>("v1/rooms", { limit: 1000 }, abort), (e) => /^(room|agent|task)\./.test(e.kind ?? ""), []);
  return (
    <div class="grid">
      <Wrong error={list.error} />
      {list.value?.rooms.map((r) => <RoomCard key={r.name} r={r} />)}
      {list.value?.rooms.length === 0 && <Empty>There is no room yet: vigil apply declares one.</Empty>}
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
      <header><h2><a href={link(`/room/${r.name}`)}>{r.name}</a></h2><div class="side">{r.paused && <Badge tone="warn">paused</Badge>} {plural(r.roles.length, "role")}</div></header>
      <Bar parts={open} />
      <dl class="facts">
        <dt>Agents</dt><dd class="num">{count(r.roles.reduce((n, x) => n + x.agents_live, 0))} <span class="faint">of {count(r.roles.reduce((n, x) => n + x.agents, 0))} in the room</span></dd>
        <dt>Open tasks</dt><dd class="num">{count(open.reduce((n, p) => n + p.n, 0))}</dd>
        <dt>Silent for</dt><dd>{r.quiet?.silent ? <span class="num">{r.quiet.silent.split(".")[0]!.replace("s", "")}s</span> : "–"} <span class="faint">{words(r.quiet?.state)}</span></dd>
      </dl>
    </section>
  );
}

export function RoomView(): JSX.Element {
  const name = rest.value;
  const concerns = (e: { room?: string }): boolean => e.room === name;
  const room = useLive((abort) => read<Room>(`v1/rooms/${encodeURIComponent(name)}`, {}, abort), concerns, [name]);
  const agents = useLive((abort) => read<ListAgentsResponse>("v1/agents", { room: name, limit: page }, abort), concerns, [name]);
  const tasks = useLive((abort) => read<ListTasksResponse>("v1/tasks", { room: name, newest_first: true, limit: page }, abort), concerns, [name]);
  if (!room.value) return room.error ? <Wrong error={room.error} /> : <Empty>Looking…</Empty>;
  const r = room.value, list = tasks.value?.tasks ?? [];
  const columns: [string, string[]][] = [["Waiting", ["QUEUED", "PENDING"]], ["At work", ["ACKNOWLEDGED", "IN_PROGRESS"]],
    ["Done", ["COMPLETED"]], ["Not done", ["FAILED", "QUARANTINED", "CANCELED"]]];
  return (
    <div class="grid">
      {r.paused && <p class="warn banner wide">Paused by {r.pause_by}{r.pause_why && `: ${r.pause_why}`}.</p>}
      {r.quiet?.why && <p class="faint wide">{sentence(r.quiet.why)}.</p>}
      <Card title="Roles" wide>
        <table class="list">
          <thead><tr><th scope="col">Role</th><th scope="col">Agents</th><th scope="col" class="n">Waiting</th><th scope="col" class="n">At work</th><th scope="col" class="n">Done</th><th scope="col">State</th></tr></thead>
          <tbody>
            {r.roles.map((x) => (
              <tr key={x.spec?.name}>
                <td><b>{x.spec?.name}</b> <span class="faint">{x.spec?.runner}</span></td>
                <td class="num" data-of="agents">{x.agents_live} of {x.agents}</td>
                <td class="n num" data-of="waiting">{count((x.tasks.QUEUED ?? 0) + (x.tasks.PENDING ?? 0))}</td>
                <td class="n num" data-of="at work">{count((x.tasks.ACKNOWLEDGED ?? 0) + (x.tasks.IN_PROGRESS ?? 0))}</td>
                <td class="n num" data-of="done">{count(x.tasks.COMPLETED)}</td>
                <td class="text">{x.half_open || (x.retired ? "retired" : "")}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </Card>
      <Card title="Tasks" wide side={<a href={link(`/tasks?room=${name}`)}>All tasks</a>}>
        <div class="board">
          {columns.map(([title, of]) => {
            const these = list.filter((t) => of.includes(t.state ?? ""));
            return (
              <section key={title} aria-label={title}>
                <h3>{title} <span class="num">{these.length}</span></h3>
                {these.slice(0, 12).map((t) => (
                  <a key={t.id} class="note" href={link(`/task/${t.id}`)}>
                    <span class="t">{t.title || `Task ${t.id}`}</span>
                    <span class="faint">{t.id} · {t.role}{t.holder && ` · ${t.holder.split("/")[1]}`}</span>
                  </a>
                ))}
              </section>
            );
          })}
        </div>
      </Card>
      <Card title="Agents" wide>{agents.value && <AgentRows list={agents.value.agents} at={agents.at} />}</Card>
    </div>
  );
}

export function TaskView(): JSX.Element {
  const id = rest.value;
  const task = useLive((abort) => read<Task>(`v1/tasks/${encodeURIComponent(id)}`, {}, abort), (e) => e.task === id, [id], 5000);
  if (!task.value) return task.error ? <Wrong error={task.error} /> : <Empty>Looking…</Empty>;
  const t = task.value, ended = ["COMPLETED", "FAILED", "CANCELED", "QUARANTINED"].includes(t.state ?? "");
  return (
    <div class="grid">
      <section class="card wide">
        <p class="title">{t.title || `Task ${t.id}`}</p>
        <p class="line">
          <Badge tone={taskTone(t.state)}>{words(t.state)}</Badge>
          <span class="faint">for <Age of={t.in_state} at={task.at} /></span>
          <a href={link(`/room/${t.room}`)}>{t.room}/{t.role}</a>
          {t.holder && <a href={link(`/agent/${t.holder}`)}>{t.holder} #{t.holder_incarnation}</a>}
          {t.percent !== undefined && <span class="num">{t.percent} %</span>}
        </p>
        {t.why && <p>{sentence(t.why)}.</p>}
        <div class="buttons">
          {ended && t.state !== "QUARANTINED" && t.state !== "COMPLETED" && <Act label="Try again" kind="primary" done="It is in the queue again." go={() => post(`v1/tasks/${t.id}:retry`, { if_rev: t.rev })} then={task.again} />}
          {t.state === "QUARANTINED" && <Act label="Release" kind="primary" done="It is in the queue again." sure="It goes back into the queue, its deaths forgiven." go={() => post(`v1/tasks/${t.id}:unquarantine`, { if_rev: t.rev })} then={task.again} />}
          {(!ended || t.state === "QUARANTINED") && <Act label="Cancel" kind="danger" done="It is canceled." sure="It ends for good; whoever works on it is told." go={() => post(`v1/tasks/${t.id}:cancel`, { if_rev: t.rev })} then={task.again} />}
        </div>
      </section>
      <Card title="Facts">
        <dl class="facts">
          <dt>Attempt</dt><dd class="num">{t.attempt}<span class="faint">{t.failures > 0 && ` ${plural(t.failures, "failure")} in a row`}</span></dd>
          <dt>Created</dt><dd>{clock(t.created_at)} <span class="faint">by {t.created_by || "–"}</span></dd>
          {t.assigned && <><dt>Claimed</dt><dd><Age of={t.assigned} at={task.at} /> <span class="faint">ago, progress <Age of={t.progressed} at={task.at} /> ago</span></dd></>}
          {t.expect && <><dt>Expected</dt><dd>{clock(t.expected_completion)}</dd></>}
          {t.kills > 0 && <><dt>Deaths</dt><dd class="num">{t.kills}</dd></>}
          <dt>Priority</dt><dd class="num">{t.priority}</dd>
        </dl>
      </Card>
      <Card title="Text">{t.text ? <pre class="words">{t.text}</pre> : <Empty>It has none.</Empty>}</Card>
      <Card title={t.result ? "Result" : "Last note"}>{t.result || t.note ? <pre class="words">{t.result || t.note}</pre> : <Empty>Nothing was said yet.</Empty>}</Card>
      {t.failed.length > 0 && (
        <Card title="Failed attempts" wide>
          <ul class="reasons">{t.failed.map((f) => <li key={f.attempt} class="bad">Attempt {f.attempt}, {clock(f.at)}: {f.reason}</li>)}</ul>
        </Card>
      )}
      <Card title="What happened since this page was opened" wide><Feed list={events.value.filter((e) => e.task === t.id).slice(0, 50)} /></Card>
    </div>
  );
}

export function Hosts(): JSX.Element {
  const list = useLive((abort) => read<ListHostsResponse>("v1/hosts", { limit: 1000 }, abort), (e) => /^(host|agent)\./.test(e.kind ?? ""), [], 5000);
  return (
    <div class="grid">
      <Wrong error={list.error} />
      {list.value?.hosts.map((h) => <HostCard key={h.id} h={h} at={list.at} again={list.again} />)}
      {list.value?.hosts.length === 0 && <Empty>No host has registered yet: vigil agentd does that.</Empty>}
    </div>
  );
}

function HostCard({ h, at, again }: { h: Host; at: number; again: () => void }): JSX.Element {
  const path = `v1/hosts/${encodeURIComponent(h.name ?? "")}`;
  return (
    <section class="card" aria-label={h.name}>
      <header><h2>{h.name}</h2><Badge tone={hostTone(h.drain ? "draining" : h.state)}>{h.drain ? "draining" : h.state}</Badge></header>
      <dl class="facts">
        <dt>Agents</dt><dd class="num">{h.running}{h.capacity > 0 && <span class="faint"> of {h.capacity}</span>}{h.starting > 0 && <span class="faint">, {h.starting} starting</span>}</dd>
        <dt>Heard</dt><dd><Age of={h.heard} at={at} /> <span class="faint">ago</span></dd>
        <dt>Containment</dt><dd>{h.containment || "–"}</dd>
        <dt>Terminals</dt><dd>{h.terminals || "–"}</dd>
        <dt>Heard by</dt><dd class="wrap">{h.views.map((v) => <Badge key={v.server} tone={v.stream === "alive" || v.gossip === "alive" ? "good" : "off"}>{v.server}</Badge>)}</dd>
        {h.pressure && <><dt>Pressure</dt><dd class="bad">{h.pressure}</dd></>}
        {h.suspect_why && <><dt>Suspect</dt><dd>{h.suspect_why}</dd></>}
      </dl>
      {h.warnings.map((w) => <p key={w} class="wrong">{w}</p>)}
      <div class="buttons">
        {h.drain ? <Act label="End the drain" kind="primary" done={`${h.name} takes agents again.`} go={() => post(`${path}:drain`, { off: true })} then={again} /> :
          <Act label="Drain" done={`${h.name} is drained.`} sure="Its agents move to other hosts, and nothing starts here." go={() => post(`${path}:drain`, {})} then={again} />}
      </div>
    </section>
  );
}

export function Servers(): JSX.Element {
  const list = useLive((abort) => read<ListServersResponse>("v1/servers", { stale: undefined }, abort), (e) => /^(server|leader)\./.test(e.kind ?? ""), [], 5000);
  return (
    <Card>
      <Wrong error={list.error} />
      <table class="list">
        <thead><tr><th scope="col">Server</th><th scope="col">State</th><th scope="col">API</th><th scope="col">Raft</th><th scope="col">Version</th></tr></thead>
        <tbody>
          {list.value?.servers.map((s) => (
            <tr key={s.id}>
              <td><b>{s.id}</b></td>
              <td><Badge tone={s.diverged ? "bad" : s.leader ? "busy" : s.silent ? "warn" : "good"}>{s.diverged ? "differs" : s.leader ? "leads" : s.silent ? "silent" : s.voter ? "votes" : "learns"}</Badge></td>
              <td class="mono" data-of="api">{s.api_addr}</td><td class="mono" data-of="raft">{s.raft_addr}</td><td data-of="version">{s.version}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </Card>
  );
}

export function Events(): JSX.Element {
  const [only, set] = useState(params.value.get("only") ?? "");
  const words = only.toLowerCase().split(/\s+/).filter(Boolean);
  const shown = events.value.filter((e) => {
    const text = `${e.kind} ${e.agent} ${e.room} ${e.host} task ${e.task} ${e.text}`.toLowerCase();
    return words.every((w) => text.includes(w));
  });
  return (
    <Card>
      <label class="filter"><span class="hidden">Only events with these words</span>
        <input type="search" value={only} placeholder="Only events with these words" onInput={(e) => (set(e.currentTarget.value), go(`/events?only=${e.currentTarget.value}`))} /></label>
      <Feed list={shown.slice(0, 400)} />
      {shown.length === 0 && <Empty>{events.value.length === 0 ? "Nothing has happened since this page was opened." : "No event has these words."}</Empty>}
    </Card>
  );
}
