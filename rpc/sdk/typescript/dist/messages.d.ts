// The messages of vigil's API: what a call takes and what it answers.
// Made by `make generate` from the OpenAPI document. Do not edit.

/** A whole number of 64 bits, as digits: a number of this language does not hold it. */
export type Digits = string;

/** A whole number of 64 bits, as a number, a bigint or digits. */
export type Wide = string | number | bigint;

/** A span of time: seconds with an s, such as `1.5s`. */
export type Duration = `${number}s`;

/** A time by RFC 3339, on the clock of the server that answers. */
export type Time = string;

export type TaskState =
  | "QUEUED"
  | "PENDING"
  | "ACKNOWLEDGED"
  | "IN_PROGRESS"
  | "COMPLETED"
  | "FAILED"
  | "CANCELED"
  | "QUARANTINED";

export interface APIToken {
  bindings: Binding[];
  by?: string;
  created_at?: Time;
  /** Zero: it has ended. */
  ends_in?: Duration;
  name?: string;
  token?: Digits;
}

/** What Escalations.AckEscalation takes. */
export interface AckEscalationRequest {
  /** Who says so, for people. */
  by?: string;
  escalation: Wide;
}

/** What Mailbox.AckMail takes. */
export interface AckMailRequest {
  mail: Wide;
  speaker: Speaker;
}

export interface AckMailResponse {
  /** False: it had been acknowledged before. */
  applied: boolean;
}

export interface AddServerRequest {
  id: string;
  raft_addr: string;
  /** Keep it without a vote, to take the place of a server that is lost. */
  standby?: boolean;
}

export interface AddServerResponse {
}

/** Agent is one slot of a role. */
export interface Agent {
  /** What it said last of itself in this life; absent: nothing. */
  declaration?: Declaration;
  /** Why nothing can be typed to it or seen of it; empty: it can be, or nobody knows. */
  degraded?: string;
  desired?: string;
  done: number;
  failures: number;
  fence_left?: Duration;
  host?: string;
  /** Number used in beats. */
  id: number;
  incarnation?: string;
  incarnation_raw?: Digits;
  intent_at?: Time;
  intent_by?: string;
  intent_why?: string;
  /** Where it stands on the ladder for stuck agents; absent: it is not stuck. */
  ladder?: Ladder;
  last_exit?: Exit;
  lease_left?: Duration;
  managed: boolean;
  name: string;
  not_before?: Duration;
  /** none, start or stop. */
  order?: string;
  order_open?: Duration;
  order_reason?: string;
  /** Its life was started as its role was declared before; a restart renews it. */
  outdated: boolean;
  /** What is known of its patrols and of the looks at it; absent: it is no overseer. */
  overseer?: OverseerStatus;
  parked: boolean;
  /** Why it is parked; empty: the breaker. */
  parked_why?: string;
  /** DISCONNECTED, WAITING or ACTIVE. */
  participant?: string;
  pause_at?: Time;
  pause_by?: string;
  /** Until its own pause ends by itself; absent: it does not, or there is none. */
  pause_ends_in?: Duration;
  pause_why?: string;
  paused: boolean;
  pid: number;
  /** none, ordered, accepted, running or lost. */
  process?: string;
  /** Bytes of the resume value that its next life gets; 0: none. */
  resume_bytes: number;
  retired: boolean;
  rev?: Digits;
  role?: string;
  room?: string;
  /** What its host sees on its terminal; absent: nobody looks. */
  screen?: ScreenState;
  /** Why the last start failed, while nothing has started since. */
  start_fault?: string;
  /** Until the human's stop ends by itself; absent: it does not, or there is none. */
  stop_ends_in?: Duration;
  /** Why its process cannot be ended; empty: it can, or there is none. */
  stuck?: string;
  task?: Digits;
  /** Who types at its terminal; absent: nobody. */
  typist?: Typist;
  up?: Duration;
  /** What it has used; absent: it has told of nothing. */
  usage?: UsageState;
  /** What all signals together say of it; in GetAgent, ListAgents and GetAgentStatus. */
  verdict?: Verdict;
  /** One line: why it is in this state, or why it is not running. */
  why?: string;
  /** Stable name of the reason: running, stopped, back_off, parked, no_host, ... */
  why_code?: string;
  /** Until the reason in why ends by itself; absent: unknown or never. */
  why_left?: Duration;
}

/** AgentEnd is an agent that a change of its room would end. */
export interface AgentEnd {
  agent?: string;
  /** It ends when its task is over. */
  finishes: boolean;
  /** Held; 0: none. */
  task?: Digits;
}

/** What Fleet.AgentLogs takes. */
export interface AgentLogsRequest {
  agent: string;
  follow?: boolean;
  /** Last lines to begin with; 0: 100; at most 10,000. */
  lines?: number;
}

export interface AgentStatus {
  agent?: string;
  declaration?: Declaration;
  /** Why nothing can be typed to it or seen of it; empty: it can be, or nobody knows. */
  degraded?: string;
  host?: string;
  /** Where it stands on the ladder for stuck agents; absent: it is not stuck. */
  ladder?: Ladder;
  /** Last proof of life. */
  last_seen?: Time;
  /** Absent: it is not offline, or it has never run. */
  offline_since?: Time;
  /** Start of the present life, or of the last one. */
  registered_at?: Time;
  /** What its host sees on its terminal; absent: nobody looks. */
  screen?: ScreenState;
  /** online, idle, busy, offline or not_found. */
  status?: string;
  /** Mails that its present life has not got yet, or was reminded of. */
  unread_messages: number;
  verdict?: Verdict;
}

/** What Fleet.ApplyRoom takes. */
export interface ApplyRoomRequest {
  /** The budget of the room; absent: it stays as it is, empty: none. */
  budget?: Budget;
  by?: string;
  /** Checks everything and changes nothing. */
  dry_run?: boolean;
  /** Refuse (conflict) what would end agents at work. */
  gentle?: boolean;
  if_rev?: Wide;
  /** Agents beyond the replicas end although they are at work; else they finish first. */
  now?: boolean;
  roles?: RoleSpec[];
  room: string;
  /** What the room sets for the conversation watchdog; absent: it stays as it is. */
  watch?: RoomWatch;
}

export interface AuditEntry {
  at?: Time;
  /**
   * The first half of the SHA-256 sum of the request without its write id, in hexadecimal digits.
   * Equal requests have equal digests; the request itself is kept nowhere. Empty: it was a stream.
   */
  digest?: string;
  /** Log index of the entry in which it was done. */
  index?: Digits;
  method?: string;
  /** Empty: it was about none, or about several. */
  room?: string;
  seq?: Digits;
  /** The address that the call came from. */
  source?: string;
  who?: string;
}

/** Binding is a role in one room, or everywhere. */
export interface Binding {
  /**
   * viewer (names and states), reader (contents too), operator (tasks, mail, nudges, restarts,
   * drains) or admin.
   */
  role: string;
  /** A room, or * for all of them and for what belongs to none. */
  room: string;
}

/** Budget bounds what is used within 24 hours of cluster time. It is a brake, no accounting. */
export interface Budget {
  /** Millionths of a US dollar; 0: none. */
  micro_usd?: Digits;
  /** Input and output, without what is read from a cache; 0: none. */
  tokens?: Digits;
}

/** What Fleet.CancelTask takes. */
export interface CancelTaskRequest {
  by?: string;
  if_rev?: Wide;
  reason?: string;
  task: Wide;
}

/** Cancellation is one room that the conversation watchdog has canceled. */
export interface Cancellation {
  /** Of the last activity; absent: before the watchdog began. */
  active_at?: Time;
  at?: Time;
  /** Of the agents that held tasks, the first eight. */
  hosts: string[];
  reason?: string;
  /** The room has got new work since; what was canceled may still be brought back. */
  resumed: boolean;
  /** That had open tasks, the first eight. */
  roles: string[];
  room?: string;
  silent?: Duration;
  tasks: number;
}

export interface Certificate {
  /** The roots to trust from now on. */
  anchors?: TrustAnchors;
  /** In DER, the holder's first, the root last. */
  chain: string[];
  generation?: Digits;
  serial?: string;
}

export interface ClaimRequest {
  speaker: Speaker;
  /** As in WaitRequest. */
  start?: boolean;
  /** 0: the first claimable task of the role. */
  task?: Wide;
}

export interface ClaimResponse {
  attempt: number;
  /** Log index of the claim. */
  index?: Digits;
  task: Task;
  ttl: Duration;
}

/** What Escalations.CloseEscalation takes. */
export interface CloseEscalationRequest {
  by?: string;
  escalation: Wide;
  /** For people, at most 1 KiB. */
  note?: string;
}

/** What Work.CloseSession takes. */
export interface CloseSessionRequest {
  session: Wide;
}

export interface CloseSessionResponse {
}

export interface CompleteTaskRequest {
  attempt: number;
  /** The answer itself, or where the work is to be found. The task has it by the same name. */
  result?: string;
  speaker: Speaker;
  task: Wide;
}

export interface Completion {
  /** As in CompleteTaskRequest. */
  result?: string;
}

/** What Fleet.ConfirmDead takes. */
export interface ConfirmDeadRequest {
  by?: string;
  /** Although the host is heard. */
  force?: boolean;
  host: string;
}

export interface CreateAPITokenRequest {
  bindings: Binding[];
  /** For people. */
  name: string;
  /** Cluster time from now; 0: 30 days. */
  ttl?: Duration;
}

export interface CreateAPITokenResponse {
  /** What to send after "Authorization: Bearer ". Shown once: the cluster only knows its hash. */
  bearer?: string;
  token?: Digits;
}

/** What Fleet.CreateTask takes. */
export interface CreateTaskRequest {
  /** The task is offered to nobody before so long from now, at most 30 days; absent: at once. */
  after?: Duration;
  by?: string;
  /**
   * How long each attempt may take from its claim, 1 s to 30 days; absent: what the role says.
   * After that, and half an hour without progress and mail, the task counts as stalled.
   */
  expect?: Duration;
  /**
   * Names the task in its room, at most 128 bytes without white space: who creates a task with it
   * again gets the one that is there, as long as it is kept, and conflict when that says something
   * else. Empty: each is a new one.
   */
  key?: string;
  priority?: number;
  role: string;
  room: string;
  text?: string;
  title?: string;
  /**
   * The W3C traceparent of whoever creates it: the task's spans are in that trace. Absent: that of
   * the metadata of the call, or of its HTTP header, where there is a right one.
   */
  traceparent?: string;
}

export interface CreateTokenRequest {
  /** Labels that a host has to have. */
  labels?: Record<string, string>;
  /**
   * The name that may join: an id of a server, a key of a host, the name of a user. Empty (not for
   * users): any name that nobody has. With a name whoever has it now is replaced.
   */
  name?: string;
  /** server, host or user. */
  role: string;
  /** Runners that a host may offer; none: all. */
  runners?: string[];
  /** Cluster time from now; 0: 1 h. */
  ttl?: Duration;
  /** 0: 1. */
  uses?: number;
}

export interface CreateTokenResponse {
  /** The root certificates, for the pin. */
  anchors?: TrustAnchors;
  /** Shown once: the cluster only knows its hash. */
  secret?: string;
  token?: Digits;
}

/** One deadline. Spans are cluster time. */
export interface Deadline {
  /** Of the time since then, what does not count, because its host was not heard. */
  absent?: Duration;
  /** What makes its clock stand, or puts it off; empty: nothing does. */
  held_by?: string;
  /** For how long it does. */
  held_for?: Duration;
  /** What is due, in words: "lease". */
  kind?: string;
  /** Until it is due; negative: it was, and happens with the next entry of the log. */
  left?: Duration;
  /** What it is of: "agent web/builder", "task 7". */
  of?: string;
  /** Since its clock began; absent: that is not kept, or it has not begun. */
  since?: Duration;
  /** How long its clock runs. */
  span?: Duration;
  /** What happens then. */
  then?: string;
}

