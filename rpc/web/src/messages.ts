// Made by `make web` from the OpenAPI document. Do not edit.

export interface APIToken {
  bindings: Binding[];
  by?: string;
  created_at?: string;
  ends_in?: string;
  name?: string;
  token?: string;
}

export interface AckMailResponse {
  applied: boolean;
}

export interface AddServerRequest {
  id: string;
  raft_addr: string;
  standby?: boolean;
}

export interface AddServerResponse {
}

export interface Agent {
  declaration?: Declaration;
  degraded?: string;
  desired?: string;
  done: number;
  failures: number;
  fence_left?: string;
  host?: string;
  id: number;
  incarnation?: string;
  incarnation_raw?: string;
  intent_at?: string;
  intent_by?: string;
  intent_why?: string;
  ladder?: Ladder;
  last_exit?: Exit;
  lease_left?: string;
  managed: boolean;
  name?: string;
  not_before?: string;
  order?: string;
  order_open?: string;
  order_reason?: string;
  outdated: boolean;
  overseer?: OverseerStatus;
  parked: boolean;
  parked_why?: string;
  participant?: string;
  pause_at?: string;
  pause_by?: string;
  pause_ends_in?: string;
  pause_why?: string;
  paused: boolean;
  pid: number;
  process?: string;
  resume_bytes: number;
  retired: boolean;
  rev?: string;
  role?: string;
  room?: string;
  screen?: ScreenState;
  start_fault?: string;
  stop_ends_in?: string;
  stuck?: string;
  task?: string;
  typist?: Typist;
  up?: string;
  usage?: UsageState;
  verdict?: Verdict;
  why?: string;
  why_code?: string;
  why_left?: string;
}

export interface AgentEnd {
  agent?: string;
  finishes: boolean;
  task?: string;
}

export interface AgentStatus {
  agent?: string;
  declaration?: Declaration;
  degraded?: string;
  host?: string;
  ladder?: Ladder;
  last_seen?: string;
  offline_since?: string;
  registered_at?: string;
  screen?: ScreenState;
  status?: string;
  unread_messages: number;
  verdict?: Verdict;
}

export interface AuditEntry {
  at?: string;
  digest?: string;
  index?: string;
  method?: string;
  room?: string;
  seq?: string;
  source?: string;
  who?: string;
}

export interface Binding {
  role: string;
  room: string;
}

export interface Budget {
  micro_usd?: string;
  tokens?: string;
}

export interface Cancellation {
  active_at?: string;
  at?: string;
  hosts: string[];
  reason?: string;
  resumed: boolean;
  roles: string[];
  room?: string;
  silent?: string;
  tasks: number;
}

export interface Certificate {
  anchors?: TrustAnchors;
  chain: string[];
  generation?: string;
  serial?: string;
}

export interface ClaimRequest {
  id?: WriteId;
  speaker: Speaker;
  start?: boolean;
  task?: string;
}

export interface ClaimResponse {
  attempt: number;
  index?: string;
  task?: Task;
  ttl?: string;
}

export interface CloseSessionResponse {
}

export interface ClusterDemoteServerBody {
  force?: boolean;
}

export interface ClusterPromoteServerBody {
}

export interface CompleteTaskRequest {
  attempt: number;
  id?: WriteId;
  result?: string;
  speaker: Speaker;
  task: string;
}

export interface Completion {
  result?: string;
}

export interface CreateAPITokenRequest {
  bindings: Binding[];
  name: string;
  ttl?: string;
}

export interface CreateAPITokenResponse {
  bearer?: string;
  token?: string;
}

export interface CreateTokenRequest {
  labels?: Record<string, string>;
  name?: string;
  role: string;
  runners?: string[];
  ttl?: string;
  uses?: number;
}

export interface CreateTokenResponse {
  anchors?: TrustAnchors;
  secret?: string;
  token?: string;
}

export interface Deadline {
  absent?: string;
  held_by?: string;
  held_for?: string;
  kind?: string;
  left?: string;
  of?: string;
  since?: string;
  span?: string;
  then?: string;
}

export interface Declaration {
  lapsed: boolean;
  left?: string;
  reported?: string;
  said?: string;
  sequence?: string;
  status?: string;
  text?: string;
  waiting?: string;
}

