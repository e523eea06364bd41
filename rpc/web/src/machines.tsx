// Hosts and servers.
import type { JSX } from "preact";
import { get, post, read } from "./api";
import { useState } from "preact/hooks";
import { clock, count, hostTone, plural, seconds, span, words } from "./format";
import { AgentRows } from "./lists";
import { useLive } from "./live";
import type {
  Host,
  ListAgentsResponse,
  ListHostsResponse,
  ListServersResponse,
  Server,
  StatusResponse,
} from "./messages";
import { Behind, More, usePages } from "./pages";
import { link, params, rest } from "./router";
import { Act, Age, Badge, Card, Empty, Wrong } from "./ui";

export function Hosts(): JSX.Element {
  const after = params.value.get("after") ?? "";
  const list = usePages(
    (at, limit, abort) => read<ListHostsResponse>("v1/hosts", { limit, after: at }, abort),
    (r) => r.hosts,
    (e) => /^(host|agent)\./.test(e.kind ?? ""),
    [],
    5000,
    after,
  );
  return (
    <div class="grid">
      <Wrong error={list.error} />
      {after && <Behind name={`host number ${after}`} to="/hosts" />}
      {list.value?.list.map((h) => (
        <HostCard key={h.id} h={h} at={list.at} again={list.again} />
      ))}
      {list.value?.list.length === 0 && !after && <Empty>No host has registered yet: vigil agentd does that.</Empty>}
      <More of={list} to="/hosts" />
    </div>
  );
}

/** few is how many agents the card of a host names. */
const few = 20;

/** Some names the first agents of a host. It is read when somebody opens it: there may be many hosts. */
function Some({ host, n }: { host: string; n: number }): JSX.Element {
  const [open, set] = useState(false);
  return (
    <details class="thread" onToggle={(e) => set(e.currentTarget.open)}>
      <summary>{plural(n, "agent")}</summary>
      {open && <Names host={host} />}
    </details>
  );
}

function Names({ host }: { host: string }): JSX.Element {
  const list = useLive(
    (abort) => read<ListAgentsResponse>("v1/agents", { host, limit: few }, abort),
    (e) => e.host === host,
    [host],
  );
  return (
    <>
      <Wrong error={list.error} />
      <ul class="rows">
        {list.value?.agents.map((a) => (
          <li key={a.name}>
            <a href={link(`/agent/${a.name}`)}>{a.name}</a>
          </li>
        ))}
      </ul>
      {list.value?.more && <a href={link(`/host/${host}`)}>All of them</a>}
    </>
  );
}

function HostCard({ h, at, again }: { h: Host; at: number; again: () => void }): JSX.Element {
  return (
    <section class="card" aria-label={h.name}>
      <header>
        <h2>
          <a href={link(`/host/${h.name}`)}>{h.name}</a>
        </h2>
        <HostBadge h={h} />
      </header>
      <HostFacts h={h} at={at} />
      {h.running + h.starting > 0 && <Some host={h.name ?? ""} n={h.running + h.starting} />}
      <Drain h={h} again={again} />
    </section>
  );
}

function HostBadge({ h }: { h: Host }): JSX.Element {
  return <Badge tone={hostTone(h.state)}>{h.state}</Badge>;
}

function HostFacts({ h, at, full }: { h: Host; at: number; full?: boolean }): JSX.Element {
  const left = h.running + h.starting;
  return (
    <>
      <dl class="facts">
        <dt>Agents</dt>
        <dd class="num">
          {h.running}
          {h.capacity > 0 && <span class="faint"> of {h.capacity}</span>}
          {h.starting > 0 && <span class="faint">, {h.starting} starting</span>}
        </dd>
        <dt>Heard</dt>
        <dd>
          <Age of={h.heard} at={at} /> <span class="faint">ago</span>
        </dd>
        {h.drain && (
          <>
            <dt>Drain</dt>
            <dd>
              {left > 0 ? `${plural(left, "agent")} still here` : "empty"}{" "}
              <span class="faint">
                by {h.drain_by || "somebody"}, {clock(h.drain_at)}
                {h.drain_left && (
                  <>
                    ; what works is stopped in <Age of={h.drain_left} at={at} down />
                  </>
                )}
                {h.drain_ends_in && (
                  <>
                    ; it ends in <Age of={h.drain_ends_in} at={at} down />
                  </>
                )}
              </span>
            </dd>
          </>
        )}
        <dt>Containment</dt>
        <dd>{h.containment || "–"}</dd>
        <dt>Terminals</dt>
        <dd>{h.terminals || "–"}</dd>
        <dt>Heard by</dt>
        <dd class="wrap">
          {h.views.map((v) => (
            <Badge key={v.server} tone={v.stream === "alive" || v.gossip === "alive" ? "good" : "off"}>
              {v.server}
            </Badge>
          ))}
        </dd>
        {(h.pressure || full) && (
          <>
            <dt>Pressure</dt>
            <dd class={h.pressure ? "bad" : ""}>{h.pressure || "none"}</dd>
          </>
        )}
        {h.suspect_why && (
          <>
            <dt>Suspect</dt>
            <dd>{h.suspect_why}</dd>
          </>
        )}
        {full && (
          <>
            <dt>Runners</dt>
            <dd>{h.runners.join(", ") || "–"}</dd>
            <dt>Labels</dt>
            <dd>
              {Object.entries(h.labels)
                .map(([k, v]) => `${k}=${v}`)
                .join(", ") || "–"}
            </dd>
            <dt>Version</dt>
            <dd>{h.version || "–"}</dd>
            {h.unproven > 0 && (
              <>
                <dt>In doubt</dt>
                <dd class="bad">{plural(h.unproven, "life", "lives")} that may go on</dd>
              </>
            )}
            {h.steady_in && (
              <>
                <dt>Steady in</dt>
                <dd class="num">{span(seconds(h.steady_in))}</dd>
              </>
            )}
            {h.kept && (
              <>
                <dt>Kept on disk</dt>
                <dd class="num">{count(Math.round(Number(h.kept.bytes ?? 0) / 1e6))} MB</dd>
              </>
            )}
          </>
        )}
      </dl>
      {h.warnings.map((w) => (
        <p key={w} class="wrong">
          {w}
        </p>
      ))}
    </>
  );
}