/** Declaration is what an agent said last of itself. */
export interface Declaration {
  lapsed: boolean;
  /** Until it lapses; absent: it has no end of its own, or has lapsed. */
  left?: Duration;
  /** Since the last report, and since the first that said the same. */
  reported?: Duration;
  said?: Duration;
  sequence?: Digits;
  /** healthy, busy or degraded. */
  status?: string;
  text?: string;
  /** none, needs_input, sleeping or in_tool. */
  waiting?: string;
}

export interface DeclareRequest {
  /**
   * How long it holds; then it lapses by itself. Needed with needs_input (at most 7 days), sleeping
   * and in_tool, possible with busy (at most the setting declare_limit).
   */
  for?: Duration;
  /**
   * Numbers the declarations of a life: one that is not above the last is answered and changes
   * nothing. 0: not numbered.
   */
  sequence?: Wide;
  speaker: Speaker;
  /** healthy, busy or degraded; empty: healthy. */
  status?: string;
  /** Why, for people; at most 1 KiB. */
  text?: string;
  /** none, needs_input, sleeping or in_tool; empty: none. */
  waiting?: string;
}

export interface DeclareResponse {
  /** False: the sequence is not above the last one, nothing was changed. */
  applied: boolean;
  /** Until the declaration in force lapses; absent: it has no end of its own. */
  left?: Duration;
  /** The highest sequence that this life has used. */
  sequence?: Digits;
}

/** What Fleet.DeleteRoom takes. */
export interface DeleteRoomRequest {
  by?: string;
  /** Tells what would happen and changes nothing. */
  dry_run?: boolean;
  /** Refuse (conflict) what would end agents at work or cancel tasks. */
  gentle?: boolean;
  if_rev?: Wide;
  room: string;
}

export interface DeleteRoomResponse {
  /** True while agents of the room are still being stopped. */
  pending: boolean;
  /** With dry_run: what would happen. */
  plan?: RoomPlan;
}

export interface Delivery {
  /** Of the last try. */
  at?: Time;
  /** Why the last try failed. */
  failure?: string;
  /** Until the next try; absent: there is none, or it is due. */
  next_in?: Duration;
  notifier?: string;
  /** waiting, delivered or given_up. */
  state?: string;
  tries: number;
}

/** What Cluster.DemoteServer takes. */
export interface DemoteServerRequest {
  /** Take its vote although that leaves fewer than a majority of servers alive. */
  force?: boolean;
  server: string;
}

export interface DemoteServerResponse {
}

/** What Fleet.DrainHost takes. */
export interface DrainHostRequest {
  by?: string;
  /** What still holds a task then is stopped too; 0: never. */
  deadline?: Duration;
  /**
   * How long the drain lasts, 1 s to 365 days and longer than until its deadline; absent: until
   * somebody ends it.
   */
  for?: Duration;
  /** Stable id or name. */
  host: string;
  /** Ends the drain. */
  off?: boolean;
}

/** ErrorInfo travels in the details of every error status. */
export interface ErrorInfo {
  /** Stable name, for instance "conflict"; the table is in docs/errors.md. */
  code?: string;
  /** Log index of the entry in which it was decided; 0: none was written. */
  index?: Digits;
  /** API address of the leader, when the server knows it. */
  leader?: string;
  /** What happened, where, and what to do. */
  message?: string;
  /** Oldest index that a watch may resume from, when code is "compacted". */
  oldest?: Digits;
  /** The current revision, when code is "conflict" and a revision was named. */
  rev?: Digits;
}

/**
 * Escalation is one thing that a human has to decide. It holds names and figures, never the content
 * of a task or a mail.
 */
export interface Escalation {
  ack_at?: Time;
  ack_by?: string;
  /** Cluster time since the last time. */
  age?: Duration;
  agent?: string;
  close_at?: Time;
  close_by?: string;
  /** What a human can do, those commands first that only look. */
  commands: string[];
  /** How often it has happened, first and last. */
  count?: Digits;
  /** What vigil has done about it. */
  done?: string;
  /** Figures of the last time. */
  facts: Record<string, string>;
  first_at?: Time;
  host?: string;
  id?: Digits;
  incarnation?: string;
  /**
   * stuck_process, breaker_open, broken_start, task_quarantined, mail_unacknowledged, mass_failure,
   * room_canceled, server_diverged, agent_stuck, overseer_down or states_differ.
   */
  kind?: string;
  last_at?: Time;
  /** It is still so. A human closes it in any case. */
  lasts: boolean;
  note?: string;
  notice?: Notice;
  /** urgent, high, normal or low. */
  priority?: string;
  /** What has happened, in fixed words for each kind. */
  reason?: string;
  /** How often it came back soon after it was closed. */
  reopened: number;
  /** Names, where known. */
  room?: string;
  /** open, acknowledged or closed. */
  state?: string;
  /** What it is about: an agent, "task 7", a room, a server or "cluster". */
  subject?: string;
  task?: Digits;
}

/** Event is one entry of the history. */
export interface Event {
  agent?: string;
  at: Time;
  attempt: number;
  host?: string;
  incarnation?: string;
  index?: Digits;
  kind: string;
  room?: string;
  seq: Digits;
  task?: Digits;
  text?: string;
}

/** Exit is the last death of an agent with its evidence. */
export interface Exit {
  ago?: Duration;
  at?: Time;
  code: number;
  host?: string;
  incarnation?: string;
  kind?: string;
  reason?: string;
  signal?: string;
  tail?: string;
  task?: Digits;
}

/** FailedAttempt is why an attempt at a task failed. */
export interface FailedAttempt {
  at?: Time;
  attempt: number;
  /** In the words of its agent, at most 256 bytes; where it gave none, in vigil's. */
  reason?: string;
}

export interface Failure {
  after?: Duration;
  reason?: string;
  result?: string;
  /** As in WorkRequest. */
  retryable?: boolean;
}

/** What Desk.Follow takes. */
export interface FollowRequest {
  /** Events behind this one; 0: from now on. */
  after?: Wide;
  /** The epoch of the News that `after` is from. */
  epoch?: number;
  /** Only of this room; empty: everything. */
  room?: string;
}

/** What Fleet.FollowScreen takes. */
export interface FollowScreenRequest {
  agent: string;
}

/** What Fleet.ForgetHost takes. */
export interface ForgetHostRequest {
  by?: string;
  host: string;
}

export interface ForgetHostResponse {
}

/** What Fleet.GetAgent takes. */
export interface GetAgentRequest {
  agent: string;
  stale?: boolean;
}

export interface GetAgentResponse {
  agent?: Agent;
  /** Newest events about it, oldest first, at most 20. */
  events: Event[];
  /** For each host, why it would or would not take the next start. */
  hosts: HostFit[];
  role?: RoleSpec;
  task?: Task;
}

/** What Fleet.GetAgentStatus takes. */
export interface GetAgentStatusRequest {
  agent: string;
  stale?: boolean;
}

/** What Escalations.GetEscalation takes. */
export interface GetEscalationRequest {
  escalation: Wide;
  stale?: boolean;
}

/** What Trust.GetGossip takes. */
export interface GetGossipRequest {
  stale?: boolean;
}

/** What Cluster.GetHealth takes. */
export interface GetHealthRequest {
}

export interface GetHealthResponse {
  leader: boolean;
  server?: string;
  /** healthy, or why not. */
  status?: string;
  watchdog?: HealthWatchdog;
}

/** What Fleet.GetHost takes. */
export interface GetHostRequest {
  /** Stable id or name. */
  host: string;
  stale?: boolean;
}

/** What Mailbox.GetMail takes. */
export interface GetMailRequest {
  mail: Wide;
  stale?: boolean;
}

/** What Overseers.GetOverseer takes. */
export interface GetOverseerRequest {
  agent: string;
  stale?: boolean;
}

/** What Desk.GetOverview takes. */
export interface GetOverviewRequest {
  /** Only what is of this room; empty: everything. */
  room?: string;
  /** Let any server answer from what it has. */
  stale?: boolean;
}

/** What Fleet.GetRoom takes. */
export interface GetRoomRequest {
  room: string;
  stale?: boolean;
}

/** What Trust.GetRoots takes. */
export interface GetRootsRequest {
  stale?: boolean;
}

/** What Cluster.GetSettings takes. */
export interface GetSettingsRequest {
  stale?: boolean;
}

/** What Fleet.GetTask takes. */
export interface GetTaskRequest {
  stale?: boolean;
  task: Wide;
}

/** What Desk.GetTimeline takes. */
export interface GetTimelineRequest {
  /** Only of this agent; empty: all. */
  agent?: string;
  /** The span; without an end until now, without a beginning the hour before the end. */
  from?: Time;
  /** Lanes of agents, at most 500; 0: 100. */
  limit?: number;
  /** Only of this room; empty: everything. */
  room?: string;
  /** Let any server answer from what it has. */
  stale?: boolean;
  to?: Time;
}

/** What Desk.GetTrend takes. */
export interface GetTrendRequest {
  /** Let any server answer from what it has. */
  stale?: boolean;
}

export interface GetTrendResponse {
  /** Of the last hour as far as the answering server saw it, the oldest first, at most 240. */
  points: TrendPoint[];
}

/** What Trust.GetTrust takes. */
export interface GetTrustRequest {
  stale?: boolean;
}

/** What Fleet.GetUsage takes. */
export interface GetUsageRequest {
  /** Of that room; empty: all of them. */
  role?: string;
  /** Empty: all rooms. */
  room?: string;
  stale?: boolean;
}

export interface GetUsageResponse {
  /** At most 10,000. */
  usage: UsageState[];
  /** Sentences about budgets that cannot bite, since what they bound is never told; at most 11. */
  warnings: string[];
}

/** What Fleet.GetWatchdog takes. */
export interface GetWatchdogRequest {
  stale?: boolean;
}

export interface GetWatchdogResponse {
  /** Rooms with open tasks that are not exempt for good. */
  active_rooms: number;
  canceled_total?: Digits;
  enabled: boolean;
  /** Newest first, at most 500. */
  history: Cancellation[];
  /** Of these, silent for too long: the oldest, at most 100. */
  stalled: string[];
  /** Of the leader (stale: of the answering server), since that server started. */
  stats?: WatchdogStats;
  /** Of the whole cluster since the watchdog is on. */
  warned_total?: Digits;
}

export interface GossipRing {
  /** Those that members take, the newest last. */
  keys: GossipRingKey[];
  /** Of what follows, raised with each change; 0: there was no key yet. */
  revision?: Digits;
  /** All servers of the cluster. */
  servers: GossipServer[];
  /**
   * empty (no key yet), spread (the newest key comes to every member), switch (members begin to use
   * it) or rest (all use it, and there is no other).
   */
  step?: string;
  /** Why the newest key is to be replaced next; empty: it is not. */
  why?: string;
}

export interface GossipRingKey {
  /** The first bytes of its SHA-256, in hexadecimal. */
  key?: string;
  number?: Digits;
  /** Members encrypt with it. */
  used: boolean;
}

export interface GossipServer {
  /** It has carried out the present revision, and so have the hosts that it reaches. */
  done: boolean;
  server?: string;
}

export interface HandOverRequest {
  body?: string;
  speaker: Speaker;
  subject?: string;
}

export interface HandOverResponse {
  mail?: Digits;
}

export interface HandoffRequest {
  attempt: number;
  priority?: number;
  result?: string;
  speaker: Speaker;
  task: Wide;
  text?: string;
  title?: string;
  to_role: string;
}

