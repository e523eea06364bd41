// Giving work, writing mail, and declaring rooms.
import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { ask, Failure, once, read } from "./api";
import { useDraft } from "./draft";
import { plural } from "./format";
import { useLive } from "./live";
import type { ListRoomsResponse, Room, RolePlan, Task } from "./messages";
import { gather } from "./pages";
import { go, link, params } from "./router";
import { attempt, Card, Empty, say, Wrong } from "./ui";

/** NewTask creates a task, for the role that the address says. */
export function NewTask(): JSX.Element {
  const to = params.value.get("to") ?? "";
  return <TaskFor key={to} to={to} />;
}

/** TaskFor has a draft for each role that a link says: what was typed for one does not go to another. */
function TaskFor({ to }: { to: string }): JSX.Element {
  const rooms = useLive(
    (abort) =>
      gather(
        (after, limit) => read<ListRoomsResponse>("v1/rooms", { limit, after }, abort),
        (r) => r.rooms,
        Infinity,
      ),
    (e) => e.kind === "room.applied" || e.kind === "room.deleted",
    [],
  );
  const [role, setRole] = useDraft(`task ${to} role`, to);
  const [title, setTitle] = useDraft(`task ${to} title`);
  const [text, setText] = useDraft(`task ${to} text`);
  const [priority, setPriority] = useDraft(`task ${to} priority`, "0");
  const [busy, setBusy] = useState(false);
  const roles = (rooms.value?.list ?? []).flatMap((r) =>
    r.roles.filter((x) => !x.retired).map((x) => `${r.name}/${x.spec?.name}`),
  );
  // Nobody else is chosen for whoever looks: the first of several is another one when a room comes or goes.
  const chosen = role || (roles.length === 1 ? roles[0]! : ""),
    known = roles.includes(chosen);
  const send = async (): Promise<void> => {
    const [room, of] = chosen.split("/");
    setBusy(true);
    let made: Task | undefined;
    if (
      await attempt("The task is in the queue.", async () => {
        made = await once<Task>(`v1/rooms/${room}/tasks`, {
          role: of,
          title,
          text,
          priority: Number(priority) || 0,
        });
      })
    ) {
      for (const clear of [setRole, setTitle, setText, setPriority]) clear("");
      go(`/task/${made!.id}`);
    }
    setBusy(false);
  };
  return (
    <Card title="New task">
      <Wrong error={rooms.error} />
      {rooms.value && roles.length === 0 && <Empty>There is no role yet: apply a room file first.</Empty>}
      {rooms.value && chosen && !known && (
        <p class="wrong" role="alert">
          {chosen} takes no tasks: there is no such role, or it is retired. Choose for whom the task is.
        </p>
      )}
      <form class="form" onSubmit={(e) => (e.preventDefault(), void send())}>
        <label>
          <span>For</span>
          <select value={chosen} onChange={(e) => setRole(e.currentTarget.value)}>
            {!known && (
              <option value={chosen} disabled>
                {chosen || "Choose a role"}
              </option>
            )}
            {roles.map((r) => (
              <option key={r} value={r}>
                {r}
              </option>
            ))}
          </select>
        </label>
        <label>
          <span>Title</span>
          <input value={title} maxLength={256} required onInput={(e) => setTitle(e.currentTarget.value)} />
        </label>
        <label>
          <span>Text</span>
          <textarea rows={8} value={text} onInput={(e) => setText(e.currentTarget.value)} />
        </label>
        <label>
          <span>Priority, the higher the sooner</span>
          <input
            type="number"
            min={-100}
            max={100}
            value={priority}
            onInput={(e) => setPriority(e.currentTarget.value)}
          />
        </label>
        <div class="buttons">
          <button type="submit" class="primary" disabled={busy || !known || !title}>
            Create the task
          </button>
        </div>
      </form>
    </Card>
  );
}