function Drain({ h, again }: { h: Host; again: () => void }): JSX.Element {
  const path = `v1/hosts/${encodeURIComponent(h.name ?? "")}`;
  return (
    <div class="buttons">
      {h.drain ? (
        <Act
          label="End the drain"
          kind="primary"
          done={`${h.name} takes agents again.`}
          go={() => post(`${path}:drain`, { off: true })}
          then={again}
        />
      ) : (
        <Act
          label="Drain"
          done={`${h.name} is drained.`}
          sure="Its agents move to other hosts, and nothing starts here."
          go={() => post(`${path}:drain`, {})}
          then={again}
        />
      )}
    </div>
  );
}

/** HostView is one host with all of its agents. */
export function HostView(): JSX.Element {
  const name = rest.value;
  const concerns = (e: { host?: string }): boolean => e.host === name;
  const host = useLive(
    (abort) => read<Host>(`v1/hosts/${encodeURIComponent(name)}`, {}, abort),
    concerns,
    [name],
    5000,
  );
  const agents = usePages(
    (after, limit, abort) => read<ListAgentsResponse>("v1/agents", { host: name, limit, after }, abort),
    (r) => r.agents,
    concerns,
    [name],
    5000,
  );
  if (!host.value) return host.error ? <Wrong error={host.error} /> : <Empty>Looking…</Empty>;
  const h = host.value;
  return (
    <div class="grid">
      <section class="card wide" aria-label="Host">
        <p class="line">
          <HostBadge h={h} />
          <a href={link(`/events?host=${name}`)}>Its events</a>
          <a href={link("/hosts")}>All hosts</a>
        </p>
        <HostFacts h={h} at={host.at} full />
        <Drain h={h} again={host.again} />
      </section>
      <Card title="Agents" wide>
        <Wrong error={agents.error} />
        {agents.value && <AgentRows list={agents.value.list} at={agents.at} />}
        {agents.value?.list.length === 0 && <Empty>No agent is here.</Empty>}
        <More of={agents} />
      </Card>
    </div>
  );
}

/** serverState is what a server is in one word. */
function serverState(s: Server): string {
  if (s.diverged) return "differs";
  if (s.leader) return "leads";
  if (s.silent) return "silent";
  return s.voter ? "votes" : s.standby ? "standby" : "learns";
}

/** unheardAfter is the silence in seconds from which a server counts as unheard by another, which tries it twice
 * a second. */
const unheardAfter = 2;

function megabytes(n: string | undefined): string {
  return `${count(Math.round(Number(n ?? 0) / 1e5) / 10)} MB`;
}

function millis(d: string | undefined): string {
  return d ? `${(seconds(d) * 1000).toFixed(1)} ms` : "–";
}