export interface HandoffResponse {
  next_task?: Digits;
}

export interface Handover {
  priority?: number;
  /** As in HandoffRequest. */
  result?: string;
  text?: string;
  title?: string;
  to_role?: string;
}

/**
 * HealthSpec says how often the agents of a role report their health (Declare): a preset, or every
 * and missed.
 */
export interface HealthSpec {
  every?: Duration;
  /** Reports that are missing in a row before the agent counts as unreported; 0: 3. */
  missed?: number;
  /** critical (30 s, 2), active (60 s, 3), background (5 min, 3) or standby (15 min, 5). */
  preset?: string;
}

export interface HealthWatchdog {
  enabled: boolean;
  stats?: WatchdogStats;
}

/** Hit is something that fits. */
export interface Hit {
  /** room, agent, host or task. */
  kind?: string;
  /** A name; of a task its number. */
  name?: string;
  /** What it is, for people: the title of a task, the state of the others. */
  text?: string;
}

/**
 * Host is a worker machine. What it identifies itself with is no part of it: whoever knew that
 * could speak for the host.
 */
export interface Host {
  capacity: number;
  /**
   * What holds the processes of an agent together there, as its agentd measured: sealed (nothing
   * leaves the agent's control group), group (what leaves it is found by its mark) or weak (what
   * leaves the process group is neither frozen nor killed: two lives may overlap); empty: unknown.
   */
  containment?: string;
  drain: boolean;
  drain_at?: Time;
  drain_by?: string;
  /** Until the drain ends by itself; absent: it does not, or there is none. */
  drain_ends_in?: Duration;
  drain_left?: Duration;
  gossip_addr?: string;
  /** Since its last beat or registration, in cluster time. */
  heard?: Duration;
  id: number;
  /** What agents have left on its disk; absent: its agentd has not said. */
  kept?: HostKept;
  labels: Record<string, string>;
  lease_left?: Duration;
  name?: string;
  pressure?: string;
  rev?: Digits;
  runners: string[];
  running: number;
  /** When it was registered or came back into service last. */
  seen_at?: Time;
  /** API addresses of the servers that it knows; empty: its agentd has not said. */
  servers: string[];
  starting: number;
  /** ready, suspect, lost, returning, draining or left. */
  state?: string;
  steady_in?: Duration;
  suspect_why?: string;
  /**
   * What makes terminals there (tmux 3.3a), or "degraded: " and what cannot be done; empty: its
   * agentd has not said.
   */
  terminals?: string;
  /**
   * Lives of roles with policy confirm that were there when it fell silent, and of which nobody has
   * said since that they are over.
   */
  unproven: number;
  version?: string;
  views: HostView[];
  warnings: string[];
}

export interface HostFit {
  fits: boolean;
  host?: string;
  reason?: string;
}

/** HostKept is what agents have in the data directory of a host: logs, folders, refused results. */
export interface HostKept {
  /** All of it, also of agents that run. */
  bytes?: Digits;
  /** When the oldest of that was used last, by the host's clock; absent: nothing may go. */
  oldest?: Time;
  /** Of lives that are over: goes by age, by size or for a full disk (keep of agentd.yaml). */
  removable?: Digits;
}

/** HostView is what one server hears of a host: none, alive, silent or left. */
export interface HostView {
  gossip?: string;
  server?: string;
  stream?: string;
}

export interface Identity {
  /** Since the newest certificate was issued, in cluster time. */
  age?: Duration;
  generation?: Digits;
  gone: boolean;
  grace?: Duration;
  /** The name by which people know the host of that key. */
  host?: string;
  kind?: string;
  left?: Duration;
  name?: string;
  /**
   * Of the newest certificate, in cluster time: until its holder should renew it, until it can only
   * be renewed, and for how long it can be renewed after that. Zero: that time has come.
   */
  renews_in?: Duration;
  /** Of the newest certificate; empty: none was issued in this generation. */
  serial?: string;
  /** The token by which it joined. */
  token?: Digits;
  /** Its date, which only browsers and tools go by. */
  until?: Time;
}

/** InboxItem is one thing that waits for a human. */
export interface InboxItem {
  /** Somebody looks after it. */
  ack_by?: string;
  /**
   * What a human can do, the usual answer first: answer, nudge, restart, stop, unpark, lift, ack,
   * close, retry, unquarantine, cancel, release_brake, reopen, confirm_dead.
   */
  actions: string[];
  /** For how long, in cluster time. */
  age?: Duration;
  agent?: string;
  /** Revisions of agent and task, for these actions. */
  agent_rev?: Digits;
  /** How often it has happened. */
  count?: Digits;
  /** What vigil has done about it, in fixed words; empty: nothing is said. */
  done?: string;
  escalation?: Digits;
  host?: string;
  incarnation?: string;
  incarnation_raw?: Digits;
  /** The same as long as it is the same thing: "escalation/7", "prompt/web/a#3". */
  key?: string;
  /**
   * A kind of escalation (with escalation, task_failed is about the tasks of a role), or prompt,
   * needs_input, parked, unserved, half_open, task_failed (of one task).
   */
  kind?: string;
  /** It is still so; what is over waits only to be closed. */
  lasts: boolean;
  mail?: Digits;
  /** urgent, high, normal or low. */
  priority?: string;
  reasons: Reason[];
  role?: string;
  room?: string;
  /** In the agent's or task's own words; empty: it has said nothing. */
  said?: string;
  /** What it is about, for people. */
  subject?: string;
  task?: Digits;
  task_rev?: Digits;
  /** What has happened, in fixed words. */
  text?: string;
  /** The verdict on the agent, and what speaks against it; empty: it is about none. */
  verdict?: string;
}

export interface JoinRequest {
  speaker: Speaker;
}

export interface JoinResponse {
  agent: string;
  agent_id: number;
  incarnation: Digits;
  /** True when a supervisor started it. */
  managed: boolean;
  /** A task that this incarnation already holds; 0: none. */
  task?: Digits;
  ttl: Duration;
}

export interface JoinTrustRequest {
  /** Of a server: IP addresses and DNS names under which browsers and tools find it. */
  addresses?: string[];
  /** PKCS #10 request in DER, for an ECDSA P-256 key; nothing but its key is looked at. */
  csr: string;
  /** server or host. */
  kind: string;
  /** The id of the server, the key of the host. */
  name: string;
  secret: string;
  token: Wide;
}

/** Ladder is what was and will be done about a stuck agent. */
export interface Ladder {
  /** Rungs that reached nobody: nothing could be typed. */
  failed: string[];
  /** The rung that follows; none: no rung follows, see why. */
  next?: string;
  /** Until it follows unless the agent recovers; absent: it is due, or none follows. */
  next_in?: Duration;
  /** The last rung of this episode: none, nudge, wake, interrupt, restart or escalate. */
  rung?: string;
  /** Rungs of this episode. */
  steps: number;
  /** How long ago it was taken, in cluster time. */
  taken?: Duration;
  /** Why no rung follows; empty: one does. */
  why?: string;
}

/** Lane is what has happened to one agent or host. */
export interface Lane {
  /** agent or host. */
  kind?: string;
  marks: Mark[];
  name?: string;
  spans: Span[];
}

export interface LateResult {
  at?: Time;
  attempt: number;
  incarnation?: string;
  result?: string;
}

export interface LeaveRequest {
  reason?: string;
  speaker: Speaker;
}

export interface LeaveResponse {
}

/** What Fleet.LiftBudget takes. */
export interface LiftBudgetRequest {
  by?: string;
  /** Empty: the budget of the room. */
  role?: string;
  room: string;
}

export interface LiftBudgetResponse {
  usage?: UsageState;
}

/** What Trust.ListAPITokens takes. */
export interface ListAPITokensRequest {
  stale?: boolean;
}

export interface ListAPITokensResponse {
  tokens: APIToken[];
}

/** What Fleet.ListAgents takes. */
export interface ListAgentsRequest {
  /** Names above this one, at most `limit` (1,000; 0: 100). */
  after?: string;
  host?: string;
  limit?: number;
  /**
   * Only those that somebody has to look at: without the ones whose verdict is fine. It is bounded
   * like verdicts.
   */
  not_fine?: boolean;
  role?: string;
  room?: string;
  stale?: boolean;
  /**
   * Only with one of these verdicts: healthy, busy, idle, degraded, needs_input, sleeping, suspect,
   * deaf, stalled, unresponsive, offline. Empty: any. An answer looks at 10,000 agents at most
   * then: it may have few or none, and more.
   */
  verdicts?: string[];
}

export interface ListAgentsResponse {
  agents: Agent[];
  /** There is more; then `next` is what to give as `after` for the next page. */
  more: boolean;
  next?: string;
}

/** What Trust.ListAudit takes. */
export interface ListAuditRequest {
  /** Numbers above this one, at most `limit` (1,000; 0: 100). */
  after?: Wide;
  limit?: number;
  /** Only this call: Fleet/ApplyRoom. */
  method?: string;
  /** Only about this room. */
  room?: string;
  stale?: boolean;
  /** Nothing of what is there: only where it ends. */
  tail?: boolean;
  /** Only by this one: user/anna or token/7. */
  who?: string;
}

export interface ListAuditResponse {
  entries: AuditEntry[];
  /** There is more. In any case `next` is what to give as `after` for what comes behind. */
  more: boolean;
  next?: Digits;
}

/** What Fleet.ListDeadlines takes. */
export interface ListDeadlinesRequest {
  agent?: string;
  room?: string;
  stale?: boolean;
}

export interface ListDeadlinesResponse {
  /** The earliest first, at most 100. */
  deadlines: Deadline[];
  /** How many later ones are left out. */
  more: number;
}

/** What Escalations.ListEscalations takes. */
export interface ListEscalationsRequest {
  /** Behind this number; at most 1000 a page, 100 by default. */
  after?: Wide;
  /** Closed ones too. */
  all?: boolean;
  /** Only of this kind; empty: all. */
  kind?: string;
  limit?: number;
  /** Only of this room. */
  room?: string;
  stale?: boolean;
}

export interface ListEscalationsResponse {
  /** Things that were not escalated since too many were open. */
  dropped?: Digits;
  escalations: Escalation[];
  /** There is more; then `next` is what to give as `after` for the next page. */
  more: boolean;
  next?: Digits;
  /** Not closed, in the whole cluster. */
  open: number;
  /** Of these with a notice that is not delivered everywhere. */
  pending: number;
}

/** What Desk.ListEvents takes. */
export interface ListEventsRequest {
  /** Only of one agent, host or task; empty or 0: of all. */
  agent?: string;
  /** Events before this one; 0: from the newest on. */
  before?: Wide;
  host?: string;
  /** Only kinds that begin so: "task." or "agent.exited"; empty: all. */
  kind?: string;
  /** At most 1,000; 0: 200. */
  limit?: number;
  /** Only of this room; empty: everything. */
  room?: string;
  /** Let any server answer from what it has. */
  stale?: boolean;
  task?: Wide;
  /** Only where all these words are in one of the fields, in any case; empty: all. */
  words?: string;
}

export interface ListEventsResponse {
  /** The newest first. */
  events: Event[];
  /**
   * What to give as `before` to go on; 0: there are no older ones. A call looks at 20,000 events at
   * most, so there may be more though this answer is empty.
   */
  next?: Digits;
}

/** What Fleet.ListHosts takes. */
export interface ListHostsRequest {
  /** Ids above this one, at most `limit` (1,000; 0: 1,000). */
  after?: number;
  limit?: number;
  stale?: boolean;
}

export interface ListHostsResponse {
  hosts: Host[];
  /** There is more; then `next` is what to give as `after` for the next page. */
  more: boolean;
  next: number;
}

