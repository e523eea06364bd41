// Agent: how it is and why, what is due, what it did, and its terminal.
import type { JSX } from "preact";
import { agentActions, pauses } from "./actions";
import { agentPath, read } from "./api";
import { Feed } from "./feed";
import { clock, sentence, span, taskTone, verdictTone, words } from "./format";
import { useLive } from "./live";
import { Conversations } from "./mails";
import type { Agent, GetAgentResponse, ListDeadlinesResponse } from "./messages";
import { link, params, rest } from "./router";
import { Output, Screen } from "./screen";
import { useTimeline } from "./timeline";
import { Act, Age, Badge, Card, Empty, Wrong } from "./ui";
import { AgentUsage } from "./usage";

export function AgentView(): JSX.Element {
  const name = rest.value,
    tab = params.value.get("tab") ?? "events";
  const concerns = (e: { agent?: string }): boolean => e.agent === name;
  const got = useLive((abort) => read<GetAgentResponse>(agentPath(name), {}, abort), concerns, [name], 5000);
  const due = useLive(
    (abort) => read<ListDeadlinesResponse>(`${agentPath(name)}/deadlines`, {}, abort),
    concerns,
    [name],
    5000,
  );
  const a = got.value?.agent;
  if (!a) return got.error ? <Wrong error={got.error} /> : <Empty>Looking…</Empty>;
  const tabs: [string, string][] = [
    ["events", "Events"],
    ["lives", "Lives"],
    ["mail", "Mail"],
    ["output", "Output"],
    ["screen", "Screen"],
    ["hosts", "Hosts"],
  ];
  return (
    <div class="grid">
      <Verdict a={a} at={got.at} again={got.again} />
      <Facts a={a} at={got.at} />
      <Card title="What is due" id="due">
        <Wrong error={due.error} />
        <table class="plain">
          <thead>
            <tr>
              <th scope="col">What</th>
              <th scope="col" class="n">
                In
              </th>
            </tr>
          </thead>
          <tbody>
            {due.value?.deadlines.map((d) => (
              <tr key={`${d.kind} ${d.of}`} title={d.then}>
                <td>
                  {sentence(d.kind)}
                  {d.of !== `agent ${name}` && <span class="faint"> {d.of}</span>}
                  <div class="faint small">{d.held_by ? `held: ${d.held_by}` : d.then}</div>
                </td>
                <td class="n">
                  {d.held_by && !d.left ? "–" : <Age of={d.left} at={due.at} down={!d.held_by} />}
                </td>
              </tr>
            ))}
          </tbody>
        </table>
        {due.value?.deadlines.length === 0 && <Empty>Nothing is due.</Empty>}
      </Card>
      <Lives a={a} got={got.value!} at={got.at} />
      <section class="card wide">
        <div class="tabs" role="group" aria-label="More">
          {tabs.map(([id, title]) => (
            <a
              key={id}
              class={id === tab ? "choice on" : "choice"}
              aria-current={id === tab ? "true" : undefined}
              href={link(`/agent/${name}?tab=${id}`)}
            >
              {title}
            </a>
          ))}
        </div>
        {tab === "events" && <Feed list={(got.value?.events ?? []).toReversed()} />}
        {tab === "lives" && <PastLives agent={name} />}
        {tab === "mail" && <Conversations agent={name} />}
        {tab === "output" && <Output agent={name} />}
        {tab === "screen" && <Screen agent={name} />}
        {tab === "hosts" && <Fits got={got.value!} />}
      </section>
    </div>
  );
}

function Verdict({ a, at, again }: { a: Agent; at: number; again: () => void }): JSX.Element {
  const act = agentActions({
    name: a.name ?? "",
    life: a.incarnation ?? "",
    rev: a.rev ?? "0",
    task: a.task,
  });
  const pausing = pauses(a.name ?? "");
  const reasons = a.verdict?.reasons ?? [];
  return (
    <section class="card wide" id="verdict" aria-label="Verdict">
      <p class="line">
        <Badge tone={verdictTone(a.verdict?.kind)}>{words(a.verdict?.kind)}</Badge>
        <span>{sentence(a.why)}</span>
        {a.degraded && <span class="faint">{a.degraded}</span>}
      </p>
      {a.declaration?.text && !a.declaration.lapsed && (
        <blockquote class="words" aria-label="In its own words">
          {a.declaration.text}
        </blockquote>
      )}
      <ul class="reasons">
        {reasons.map((r) => (
          <li key={r.text} class={r.bad ? "bad" : "good"}>
            {sentence(r.text)}
            <span class="faint">
              {" "}
              {r.evidence}
              {r.age && (
                <>
                  , <Age of={r.age} at={at} />
                </>
              )}
            </span>
          </li>
        ))}
      </ul>
      {a.ladder && (
        <p class="faint">
          Ladder: {a.ladder.rung !== "none" && `${a.ladder.rung} was taken, `}
          {a.ladder.next !== "none" ? `${a.ladder.next} follows` : a.ladder.why}.
        </p>
      )}
      <div class="buttons">
        {a.desired === "stopped" ? (
          <Act {...act.start} then={again} />
        ) : (
          <Act {...act.stop} keys="s" then={again} />
        )}
        {a.desired !== "stopped" && <Act {...act.restart} keys="r" then={again} />}
        {a.paused ? <Act {...pausing.resume} then={again} /> : <Act {...pausing.pause} then={again} />}
        {(a.parked || a.not_before) && <Act {...act.unpark} kind="primary" keys="u" then={again} />}
      </div>
    </section>
  );
}