/** Write writes a mail; answers tells which one it answers. */
export function Write({
  to,
  thread,
  subject,
  then,
}: {
  to: string;
  thread?: string;
  subject?: string;
  then?: () => void;
}): JSX.Element {
  const key = `mail ${to} ${thread ?? ""}`;
  const [about, setAbout] = useDraft(`${key} subject`, subject ?? "");
  const [text, setText] = useDraft(key);
  const [priority, setPriority] = useState("normal");
  const [busy, setBusy] = useState(false);
  const send = async (): Promise<void> => {
    setBusy(true);
    const ok = await attempt(`Mail is on its way to ${to}.`, () =>
      once("v1/mail", { to, subject: about, body: text, priority, thread: thread ?? "0" }),
    );
    setBusy(false);
    if (ok) {
      setText("");
      setAbout("");
      then?.();
    }
  };
  return (
    <form class="form" onSubmit={(e) => (e.preventDefault(), void send())}>
      <label>
        <span>Subject</span>
        <input value={about} maxLength={256} required onInput={(e) => setAbout(e.currentTarget.value)} />
      </label>
      <label>
        <span>Mail to {to}</span>
        <textarea
          rows={4}
          value={text}
          maxLength={16000}
          onInput={(e) => setText(e.currentTarget.value)}
          onKeyDown={(e) => {
            if (e.key === "Enter" && (e.ctrlKey || e.metaKey)) e.currentTarget.form?.requestSubmit();
          }}
        />
      </label>
      <div class="buttons">
        <label class="inline">
          <span class="hidden">Priority</span>
          <select value={priority} onChange={(e) => setPriority(e.currentTarget.value)}>
            {["low", "normal", "high", "urgent"].map((p) => (
              <option key={p}>{p}</option>
            ))}
          </select>
        </label>
        <button type="submit" class="primary" disabled={busy || !text || !about}>
          Send
        </button>
      </div>
    </form>
  );
}

type Planned = { request: Record<string, unknown> & { room: string }; now: Room };

/** harmOf counts the agents at work that would end and the tasks that would be canceled. */
const harmOf = (p: Planned): number => (p.now.plan?.at_work ?? 0) + (p.now.plan?.canceled ?? 0);

/** Apply declares rooms as a file says, after a look at what that does. */
export function Apply(): JSX.Element {
  const [text, set] = useDraft("room file");
  const [plans, setPlans] = useState<Planned[]>();
  const [error, setError] = useState<unknown>();
  const [busy, setBusy] = useState(false);
  const change = (next: string): void => {
    set(next);
    setPlans(undefined);
    setError(undefined);
  };
  const plan = async (): Promise<void> => {
    setBusy(true);
    try {
      const { rooms } = await ask<{ rooms: Planned["request"][] }>("room-file", { text });
      const planned: Planned[] = [];
      for (const request of rooms) {
        planned.push({ request, now: await put<Room>(request, { dry_run: true }) });
      }
      setPlans(planned);
      setError(undefined);
    } catch (e) {
      setPlans(undefined);
      setError(e);
    }
    setBusy(false);
  };
  const apply = async (): Promise<void> => {
    setBusy(true);
    for (const p of plans!) {
      const ok = await attempt(`Room ${p.request.room} is as the file says.`, async () => {
        const created = p.now.plan?.created;
        if (created) await stillMissing(p.request);
        await put(p.request, { gentle: harmOf(p) === 0, ...(!created && { if_rev: p.now.rev }) });
      });
      if (!ok) {
        setPlans(undefined); // it may be another one by now
        break;
      }
      if (p === plans!.at(-1)) {
        change("");
        go(`/room/${p.request.room}`);
      }
    }
    setBusy(false);
  };
  /** stillMissing refuses a room that somebody else has created since the look: no revision can say so to servers. */
  const stillMissing = async (request: Planned["request"]): Promise<void> => {
    const now = await put<Room>(request, { dry_run: true });
    if (!now.plan?.created)
      throw new Failure(
        409,
        "conflict",
        `Room ${request.room} was created meanwhile: look again at what the file does.`,
      );
  };
  const put = <T,>(request: Planned["request"], more: Record<string, unknown>): Promise<T> =>
    ask<T>(`v1/rooms/${encodeURIComponent(request.room)}`, { ...request, ...more, room: undefined }, "PUT");
  const harm = (plans ?? []).reduce((n, p) => n + harmOf(p), 0);
  return (
    <div class="grid">
      <Card title="Room file" wide>
        <form class="form" onSubmit={(e) => (e.preventDefault(), void plan())}>
          <label>
            <span>As for vigil apply -f: rooms with their roles</span>
            <textarea
              class="mono"
              rows={14}
              spellcheck={false}
              value={text}
              placeholder={"room: web\nroles:\n  - name: builder\n    runner: builder\n    replicas: 2"}
              onInput={(e) => change(e.currentTarget.value)}
            />
          </label>
          <div class="buttons">
            <button type="submit" class={plans ? "" : "primary"} disabled={busy || !text.trim()}>
              Show what it does
            </button>
            <label class="choose">
              <input
                type="file"
                accept=".yaml,.yml"
                aria-label="Take a file"
                onChange={async (e) => {
                  const file = e.currentTarget.files?.[0];
                  if (file && file.size < 1 << 20) change(await file.text());
                  else if (file) say("The file is too large.", true);
                }}
              />
            </label>
          </div>
        </form>
        <Wrong error={error} />
      </Card>
      {plans && (
        <Card title="What it does" wide>
          <ul class="plan" id="plan">
            {plans.map((p) => (
              <Plan key={p.request.room} p={p} />
            ))}
          </ul>
          {harm > 0 && (
            <p class="wrong">
              {plural(
                plans.reduce((n, p) => n + (p.now.plan?.at_work ?? 0), 0),
                "agent",
              )}{" "}
              at work would end and{" "}
              {plural(
                plans.reduce((n, p) => n + (p.now.plan?.canceled ?? 0), 0),
                "task",
              )}{" "}
              be canceled.
            </p>
          )}
          <div class="buttons">
            <button
              type="button"
              class={harm > 0 ? "danger" : "primary"}
              disabled={busy}
              onClick={() => void apply()}
            >
              {harm > 0 ? "Apply it all the same" : "Apply it"}
            </button>
          </div>
        </Card>
      )}
    </div>
  );
}