export interface DeclareRequest {
  for?: string;
  id?: WriteId;
  sequence?: string;
  speaker: Speaker;
  status?: string;
  text?: string;
  waiting?: string;
}

export interface DeclareResponse {
  applied: boolean;
  left?: string;
  sequence?: string;
}

export interface DeleteRoomResponse {
  pending: boolean;
  plan?: RoomPlan;
}

export interface Delivery {
  at?: string;
  failure?: string;
  next_in?: string;
  notifier?: string;
  state?: string;
  tries: number;
}

export interface DemoteServerResponse {
}

export interface Error {
  code: "invalid" | "not_found" | "conflict" | "superseded" | "rejoin" | "denied" | "no_task" | "unknown_session" | "stopped" | "host_in_use" | "stale_stint" | "late" | "too_old" | "agent_not_found" | "agent_offline" | "mailbox_full" | "full" | "not_leader" | "no_leader" | "agentd_away" | "unknown_outcome" | "timeout" | "canceled" | "compacted" | "too_large" | "unavailable" | "internal" | "unimplemented" | "wrong_method" | "old_servers" | "wrong_origin" | "wrong_type" | "auth_denied" | "auth_expired";
  leader?: string;
  message: string;
  oldest?: number;
  rev?: number;
}

export interface ErrorInfo {
  code?: string;
  index?: string;
  leader?: string;
  message?: string;
  oldest?: string;
  rev?: string;
}

export interface Escalation {
  ack_at?: string;
  ack_by?: string;
  age?: string;
  agent?: string;
  close_at?: string;
  close_by?: string;
  commands: string[];
  count?: string;
  done?: string;
  facts: Record<string, string>;
  first_at?: string;
  host?: string;
  id?: string;
  incarnation?: string;
  kind?: string;
  last_at?: string;
  lasts: boolean;
  note?: string;
  notice?: Notice;
  priority?: string;
  reason?: string;
  reopened: number;
  room?: string;
  state?: string;
  subject?: string;
  task?: string;
}

export interface EscalationsAckEscalationBody {
  by?: string;
  id?: WriteId;
}

export interface EscalationsCloseEscalationBody {
  by?: string;
  id?: WriteId;
  note?: string;
}

export interface Event {
  agent?: string;
  at?: string;
  attempt: number;
  host?: string;
  incarnation?: string;
  index?: string;
  kind?: string;
  room?: string;
  seq?: string;
  task?: string;
  text?: string;
}

export interface Exit {
  ago?: string;
  at?: string;
  code: number;
  host?: string;
  incarnation?: string;
  kind?: string;
  reason?: string;
  signal?: string;
  tail?: string;
  task?: string;
}

export interface FailedAttempt {
  at?: string;
  attempt: number;
  reason?: string;
}

export interface Failure {
  after?: string;
  reason?: string;
  result?: string;
  retryable?: boolean;
}

export interface FleetApplyRoomBody {
  budget?: Budget;
  by?: string;
  dry_run?: boolean;
  gentle?: boolean;
  id?: WriteId;
  if_rev?: string;
  now?: boolean;
  roles?: RoleSpec[];
  watch?: RoomWatch;
}

export interface FleetCancelTaskBody {
  by?: string;
  id?: WriteId;
  if_rev?: string;
  reason?: string;
}

export interface FleetConfirmDeadBody {
  by?: string;
  force?: boolean;
  id?: WriteId;
}

export interface FleetCreateTaskBody {
  after?: string;
  by?: string;
  expect?: string;
  id?: WriteId;
  key?: string;
  priority?: number;
  role: string;
  text?: string;
  title?: string;
  traceparent?: string;
}

export interface FleetDrainHostBody {
  by?: string;
  deadline?: string;
  for?: string;
  id?: WriteId;
  off?: boolean;
}

export interface FleetLiftBudgetBody {
  by?: string;
  id?: WriteId;
  role?: string;
}

export interface FleetNudgeAgentBody {
  answer?: boolean;
  by?: string;
  id?: WriteId;
  if_dialog?: string;
  if_rev?: string;
  reason?: string;
  text?: string;
}

export interface FleetReleaseTerminalBody {
  by?: string;
  grant?: string;
  id?: WriteId;
}

export interface FleetReopenRoomBody {
  by?: string;
  id?: WriteId;
  if_rev?: string;
}

