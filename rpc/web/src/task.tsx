// Task: attempts, who held it, what was said.
import type { JSX } from "preact";
import { post, read } from "./api";
import { Feed } from "./feed";
import { clock, plural, seconds, sentence, span, taskTone, words } from "./format";
import { useLive } from "./live";
import type { Event, ListEventsResponse, Task } from "./messages";
import { gather } from "./pages";
import { link, rest } from "./router";
import { events } from "./stream";
import { Used } from "./usage";
import { Act, Age, Badge, Card, Empty, Wrong } from "./ui";

export function TaskView(): JSX.Element {
  const id = rest.value;
  const task = useLive(
    (abort) => read<Task>(`v1/tasks/${encodeURIComponent(id)}`, {}, abort),
    (e) => e.task === id,
    [id],
    5000,
  );
  if (!task.value) return task.error ? <Wrong error={task.error} /> : <Empty>Looking…</Empty>;
  const t = task.value,
    lost = Number(t.result_dropped ?? 0),
    ended = ["COMPLETED", "FAILED", "CANCELED", "QUARANTINED"].includes(t.state ?? "");
  return (
    <div class="grid">
      <section class="card wide">
        <p class="title">{t.title || `Task ${t.id}`}</p>
        <p class="line">
          <Badge tone={taskTone(t.state)}>{words(t.state)}</Badge>
          <span class="faint">
            for <Age of={t.in_state} at={task.at} />
          </span>
          <a href={link(`/room/${t.room}`)}>
            {t.room}/{t.role}
          </a>
          {t.holder && (
            <a href={link(`/agent/${t.holder}`)}>
              {t.holder} #{t.holder_incarnation}
            </a>
          )}
          {t.percent !== undefined && <span class="num">{t.percent} %</span>}
        </p>
        {t.why && <p>{sentence(t.why)}.</p>}
        <div class="buttons">
          {ended && t.state !== "QUARANTINED" && t.state !== "COMPLETED" && (
            <Act
              label="Try again"
              kind="primary"
              done="It is in the queue again."
              go={() => post(`v1/tasks/${t.id}:retry`, { if_rev: t.rev })}
              then={task.again}
            />
          )}
          {t.state === "QUARANTINED" && (
            <Act
              label="Release"
              kind="primary"
              done="It is in the queue again."
              of={t.rev}
              sure="It goes back into the queue; what counted against it is forgotten."
              go={() => post(`v1/tasks/${t.id}:unquarantine`, { if_rev: t.rev })}
              then={task.again}
            />
          )}
          {(!ended || t.state === "QUARANTINED") && (
            <Act
              label="Cancel"
              kind="danger"
              done="It is canceled."
              sure="It ends for good; whoever works on it is told."
              go={() => post(`v1/tasks/${t.id}:cancel`, { if_rev: t.rev })}
              then={task.again}
            />
          )}
        </div>
      </section>
      <Card title="Facts">
        <dl class="facts">
          <dt>Attempt</dt>
          <dd class="num">
            {t.attempt}
            <span class="faint">{t.failures > 0 && ` ${plural(t.failures, "failure")} in a row`}</span>
          </dd>
          <dt>Created</dt>
          <dd>
            {clock(t.created_at)} <span class="faint">by {t.created_by || "–"}</span>
          </dd>
          {t.parent && (
            <>
              <dt>Comes from</dt>
              <dd>
                <a href={link(`/task/${t.parent}`)}>task {t.parent}</a>
                <span class="faint">{t.hops > 0 && ` handed on ${plural(t.hops, "time")} in a row`}</span>
              </dd>
            </>
          )}
          {t.next && (
            <>
              <dt>Handed on as</dt>
              <dd>
                <a href={link(`/task/${t.next}`)}>task {t.next}</a>
              </dd>
            </>
          )}
          {t.assigned && (
            <>
              <dt>Claimed</dt>
              <dd>
                <Age of={t.assigned} at={task.at} />{" "}
                <span class="faint">
                  ago, progress <Age of={t.progressed} at={task.at} /> ago
                </span>
              </dd>
            </>
          )}
          {t.expect && (
            <>
              <dt>Expected</dt>
              <dd>{clock(t.expected_completion)}</dd>
            </>
          )}
          {t.usage && (
            <>
              <dt>Used</dt>
              <dd>
                <Used of={t.usage} />
              </dd>
            </>
          )}
          {t.kills > 0 && (
            <>
              <dt>Deaths</dt>
              <dd class="num">{t.kills}</dd>
            </>
          )}
          <dt>Priority</dt>
          <dd class="num">{t.priority}</dd>
        </dl>
      </Card>
      <Card title="Text">
        {t.text ? (
          <pre class="words">{t.text}</pre>
        ) : (
          <Empty>{t.text_gone ? "It was dropped, since a budget of its room was full." : "It has none."}</Empty>
        )}
      </Card>
      <Card title={t.result || lost ? "Result" : "Last note"}>
        {t.result || t.note ? (
          <pre class="words">{t.result || t.note}</pre>
        ) : (
          <Empty>{lost ? "Nothing is left of it." : "Nothing was said yet."}</Empty>
        )}
        {lost > 0 && <p class="warn">{plural(lost, "byte")} of it went, since a budget of its room was full.</p>}
      </Card>
      {t.failed.length > 0 && (
        <Card title="Failed attempts" wide>
          <ul class="reasons">
            {t.failed.map((f) => (
              <li key={f.attempt} class="bad">
                Attempt {f.attempt}, {clock(f.at)}: {f.reason}
              </li>
            ))}
          </ul>
        </Card>
      )}
      {t.late_results.length > 0 && (
        <Card title="Results that came too late to count" wide>
          {t.late_results.map((r) => (
            <div key={r.attempt}>
              <p class="faint">
                Attempt {r.attempt}, life {r.incarnation}, {clock(r.at)}
              </p>
              <pre class="words">{r.result}</pre>
            </div>
          ))}
        </Card>
      )}
      <History t={t} />
    </div>
  );
}