/** What Trust.ListIdentities takes. */
export interface ListIdentitiesRequest {
  /** Numbers above this one, at most `limit` (1,000; 0: 100). */
  after?: Wide;
  /** Also names that nobody has any more. */
  gone?: boolean;
  /** server, host or user; empty: all. */
  kind?: string;
  limit?: number;
  stale?: boolean;
}

export interface ListIdentitiesResponse {
  identities: Identity[];
  /** There is more; then `next` is what to give as `after` for the next page. */
  more: boolean;
  next?: Digits;
}

/** What Desk.ListInbox takes. */
export interface ListInboxRequest {
  /** At most 1,000; 0: 200. */
  limit?: number;
  /** Only of this room; empty: everything. */
  room?: string;
  /** Let any server answer from what it has. */
  stale?: boolean;
}

export interface ListInboxResponse {
  index?: Digits;
  items: InboxItem[];
  /** How many less urgent ones are left out. */
  more: number;
}

/** What Mailbox.ListMail takes. */
export interface ListMailRequest {
  /** Behind this number; at most 1000 a page, 100 by default. */
  after?: Wide;
  /** Whose mailbox; empty: all. */
  agent?: string;
  /** Only what this agent, human or tool has sent. */
  from?: string;
  limit?: number;
  /**
   * Newest first; then `after` means below it, 0 from the newest. An answer looks at 10,000 mails
   * at most then: it may have few or none, and more.
   */
  newest_first?: boolean;
  /** Only what is for agents of this room. */
  room?: string;
  stale?: boolean;
  /** Only this conversation; 0: all. */
  thread?: Wide;
  /** Only what nobody has acknowledged yet. */
  unacknowledged?: boolean;
}

export interface ListMailResponse {
  mails: Mail[];
  /** There is more; then `next` is what to give as `after` for the next page. */
  more: boolean;
  next?: Digits;
}

/** What Overseers.ListOverseers takes. */
export interface ListOverseersRequest {
  /** Names above this one, at most `limit` (1,000; 0: 100). */
  after?: string;
  limit?: number;
  /** Empty: all rooms. */
  room?: string;
  stale?: boolean;
}

export interface ListOverseersResponse {
  /** There is more; then `next` is what to give as `after` for the next page. */
  more: boolean;
  next?: string;
  overseers: OverseerStatus[];
}

/** What Fleet.ListRooms takes. */
export interface ListRoomsRequest {
  /** Names above this one, at most `limit` (1,000; 0: 100). */
  after?: string;
  limit?: number;
  stale?: boolean;
}

export interface ListRoomsResponse {
  /** There is more; then `next` is what to give as `after` for the next page. */
  more: boolean;
  next?: string;
  rooms: Room[];
}

/** What Cluster.ListServers takes. */
export interface ListServersRequest {
  /**
   * With what each server says of its part in raft. They are asked for it, which takes up to a
   * second while one of them is silent.
   */
  figures?: boolean;
}

export interface ListServersResponse {
  servers: Server[];
}

/** What Fleet.ListTasks takes. */
export interface ListTasksRequest {
  /** Ids above this one; 0: from the first. */
  after?: Wide;
  /** At most 1,000; 0: 100. */
  limit?: number;
  /** Newest first; then `after` means below it. */
  newest_first?: boolean;
  role?: string;
  /** Empty: all rooms. */
  room?: string;
  stale?: boolean;
  /** Empty: all states. */
  states?: TaskState[];
}

export interface ListTasksResponse {
  /** There is more; then `next` is what to give as `after` for the next page. */
  more: boolean;
  next?: Digits;
  tasks: Task[];
}

/** What Trust.ListTokens takes. */
export interface ListTokensRequest {
  stale?: boolean;
}

export interface ListTokensResponse {
  tokens: Token[];
}

/** What Trust.ListUsers takes. */
export interface ListUsersRequest {
  /** Names above this one, at most `limit` (1,000; 0: 100). */
  after?: string;
  limit?: number;
  stale?: boolean;
}

export interface ListUsersResponse {
  /** There is more; then `next` is what to give as `after` for the next page. */
  more: boolean;
  next?: string;
  users: User[];
}

export interface LogChunk {
  data?: string;
}

export interface LoginRequest {
  csr: string;
  secret: string;
  token: Wide;
  user: string;
}

/** What Fleet.LookAtAgent takes. */
export interface LookAtAgentRequest {
  agent: string;
  /** Of what has scrolled out of the terminal; at most 10,000. */
  lines?: number;
}

/** What Overseers.LookAtOverseer takes. */
export interface LookAtOverseerRequest {
  agent: string;
  by?: string;
}

/** Mail is one copy of a message, in the mailbox of one agent. */
export interface Mail {
  /** Cluster time since it was sent. */
  age?: Duration;
  /** Left out of lists. */
  body?: string;
  /** The life that got it last; empty: none has it yet. */
  delivered_to?: string;
  /** How often it was handed over. */
  deliveries: number;
  escalated: boolean;
  /** An agent, or the name of a human or a tool. */
  from?: string;
  /** The life that sent it; empty: no agent did. */
  from_incarnation?: string;
  id: Digits;
  /** For programs, for instance status-inquiry. */
  kind?: string;
  /** urgent, high, normal or low. */
  priority?: string;
  /** It was handed over before: to a life that has ended, or before a reminder. */
  redelivered: boolean;
  /** Reminders so far. */
  reminded: number;
  /** 0: it answers nothing. */
  reply_to?: Digits;
  sent_at?: Time;
  /** queued, delivered, acknowledged or expired. */
  state?: string;
  subject?: string;
  /** First mail of the conversation. */
  thread?: Digits;
  /** The agent whose mailbox it is in. */
  to?: string;
}

/** Mark is something at one moment. */
export interface Mark {
  at: number;
  kind?: string;
  seq?: Digits;
  text?: string;
}

/** News is what has happened since the last one, or only a sign of life. */
export interface News {
  /** Cluster time. */
  clock?: Duration;
  epoch: number;
  /** At most 200; the newest of more. */
  events: Event[];
  index?: Digits;
  /** Who leads, as far as it knows; empty: nobody, and what it shows grows old. */
  leader?: string;
  /** For how long it has known no leader; absent: it knows one. */
  leaderless?: Duration;
  /** How many events before these are left out. */
  left_out?: Digits;
  /** Absent: it is as it was. */
  overview?: Overview;
  /** Events before this cannot be told: read the state anew. */
  reset: boolean;
  /** The newest event that was looked at: what to give as `after`. */
  seq?: Digits;
  /** The answering server, and the index that it has applied. */
  server?: string;
}

export interface NextRequest {
  attempt: number;
  complete?: Completion;
  fail?: Failure;
  handoff?: Handover;
  /**
   * Where there is no next task yet, the call parks for one as Wait does, at most 10 min; absent:
   * it does not. Clients that have many writes under way leave it out and call Wait, which holds up
   * no write id.
   */
  max_wait?: Duration;
  speaker: Speaker;
  /** Of the next task, as in WaitRequest. */
  start?: boolean;
  /** The task that ends; one of the three says how. */
  task: Wide;
}

export interface NextResponse {
  /** The next task; absent: there is none. */
  claim?: ClaimResponse;
  index?: Digits;
  /** With handoff: the task that it has made. */
  next_task?: Digits;
  /**
   * Why there is none. With the code no_task the agent is WAITING and may call Wait; any other is
   * what Wait would have failed with.
   */
  none?: ErrorInfo;
  rev?: Digits;
  /** How the task ended, and the log index of that. */
  state?: TaskState;
}

/** Notice is the last announcement of an escalation. */
export interface Notice {
  deliveries: Delivery[];
  number?: Digits;
  /** Not yet delivered by every notifier of the leader. */
  pending: boolean;
}

/** What Fleet.NudgeAgent takes. */
export interface NudgeAgentRequest {
  agent: string;
  /**
   * The text, one line, is the answer to a permission prompt, or where something else is to be
   * chosen: it is typed there only, key by key, and Enter follows only while that prompt stands and
   * shows the answer. Without a text Enter alone is pressed there. Without answer nothing is typed
   * where one stands: its Enter would take what is highlighted there, most often "yes".
   */
  answer?: boolean;
  by?: string;
  /**
   * Of an answer: only while what stands there is what Screen.dialog was of; empty: whatever stands
   * there.
   */
  if_dialog?: string;
  /** Only while this is the agent's revision; 0: whatever it is. */
  if_rev?: Wide;
  /** Why, for people. */
  reason?: string;
  /**
   * Typed as a paste and followed by Enter; at most 4 KiB; empty: a question how it is getting on.
   */
  text?: string;
}

export interface OpenSessionRequest {
  client?: string;
}

export interface OpenSessionResponse {
  session: Digits;
}

/** OverseerSpec makes the agents of a role overseers. */
export interface OverseerSpec {
  /**
   * A patrol younger than fresh is fresh, one older than stale is very stale; 0: the settings
   * overseer_fresh and overseer_stale.
   */
  fresh?: Duration;
  /** Patrols of one life after which a hand-over is due; 0: never. */
  handoff_after?: number;
  stale?: Duration;
  /** Role of the same room whose agents answer looks; empty: the mechanical rule decides. */
  triage?: string;
}

/** OverseerStatus is what is known of an overseer. Times are cluster time. */
export interface OverseerStatus {
  /** What followed. */
  act?: string;
  agent?: string;
  /** The human who asked for the last look; empty: its turn, or an event. */
  asked_by?: string;
  /** The last report; of an earlier life when patrols is 0. */
  cycle?: Digits;
  decided?: Duration;
  /** mechanical or triage. */
  decided_by?: string;
  /** The last decision: NOTHING, NUDGE, WAKE or START; empty: no look has ended yet. */
  decision?: string;
  /** Why triage was not heard although the role names one; empty: it was, or names none. */
  degraded?: string;
  facts?: string;
  fresh?: Duration;
  /** fresh, stale or very_stale. */
  freshness?: string;
  handoff_after: number;
  /** The present life has made as many patrols as one should: `vigil handoff`. */
  handoff_due: boolean;
  healthy: number;
  /** The present life. */
  incarnation?: string;
  last_action?: string;
  look_left?: Duration;
  /**
   * The look that is open: the task that waits for triage, the marker that makes a second look
   * impossible, and how long it still lasts; 0: none is open.
   */
  look_task?: Digits;
  /** Mail that waits for it; what vigil wrote itself is not counted. */
  mail_waiting: number;
  /** Until the next look, when nothing happens before; absent: nobody looks, see off. */
  next_look?: Duration;
  /** Why nobody looks at it; empty: somebody does. */
  off?: string;
  /** How often in a row triage has said less than the rule. */
  overruled: number;
  /** Since the last patrol; without one, since the life began or its excuse has ended. */
  patrol_age?: Duration;
  /** Patrols of the present life; 0: it has reported none yet. */
  patrols: number;
  /** What triage says. */
  reason?: string;
  /** What the mechanical rule says now. */
  rule?: string;
  /** alive, starting or dead. */
  session?: string;
  stale?: Duration;
  /** The role that is asked; empty: none. */
  triage?: string;
  unhealthy: number;
}

