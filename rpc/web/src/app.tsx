// The frame of the page: signing in, the way around, and what must be seen whatever one looks at.
import { signal } from "@preact/signals";
import { render, type JSX } from "preact";
import { useRef } from "preact/hooks";
import { pauses } from "./actions";
import { get, signedOut, signIn, signOut } from "./api";
import { Apply, MailTo, NewTask } from "./compose";
import { Events } from "./events";
import { count, plural, seconds, span } from "./format";
import { Fleet } from "./fleet";
import { Inbox } from "./inbox";
import { pressLetters } from "./keys";
import { Notify, watchInbox } from "./notify";
import { Palette, search, type Command } from "./palette";
import { TimelineView } from "./timeline";
import { Agents, Tasks } from "./lists";
import { Hosts, HostView, Servers } from "./machines";
import { Rooms, RoomView } from "./rooms";
import { TaskView } from "./task";
import { AgentView } from "./agent";
import { go, link, place, rest, route } from "./router";
import { begin, fresh, heard, news, overview, overviewAt, silent, trouble } from "./stream";
import { Act, Age, attempt, Said } from "./ui";

interface View {
  name: string;
  title: string;
  view: () => JSX.Element;
  nav: boolean;
}

const views: View[] = [
  { name: "fleet", title: "Fleet", view: Fleet, nav: true },
  { name: "inbox", title: "Inbox", view: Inbox, nav: true },
  { name: "rooms", title: "Rooms", view: Rooms, nav: true },
  { name: "agents", title: "Agents", view: Agents, nav: true },
  { name: "tasks", title: "Tasks", view: Tasks, nav: true },
  { name: "hosts", title: "Hosts", view: Hosts, nav: true },
  { name: "servers", title: "Servers", view: Servers, nav: true },
  { name: "timeline", title: "Timeline", view: TimelineView, nav: true },
  { name: "events", title: "Events", view: Events, nav: true },
  { name: "new-task", title: "New task", view: NewTask, nav: false },
  { name: "new-mail", title: "New mail", view: MailTo, nav: false },
  { name: "apply", title: "Apply a room file", view: Apply, nav: false },
  { name: "room", title: "Room", view: RoomView, nav: false },
  { name: "agent", title: "Agent", view: AgentView, nav: false },
  { name: "host", title: "Host", view: HostView, nav: false },
  { name: "task", title: "Task", view: TaskView, nav: false },
];

/** self is who the page speaks for. */
const self = signal<{ name?: string; cluster?: string; server?: string }>({});

/** looks are those that a reader may choose. */
const looks = ["auto", "light", "dark"];
const look = signal(localStorage.getItem("vigil-look") ?? "auto");

function changeLook(): void {
  look.value = looks[(looks.indexOf(look.value) + 1) % looks.length]!;
  localStorage.setItem("vigil-look", look.value);
  document.documentElement.dataset.look = look.value;
}

function App(): JSX.Element {
  if (signedOut.value) return <SignedOut />;
  const view = views.find((v) => v.name === place.value) ?? views[0]!;
  document.title = (waiting() > 0 ? `(${waiting()}) ` : "") + `${view.title} · vigil`;
  return (
    <>
      <a
        class="skip"
        href="#main"
        onClick={(e) => (e.preventDefault(), document.getElementById("main")?.focus())}
      >
        Skip to the content
      </a>
      <Nav />
      <main id="main" tabIndex={-1}>
        <header class="top">
          <h1>
            {rest.value ? (
              <>
                {view.title} <span class="faint">{rest.value}</span>
              </>
            ) : (
              view.title
            )}
          </h1>
          <span class="side">
            <button type="button" class="find" onClick={search} aria-keyshortcuts="Control+K">
              Search<kbd aria-hidden="true">Ctrl K</kbd>
            </button>
            <State />
          </span>
        </header>
        <Banners />
        <view.view key={route.value.split("?")[0]!} />
      </main>
      <Palette commands={commands} />
      <Said />
    </>
  );
}

/** commands are what the search offers beside names. */
const commands: Command[] = [
  ...views.filter((v) => v.nav).map((v) => ({ name: `Go to ${v.title}`, go: () => go("/" + v.name) })),
  { name: "Create a task", go: () => go("/new-task") },
  { name: "Send mail", go: () => go("/new-mail") },
  { name: "Apply a room file", go: () => go("/apply") },
  { name: "Change the look: light, dark, as the system", go: changeLook },
  { name: "Sign out", go: () => void signOut() },
];

function waiting(): number {
  return Object.values(overview.value?.inbox ?? {}).reduce((n, v) => n + v, 0);
}

/** waitingFor says what the number at the inbox counts. */
function waitingFor(): string {
  const of = overview.value?.inbox ?? {};
  const each = ["urgent", "high", "normal", "low"].filter((p) => (of[p] ?? 0) > 0).map((p) => `${of[p]} ${p}`);
  return `${plural(waiting(), "thing waits", "things wait")} for a human: ${each.join(", ")}`;
}

/** far are the views that a phone has under More. */
const far = new Set(["hosts", "servers", "timeline", "events"]);

/** More is the rest of the bar on a phone. */
function More(): JSX.Element {
  const box = useRef<HTMLDetailsElement>(null);
  const close = (): void => {
    if (box.current) box.current.open = false;
  };
  return (
    <details
      class="more"
      ref={box}
      onKeyDown={(e) => e.key === "Escape" && (close(), box.current?.querySelector("summary")?.focus())}
    >
      <summary>More</summary>
      <div class="sheet" onClick={close}>
        {views
          .filter((v) => far.has(v.name))
          .map((v) => (
            <a key={v.name} href={link("/" + v.name)} aria-current={place.value === v.name ? "page" : undefined}>
              {v.title}
            </a>
          ))}
        <Notify />
        <button type="button" onClick={changeLook}>
          Look: {look.value}
        </button>
        <button type="button" onClick={() => void signOut()}>
          Sign out
        </button>
      </div>
    </details>
  );
}

