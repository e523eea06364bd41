// Task: attempts, who held it, what was said.
import type { JSX } from "preact";
import { post, read } from "./api";
import { Feed } from "./feed";
import { clock, plural, sentence, taskTone, words } from "./format";
import { useLive } from "./live";
import type { Task } from "./messages";
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
      <Card title={t.result ? "Result" : "Last note"}>
        {t.result || t.note ? (
          <pre class="words">{t.result || t.note}</pre>
        ) : (
          <Empty>Nothing was said yet.</Empty>
        )}
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
      <Card title="What happened since this page was opened" wide>
        <Feed list={events.value.filter((e) => e.task === t.id).slice(0, 50)} />
      </Card>
    </div>
  );
}