/** Overview is how the fleet is at one index of the log. */
export interface Overview {
  agents: number;
  agents_running: number;
  /** Agents that should have a process by now, and those that have one. */
  agents_wanted: number;
  /** The mass-failure brake, a sentence; empty: it is not set. */
  brake?: string;
  /** Cluster time since the cluster began. */
  clock?: Duration;
  /** Until starts go on after a backup was restored; absent: nothing holds them. */
  hold?: Duration;
  /** Hosts by state; a drained one counts as draining. Empty when one room is asked for. */
  hosts: Record<string, number>;
  /** What waits for a human, by priority. */
  inbox: Record<string, number>;
  index?: Digits;
  /** Who leads, as far as the answering server knows; empty: nobody. */
  leader?: string;
  pause_by?: string;
  pause_ends_in?: Duration;
  pause_why?: string;
  /** Who has paused everything, or the room; empty: nobody. */
  paused: boolean;
  rooms: number;
  servers: OverviewServer[];
  /** Tasks by state, in the order of their life. */
  tasks: TaskCount[];
  term?: Digits;
  /** Agents by verdict. */
  verdicts: Record<string, number>;
}

export interface OverviewServer {
  api_addr?: string;
  diverged: boolean;
  id?: string;
  leader: boolean;
  version?: string;
}

/** What Cluster.PromoteServer takes. */
export interface PromoteServerRequest {
  server: string;
}

export interface PromoteServerResponse {
}

export interface PutSettingsRequest {
  by?: string;
  values: Record<string, string>;
}

/** What Trust.PutUser takes. */
export interface PutUserRequest {
  bindings: Binding[];
  user: string;
}

/** RaftFigures are what a server says of its part in raft, at most 2 s old. */
export interface RaftFigures {
  applied_index?: Digits;
  commit_index?: Digits;
  /**
   * Of the last minute, from an entry's sealing to its answer, on the leader. Absent: nothing was
   * committed.
   */
  commit_p50?: Duration;
  commit_p99?: Duration;
  /** Why the server was not heard; empty: it was. Then nothing else is set. */
  error?: string;
  /** By server: how long ago its API answered this one. */
  hears: Record<string, string>;
  /** Of the log on its disk. */
  last_index?: Digits;
  /** Of the files of its log, as they are long. */
  log_bytes?: Digits;
  /** On its disk. */
  log_entries?: Digits;
  snapshot_bytes?: Digits;
  /** The last entry that its newest snapshot holds; 0: it has none. */
  snapshot_index?: Digits;
  /** leader, follower, candidate or shutdown. */
  state?: string;
  term?: Digits;
}

export interface ReadMailRequest {
  /** At most 100 at once; 0: 100. */
  max?: number;
  speaker: Speaker;
}

export interface ReadMailResponse {
  mails: Mail[];
  /** Still unread after these. */
  unread: number;
}

export interface Reason {
  /** Since when it is so, or how long ago it was, in cluster time; absent: unknown. */
  age?: Duration;
  /** It speaks against the agent. */
  bad: boolean;
  /**
   * process, participant, lease, fence, health, progress, task, host, leader, declaration, order,
   * intent, mail or screen.
   */
  evidence?: string;
  text?: string;
}

export interface ReleaseBrakeRequest {
  by?: string;
}

export interface ReleaseBrakeResponse {
}

/** What Fleet.ReleaseTerminal takes. */
export interface ReleaseTerminalRequest {
  agent: string;
  by?: string;
  /** 0: whoever has it. */
  grant?: Wide;
}

/** What Cluster.RemoveServer takes. */
export interface RemoveServerRequest {
  /** Remove it although that leaves fewer than a majority of servers alive. */
  force?: boolean;
  server: string;
}

export interface RemoveServerResponse {
}

/** What Trust.RemoveUser takes. */
export interface RemoveUserRequest {
  user: string;
}

export interface RemoveUserResponse {
}

export interface RenewRequest {
  speaker: Speaker;
}

export interface RenewResponse {
  /** How long the lease lasts from now; beat again after a quarter of it. */
  ttl: Duration;
}

export interface RenewTrustRequest {
  /** As in Join. */
  addresses?: string[];
  csr: string;
}

/** What Fleet.ReopenRoom takes. */
export interface ReopenRoomRequest {
  by?: string;
  if_rev?: Wide;
  room: string;
}

export interface ReopenRoomResponse {
  room?: Room;
  /** Tasks that came back. */
  tasks: number;
}

export interface ReplaceRootRequest {
  /** In DER: the new root first, then the same key signed by the old one. */
  chain: string[];
  /** The key of the old root was lost, so nothing vouches for the new one. */
  lost?: boolean;
}

export interface ReportPatrolRequest {
  /** A name of up to 64 characters, for instance health-scan. */
  action?: string;
  /** As the overseer counts; 0: the next one. */
  cycle?: Wide;
  healthy?: number;
  speaker: Speaker;
  unhealthy?: number;
}

/** What Fleet.RestartAgent takes. */
export interface RestartAgentRequest {
  agent: string;
  by?: string;
  /** Forgets the resume value. */
  fresh?: boolean;
  /** Only while this is the agent's revision; 0: whatever it is. */
  if_rev?: Wide;
  /** Why, for people. */
  reason?: string;
}

/** What Fleet.RetryTask takes. */
export interface RetryTaskRequest {
  by?: string;
  if_rev?: Wide;
  task: Wide;
}

/** What Trust.RevokeAPIToken takes. */
export interface RevokeAPITokenRequest {
  token: Wide;
}

export interface RevokeAPITokenResponse {
}

export interface RevokeRequest {
  kind: string;
  name: string;
}

export interface RevokeResponse {
  /** Certificates of a smaller generation are void. */
  generation?: Digits;
}

/** What Trust.RevokeToken takes. */
export interface RevokeTokenRequest {
  token: Wide;
}

export interface RevokeTokenResponse {
}

/** Role is a declared role with its counts. */
export interface Role {
  agents: number;
  agents_live: number;
  /** Of its QUEUED tasks, those that are put off. */
  delayed: number;
  /**
   * Why most of its tasks wait, when it is half-open: most attempts at them have failed, and single
   * ones are tried. Empty: it is not.
   */
  half_open?: string;
  /** Agents that are outdated; only in the answers of ApplyRoom and GetRoom. */
  outdated: number;
  retired: boolean;
  rev?: Digits;
  spec?: RoleSpec;
  /** Number of tasks by state name. */
  tasks: Record<string, number>;
}

/** RolePlan is what a change of its room would do to a role. */
export interface RolePlan {
  /** Of both, at most 100; those at work first. */
  agents: AgentEnd[];
  canceled: number;
  /** "replicas 5 -> 2", one for each value that changes. */
  changes: string[];
  /** Agents with a life that end at once. */
  ends: number;
  /** Agents that end when the task that they hold is over. */
  finishes: number;
  /** created, changed, unchanged or deleted. */
  kind?: string;
  role?: string;
  /** Agents that are started because of it. */
  starts: number;
}

/** RoleSpec is what `vigil apply` declares; left-out values take the cluster's defaults. */
export interface RoleSpec {
  ack_limit?: Duration;
  agent_budget?: Budget;
  attempt_limit?: number;
  /** The budget of the role, and that of each of its agents; absent: none. */
  budget?: Budget;
  /**
   * With grants: sealed (its agents run only on hosts that keep them apart from all others) or weak
   * (anywhere: others of the same account can act as they do); empty: sealed.
   */
  containment?: string;
  /** running, stopped or paused. */
  desired?: string;
  /**
   * How long an attempt at a task may take from its claim, where who created the task does not say;
   * 1 s to 30 days. Absent: nothing is expected.
   */
  expect?: Duration;
  /**
   * What its agents may do beyond their own work, through the socket of their life: viewer, reader
   * or operator of rooms. Whoever declares it needs the same rights.
   */
  grants?: Binding[];
  /** Absent: no reports are expected. */
  health?: HealthSpec;
  kill_limit?: number;
  labels?: Record<string, string>;
  /**
   * How far the ladder goes with a stuck agent: restart, escalate (a human is told instead of an
   * interrupt and a restart), careful (restart if it has spoken before it fell silent and its own
   * beats do not go on, else escalate) or off; empty: careful.
   */
  ladder?: string;
  name: string;
  /** Its agents watch others; absent: they do not. */
  overseer?: OverseerSpec;
  params?: Record<string, string>;
  pending_limit?: Duration;
  /** fenced, fast or confirm. */
  policy?: string;
  progress_limit?: Duration;
  /** process or agent. */
  proof?: string;
  replicas?: number;
  /**
   * The wait between a failed attempt at a task and the next one: first, doubled with each further
   * failure up to most, of which half is by chance. Absent: the settings retry_first, retry_most.
   */
  retry_first?: Duration;
  retry_most?: Duration;
  run_limit?: Duration;
  /** Name of a runner on the hosts; empty: agents are started by hand. */
  runner?: string;
  /** always or on_demand. */
  start?: string;
  start_limit?: Duration;
  stop_grace?: Duration;
  ttl?: Duration;
  /** Longest time with one task, and longest life; 0: none. */
  turn_limit?: Duration;
}

/** Room is one conversation or project. */
export interface Room {
  /** The last cancellation by the watchdog, until the room is reopened. */
  canceled?: Cancellation;
  changed_by?: string;
  created_at?: Time;
  deleting: boolean;
  name?: string;
  pause_at?: Time;
  pause_by?: string;
  /** Until its pause ends by itself; absent: it does not, or it is not paused. */
  pause_ends_in?: Duration;
  pause_why?: string;
  paused: boolean;
  /** What a change would do; only in answers to ApplyRoom with dry_run. */
  plan?: RoomPlan;
  /** How the watchdog sees it. */
  quiet?: RoomQuiet;
  rev?: Digits;
  roles: Role[];
  /**
   * Agents that are still to be created, or changed as the last word about the room says: what is
   * declared for many agents is carried out over several entries of the log.
   */
  unfinished: number;
  /** What the room sets for the conversation watchdog; absent: nothing of its own. */
  watch?: RoomWatch;
}

/** RoomPlan is what a change of a room would do. */
export interface RoomPlan {
  /** Agents that would be ended while they hold a task. */
  at_work: number;
  /** Open tasks that would be canceled. */
  canceled: number;
  /** What of the room itself changes. */
  changes: string[];
  created: boolean;
  deleted: boolean;
  roles: RolePlan[];
  /** What is allowed and is perhaps not meant, a sentence each. */
  warnings: string[];
}

/** RoomQuiet is how the conversation watchdog sees a room. */
export interface RoomQuiet {
  active_at?: Time;
  /** Until a room that was warned may be canceled. */
  cancel_in?: Duration;
  /** Until it is stalled, when nothing happens. */
  due_in?: Duration;
  limit?: Duration;
  /** idle_timeout or deadline. */
  reason?: string;
  /** Since something was done or said in it. */
  silent?: Duration;
  /**
   * unwatched, idle, exempt, active, stalled, stalling (warned) or untaken (warned, and not
   * canceled, since nobody serves it).
   */
  state?: string;
  /** Why nothing is done; empty for stalled and stalling. */
  why?: string;
}

/** RoomWatch is what a room sets for the conversation watchdog. */
export interface RoomWatch {
  /** The longest time that it may be active at a stretch; absent: none. */
  deadline?: Duration;
  /** The watchdog leaves the room alone. */
  disabled?: boolean;
  /** Of silence; absent: the setting watchdog_threshold. */
  idle_limit?: Duration;
  /**
   * What becomes of the room when it is silent and no agent has lived in it since it was created:
   * warn (a human is told, its tasks wait) or cancel. Empty: cancel where the room has a limit or a
   * deadline of its own, else the setting watchdog_untaken.
   */
  untaken?: string;
}

export interface RootCertificate {
  /** SHA-256 of its public key, in hexadecimal, as in tokens. */
  fingerprint?: string;
  /** It signs the keys of servers. */
  issues: boolean;
  /** What only browsers and tools go by. */
  not_after?: Time;
}