export interface FleetRestartAgentBody {
  by?: string;
  fresh?: boolean;
  id?: WriteId;
  if_rev?: string;
  reason?: string;
}

export interface FleetRetryTaskBody {
  by?: string;
  id?: WriteId;
  if_rev?: string;
}

export interface FleetSetAgentBody {
  by?: string;
  desired: string;
  for?: string;
  fresh?: boolean;
  id?: WriteId;
  if_rev?: string;
  reason?: string;
}

export interface FleetSetRoomWatchBody {
  by?: string;
  id?: WriteId;
  if_rev?: string;
  watch?: RoomWatch;
}

export interface FleetTakeTerminalBody {
  by?: string;
  id?: WriteId;
  if_rev?: string;
}

export interface FleetTypeKeysBody {
  by?: string;
  columns?: number;
  grant: string;
  keys?: string;
  rows?: number;
  seq: string;
}

export interface FleetUnparkAgentBody {
  by?: string;
  id?: WriteId;
  if_rev?: string;
}

export interface FleetUnquarantineTaskBody {
  by?: string;
  id?: WriteId;
  if_rev?: string;
}

export interface ForgetHostResponse {
}

export interface GetAgentResponse {
  agent?: Agent;
  events: Event[];
  hosts: HostFit[];
  role?: RoleSpec;
  task?: Task;
}

export interface GetHealthResponse {
  leader: boolean;
  server?: string;
  status?: string;
  watchdog?: HealthWatchdog;
}

export interface GetTrendResponse {
  points: TrendPoint[];
}

export interface GetUsageResponse {
  usage: UsageState[];
  warnings: string[];
}

export interface GetWatchdogResponse {
  active_rooms: number;
  canceled_total?: string;
  enabled: boolean;
  history: Cancellation[];
  stalled: string[];
  stats?: WatchdogStats;
  warned_total?: string;
}

export interface GossipRing {
  keys: GossipRingKey[];
  revision?: string;
  servers: GossipServer[];
  step?: string;
  why?: string;
}

export interface GossipRingKey {
  key?: string;
  number?: string;
  used: boolean;
}

export interface GossipServer {
  done: boolean;
  server?: string;
}

export interface HandOverRequest {
  body?: string;
  id?: WriteId;
  speaker: Speaker;
  subject?: string;
}

export interface HandOverResponse {
  mail?: string;
}

export interface HandoffRequest {
  attempt: number;
  id?: WriteId;
  priority?: number;
  result?: string;
  speaker: Speaker;
  task: string;
  text?: string;
  title?: string;
  to_role: string;
}

export interface HandoffResponse {
  next_task?: string;
}

export interface Handover {
  priority?: number;
  result?: string;
  text?: string;
  title?: string;
  to_role?: string;
}

export interface HealthSpec {
  every?: string;
  missed?: number;
  preset?: string;
}

export interface HealthWatchdog {
  enabled: boolean;
  stats?: WatchdogStats;
}

export interface Hit {
  kind?: string;
  name?: string;
  text?: string;
}

