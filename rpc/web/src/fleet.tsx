// Fleet: how everything is, on one screen.
import type { JSX } from "preact";
import { useMemo } from "preact/hooks";
import { pauses } from "./actions";
import { read } from "./api";
import { Chart, type Line } from "./chart";
import {
  count,
  hostTone,
  plural,
  sentence,
  span,
  seconds,
  taskTone,
  verdicts,
  verdictTone,
  words,
} from "./format";
import { Feed } from "./feed";
import { Items, touchesInbox } from "./inbox";
import { useLive } from "./live";
import type { GetTrendResponse, ListInboxResponse, Overview } from "./messages";
import { link } from "./router";
import { events, news, overview, overviewAt } from "./stream";
import { Act, Age, Badge, Bar, Card, Empty } from "./ui";

export function Fleet(): JSX.Element {
  const o = overview.value;
  const trend = useLive(
    (abort) => read<GetTrendResponse>("v1/trend", {}, abort),
    () => false,
    [],
    15000,
  );
  const inbox = useLive(
    (abort) => read<ListInboxResponse>("v1/inbox", { limit: 5 }, abort),
    touchesInbox,
    [],
    5000,
  );
  if (!o) return <Empty>Waiting for the first word from a server…</Empty>;
  return (
    <div class="grid">
      <Sum o={o} />
      <Agents o={o} />
      <Tasks o={o} />
      <Cluster o={o} />
      {!o.paused && (
        <div class="buttons wide" id="pause">
          <Act {...pauses("").pause} />
        </div>
      )}
      <Card title="Waits for you" wide side={<a href={link("/inbox")}>Open the inbox</a>}>
        {inbox.value && inbox.value.items.length === 0 && <Empty>Nothing waits for a human.</Empty>}
        {inbox.value && inbox.value.items.length > 0 && <Items items={inbox.value.items} at={inbox.at} />}
      </Card>
      <Card title="Last hour" wide>
        {trend.value && <Trend of={trend.value} o={o} />}
      </Card>
      <Card title="What happens" wide side={<a href={link("/events")}>All events</a>}>
        <Feed list={events.value.slice(0, 12)} />
        {events.value.length === 0 && <Empty>Nothing has happened since this page was opened.</Empty>}
      </Card>
    </div>
  );
}

/** Sum says in one line how it is. */
function Sum({ o }: { o: Overview }): JSX.Element {
  const waits = Object.entries(o.inbox).reduce((n, [, v]) => n + v, 0);
  const bad = ["unresponsive", "stalled", "deaf"].reduce((n, k) => n + (o.verdicts[k] ?? 0), 0);
  const missing = o.agents_wanted - o.agents_running;
  const parts = [
    waits > 0 ? `${plural(waits, "thing")} ${waits === 1 ? "waits" : "wait"} for you` : "",
    bad > 0 ? `${plural(bad, "agent")} ${bad === 1 ? "does" : "do"} not get on` : "",
    missing > 0 ? `${plural(missing, "agent")} should run and ${missing === 1 ? "does" : "do"} not` : "",
  ].filter(Boolean);
  const tone = !o.leader || bad > 0 ? "bad" : parts.length > 0 ? "warn" : "good";
  return (
    <p class={`sum ${tone}`} id="sum">
      {parts.length > 0 ? sentence(parts.join(", ")) + "." : o.leader ? "All is well." : "Nobody leads."}
      <span>
        {plural(o.agents_running, "agent")} running in {plural(o.rooms, "room")}
      </span>
    </p>
  );
}

function Agents({ o }: { o: Overview }): JSX.Element {
  const shown = verdicts.filter((v) => (o.verdicts[v] ?? 0) > 0);
  return (
    <Card title="Agents" side={<span class="num big">{count(o.agents)}</span>} id="agents">
      <Bar parts={shown.map((v) => ({ name: v, n: o.verdicts[v]!, tone: verdictTone(v) }))} />
      <ul class="rows">
        {shown.map((v) => (
          <li key={v}>
            <a href={link(`/agents?verdict=${v}`)}>
              <Badge tone={verdictTone(v)}>{words(v)}</Badge>
            </a>
            <span class="num">{count(o.verdicts[v])}</span>
          </li>
        ))}
      </ul>
      {shown.length === 0 && <Empty>No agent is declared yet: vigil apply does that.</Empty>}
    </Card>
  );
}