export interface Roots {
  /** Servers and hosts that the step waits for, as kind/name; at most 20 are named. */
  behind: string[];
  behind_count: number;
  /** Until no certificate of the old root is young enough, of a person for example. */
  left?: Duration;
  /** Of what follows, raised with each change. */
  revision?: Digits;
  /** The oldest first. */
  roots: RootCertificate[];
  /**
   * rest (there is one), spread (the new one becomes known to every server and host) or retire
   * (every server and host gets a certificate of the new one).
   */
  step?: string;
}

export interface RotateGossipRequest {
}

export interface RotateGossipResponse {
  /** The number of the newest key when this was asked: it is done at rest with a key above it. */
  number?: Digits;
}

export interface Screen {
  /** The size of the terminal and its cursor, from 0; of FollowScreen only. */
  columns: number;
  cursor_hidden: boolean;
  cursor_x: number;
  cursor_y: number;
  /**
   * A mark of what stands there and waits to be answered, a permission prompt or choices, by its
   * letters and those of some lines above. Empty: nothing does. See if_dialog of NudgeAgent.
   */
  dialog?: string;
  host?: string;
  incarnation?: string;
  rows: number;
  text?: string;
}

/** ScreenState is what a host has seen on the terminal of an agent's life, never the text. */
export interface ScreenState {
  /** none, permission, usage_limit, error or idle. */
  prompt?: string;
  /** Nothing new was printed for a while. */
  quiet: boolean;
  /** Since when quiet is as it is, in cluster time. */
  quiet_for?: Duration;
  /** Since when, in cluster time. */
  shown?: Duration;
}

/** What Desk.Search takes. */
export interface SearchRequest {
  /** At most 100; 0: 20. */
  limit?: number;
  /**
   * Words that all have to be in the name or the title, in any case; a number finds the task, too.
   */
  query?: string;
  /** Only of this room; empty: everything. */
  room?: string;
  /** Let any server answer from what it has. */
  stale?: boolean;
}

export interface SearchResponse {
  /** What fits best first. */
  hits: Hit[];
  /** More may fit: not everything was looked at, or shown. */
  more: boolean;
}

export interface SendMailRequest {
  /** At most 16 KiB. */
  body?: string;
  /** Without a speaker: who sends it, for people; at most 128 bytes. */
  from?: string;
  /** A name (a-z, 0-9, - and _), or empty. */
  kind?: string;
  /** urgent, high, normal or low; empty: normal. */
  priority?: string;
  /**
   * false: agents that are off get no copy, and when all are, the mail is refused with
   * agent_offline. Absent: it is kept for them.
   */
  queue?: boolean;
  reply_to?: Wide;
  /** The life of the agent that sends it. Absent: no agent does, see from. */
  speaker?: Speaker;
  /** At most 256 bytes. */
  subject?: string;
  /** 0: that of reply_to, else a new one. */
  thread?: Wide;
  /**
   * room (each agent of it), room/role (each agent of the role) or room/role.2 (that agent alone;
   * room/role.1 is the first). Empty with reply_to: the agent that sent that mail.
   */
  to?: string;
}

export interface SendMailResponse {
  /** One for each agent that gets a copy. */
  mails: Digits[];
  /** Says so when some of the agents get no copy. */
  note?: string;
  thread?: Digits;
}

export interface Server {
  api_addr?: string;
  diverged: boolean;
  features: number;
  /** Only if they were asked for. */
  figures?: RaftFigures;
  gossip_addr?: string;
  /** Unknown when it cannot be reached from the answering server. */
  health?: string;
  id?: string;
  leader: boolean;
  raft_addr?: string;
  /**
   * For how long the answering server has not heard it, or has not reached it. Absent: it hears it,
   * or nothing is known.
   */
  silent?: Duration;
  /** It has no vote and is kept to take the place of a server that is lost. */
  standby: boolean;
  version?: string;
  voter: boolean;
  /** What fails together, as its configuration says; empty: not said. */
  zone?: string;
}

/** What Fleet.SetAgent takes. */
export interface SetAgentRequest {
  agent: string;
  by?: string;
  /** running or stopped. */
  desired: string;
  /** With stopped: how long that lasts, 1 s to 365 days; absent: until somebody ends it. */
  for?: Duration;
  /** Forgets the resume value. */
  fresh?: boolean;
  if_rev?: Wide;
  /** Why, for people. */
  reason?: string;
}

export interface SetPauseRequest {
  by?: string;
  /** How long a pause lasts, 1 s to 365 days; absent: until somebody ends it. */
  for?: Duration;
  /** Must be given: true pauses, false resumes. */
  pause: boolean;
  reason?: string;
  /** Empty: everything; room; or room/role.2. */
  scope?: string;
}

export interface SetPauseResponse {
  rev?: Digits;
}

export interface SetResumeRequest {
  resume?: string;
  speaker: Speaker;
}

export interface SetResumeResponse {
}

/** What Fleet.SetRoomWatch takes. */
export interface SetRoomWatchRequest {
  by?: string;
  if_rev?: Wide;
  room: string;
  watch?: RoomWatch;
}

export interface Settings {
  defaults: Record<string, string>;
  /** What each one means, with its range. */
  help: Record<string, string>;
  rev?: Digits;
  /** Values by name, as `vigil settings set` takes them. */
  values: Record<string, string>;
}

/** Span is something that lasted. */
export interface Span {
  /** It ended badly. */
  bad: boolean;
  /**
   * When it began and ended, in milliseconds since `from`; clipped to the span that was asked for.
   */
  begin: number;
  end: number;
  /** So many short ones are drawn as this one; 0: it is one. */
  joined: number;
  /** life, task, paused; of hosts suspect, lost, returning, drained. */
  kind?: string;
  /** The life, or the number of the task. */
  name?: string;
  /** It goes on. */
  open: boolean;
  /** The event that it began or ended with. */
  seq?: Digits;
  /** How it ended, for people. */
  text?: string;
}

/** Speaker says which life of which agent speaks. */
export interface Speaker {
  /** room/role or room/role.2; in a Join by hand also room/role.* for the first free one. */
  agent: string;
  /** 0 in a Join: started by hand, a new incarnation is given out. */
  incarnation?: Wide;
  /** What the file VIGIL_TOKEN_FILE holds; hashed before it reaches the log. */
  token?: string;
}

/** What Cluster.Status takes. */
export interface StatusRequest {
  /** Only the roles of this room in `unserved`. */
  room?: string;
  stale?: boolean;
}

export interface StatusResponse {
  agents: number;
  agents_live: number;
  agents_running: number;
  /** Agents that should have a process by now, and those that have one. */
  agents_wanted: number;
  /** The mass-failure brake, a sentence; empty: it is not set. */
  brake?: string;
  clock?: Duration;
  cluster_id?: string;
  epoch: number;
  /** Escalations that no human has closed, and those of them that nobody has acknowledged. */
  escalations_open: number;
  escalations_unacknowledged: number;
  /** Hosts by state; a drained one counts as draining. */
  host_states: Record<string, number>;
  hosts: number;
  hosts_ready: number;
  index?: Digits;
  last_event?: Digits;
  leader?: string;
  leader_addr?: string;
  /**
   * While no leader is known: for which servers the answering one waits, a sentence. Empty: one
   * leads.
   */
  leaderless?: string;
  pause_at?: Time;
  pause_by?: string;
  /** Until the pause of everything ends by itself; absent: it does not, or there is none. */
  pause_ends_in?: Duration;
  pause_why?: string;
  paused: boolean;
  rooms: number;
  server?: string;
  servers: Server[];
  tasks: Record<string, Digits>;
  term?: Digits;
  /** Roles with waiting tasks and nobody who could take one, at most 100, and how many more. */
  unserved: UnservedRole[];
  unserved_more: number;
  version?: string;
  /** Waits parked on the answering server. */
  waiters?: Digits;
  warnings: string[];
}

/** What Fleet.TakeTerminal takes. */
export interface TakeTerminalRequest {
  agent: string;
  by?: string;
  /** Only while this is the agent's revision; 0: whatever it is. */
  if_rev?: Wide;
}

export interface TakeTerminalResponse {
  agent?: Agent;
  /** The number of the turn, for TypeKeys and ReleaseTerminal. */
  grant?: Digits;
  /** It ends by itself that long after the last key. */
  span?: Duration;
}

/** Task is a unit of work addressed to a role. */
export interface Task {
  /** Until the task is offered again, in cluster time. Absent: it is not put off. */
  again_in?: Duration;
  /** Since the claim, and since the last sign of progress, of the attempt that goes on. */
  assigned?: Duration;
  attempt: number;
  /** Attempts that count towards attempt_limit of the role. */
  charged: number;
  created_at?: Time;
  created_by?: string;
  /**
   * How many bytes of its texts and results were dropped or cut since a budget was full, and
   * whether its text was among them: such a task cannot be retried.
   */
  dropped?: Digits;
  /**
   * How long an attempt may take from its claim, by who created the task, else by its role. Absent:
   * nothing is said.
   */
  expect?: Duration;
  /**
   * Until the expected completion of the attempt that goes on, in cluster time; negative: it has
   * passed. Absent: nobody works on the task, or nothing is expected.
   */
  expect_left?: Duration;
  /** When that is, on the clock of the server that answers; for people. */
  expected_completion?: Time;
  /** How often the expected completion of the last attempt was put off after it had passed. */
  extended: number;
  failed: FailedAttempt[];
  /**
   * Attempts in a row that have failed, and why the last of them did, oldest first, at most 3. The
   * reasons are left out of lists.
   */
  failures: number;
  /** Agent of the last attempt, room/role or room/role.2. */
  holder?: string;
  holder_incarnation?: string;
  /**
   * How often in a row the work was handed on until it was this task; a human's retry sets it to 0.
   * At handoff_limit the task is QUARANTINED.
   */
  hops: number;
  id: Digits;
  in_state?: Duration;
  /** By which whoever created it finds it again; empty: it has none. */
  key?: string;
  kills: number;
  late_results: LateResult[];
  /** The task that its hand-off created; 0: none. */
  next?: Digits;
  note?: string;
  parent?: Digits;
  /** How far the last attempt is by its agent's word, 0 to 100. Absent: it has not said. */
  percent?: number;
  priority: number;
  progressed?: Duration;
  result?: string;
  /**
   * How many bytes of what was dropped were of its result: what is left of that is not what its
   * worker said.
   */
  result_dropped?: Digits;
  rev?: Digits;
  role: string;
  room: string;
  state: TaskState;
  /** Left out of lists. */
  text?: string;
  text_gone: boolean;
  title?: string;
  /**
   * Where a task was claimed: the W3C traceparent of the attempt, for the spans of who works on it.
   * Absent: nobody traces the task.
   */
  traceparent?: string;
  /**
   * What was used for it, as AI tools tell it of themselves, to within the interval of their
   * reports: all its attempts together. Absent: nothing was told.
   */
  usage?: Usage;
  /**
   * While it waits: why nobody has taken it, and the stable name of that reason (busy, offered,
   * no_agent, paused, or why_code of the agent that should). Left out of lists.
   */
  why?: string;
  why_code?: string;
}

export interface TaskCount {
  count?: Digits;
  /** How long the oldest of them is in that state; absent: there is none, or it has ended. */
  oldest?: Duration;
  state?: TaskState;
}

/**
 * Timeline is what has happened between two moments, as the history tells it, by the clocks of the
 * leaders.
 */
export interface Timeline {
  /** The history begins within the span, at this moment; absent: it is older. */
  begins?: Time;
  /** Not everything of the span was looked at. */
  cut: boolean;
  from?: Time;
  /** Agents by name, then hosts. */
  lanes: Lane[];
  /** Elections, pauses of everything, the brake: of no single lane. */
  marks: Mark[];
  /** How many more agents something has happened to. */
  more: number;
  to?: Time;
}

