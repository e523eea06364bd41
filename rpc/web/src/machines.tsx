// Hosts and servers.
import type { JSX } from "preact";
import { get, post, read } from "./api";
import { hostTone } from "./format";
import { useLive } from "./live";
import type { Host, ListHostsResponse, ListServersResponse } from "./messages";
import { Act, Age, Badge, Card, Empty, Wrong } from "./ui";

export function Hosts(): JSX.Element {
  const list = useLive(
    (abort) => read<ListHostsResponse>("v1/hosts", { limit: 1000 }, abort),
    (e) => /^(host|agent)\./.test(e.kind ?? ""),
    [],
    5000,
  );
  return (
    <div class="grid">
      <Wrong error={list.error} />
      {list.value?.hosts.map((h) => (
        <HostCard key={h.id} h={h} at={list.at} again={list.again} />
      ))}
      {list.value?.hosts.length === 0 && <Empty>No host has registered yet: vigil agentd does that.</Empty>}
    </div>
  );
}

function HostCard({ h, at, again }: { h: Host; at: number; again: () => void }): JSX.Element {
  const path = `v1/hosts/${encodeURIComponent(h.name ?? "")}`;
  return (
    <section class="card" aria-label={h.name}>
      <header>
        <h2>{h.name}</h2>
        <Badge tone={hostTone(h.drain ? "draining" : h.state)}>{h.drain ? "draining" : h.state}</Badge>
      </header>
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
        {h.pressure && (
          <>
            <dt>Pressure</dt>
            <dd class="bad">{h.pressure}</dd>
          </>
        )}
        {h.suspect_why && (
          <>
            <dt>Suspect</dt>
            <dd>{h.suspect_why}</dd>
          </>
        )}
      </dl>
      {h.warnings.map((w) => (
        <p key={w} class="wrong">
          {w}
        </p>
      ))}
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
    </section>
  );
}

export function Servers(): JSX.Element {
  const list = useLive(
    (abort) => get<ListServersResponse>("v1/servers", {}, abort),
    (e) => /^(server|leader)\./.test(e.kind ?? ""),
    [],
    5000,
  );
  return (
    <Card>
      <Wrong error={list.error} />
      <table class="list">
        <thead>
          <tr>
            <th scope="col">Server</th>
            <th scope="col">State</th>
            <th scope="col">API</th>
            <th scope="col">Raft</th>
            <th scope="col">Version</th>
          </tr>
        </thead>
        <tbody>
          {list.value?.servers.map((s) => (
            <tr key={s.id}>
              <td>
                <b>{s.id}</b>
              </td>
              <td>
                <Badge tone={s.diverged ? "bad" : s.leader ? "busy" : s.silent ? "warn" : "good"}>
                  {s.diverged
                    ? "differs"
                    : s.leader
                      ? "leads"
                      : s.silent
                        ? "silent"
                        : s.voter
                          ? "votes"
                          : "learns"}
                </Badge>
              </td>
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
  );
}