function Nav(): JSX.Element {
  return (
    <nav class="nav" aria-label="Views">
      <a class="brand" href={link("/fleet")} aria-label="vigil, to the fleet">
        <Eye />
        vigil
      </a>
      <ul>
        {views
          .filter((v) => v.nav)
          .map((v) => (
            <li key={v.name} class={far.has(v.name) ? "far" : undefined}>
              <a href={link("/" + v.name)} aria-current={place.value === v.name ? "page" : undefined}>
                {v.title}
                {v.name === "inbox" && waiting() > 0 && (
                  <span class="pill" title={waitingFor()} aria-label={waitingFor()}>
                    {count(waiting())}
                  </span>
                )}
              </a>
            </li>
          ))}
      </ul>
      <More />
      <div class="foot">
        {self.value.name && (
          <span class="faint" title="who this page speaks for">
            {self.value.name}
          </span>
        )}
        <Notify />
        <button type="button" onClick={changeLook}>
          Look: {look.value}
        </button>
        <button type="button" onClick={() => void signOut()}>
          Sign out
        </button>
      </div>
    </nav>
  );
}

function Eye(): JSX.Element {
  return (
    <svg viewBox="0 0 32 32" width="20" height="20" aria-hidden="true">
      <path
        d="M3 16c3.6-6 8-9 13-9s9.4 3 13 9c-3.6 6-8 9-13 9S6.6 22 3 16z"
        fill="none"
        stroke="currentColor"
        stroke-width="2.6"
        stroke-linejoin="round"
      />
      <circle cx="16" cy="16" r="4.2" fill="currentColor" />
    </svg>
  );
}

/** State tells how fresh what is shown is. */
function State(): JSX.Element {
  const text =
    heard.value === 0
      ? "connecting"
      : silent.value > 0
        ? `silent for ${silent.value}s`
        : fresh.value
          ? "live"
          : "no leader";
  return (
    <span
      class={"state " + (fresh.value ? "good" : "bad")}
      id="state"
      title={`log index ${news.value?.index ?? 0} of ${news.value?.server ?? "no server"}`}
    >
      <i aria-hidden="true" />
      {text}
    </span>
  );
}

/** Banners are what must be seen at once. */
function Banners(): JSX.Element {
  const o = overview.value,
    n = news.value;
  const leaderless = n && !n.leader;
  return (
    <div class="banners" aria-live="polite">
      {silent.value > 0 && (
        <p class="bad" id="stale">
          <b>What you see is {silent.value}s old.</b>{" "}
          {trouble.value || "No server answers this page; it goes on looking."} <Others />
        </p>
      )}
      {leaderless && silent.value === 0 && (
        <p class="bad" id="leaderless">
          <b>No server leads</b> for {span(Math.max(1, seconds(n.leaderless)))}, as far as {n.server} knows.
          Cluster time stands still and nothing can be changed; agents go on.
        </p>
      )}
      {o?.brake && (
        <p class="warn" id="brake">
          <b>The brake is set.</b> {o.brake}
        </p>
      )}
      {o?.paused && (
        <p class="warn" id="paused">
          <b>Everything is paused</b> by {o.pause_by || "somebody"}
          {o.pause_why && <>: {o.pause_why}</>}.
          {o.pause_ends_in && (
            <>
              {" "}
              It ends in <Age of={o.pause_ends_in} at={overviewAt.value} down />.
            </>
          )}{" "}
          What runs goes on; nothing new is started or claimed. <Act {...pauses("").resume} />
        </p>
      )}
      {o?.hold && (
        <p class="warn" id="hold">
          <b>Starts are held</b> after a backup was restored, for{" "}
          <Age of={o.hold} at={overviewAt.value} down />.
        </p>
      )}
    </div>
  );
}

/** Others are the pages of the other servers, where this one is that of a server that may not come back. */
function Others(): JSX.Element | null {
  const others = (overview.value?.servers ?? []).filter((s) => s.id !== self.value.server && s.api_addr);
  if (!self.value.server || others.length === 0) return null;
  return (
    <span id="others">
      This is the page of {self.value.server}. Others, where you sign in anew:{" "}
      {others.map((s) => (
        <a key={s.id} href={`${location.protocol}//${s.api_addr}/`} rel="noreferrer">
          {s.id}
        </a>
      ))}
    </span>
  );
}

function SignedOut(): JSX.Element {
  return (
    <main class="out">
      <Eye />
      <h1>You are signed out</h1>
      <p>
        Run <code>vigil ui</code> on the machine where you are logged in, or <code>vigil ui --phone</code> for the
        page of a server, and open the link that it prints. A link works once.
      </p>
    </main>
  );
}

async function start(): Promise<void> {
  document.documentElement.dataset.look = look.value;
  const code = /^#code=([A-Za-z0-9_-]+)$/.exec(location.hash)?.[1];
  if (code) {
    history.replaceState(null, "", location.pathname + link("/fleet"));
    route.value = "/fleet";
    if (!(await attempt("You are signed in.", () => signIn(code)))) signedOut.value = true;
  }
  render(<App />, document.getElementById("page")!);
  try {
    self.value = await get("session");
  } catch {
    // a server's own page has no such thing; a session that has ended shows as signed out
  }
  begin();
  watchInbox();
  pressLetters();
  if (!location.hash) go("/fleet");
}

void start();