export interface Token {
  by?: string;
  created_at?: Time;
  /** Zero: it has ended. */
  ends_in?: Duration;
  labels: Record<string, string>;
  name?: string;
  role?: string;
  runners: string[];
  token?: Digits;
  uses_left: number;
}

export interface TransferLeadershipRequest {
  /** Empty: the server that is most up to date. */
  to?: string;
}

export interface TransferLeadershipResponse {
  leader?: string;
}

/** TrendPoint is how much there was at one moment. */
export interface TrendPoint {
  agents_running: number;
  /** How long ago, by the clock of the answering server. */
  ago?: Duration;
  /** Tasks that have ended, and events that were written, since the cluster began. */
  ended?: Digits;
  events?: Digits;
  /** Tasks that nobody has taken, and those that somebody works on. */
  waiting?: Digits;
  working?: Digits;
}

export interface TrustAnchors {
  /** UUID; certificates name their holder by spiffe://cluster/kind/name. */
  cluster?: string;
  /** The place in `roots` of the one that issues. */
  issues: number;
  /** Root certificates in DER. */
  roots: string[];
}

/** What Fleet.TypeKeys takes. */
export interface TypeKeysRequest {
  agent: string;
  by?: string;
  /**
   * The size that the terminal gets before the keys are typed, for as long as the turn lasts: 20 to
   * 500 columns and 5 to 200 rows; both 0: it stays as it is.
   */
  columns?: number;
  grant: Wide;
  /**
   * As a terminal sends them: letters in UTF-8, keys as their escapes; at most 4 KiB. A host takes
   * 50 calls a second. Empty only with a size.
   */
  keys?: string;
  rows?: number;
  /**
   * The number of this call within the turn, from 1; a number that was heard before types nothing.
   */
  seq: Wide;
}

export interface TypeKeysResponse {
}

/** Typist is the human who has the terminal of an agent's life. */
export interface Typist {
  by?: string;
  /** The number of the turn. */
  grant?: Digits;
  /** Until that ends by itself, unless a key comes. */
  left?: Duration;
  /** Since when, in cluster time. */
  since?: Duration;
}

/** What Fleet.UnparkAgent takes. */
export interface UnparkAgentRequest {
  agent: string;
  by?: string;
  /** Only while this is the agent's revision; 0: whatever it is. */
  if_rev?: Wide;
}

/** What Fleet.UnquarantineTask takes. */
export interface UnquarantineTaskRequest {
  by?: string;
  if_rev?: Wide;
  task: Wide;
}

/** UnservedRole is a role with tasks that wait and no agent that could take one. */
export interface UnservedRole {
  role?: string;
  room?: string;
  /** That the first task has waited. */
  since?: Duration;
  waiting: number;
  why?: string;
  why_code?: string;
}

/** Usage is what was used, as AI tools tell it of themselves. */
export interface Usage {
  /** Read from a cache; budgets do not count them. */
  cache_tokens?: Digits;
  input_tokens?: Digits;
  /** The same by kind: other, shell, read, edit, search, web, agent, mcp. Of lives only. */
  kinds: Digits[];
  /** Millionths of a US dollar, as the tools reckon. */
  micro_usd?: Digits;
  output_tokens?: Digits;
  /** Uses of tools. */
  tools?: Digits;
}

/** UsageState is what an agent, a role or a room has used, and how its budget stands. */
export interface UsageState {
  /** Absent: it has none. */
  budget?: Budget;
  /** Of an agent: how often it has told more than any tool can use. */
  clamped?: Digits;
  /** In the hour under way and the 24 before it. */
  day?: Usage;
  incarnation?: string;
  /** room, role or agent. */
  kind?: string;
  /** Of an agent: what the life of this incarnation has used. */
  life?: Usage;
  lifted_by?: string;
  /** Until a lifted budget counts again; absent: it is not lifted. */
  lifted_for?: Duration;
  /** ROOM, ROOM/ROLE or the name of the agent. */
  name?: string;
  /** free, warned (four fifths are used) or out (nothing new is started or claimed). */
  stage?: string;
}

export interface User {
  bindings: Binding[];
  by?: string;
  changed_at?: Time;
  user?: string;
}

/** Verdict is what all signals of an agent together say of it. */
export interface Verdict {
  /** Nobody has to look: it does what it should, or is off on purpose. */
  fine: boolean;
  /**
   * healthy, busy, idle, degraded, needs_input, parked, suspect, deaf, stalled, unresponsive,
   * offline or not_found.
   */
  kind?: string;
  /** What it rests on, what speaks against the agent first. */
  reasons: Reason[];
}

export interface WaitMailRequest {
  /** At most 10 min; 0: 1 min. */
  max_wait?: Duration;
  speaker: Speaker;
}

export interface WaitMailResponse {
  /** 0: none came within max_wait. */
  unread: number;
}

export interface WaitRequest {
  /** At most 10 min; 0: 1 min. */
  max_wait?: Duration;
  speaker: Speaker;
  /**
   * The task counts as started when it is claimed, as by StartTask: for who begins at once. The
   * acknowledgement limit does not run then, which takes back what nobody has begun.
   */
  start?: boolean;
}

/** What Fleet.WatchEvents takes. */
export interface WatchEventsRequest {
  /** Events with a greater seq; 0: from the oldest kept. */
  after?: Wide;
  agent?: string;
  /** Ends with the newest event instead of waiting for more. */
  no_follow?: boolean;
  room?: string;
  /** Only what happens from now on. */
  tail?: boolean;
  task?: Wide;
}

/** WatchdogStats are what one server's conversation watchdog has done since the server started. */
export interface WatchdogStats {
  canceled?: Digits;
  /** Active rooms that were covered by these checks. */
  checked?: Digits;
  checks?: Digits;
  errors?: Digits;
  /** Of the last check; absent: there was none. */
  last_check?: Time;
  last_duration?: Duration;
  total_duration?: Duration;
  warned?: Digits;
}

export interface WorkRequest {
  /**
   * With FailTask and retryable: when another attempt may succeed, from now, at most 30 days, for
   * instance what a Retry-After said; absent: by the rules of the role.
   */
  after?: Duration;
  attempt: number;
  /**
   * With ProgressTask: how long the rest takes from now, 1 s to 30 days; absent: as said before.
   */
  expect?: Duration;
  /** With ProgressTask: how far the work is, 0 to 100; absent: as said before. */
  percent?: number;
  /**
   * With FailTask: what the attempt has made all the same, for instance a result whose hand-off was
   * refused. It is kept for people among the late_results of the task. A cluster that is being
   * upgraded refuses it (old_servers): say the failure without it then.
   */
  result?: string;
  /** With FailTask: another attempt may succeed. */
  retryable?: boolean;
  speaker: Speaker;
  task: Wide;
  /** With ProgressTask the note, with FailTask the reason. */
  text?: string;
}

export interface WorkResponse {
  rev?: Digits;
  state?: TaskState;
}