function Facts({ a, at }: { a: Agent; at: number }): JSX.Element {
  return (
    <Card title="Now">
      <dl class="facts">
        <dt>Process</dt>
        <dd>
          {a.process}
          {a.pid > 0 && <span class="faint"> pid {a.pid}</span>}
        </dd>
        <dt>In the room</dt>
        <dd>{words(a.participant)}</dd>
        <dt>Host</dt>
        <dd>{a.host ? <a href={link(`/host/${a.host}`)}>{a.host}</a> : "–"}</dd>
        <dt>Up</dt>
        <dd>
          <Age of={a.up} at={at} />
        </dd>
        <dt>Lease left</dt>
        <dd>
          <Age of={a.lease_left} at={at} down />
        </dd>
        <dt>Fence left</dt>
        <dd>
          <Age of={a.fence_left} at={at} down />
        </dd>
        <dt>Tasks done</dt>
        <dd class="num">{a.done}</dd>
        <AgentUsage u={a.usage} />
        {a.typist && (
          <>
            <dt>Terminal</dt>
            <dd>
              <a href={link(`/agent/${a.name}?tab=screen`)}>{a.typist.by || "somebody"}</a>{" "}
              <span class="faint">
                types there since <Age of={a.typist.since} at={at} />
              </span>
            </dd>
          </>
        )}
        {a.intent_by && (
          <>
            <dt>Wanted</dt>
            <dd>
              {a.desired}{" "}
              <span class="faint">
                by {a.intent_by}
                {a.intent_why && `: ${a.intent_why}`}
              </span>
            </dd>
          </>
        )}
        {a.failures > 0 && (
          <>
            <dt>Failures</dt>
            <dd class="num">{a.failures}</dd>
          </>
        )}
      </dl>
    </Card>
  );
}

function Lives({ a, got, at }: { a: Agent; got: GetAgentResponse; at: number }): JSX.Element {
  const x = a.last_exit,
    t = got.task;
  return (
    <Card title={`Life ${a.incarnation || "–"}`}>
      {t ? (
        <>
          <p class="line">
            <a href={link(`/task/${t.id}`)}>task {t.id}</a>
            <Badge tone={taskTone(t.state)}>{words(t.state)}</Badge>
            <span class="faint">attempt {t.attempt}</span>
          </p>
          <p>{t.title}</p>
          {t.note && (
            <blockquote class="words" aria-label="Last note">
              {t.note}
            </blockquote>
          )}
        </>
      ) : (
        <p class="faint">It holds no task.</p>
      )}
      {x && (
        <div class="about">
          <h3>How life {x.incarnation} ended</h3>
          <p>
            {sentence(x.reason || x.kind)}
            {x.signal && <span class="faint"> {x.signal}</span>}{" "}
            <span class="faint">
              <Age of={x.ago} at={at} /> ago{x.host && ` on ${x.host}`}
            </span>
          </p>
          {x.tail && <pre class="words">{x.tail}</pre>}
        </div>
      )}
    </Card>
  );
}

/** week is how far back lives are looked for, in milliseconds. */
const week = 7 * 86400 * 1000;

function PastLives({ agent }: { agent: string }): JSX.Element {
  const { line, error, from } = useTimeline({ agent }, { wide: week });
  const lives = (line?.lanes.find((l) => l.kind === "agent")?.spans ?? []).filter((s) => s.kind === "life");
  const at = (ms: number): string => clock(new Date(from + ms).toISOString());
  return (
    <>
      <Wrong error={error} />
      <table class="list">
        <thead>
          <tr>
            <th scope="col">Life</th>
            <th scope="col">From</th>
            <th scope="col">To</th>
            <th scope="col" class="n">
              Lasted
            </th>
            <th scope="col">How it ended</th>
          </tr>
        </thead>
        <tbody>
          {lives.toReversed().map((s) => (
            <tr key={`${s.name} ${s.begin}`}>
              <td>
                <a href={link(`/events?at=${s.seq ?? 0}`)}>
                  {s.joined > 0 ? `${s.joined} short ones` : `#${s.name}`}
                </a>
              </td>
              <td class="num" data-of="from">
                {s.begin > 0 ? at(s.begin) : "earlier"}
              </td>
              <td class="num" data-of="to">
                {s.open ? "now" : at(s.end)}
              </td>
              <td class="n num">{span((s.end - s.begin) / 1000)}</td>
              <td class="text">
                {s.open ? <Badge tone="good">goes on</Badge> : s.bad ? <Badge tone="bad">{s.text}</Badge> : s.text}
              </td>
            </tr>
          ))}
        </tbody>
      </table>
      {line && lives.length === 0 && <Empty>It has not lived in the last week.</Empty>}
      {line?.begins && <Empty>The history begins {clock(line.begins)}.</Empty>}
    </>
  );
}

function Fits({ got }: { got: GetAgentResponse }): JSX.Element {
  return (
    <ul class="reasons">
      {got.hosts.map((h) => (
        <li key={h.host} class={h.fits ? "good" : "bad"}>
          <a href={link(`/host/${h.host}`)}>
            <b>{h.host}</b>
          </a>{" "}
          {h.fits ? "would take its next start" : h.reason}
        </li>
      ))}
    </ul>
  );
}