function Tasks({ o }: { o: Overview }): JSX.Element {
  return (
    <Card title="Tasks" id="tasks">
      <table class="plain">
        <thead>
          <tr>
            <th scope="col">State</th>
            <th scope="col" class="n">
              Tasks
            </th>
            <th scope="col" class="n">
              Oldest
            </th>
          </tr>
        </thead>
        <tbody>
          {o.tasks.map((t) => (
            <tr key={t.state} class={t.count === "0" || !t.count ? "none" : ""}>
              <td>
                <a href={link(`/tasks?state=${t.state}`)}>
                  <Badge tone={taskTone(t.state)}>{words(t.state)}</Badge>
                </a>
              </td>
              <td class="n num">{count(t.count)}</td>
              <td class="n">
                {t.oldest && (
                  <a href={link(`/tasks?state=${t.state}&oldest=1`)} title={`The oldest: ${words(t.state)}`}>
                    <Age of={t.oldest} at={overviewAt.value} />
                  </a>
                )}
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </Card>
  );
}

function Cluster({ o }: { o: Overview }): JSX.Element {
  const hosts = ["ready", "suspect", "returning", "draining", "lost", "left"].filter(
    (s) => (o.hosts[s] ?? 0) > 0,
  );
  return (
    <Card title="Cluster" side={<a href={link("/servers")}>Servers</a>} id="cluster">
      <dl class="facts">
        <dt>Leader</dt>
        <dd>
          {o.leader ? <b>{o.leader}</b> : <Badge tone="bad">nobody</Badge>}
          <span class="faint"> term {count(o.term)}</span>
        </dd>
        <dt>Servers</dt>
        <dd class="wrap">
          {o.servers.map((s) => (
            <Badge key={s.id} tone={s.diverged ? "bad" : s.leader ? "busy" : "good"}>
              {s.id}
              {s.leader ? " leads" : ""}
              {s.diverged ? " differs" : ""}
            </Badge>
          ))}
        </dd>
        <dt>Hosts</dt>
        <dd class="wrap">
          {hosts.map((s) => (
            <a key={s} href={link("/hosts")}>
              <Badge tone={hostTone(s)}>
                {count(o.hosts[s])} {s}
              </Badge>
            </a>
          ))}
          {hosts.length === 0 && <span class="faint">none yet</span>}
        </dd>
        <dt>Cluster time</dt>
        <dd class="num">
          {o.leader ? (
            <Age of={o.clock} at={overviewAt.value} />
          ) : (
            <>
              {span(seconds(o.clock))} <span class="faint">stands still</span>
            </>
          )}
        </dd>
        <dt>Log</dt>
        <dd class="num">
          {count(news.value?.index)}
          <span class="faint"> from {news.value?.server}</span>
        </dd>
      </dl>
    </Card>
  );
}

/** sum adds the tasks of some states. */
const sum = (o: Overview, ...states: string[]): number =>
  o.tasks.reduce((n, t) => n + (states.includes(t.state ?? "") ? Number(t.count ?? 0) : 0), 0);

function Trend({ of, o }: { of: GetTrendResponse; o: Overview }): JSX.Element {
  const running = o.agents_running,
    waiting = sum(o, "QUEUED", "PENDING"),
    working = sum(o, "ACKNOWLEDGED", "IN_PROGRESS");
  const { times, agents, tasks, ended } = useMemo(() => {
    const points = of.points;
    const rates = points.map((p, i) => {
      const was = points[i - 1];
      const minutes = was ? (seconds(was.ago) - seconds(p.ago)) / 60 : 0;
      return minutes > 0
        ? Math.max(0, (Number(p.ended ?? 0) - Number(was!.ended ?? 0)) / minutes)
        : (null as number | null);
    });
    // What is now ends each line: the servers note a point only now and then.
    return {
      times: [...points.map((p) => -seconds(p.ago)), 0],
      agents: [
        { name: "running", color: "--good", values: [...points.map((p) => p.agents_running), running] },
      ] as Line[],
      tasks: [
        { name: "waiting", color: "--warn", values: [...points.map((p) => Number(p.waiting ?? 0)), waiting] },
        {
          name: "worked on",
          color: "--accent",
          values: [...points.map((p) => Number(p.working ?? 0)), working],
        },
      ] as Line[],
      ended: [{ name: "a minute", color: "--accent", values: [...rates, rates.at(-1) ?? null] }] as Line[],
    };
  }, [of, running, waiting, working]);
  return (
    <div class="charts">
      <Chart title="Agents" times={times} lines={agents} />
      <Chart title="Tasks" times={times} lines={tasks} />
      <Chart title="Tasks ended" times={times} lines={ended} />
    </div>
  );
}