export interface Host {
  capacity: number;
  containment?: string;
  drain: boolean;
  drain_at?: string;
  drain_by?: string;
  drain_ends_in?: string;
  drain_left?: string;
  gossip_addr?: string;
  heard?: string;
  id: number;
  kept?: HostKept;
  labels: Record<string, string>;
  lease_left?: string;
  name?: string;
  pressure?: string;
  rev?: string;
  runners: string[];
  running: number;
  seen_at?: string;
  servers: string[];
  starting: number;
  state?: string;
  steady_in?: string;
  suspect_why?: string;
  terminals?: string;
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

export interface HostKept {
  bytes?: string;
  oldest?: string;
  removable?: string;
}

export interface HostView {
  gossip?: string;
  server?: string;
  stream?: string;
}

export interface Identity {
  age?: string;
  generation?: string;
  gone: boolean;
  grace?: string;
  host?: string;
  kind?: string;
  left?: string;
  name?: string;
  renews_in?: string;
  serial?: string;
  token?: string;
  until?: string;
}

export interface InboxItem {
  ack_by?: string;
  actions: string[];
  age?: string;
  agent?: string;
  agent_rev?: string;
  count?: string;
  done?: string;
  escalation?: string;
  host?: string;
  incarnation?: string;
  incarnation_raw?: string;
  key?: string;
  kind?: string;
  lasts: boolean;
  mail?: string;
  priority?: string;
  reasons: Reason[];
  role?: string;
  room?: string;
  said?: string;
  subject?: string;
  task?: string;
  task_rev?: string;
  text?: string;
  verdict?: string;
}

export interface JoinRequest {
  id?: WriteId;
  speaker: Speaker;
}

export interface JoinResponse {
  agent?: string;
  agent_id: number;
  incarnation?: string;
  managed: boolean;
  task?: string;
  ttl?: string;
}

export interface JoinTrustRequest {
  addresses?: string[];
  csr: string;
  kind: string;
  name: string;
  secret: string;
  token: string;
}

export interface Ladder {
  failed: string[];
  next?: string;
  next_in?: string;
  rung?: string;
  steps: number;
  taken?: string;
  why?: string;
}

export interface Lane {
  kind?: string;
  marks: Mark[];
  name?: string;
  spans: Span[];
}

export interface LateResult {
  at?: string;
  attempt: number;
  incarnation?: string;
  result?: string;
}

export interface LeaveRequest {
  id?: WriteId;
  reason?: string;
  speaker: Speaker;
}

export interface LeaveResponse {
}

export interface LiftBudgetResponse {
  usage?: UsageState;
}

export interface ListAPITokensResponse {
  tokens: APIToken[];
}

export interface ListAgentsResponse {
  agents: Agent[];
  more: boolean;
  next?: string;
}

export interface ListAuditResponse {
  entries: AuditEntry[];
  more: boolean;
  next?: string;
}

export interface ListDeadlinesResponse {
  deadlines: Deadline[];
  more: number;
}

export interface ListEscalationsResponse {
  dropped?: string;
  escalations: Escalation[];
  more: boolean;
  next?: string;
  open: number;
  pending: number;
}

export interface ListEventsResponse {
  events: Event[];
  next?: string;
}

export interface ListHostsResponse {
  hosts: Host[];
  more: boolean;
  next: number;
}

export interface ListIdentitiesResponse {
  identities: Identity[];
  more: boolean;
  next?: string;
}

export interface ListInboxResponse {
  index?: string;
  items: InboxItem[];
  more: number;
}

export interface ListMailResponse {
  mails: Mail[];
  more: boolean;
  next?: string;
}

export interface ListOverseersResponse {
  more: boolean;
  next?: string;
  overseers: OverseerStatus[];
}

export interface ListRoomsResponse {
  more: boolean;
  next?: string;
  rooms: Room[];
}

export interface ListServersResponse {
  servers: Server[];
}

export interface ListTasksResponse {
  more: boolean;
  next?: string;
  tasks: Task[];
}

export interface ListTokensResponse {
  tokens: Token[];
}

export interface ListUsersResponse {
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
  token: string;
  user: string;
}

export interface Mail {
  age?: string;
  body?: string;
  delivered_to?: string;
  deliveries: number;
  escalated: boolean;
  from?: string;
  from_incarnation?: string;
  id?: string;
  kind?: string;
  priority?: string;
  redelivered: boolean;
  reminded: number;
  reply_to?: string;
  sent_at?: string;
  state?: string;
  subject?: string;
  thread?: string;
  to?: string;
}

export interface MailboxAckMailBody {
  id?: WriteId;
  speaker: Speaker;
}

export interface Mark {
  at: number;
  kind?: string;
  seq?: string;
  text?: string;
}

export interface News {
  clock?: string;
  epoch: number;
  events: Event[];
  index?: string;
  leader?: string;
  leaderless?: string;
  left_out?: string;
  overview?: Overview;
  reset: boolean;
  seq?: string;
  server?: string;
}

export interface NextRequest {
  attempt: number;
  complete?: Completion;
  fail?: Failure;
  handoff?: Handover;
  id?: WriteId;
  max_wait?: string;
  speaker: Speaker;
  start?: boolean;
  task: string;
}

export interface NextResponse {
  claim?: ClaimResponse;
  index?: string;
  next_task?: string;
  none?: ErrorInfo;
  rev?: string;
  state?: TaskState;
}

export interface Notice {
  deliveries: Delivery[];
  number?: string;
  pending: boolean;
}

export interface OpenSessionRequest {
  client?: string;
}

export interface OpenSessionResponse {
  session?: string;
}

export interface OverseerSpec {
  fresh?: string;
  handoff_after?: number;
  stale?: string;
  triage?: string;
}

export interface OverseerStatus {
  act?: string;
  agent?: string;
  asked_by?: string;
  cycle?: string;
  decided?: string;
  decided_by?: string;
  decision?: string;
  degraded?: string;
  facts?: string;
  fresh?: string;
  freshness?: string;
  handoff_after: number;
  handoff_due: boolean;
  healthy: number;
  incarnation?: string;
  last_action?: string;
  look_left?: string;
  look_task?: string;
  mail_waiting: number;
  next_look?: string;
  off?: string;
  overruled: number;
  patrol_age?: string;
  patrols: number;
  reason?: string;
  rule?: string;
  session?: string;
  stale?: string;
  triage?: string;
  unhealthy: number;
}

export interface OverseersLookAtOverseerBody {
  by?: string;
  id?: WriteId;
}

export interface Overview {
  agents: number;
  agents_running: number;
  agents_wanted: number;
  brake?: string;
  clock?: string;
  hold?: string;
  hosts: Record<string, number>;
  inbox: Record<string, number>;
  index?: string;
  leader?: string;
  pause_by?: string;
  pause_ends_in?: string;
  pause_why?: string;
  paused: boolean;
  rooms: number;
  servers: OverviewServer[];
  tasks: TaskCount[];
  term?: string;
  verdicts: Record<string, number>;
}

export interface OverviewServer {
  api_addr?: string;
  diverged: boolean;
  id?: string;
  leader: boolean;
  version?: string;
}

export interface PromoteServerResponse {
}

export interface PutSettingsRequest {
  by?: string;
  values: Record<string, string>;
}

export interface RaftFigures {
  applied_index?: string;
  commit_index?: string;
  commit_p50?: string;
  commit_p99?: string;
  error?: string;
  hears: Record<string, string>;
  last_index?: string;
  log_bytes?: string;
  log_entries?: string;
  snapshot_bytes?: string;
  snapshot_index?: string;
  state?: string;
  term?: string;
}

export interface ReadMailRequest {
  id?: WriteId;
  max?: number;
  speaker: Speaker;
}

export interface ReadMailResponse {
  mails: Mail[];
  unread: number;
}

export interface Reason {
  age?: string;
  bad: boolean;
  evidence?: string;
  text?: string;
}

export interface ReleaseBrakeRequest {
  by?: string;
  id?: WriteId;
}

export interface ReleaseBrakeResponse {
}

export interface RemoveServerResponse {
}

export interface RemoveUserResponse {
}

export interface RenewRequest {
  speaker: Speaker;
}

export interface RenewResponse {
  ttl?: string;
}

export interface RenewTrustRequest {
  addresses?: string[];
  csr: string;
}

export interface ReopenRoomResponse {
  room?: Room;
  tasks: number;
}

export interface ReplaceRootRequest {
  chain: string[];
  id?: WriteId;
  lost?: boolean;
}

export interface ReportPatrolRequest {
  action?: string;
  cycle?: string;
  healthy?: number;
  id?: WriteId;
  speaker: Speaker;
  unhealthy?: number;
}

export interface RevokeAPITokenResponse {
}

export interface RevokeRequest {
  id?: WriteId;
  kind: string;
  name: string;
}

export interface RevokeResponse {
  generation?: string;
}

export interface RevokeTokenResponse {
}

export interface Role {
  agents: number;
  agents_live: number;
  delayed: number;
  half_open?: string;
  outdated: number;
  retired: boolean;
  rev?: string;
  spec?: RoleSpec;
  tasks: Record<string, number>;
}

export interface RolePlan {
  agents: AgentEnd[];
  canceled: number;
  changes: string[];
  ends: number;
  finishes: number;
  kind?: string;
  role?: string;
  starts: number;
}

export interface RoleSpec {
  ack_limit?: string;
  agent_budget?: Budget;
  attempt_limit?: number;
  budget?: Budget;
  containment?: string;
  desired?: string;
  expect?: string;
  grants?: Binding[];
  health?: HealthSpec;
  kill_limit?: number;
  labels?: Record<string, string>;
  ladder?: string;
  name: string;
  overseer?: OverseerSpec;
  params?: Record<string, string>;
  pending_limit?: string;
  policy?: string;
  progress_limit?: string;
  proof?: string;
  replicas?: number;
  retry_first?: string;
  retry_most?: string;
  run_limit?: string;
  runner?: string;
  start?: string;
  start_limit?: string;
  stop_grace?: string;
  ttl?: string;
  turn_limit?: string;
}

export interface Room {
  canceled?: Cancellation;
  changed_by?: string;
  created_at?: string;
  deleting: boolean;
  name?: string;
  pause_at?: string;
  pause_by?: string;
  pause_ends_in?: string;
  pause_why?: string;
  paused: boolean;
  plan?: RoomPlan;
  quiet?: RoomQuiet;
  rev?: string;
  roles: Role[];
  unfinished: number;
  watch?: RoomWatch;
}

export interface RoomPlan {
  at_work: number;
  canceled: number;
  changes: string[];
  created: boolean;
  deleted: boolean;
  roles: RolePlan[];
  warnings: string[];
}

export interface RoomQuiet {
  active_at?: string;
  cancel_in?: string;
  due_in?: string;
  limit?: string;
  reason?: string;
  silent?: string;
  state?: string;
  why?: string;
}

export interface RoomWatch {
  deadline?: string;
  disabled?: boolean;
  idle_limit?: string;
  untaken?: string;
}

export interface RootCertificate {
  fingerprint?: string;
  issues: boolean;
  not_after?: string;
}

export interface Roots {
  behind: string[];
  behind_count: number;
  left?: string;
  revision?: string;
  roots: RootCertificate[];
  step?: string;
}

export interface RotateGossipRequest {
  id?: WriteId;
}

export interface RotateGossipResponse {
  number?: string;
}

export interface Screen {
  columns: number;
  cursor_hidden: boolean;
  cursor_x: number;
  cursor_y: number;
  dialog?: string;
  host?: string;
  incarnation?: string;
  rows: number;
  text?: string;
}

export interface ScreenState {
  prompt?: string;
  quiet: boolean;
  quiet_for?: string;
  shown?: string;
}

export interface SearchResponse {
  hits: Hit[];
  more: boolean;
}

export interface SendMailRequest {
  body?: string;
  from?: string;
  id?: WriteId;
  kind?: string;
  priority?: string;
  queue?: boolean;
  reply_to?: string;
  speaker?: Speaker;
  subject?: string;
  thread?: string;
  to?: string;
}

export interface SendMailResponse {
  mails: string[];
  note?: string;
  thread?: string;
}

export interface Server {
  api_addr?: string;
  diverged: boolean;
  features: number;
  figures?: RaftFigures;
  gossip_addr?: string;
  health?: string;
  id?: string;
  leader: boolean;
  raft_addr?: string;
  silent?: string;
  standby: boolean;
  version?: string;
  voter: boolean;
  zone?: string;
}

export interface SetPauseRequest {
  by?: string;
  for?: string;
  id?: WriteId;
  pause: boolean;
  reason?: string;
  scope?: string;
}

export interface SetPauseResponse {
  rev?: string;
}

export interface SetResumeRequest {
  id?: WriteId;
  resume?: string;
  speaker: Speaker;
}

export interface SetResumeResponse {
}

export interface Settings {
  defaults: Record<string, string>;
  help: Record<string, string>;
  rev?: string;
  values: Record<string, string>;
}

export interface Span {
  bad: boolean;
  begin: number;
  end: number;
  joined: number;
  kind?: string;
  name?: string;
  open: boolean;
  seq?: string;
  text?: string;
}

export interface Speaker {
  agent: string;
  incarnation?: string;
  token?: string;
}

export interface StatusResponse {
  agents: number;
  agents_live: number;
  agents_running: number;
  agents_wanted: number;
  brake?: string;
  clock?: string;
  cluster_id?: string;
  epoch: number;
  escalations_open: number;
  escalations_unacknowledged: number;
  host_states: Record<string, number>;
  hosts: number;
  hosts_ready: number;
  index?: string;
  last_event?: string;
  leader?: string;
  leader_addr?: string;
  leaderless?: string;
  pause_at?: string;
  pause_by?: string;
  pause_ends_in?: string;
  pause_why?: string;
  paused: boolean;
  rooms: number;
  server?: string;
  servers: Server[];
  tasks: Record<string, string>;
  term?: string;
  unserved: UnservedRole[];
  unserved_more: number;
  version?: string;
  waiters?: string;
  warnings: string[];
}

export interface TakeTerminalResponse {
  agent?: Agent;
  grant?: string;
  span?: string;
}

export interface Task {
  again_in?: string;
  assigned?: string;
  attempt: number;
  charged: number;
  created_at?: string;
  created_by?: string;
  dropped?: string;
  expect?: string;
  expect_left?: string;
  expected_completion?: string;
  extended: number;
  failed: FailedAttempt[];
  failures: number;
  holder?: string;
  holder_incarnation?: string;
  hops: number;
  id?: string;
  in_state?: string;
  key?: string;
  kills: number;
  late_results: LateResult[];
  next?: string;
  note?: string;
  parent?: string;
  percent?: number;
  priority: number;
  progressed?: string;
  result?: string;
  result_dropped?: string;
  rev?: string;
  role?: string;
  room?: string;
  state?: TaskState;
  text?: string;
  text_gone: boolean;
  title?: string;
  traceparent?: string;
  usage?: Usage;
  why?: string;
  why_code?: string;
}

export interface TaskCount {
  count?: string;
  oldest?: string;
  state?: TaskState;
}

export type TaskState = "QUEUED" | "PENDING" | "ACKNOWLEDGED" | "IN_PROGRESS" | "COMPLETED" | "FAILED" | "CANCELED" | "QUARANTINED";

export interface Timeline {
  begins?: string;
  cut: boolean;
  from?: string;
  lanes: Lane[];
  marks: Mark[];
  more: number;
  to?: string;
}

export interface Token {
  by?: string;
  created_at?: string;
  ends_in?: string;
  labels: Record<string, string>;
  name?: string;
  role?: string;
  runners: string[];
  token?: string;
  uses_left: number;
}

export interface TransferLeadershipRequest {
  to?: string;
}

export interface TransferLeadershipResponse {
  leader?: string;
}

export interface TrendPoint {
  agents_running: number;
  ago?: string;
  ended?: string;
  events?: string;
  waiting?: string;
  working?: string;
}

export interface TrustAnchors {
  cluster?: string;
  issues: number;
  roots: string[];
}

export interface TrustPutUserBody {
  bindings: Binding[];
  id?: WriteId;
}

export interface TypeKeysResponse {
}

export interface Typist {
  by?: string;
  grant?: string;
  left?: string;
  since?: string;
}

export interface UnservedRole {
  role?: string;
  room?: string;
  since?: string;
  waiting: number;
  why?: string;
  why_code?: string;
}

export interface Usage {
  cache_tokens?: string;
  input_tokens?: string;
  kinds: string[];
  micro_usd?: string;
  output_tokens?: string;
  tools?: string;
}

export interface UsageState {
  budget?: Budget;
  clamped?: string;
  day?: Usage;
  incarnation?: string;
  kind?: string;
  life?: Usage;
  lifted_by?: string;
  lifted_for?: string;
  name?: string;
  stage?: string;
}

export interface User {
  bindings: Binding[];
  by?: string;
  changed_at?: string;
  user?: string;
}

export interface Verdict {
  fine: boolean;
  kind?: string;
  reasons: Reason[];
}

export interface WaitMailRequest {
  max_wait?: string;
  speaker: Speaker;
}

export interface WaitMailResponse {
  unread: number;
}

export interface WaitRequest {
  id?: WriteId;
  max_wait?: string;
  speaker: Speaker;
  start?: boolean;
}

export interface WatchdogStats {
  canceled?: string;
  checked?: string;
  checks?: string;
  errors?: string;
  last_check?: string;
  last_duration?: string;
  total_duration?: string;
  warned?: string;
}

export interface WorkRequest {
  after?: string;
  attempt: number;
  expect?: string;
  id?: WriteId;
  percent?: number;
  result?: string;
  retryable?: boolean;
  speaker: Speaker;
  task: string;
  text?: string;
}

export interface WorkResponse {
  rev?: string;
  state?: TaskState;
}

export interface WriteId {
  seq?: string;
  session?: string;
}