/** What each call takes and answers; of a call whose answer is many messages, one of them. */
export interface Calls {
  /** Adds a server: it learns the log first, then it gets a vote. */
  "Cluster.AddServer": { request: AddServerRequest; response: AddServerResponse };
  /** Takes a server's vote and keeps it as a standby. */
  "Cluster.DemoteServer": { request: DemoteServerRequest; response: DemoteServerResponse };
  /** How the answering server is; served without the leader. */
  "Cluster.GetHealth": { request: GetHealthRequest; response: GetHealthResponse };
  /** The settings of the cluster with defaults and help. */
  "Cluster.GetSettings": { request: GetSettingsRequest; response: Settings };
  /** The servers of the cluster. */
  "Cluster.ListServers": { request: ListServersRequest; response: ListServersResponse };
  /** Gives a standby its vote. */
  "Cluster.PromoteServer": { request: PromoteServerRequest; response: PromoteServerResponse };
  /** Changes settings by name. */
  "Cluster.PutSettings": { request: PutSettingsRequest; response: Settings };
  /** Removes a server from the cluster. */
  "Cluster.RemoveServer": { request: RemoveServerRequest; response: RemoveServerResponse };
  /** What the cluster is doing. */
  "Cluster.Status": { request: StatusRequest; response: StatusResponse };
  /** Hands leadership to another server. */
  "Cluster.TransferLeadership": { request: TransferLeadershipRequest; response: TransferLeadershipResponse };
  /**
   * The overview again and again as it changes, and what has happened; a sign of life each second.
   */
  "Desk.Follow": { request: FollowRequest; response: News };
  /** How the fleet is, as the answering server knows it. */
  "Desk.GetOverview": { request: GetOverviewRequest; response: Overview };
  /** What a span of time was filled with: lives, tasks, faults of hosts, elections. */
  "Desk.GetTimeline": { request: GetTimelineRequest; response: Timeline };
  /** Figures of the last hour. */
  "Desk.GetTrend": { request: GetTrendRequest; response: GetTrendResponse };
  /** The history from an event back, the newest first. */
  "Desk.ListEvents": { request: ListEventsRequest; response: ListEventsResponse };
  /** Everything that waits for a human, the most urgent first. */
  "Desk.ListInbox": { request: ListInboxRequest; response: ListInboxResponse };
  /** Names and tasks that fit some words. */
  "Desk.Search": { request: SearchRequest; response: SearchResponse };
  /** Says that somebody looks after it: it is announced no more. */
  "Escalations.AckEscalation": { request: AckEscalationRequest; response: Escalation };
  /** Says that nothing is left to decide. */
  "Escalations.CloseEscalation": { request: CloseEscalationRequest; response: Escalation };
  /** One escalation with its notices. */
  "Escalations.GetEscalation": { request: GetEscalationRequest; response: Escalation };
  /** By number, what nobody has closed only, unless all are asked for. */
  "Escalations.ListEscalations": { request: ListEscalationsRequest; response: ListEscalationsResponse };
  /** The agent's output, fetched from its host; with follow, as it grows. */
  "Fleet.AgentLogs": { request: AgentLogsRequest; response: LogChunk };
  /** Declares a room with its roles: what is not declared any more ends. */
  "Fleet.ApplyRoom": { request: ApplyRoomRequest; response: Room };
  /** Cancels a task; whoever works on it is told. */
  "Fleet.CancelTask": { request: CancelTaskRequest; response: Task };
  /** A human's word that nothing of a host runs any more. */
  "Fleet.ConfirmDead": { request: ConfirmDeadRequest; response: Host };
  /** Creates a task for a role. */
  "Fleet.CreateTask": { request: CreateTaskRequest; response: Task };
  /** Deletes a room: its agents are stopped and its open tasks canceled. */
  "Fleet.DeleteRoom": { request: DeleteRoomRequest; response: DeleteRoomResponse };
  /** Has nothing run on a host, or ends that wish. */
  "Fleet.DrainHost": { request: DrainHostRequest; response: Host };
  /** What an agent's terminal shows, with its colours: now, and whenever that changes. */
  "Fleet.FollowScreen": { request: FollowScreenRequest; response: Screen };
  /** Removes a lost or left host on which no life is left. */
  "Fleet.ForgetHost": { request: ForgetHostRequest; response: ForgetHostResponse };
  /** One agent with its role, task, newest events, and why each host would or would not take it. */
  "Fleet.GetAgent": { request: GetAgentRequest; response: GetAgentResponse };
  /**
   * How an agent is seen from outside. An agent that does not exist is answered with the status
   * not_found.
   */
  "Fleet.GetAgentStatus": { request: GetAgentStatusRequest; response: AgentStatus };
  /** One host, by its id or name. */
  "Fleet.GetHost": { request: GetHostRequest; response: Host };
  /** One room with its roles and counts. */
  "Fleet.GetRoom": { request: GetRoomRequest; response: Room };
  /** One task with its text. */
  "Fleet.GetTask": { request: GetTaskRequest; response: Task };
  /**
   * What was used within 24 hours: of all rooms; of a room with its roles; of a role with its
   * agents.
   */
  "Fleet.GetUsage": { request: GetUsageRequest; response: GetUsageResponse };
  /** What the conversation watchdog has done, with the last cancellations. */
  "Fleet.GetWatchdog": { request: GetWatchdogRequest; response: GetWatchdogResponse };
  /**
   * Lets a room, or a role with its agents, go on beyond its budget until the window has passed.
   */
  "Fleet.LiftBudget": { request: LiftBudgetRequest; response: LiftBudgetResponse };
  /** The agents by name, room/role or room/role.2. */
  "Fleet.ListAgents": { request: ListAgentsRequest; response: ListAgentsResponse };
  /** What is due of an agent or of a room, when, what holds it, and what happens then. */
  "Fleet.ListDeadlines": { request: ListDeadlinesRequest; response: ListDeadlinesResponse };
  /** The hosts in the order of their first registration. */
  "Fleet.ListHosts": { request: ListHostsRequest; response: ListHostsResponse };
  /** The rooms by name, with their roles and counts. */
  "Fleet.ListRooms": { request: ListRoomsRequest; response: ListRoomsResponse };
  /** The tasks by number, without their texts. */
  "Fleet.ListTasks": { request: ListTasksRequest; response: ListTasksResponse };
  /** What an agent's terminal shows now. Only agents with a tmux session have one. */
  "Fleet.LookAtAgent": { request: LookAtAgentRequest; response: Screen };
  /**
   * Types a line into an agent's terminal: the gentlest way to wake one that hangs at a prompt.
   * Recorded as an event, without the text.
   */
  "Fleet.NudgeAgent": { request: NudgeAgentRequest; response: Agent };
  /** Ends the mass-failure brake. */
  "Fleet.ReleaseBrake": { request: ReleaseBrakeRequest; response: ReleaseBrakeResponse };
  /** Gives a terminal back, or takes it from whoever has it. */
  "Fleet.ReleaseTerminal": { request: ReleaseTerminalRequest; response: Agent };
  /** Brings back the tasks that the conversation watchdog canceled last in a room. */
  "Fleet.ReopenRoom": { request: ReopenRoomRequest; response: ReopenRoomResponse };
  /** Ends the present life of an agent and has the next one started. */
  "Fleet.RestartAgent": { request: RestartAgentRequest; response: Agent };
  /** Puts a FAILED, CANCELED or QUARANTINED task back into the queue. */
  "Fleet.RetryTask": { request: RetryTaskRequest; response: Task };
  /** Has an agent run or stop, durably. */
  "Fleet.SetAgent": { request: SetAgentRequest; response: Agent };
  /**
   * Pauses or resumes everything, a room or an agent: nothing is started and no new task is
   * claimed; what runs goes on.
   */
  "Fleet.SetPause": { request: SetPauseRequest; response: SetPauseResponse };
  /** Replaces what a room sets for the conversation watchdog. */
  "Fleet.SetRoomWatch": { request: SetRoomWatchRequest; response: Room };
  /**
   * Takes an agent's terminal, to type there key by key. One human at a time has it, until it is
   * given back or no key came for a minute; meanwhile nothing else types there and nobody restarts
   * the agent for what it does not do. Beginning and end are events; keys are in no event or log.
   */
  "Fleet.TakeTerminal": { request: TakeTerminalRequest; response: TakeTerminalResponse };
  /** Types into a terminal that was taken. A call that is repeated types nothing. */
  "Fleet.TypeKeys": { request: TypeKeysRequest; response: TypeKeysResponse };
  /** Ends a back-off, an open breaker or a usage-limit pause. */
  "Fleet.UnparkAgent": { request: UnparkAgentRequest; response: Agent };
  /** Puts a QUARANTINED task back into the queue, its deaths forgiven. */
  "Fleet.UnquarantineTask": { request: UnquarantineTaskRequest; response: Task };
  /** The history from an index on, then what follows, until the caller leaves. */
  "Fleet.WatchEvents": { request: WatchEventsRequest; response: Event };
  /** Says that the agent has taken note of a mail. Saying it again changes nothing. */
  "Mailbox.AckMail": { request: AckMailRequest; response: AckMailResponse };
  /** One mail with its body; marks nothing. */
  "Mailbox.GetMail": { request: GetMailRequest; response: Mail };
  /** For people and tools: marks nothing. Bodies are left out. */
  "Mailbox.ListMail": { request: ListMailRequest; response: ListMailResponse };
  /**
   * Hands unread mail over to the life that asks, the most urgent first: what no life has
   * acknowledged and this one has not got yet, or was reminded of.
   */
  "Mailbox.ReadMail": { request: ReadMailRequest; response: ReadMailResponse };
  /** Sends a mail to an agent, a role or a room: one copy for each agent. */
  "Mailbox.SendMail": { request: SendMailRequest; response: SendMailResponse };
  /**
   * Parks until the agent has unread mail, for max_wait at most, and tells how much there is. It
   * marks nothing: read it then.
   */
  "Mailbox.WaitMail": { request: WaitMailRequest; response: WaitMailResponse };
  /** One overseer with its patrols and the looks at it. */
  "Overseers.GetOverseer": { request: GetOverseerRequest; response: OverseerStatus };
  /**
   * As an overseer: leaves a mail to its next life, which gets it before any other, and has that
   * life started, both or neither. It takes the place of the present one.
   */
  "Overseers.HandOver": { request: HandOverRequest; response: HandOverResponse };
  /** The overseers by name. */
  "Overseers.ListOverseers": { request: ListOverseersRequest; response: ListOverseersResponse };
  /** A look now. It is refused while one is open. */
  "Overseers.LookAtOverseer": { request: LookAtOverseerRequest; response: OverseerStatus };
  /** As an overseer: it has been round. Saying the same cycle again changes nothing. */
  "Overseers.ReportPatrol": { request: ReportPatrolRequest; response: OverseerStatus };
  /** Makes a token for programs that have no certificate. */
  "Trust.CreateAPIToken": { request: CreateAPITokenRequest; response: CreateAPITokenResponse };
  /** Makes a token by which servers or hosts join, or a user logs in. */
  "Trust.CreateToken": { request: CreateTokenRequest; response: CreateTokenResponse };
  /** Which keys encrypt gossip, without the keys, and who lacks what. */
  "Trust.GetGossip": { request: GetGossipRequest; response: GossipRing };
  /** The root certificates, and what the replacement of one waits for. */
  "Trust.GetRoots": { request: GetRootsRequest; response: Roots };
  /**
   * The name of the cluster and its root certificates. Open to everybody: whoever joins compares
   * the root with the pin in its token.
   */
  "Trust.GetTrust": { request: GetTrustRequest; response: TrustAnchors };
  /**
   * A server or host becomes a member by a token, and gets its first certificate. It can be
   * repeated with the same key until the token ends.
   */
  "Trust.Join": { request: JoinTrustRequest; response: Certificate };
  /** The API tokens, without their secrets. */
  "Trust.ListAPITokens": { request: ListAPITokensRequest; response: ListAPITokensResponse };
  /**
   * Who has changed what from where: writes of people and API tokens that were done, the oldest
   * first. The newest 10,000 are kept.
   */
  "Trust.ListAudit": { request: ListAuditRequest; response: ListAuditResponse };
  /** The names that have or had certificates. */
  "Trust.ListIdentities": { request: ListIdentitiesRequest; response: ListIdentitiesResponse };
  /** The tokens, without their secrets. */
  "Trust.ListTokens": { request: ListTokensRequest; response: ListTokensResponse };
  /** The users and what they may do. */
  "Trust.ListUsers": { request: ListUsersRequest; response: ListUsersResponse };
  /** A certificate for a user, by a token to log in. */
  "Trust.Login": { request: LoginRequest; response: Certificate };
  /** Adds a user, or replaces what one may do. */
  "Trust.PutUser": { request: PutUserRequest; response: User };
  /** Removes a user: certificates and tokens to log in are void at once. */
  "Trust.RemoveUser": { request: RemoveUserRequest; response: RemoveUserResponse };
  /**
   * A new certificate for whoever presents one that is not revoked, also when it is too old for
   * anything else. An older one than the newest is refused: another machine has its key.
   */
  "Trust.Renew": { request: RenewTrustRequest; response: Certificate };
  /**
   * Begins to replace the root. Everybody trusts both, until every server and host has a
   * certificate of the new one; then the old one goes by itself.
   */
  "Trust.ReplaceRoot": { request: ReplaceRootRequest; response: Roots };
  /** Revokes every certificate of a name, at once and for good. */
  "Trust.Revoke": { request: RevokeRequest; response: RevokeResponse };
  /** Ends an API token. */
  "Trust.RevokeAPIToken": { request: RevokeAPITokenRequest; response: RevokeAPITokenResponse };
  /** Ends a token. Who has joined by it stays. */
  "Trust.RevokeToken": { request: RevokeTokenRequest; response: RevokeTokenResponse };
  /** Has the key of gossip replaced; it takes some seconds, and GetGossip shows how far it is. */
  "Trust.RotateGossip": { request: RotateGossipRequest; response: RotateGossipResponse };
  /** Takes a task: the named one or the first of the role. */
  "Work.Claim": { request: ClaimRequest; response: ClaimResponse };
  /** Ends a session; its writes can no longer be repeated. */
  "Work.CloseSession": { request: CloseSessionRequest; response: CloseSessionResponse };
  /** Ends a task with a result, exactly once. */
  "Work.CompleteTask": { request: CompleteTaskRequest; response: WorkResponse };
  /** What the agent says of its own condition; each one is a health report too. */
  "Work.Declare": { request: DeclareRequest; response: DeclareResponse };
  /** Gives a task up with a reason; another attempt follows when it is retryable. */
  "Work.FailTask": { request: WorkRequest; response: WorkResponse };
  /** Completes a task and creates the next role's task, both or neither. */
  "Work.Handoff": { request: HandoffRequest; response: HandoffResponse };
  /** Makes a life WAITING in its room. */
  "Work.Join": { request: JoinRequest; response: JoinResponse };
  /** Makes a life DISCONNECTED at once; what it holds is recovered. */
  "Work.Leave": { request: LeaveRequest; response: LeaveResponse };
  /**
   * Ends a task and takes the role's next one, in one step: as CompleteTask, FailTask or Handoff
   * and then Claim, or Join where there is none. The end counts whatever becomes of the claim.
   * Repeated under its write id it has the same answer: the same end, the same task.
   */
  "Work.Next": { request: NextRequest; response: NextResponse };
  /** Opens a session for numbered writes, which are safe to repeat. */
  "Work.OpenSession": { request: OpenSessionRequest; response: OpenSessionResponse };
  /** Says that the work goes on, and how far it is. */
  "Work.ProgressTask": { request: WorkRequest; response: WorkResponse };
  /**
   * One life of one agent proves that it lives, by its own word. An answer other than OK says what
   * became of it: "rejoin", "superseded" or "denied".
   */
  "Work.Renew": { request: RenewRequest; response: RenewResponse };
  /** Keeps a value that the next life gets as VIGIL_RESUME. */
  "Work.SetResume": { request: SetResumeRequest; response: SetResumeResponse };
  /** Says that work on a claimed task has begun. */
  "Work.StartTask": { request: WorkRequest; response: WorkResponse };
  /**
   * Parks until the role has a task, claims it and answers with it. Answers with the code "no_task"
   * after max_wait. It joins nothing and leaves nothing.
   */
  "Work.Wait": { request: WaitRequest; response: ClaimResponse };
}