/** Raft is what servers say of their part in it. */
function Raft({ servers }: { servers: Server[] }): JSX.Element {
  const committed = Math.max(0, ...servers.map((s) => Number(s.figures?.commit_index ?? 0)));
  return (
    <table class="list" aria-label="Raft">
      <thead>
        <tr>
          <th scope="col">Server</th>
          <th scope="col">State</th>
          <th scope="col">Term</th>
          <th scope="col">Last entry</th>
          <th scope="col">Behind</th>
          <th scope="col">Log</th>
          <th scope="col">Snapshot</th>
          <th scope="col">Commit, median</th>
          <th scope="col">99 %</th>
        </tr>
      </thead>
      <tbody>
        {servers.map((s) => {
          const f = s.figures;
          return !f || f.error ? (
            <tr key={s.id}>
              <td>
                <b>{s.id}</b>
              </td>
              <td colSpan={8} class="bad" data-of="state">
                {f?.error || "not heard"}
              </td>
            </tr>
          ) : (
            <tr key={s.id}>
              <td>
                <b>{s.id}</b>
              </td>
              <td data-of="state">{f.state}</td>
              <td class="num" data-of="term">
                {count(f.term)}
              </td>
              <td class="num" data-of="last entry">
                {count(f.last_index)}
              </td>
              <td class="num" data-of="behind">
                {count(Math.max(0, committed - Number(f.applied_index ?? 0)))}
              </td>
              <td class="num" data-of="log">
                {plural(f.log_entries, "entry", "entries")}, {megabytes(f.log_bytes)}
              </td>
              <td class="num" data-of="snapshot">
                {Number(f.snapshot_index ?? 0) > 0 ? (
                  <>
                    to {count(f.snapshot_index)}, {megabytes(f.snapshot_bytes)}
                  </>
                ) : (
                  "none"
                )}
              </td>
              <td class="num" data-of="commit">
                {millis(f.commit_p50)}
              </td>
              <td class="num" data-of="99 %">
                {millis(f.commit_p99)}
              </td>
            </tr>
          );
        })}
      </tbody>
    </table>
  );
}

/** Hearing shows for each pair of servers whether the API of one answers the other. */
function Hearing({ servers }: { servers: Server[] }): JSX.Element {
  return (
    <table class="list" aria-label="Who hears whom">
      <thead>
        <tr>
          <th scope="col">Server</th>
          {servers.map((s) => (
            <th scope="col" key={s.id}>
              hears {s.id}
            </th>
          ))}
        </tr>
      </thead>
      <tbody>
        {servers.map((s) => (
          <tr key={s.id}>
            <td>
              <b>{s.id}</b>
            </td>
            {servers.map((o) => (
              <td key={o.id} data-of={`hears ${o.id}`}>
                <Heard from={s} to={o} />
              </td>
            ))}
          </tr>
        ))}
      </tbody>
    </table>
  );
}

function Heard({ from, to }: { from: Server; to: Server }): JSX.Element {
  if (from.id === to.id) return <span class="faint">itself</span>;
  const since = from.figures?.hears?.[to.id ?? ""];
  if (!since) return <span class="faint">not known</span>;
  const s = seconds(since);
  return s < unheardAfter ? <Badge tone="good">yes</Badge> : <Badge tone="bad">not for {span(s)}</Badge>;
}

/** Warnings are what `vigil status` warns of; nothing where it warns of nothing, or this person may not ask. */
function Warnings(): JSX.Element | null {
  const status = useLive(
    (abort) => get<StatusResponse>("v1/status", {}, abort),
    (e) => /^(server|leader|host|escalation)\./.test(e.kind ?? ""),
    [],
    15000,
  );
  const list = status.value?.warnings ?? [];
  if (list.length === 0) return null;
  return (
    <Card title="Warnings" wide id="warnings">
      {list.map((w) => (
        <p key={w}>{w}</p>
      ))}
    </Card>
  );
}

export function Servers(): JSX.Element {
  const list = useLive(
    (abort) => get<ListServersResponse>("v1/servers", { figures: true }, abort),
    (e) => /^(server|leader)\./.test(e.kind ?? ""),
    [],
    5000,
  );
  const servers = list.value?.servers ?? [];
  return (
    <div class="grid">
    <Warnings />
    <Card title="Servers" wide>
      <Wrong error={list.error} />
      <table class="list">
        <thead>
          <tr>
            <th scope="col">Server</th>
            <th scope="col">State</th>
            <th scope="col">Health</th>
            <th scope="col">Zone</th>
            <th scope="col">API</th>
            <th scope="col">Raft</th>
            <th scope="col">Version</th>
          </tr>
        </thead>
        <tbody>
          {servers.map((s) => (
            <tr key={s.id}>
              <td>
                <b>{s.id}</b>
              </td>
              <td>
                <Badge tone={s.diverged ? "bad" : s.leader ? "busy" : s.silent ? "warn" : "good"}>
                  {serverState(s)}
                </Badge>
                {s.standby && serverState(s) !== "standby" && <span class="faint"> standby</span>}
              </td>
              <td data-of="health">
                {s.health ? words(s.health) : "–"}
                {s.silent && (
                  <span class="faint">
                    {" "}
                    not heard for <Age of={s.silent} at={list.at} />
                  </span>
                )}
              </td>
              <td data-of="zone">{s.zone || <span class="faint">–</span>}</td>
              <td class="mono" data-of="api">
                {s.api_addr}
              </td>
              <td class="mono" data-of="raft">
                {s.raft_addr}
              </td>
              <td data-of="version">{s.version}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </Card>
    {servers.length > 0 && (
      <>
        <Card title="Raft" wide>
          <Raft servers={servers} />
        </Card>
        <Card title="Who hears whom" wide>
          <Hearing servers={servers} />
        </Card>
      </>
    )}
    </div>
  );
}