/** most is how many events of a task are read. */
const most = 1000;

/** Attempt is what events say of one. */
interface Attempt {
  n: number;
  agent: string;
  life: string;
  claimed?: string | undefined;
  ended?: string | undefined;
  end: string;
  said: string;
}

const ends = /^task\.(completed|failed|quarantined|canceled|recovered)$/;

/** attemptsOf puts events, the oldest first, together as attempts; said by the task is what they do not hold. */
function attemptsOf(list: Event[], t: Task): Attempt[] {
  const all: Attempt[] = [];
  for (const e of list) {
    const kind = e.kind ?? "";
    const over = ends.test(kind);
    let a = all.findLast((x) => (e.attempt > 0 ? x.n === e.attempt : true));
    if (kind === "task.claimed" || (!a && e.attempt > 0)) {
      a = { n: e.attempt, agent: e.agent ?? "", life: e.incarnation ?? "", end: "", said: "" };
      if (kind === "task.claimed") a.claimed = e.at;
      all.push(a);
    }
    if (a && over && !a.end) {
      a.ended = e.at;
      a.end = words(kind.slice("task.".length));
      a.said = kind === "task.completed" ? "" : (e.text ?? "");
    }
  }
  const last = all.at(-1);
  for (const a of all) {
    const failed = t.failed.find((f) => f.attempt === a.n);
    const late = t.late_results.find((r) => r.attempt === a.n);
    a.said = failed?.reason ?? late?.result ?? a.said;
    // Until the next claim the note of an attempt stays; why that attempt failed says more.
    if (a === last && a.n === t.attempt && !failed) a.said = t.result || t.note || a.said;
  }
  return all;
}

/** History is all that servers still know of a task: its attempts, and what has happened. */
function History({ t }: { t: Task }): JSX.Element {
  const back = useLive(
    (abort) =>
      gather(
        (before, limit) =>
          read<ListEventsResponse>("v1/events:back", { task: t.id, before, limit }, abort),
        (r) => r.events,
        most,
      ),
    () => false,
    [t.id],
  );
  const old = back.value?.list ?? [],
    newest = Number(old[0]?.seq ?? 0);
  const all = [...events.value.filter((e) => e.task === t.id && Number(e.seq) > newest), ...old];
  const attempts = attemptsOf(all.toReversed(), t).toReversed();
  const whole = all.some((e) => e.kind === "task.created");
  return (
    <>
      <Card title="Attempts" wide>
        <Wrong error={back.error} />
        {attempts.length > 0 && (
          <table class="list">
            <thead>
              <tr>
                <th scope="col" class="n">
                  Attempt
                </th>
                <th scope="col">Holder</th>
                <th scope="col">Claimed</th>
                <th scope="col" class="n">
                  Took
                </th>
                <th scope="col">How it ended</th>
                <th scope="col">What was said</th>
              </tr>
            </thead>
            <tbody>
              {attempts.map((a) => (
                <tr key={`${a.n} ${a.claimed}`}>
                  <td class="n num">{a.n}</td>
                  <td>
                    <a href={link(`/agent/${a.agent}`)}>{a.agent}</a>
                    {a.life && <span class="faint"> #{a.life}</span>}
                  </td>
                  <td class="num" data-of="claimed">
                    {a.claimed ? clock(a.claimed) : "–"}
                  </td>
                  <td class="n num" data-of="took">
                    <Took a={a} />
                    {t.expect && <span class="faint"> of {span(seconds(t.expect))}</span>}
                  </td>
                  <td>{a.end ? <Badge tone={a.end === "completed" ? "good" : "bad"}>{a.end}</Badge> : "goes on"}</td>
                  <td class="text">{a.said}</td>
                </tr>
              ))}
            </tbody>
          </table>
        )}
        {back.value && attempts.length === 0 && <Empty>Nobody has had it, as far as is known.</Empty>}
        {back.value && !whole && (
          <Empty>
            {back.value.next ? "Older events were not looked at." : "Older events of it are gone: this is not all."}
          </Empty>
        )}
      </Card>
      <Card title="What happened" wide side={<a href={link(`/events?task=${t.id}`)}>As events</a>}>
        <Feed list={all.slice(0, 100)} />
      </Card>
    </>
  );
}

/** Took is how long an attempt has taken, or takes. */
function Took({ a }: { a: Attempt }): JSX.Element {
  if (!a.claimed) return <>–</>;
  const until = a.ended ? Date.parse(a.ended) : Date.now();
  return <>{span(Math.max(0, (until - Date.parse(a.claimed)) / 1000))}</>;
}