function roleChange(r: RolePlan): string {
  const parts = [
    r.kind !== "unchanged" && r.kind !== "changed" ? `is ${r.kind}` : "",
    ...r.changes,
    r.starts > 0 ? `${r.starts} started` : "",
    r.ends > 0 ? `${r.ends} ended` : "",
    r.finishes > 0 ? `${r.finishes} end when their task is over` : "",
    r.canceled > 0 ? `${plural(r.canceled, "task")} canceled` : "",
  ].filter(Boolean);
  return parts.length > 0 ? `Role ${r.role}: ${parts.join(", ")}` : "";
}

function Plan({ p }: { p: Planned }): JSX.Element {
  const plan = p.now.plan,
    lines = [...(plan?.changes ?? []), ...(plan?.roles ?? []).map(roleChange)].filter(Boolean);
  return (
    <li>
      <b>
        {p.request.room}{" "}
        {plan?.created ? "is created" : lines.length > 0 ? "changes" : "stays as it is"}
      </b>
      <ul>
        {lines.map((l) => (
          <li key={l}>{l}</li>
        ))}
        {(plan?.warnings ?? []).map((w) => (
          <li key={w} class="wrong">
            {w}
          </li>
        ))}
      </ul>
    </li>
  );
}

/** MailTo writes to whom the address says. */
export function MailTo(): JSX.Element {
  const to = params.value.get("to") ?? "";
  const [address, set] = useDraft(`mail to ${to}`, to);
  return (
    <Card title="Write a mail">
      <div class="form">
        <label>
          <span>To: a room, a role (room/role) or one agent (room/role.2)</span>
          <input value={address} maxLength={200} onInput={(e) => set(e.currentTarget.value)} />
        </label>
      </div>
      {address && <Write key={address} to={address} then={() => (set(""), go(`/room/${address.split("/")[0]}`))} />}
      {!address && <Empty>Say for whom it is.</Empty>}
      <p class="faint">
        <a href={link("/rooms")}>Rooms</a>
      </p>
    </Card>
  );
}
