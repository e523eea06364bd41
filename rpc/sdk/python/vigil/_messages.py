"""The messages of vigil's API: what a call takes and what it answers, as typed dictionaries.

Made by `make generate` from the OpenAPI document. Do not edit.

What a class lists under total=False may be absent: it is not set. Whole numbers of 64 bits, numbers
of tasks among them, are digits in a string; requests take an int, too.
"""

from __future__ import annotations

from typing import Any, Dict, List, Literal, TypedDict, Union

Digits = str
"""A whole number of 64 bits, as digits."""
Wide = Union[int, str]
"""A whole number of 64 bits, as a number or as digits."""
Duration = str
"""A span of time: seconds with an s, such as 1.5s."""
Time = str
"""A time by RFC 3339, on the clock of the server that answers."""

TaskState = Literal[
    "QUEUED",
    "PENDING",
    "ACKNOWLEDGED",
    "IN_PROGRESS",
    "COMPLETED",
    "FAILED",
    "CANCELED",
    "QUARANTINED",
]


class _APITokenAlways(TypedDict):
    bindings: List[Binding]


class APIToken(_APITokenAlways, total=False):
    by: str
    created_at: Time
    ends_in: Duration
    """Zero: it has ended."""
    name: str
    token: Digits


class _AckEscalationRequestAlways(TypedDict):
    escalation: Wide


class AckEscalationRequest(_AckEscalationRequestAlways, total=False):
    """What Escalations.AckEscalation takes."""

    by: str
    """Who says so, for people."""


class AckMailRequest(TypedDict):
    """What Mailbox.AckMail takes."""

    mail: Wide
    speaker: Speaker


class AckMailResponse(TypedDict):
    applied: bool
    """False: it had been acknowledged before."""


class _AddServerRequestAlways(TypedDict):
    id: str
    raft_addr: str


class AddServerRequest(_AddServerRequestAlways, total=False):
    standby: bool
    """Keep it without a vote, to take the place of a server that is lost."""


class AddServerResponse(TypedDict):
    pass


class _AgentAlways(TypedDict):
    done: int
    failures: int
    id: int
    """Number used in beats."""
    managed: bool
    name: str
    outdated: bool
    """Its life was started as its role was declared before; a restart renews it."""
    parked: bool
    paused: bool
    pid: int
    resume_bytes: int
    """Bytes of the resume value that its next life gets; 0: none."""
    retired: bool


class Agent(_AgentAlways, total=False):
    """Agent is one slot of a role."""

    declaration: Declaration
    """What it said last of itself in this life; absent: nothing."""
    degraded: str
    """Why nothing can be typed to it or seen of it; empty: it can be, or nobody knows."""
    desired: str
    fence_left: Duration
    host: str
    incarnation: str
    incarnation_raw: Digits
    intent_at: Time
    intent_by: str
    intent_why: str
    ladder: Ladder
    """Where it stands on the ladder for stuck agents; absent: it is not stuck."""
    last_exit: Exit
    lease_left: Duration
    not_before: Duration
    order: str
    """none, start or stop."""
    order_open: Duration
    order_reason: str
    overseer: OverseerStatus
    """What is known of its patrols and of the looks at it; absent: it is no overseer."""
    parked_why: str
    """Why it is parked; empty: the breaker."""
    participant: str
    """DISCONNECTED, WAITING or ACTIVE."""
    pause_at: Time
    pause_by: str
    pause_ends_in: Duration
    """Until its own pause ends by itself; absent: it does not, or there is none."""
    pause_why: str
    process: str
    """none, ordered, accepted, running or lost."""
    rev: Digits
    role: str
    room: str
    screen: ScreenState
    """What its host sees on its terminal; absent: nobody looks."""
    start_fault: str
    """Why the last start failed, while nothing has started since."""
    stop_ends_in: Duration
    """Until the human's stop ends by itself; absent: it does not, or there is none."""
    stuck: str
    """Why its process cannot be ended; empty: it can, or there is none."""
    task: Digits
    typist: Typist
    """Who types at its terminal; absent: nobody."""
    up: Duration
    usage: UsageState
    """What it has used; absent: it has told of nothing."""
    verdict: Verdict
    """What all signals together say of it; in GetAgent, ListAgents and GetAgentStatus."""
    why: str
    """One line: why it is in this state, or why it is not running."""
    why_code: str
    """Stable name of the reason: running, stopped, back_off, parked, no_host, ..."""
    why_left: Duration
    """Until the reason in why ends by itself; absent: unknown or never."""


class _AgentEndAlways(TypedDict):
    finishes: bool
    """It ends when its task is over."""


class AgentEnd(_AgentEndAlways, total=False):
    """AgentEnd is an agent that a change of its room would end."""

    agent: str
    task: Digits
    """Held; 0: none."""


class _AgentLogsRequestAlways(TypedDict):
    agent: str


class AgentLogsRequest(_AgentLogsRequestAlways, total=False):
    """What Fleet.AgentLogs takes."""

    follow: bool
    lines: int
    """Last lines to begin with; 0: 100; at most 10,000."""


class _AgentStatusAlways(TypedDict):
    unread_messages: int
    """Mails that its present life has not got yet, or was reminded of."""


class AgentStatus(_AgentStatusAlways, total=False):
    agent: str
    declaration: Declaration
    degraded: str
    """Why nothing can be typed to it or seen of it; empty: it can be, or nobody knows."""
    host: str
    ladder: Ladder
    """Where it stands on the ladder for stuck agents; absent: it is not stuck."""
    last_seen: Time
    """Last proof of life."""
    offline_since: Time
    """Absent: it is not offline, or it has never run."""
    registered_at: Time
    """Start of the present life, or of the last one."""
    screen: ScreenState
    """What its host sees on its terminal; absent: nobody looks."""
    status: str
    """online, idle, busy, offline or not_found."""
    verdict: Verdict


class _ApplyRoomRequestAlways(TypedDict):
    room: str


class ApplyRoomRequest(_ApplyRoomRequestAlways, total=False):
    """What Fleet.ApplyRoom takes."""

    budget: Budget
    """The budget of the room; absent: it stays as it is, empty: none."""
    by: str
    dry_run: bool
    """Checks everything and changes nothing."""
    gentle: bool
    """Refuse (conflict) what would end agents at work."""
    if_rev: Wide
    now: bool
    """Agents beyond the replicas end although they are at work; else they finish first."""
    roles: List[RoleSpec]
    watch: RoomWatch
    """What the room sets for the conversation watchdog; absent: it stays as it is."""


class AuditEntry(TypedDict, total=False):
    at: Time
    digest: str
    """The first half of the SHA-256 sum of the request without its write id, in hexadecimal digits.
    Equal requests have equal digests; the request itself is kept nowhere. Empty: it was a
    stream."""
    index: Digits
    """Log index of the entry in which it was done."""
    method: str
    room: str
    """Empty: it was about none, or about several."""
    seq: Digits
    source: str
    """The address that the call came from."""
    who: str


class Binding(TypedDict):
    """Binding is a role in one room, or everywhere."""

    role: str
    """viewer (names and states), reader (contents too), operator (tasks, mail, nudges, restarts,
    drains) or admin."""
    room: str
    """A room, or * for all of them and for what belongs to none."""


class Budget(TypedDict, total=False):
    """Budget bounds what is used within 24 hours of cluster time. It is a brake, no accounting."""

    micro_usd: Digits
    """Millionths of a US dollar; 0: none."""
    tokens: Digits
    """Input and output, without what is read from a cache; 0: none."""


class _CancelTaskRequestAlways(TypedDict):
    task: Wide


class CancelTaskRequest(_CancelTaskRequestAlways, total=False):
    """What Fleet.CancelTask takes."""

    by: str
    if_rev: Wide
    reason: str


class _CancellationAlways(TypedDict):
    hosts: List[str]
    """Of the agents that held tasks, the first eight."""
    resumed: bool
    """The room has got new work since; what was canceled may still be brought back."""
    roles: List[str]
    """That had open tasks, the first eight."""
    tasks: int


class Cancellation(_CancellationAlways, total=False):
    """Cancellation is one room that the conversation watchdog has canceled."""

    active_at: Time
    """Of the last activity; absent: before the watchdog began."""
    at: Time
    reason: str
    room: str
    silent: Duration


class _CertificateAlways(TypedDict):
    chain: List[str]
    """In DER, the holder's first, the root last."""


class Certificate(_CertificateAlways, total=False):
    anchors: TrustAnchors
    """The roots to trust from now on."""
    generation: Digits
    serial: str


class _ClaimRequestAlways(TypedDict):
    speaker: Speaker


class ClaimRequest(_ClaimRequestAlways, total=False):
    start: bool
    """As in WaitRequest."""
    task: Wide
    """0: the first claimable task of the role."""


class _ClaimResponseAlways(TypedDict):
    attempt: int
    task: Task
    ttl: Duration


class ClaimResponse(_ClaimResponseAlways, total=False):
    index: Digits
    """Log index of the claim."""


class _CloseEscalationRequestAlways(TypedDict):
    escalation: Wide


class CloseEscalationRequest(_CloseEscalationRequestAlways, total=False):
    """What Escalations.CloseEscalation takes."""

    by: str
    note: str
    """For people, at most 1 KiB."""


class CloseSessionRequest(TypedDict):
    """What Work.CloseSession takes."""

    session: Wide


class CloseSessionResponse(TypedDict):
    pass


class _CompleteTaskRequestAlways(TypedDict):
    attempt: int
    speaker: Speaker
    task: Wide


class CompleteTaskRequest(_CompleteTaskRequestAlways, total=False):
    result: str
    """The answer itself, or where the work is to be found. The task has it by the same name."""


class Completion(TypedDict, total=False):
    result: str
    """As in CompleteTaskRequest."""


class _ConfirmDeadRequestAlways(TypedDict):
    host: str


class ConfirmDeadRequest(_ConfirmDeadRequestAlways, total=False):
    """What Fleet.ConfirmDead takes."""

    by: str
    force: bool
    """Although the host is heard."""


class _CreateAPITokenRequestAlways(TypedDict):
    bindings: List[Binding]
    name: str
    """For people."""


class CreateAPITokenRequest(_CreateAPITokenRequestAlways, total=False):
    ttl: Duration
    """Cluster time from now; 0: 30 days."""


class CreateAPITokenResponse(TypedDict, total=False):
    bearer: str
    """What to send after "Authorization: Bearer ". Shown once: the cluster only knows its hash."""
    token: Digits


class _CreateTaskRequestAlways(TypedDict):
    role: str
    room: str


class CreateTaskRequest(_CreateTaskRequestAlways, total=False):
    """What Fleet.CreateTask takes."""

    after: Duration
    """The task is offered to nobody before so long from now, at most 30 days; absent: at once."""
    by: str
    expect: Duration
    """How long each attempt may take from its claim, 1 s to 30 days; absent: what the role says. After
    that, and half an hour without progress and mail, the task counts as stalled."""
    key: str
    """Names the task in its room, at most 128 bytes without white space: who creates a task with it
    again gets the one that is there, as long as it is kept, and conflict when that says something
    else. Empty: each is a new one."""
    priority: int
    text: str
    title: str
    traceparent: str
    """The W3C traceparent of whoever creates it: the task's spans are in that trace. Absent: that of
    the metadata of the call, or of its HTTP header, where there is a right one."""


class _CreateTokenRequestAlways(TypedDict):
    role: str
    """server, host or user."""


class CreateTokenRequest(_CreateTokenRequestAlways, total=False):
    labels: Dict[str, str]
    """Labels that a host has to have."""
    name: str
    """The name that may join: an id of a server, a key of a host, the name of a user. Empty (not for
    users): any name that nobody has. With a name whoever has it now is replaced."""
    runners: List[str]
    """Runners that a host may offer; none: all."""
    ttl: Duration
    """Cluster time from now; 0: 1 h."""
    uses: int
    """0: 1."""


class CreateTokenResponse(TypedDict, total=False):
    anchors: TrustAnchors
    """The root certificates, for the pin."""
    secret: str
    """Shown once: the cluster only knows its hash."""
    token: Digits


class Deadline(TypedDict, total=False):
    """One deadline. Spans are cluster time."""

    absent: Duration
    """Of the time since then, what does not count, because its host was not heard."""
    held_by: str
    """What makes its clock stand, or puts it off; empty: nothing does."""
    held_for: Duration
    """For how long it does."""
    kind: str
    """What is due, in words: "lease"."""
    left: Duration
    """Until it is due; negative: it was, and happens with the next entry of the log."""
    of: str
    """What it is of: "agent web/builder", "task 7"."""
    since: Duration
    """Since its clock began; absent: that is not kept, or it has not begun."""
    span: Duration
    """How long its clock runs."""
    then: str
    """What happens then."""


class _DeclarationAlways(TypedDict):
    lapsed: bool


class Declaration(_DeclarationAlways, total=False):
    """Declaration is what an agent said last of itself."""

    left: Duration
    """Until it lapses; absent: it has no end of its own, or has lapsed."""
    reported: Duration
    """Since the last report, and since the first that said the same."""
    said: Duration
    sequence: Digits
    status: str
    """healthy, busy or degraded."""
    text: str
    waiting: str
    """none, needs_input, sleeping or in_tool."""


class _DeclareRequestAlways(TypedDict):
    speaker: Speaker


_DeclareRequestFields = TypedDict(
    "_DeclareRequestFields",
    {
        # How long it holds; then it lapses by itself. Needed with needs_input (at most 7 days),
        # sleeping and in_tool, possible with busy (at most the setting declare_limit).
        "for": "Duration",
        # Numbers the declarations of a life: one that is not above the last is answered and changes
        # nothing. 0: not numbered.
        "sequence": "Wide",
        # healthy, busy or degraded; empty: healthy.
        "status": "str",
        # Why, for people; at most 1 KiB.
        "text": "str",
        # none, needs_input, sleeping or in_tool; empty: none.
        "waiting": "str",
    },
    total=False,
)


class DeclareRequest(_DeclareRequestAlways, _DeclareRequestFields):
    pass


class _DeclareResponseAlways(TypedDict):
    applied: bool
    """False: the sequence is not above the last one, nothing was changed."""


class DeclareResponse(_DeclareResponseAlways, total=False):
    left: Duration
    """Until the declaration in force lapses; absent: it has no end of its own."""
    sequence: Digits
    """The highest sequence that this life has used."""


class _DeleteRoomRequestAlways(TypedDict):
    room: str


class DeleteRoomRequest(_DeleteRoomRequestAlways, total=False):
    """What Fleet.DeleteRoom takes."""

    by: str
    dry_run: bool
    """Tells what would happen and changes nothing."""
    gentle: bool
    """Refuse (conflict) what would end agents at work or cancel tasks."""
    if_rev: Wide


class _DeleteRoomResponseAlways(TypedDict):
    pending: bool
    """True while agents of the room are still being stopped."""


class DeleteRoomResponse(_DeleteRoomResponseAlways, total=False):
    plan: RoomPlan
    """With dry_run: what would happen."""


class _DeliveryAlways(TypedDict):
    tries: int


class Delivery(_DeliveryAlways, total=False):
    at: Time
    """Of the last try."""
    failure: str
    """Why the last try failed."""
    next_in: Duration
    """Until the next try; absent: there is none, or it is due."""
    notifier: str
    state: str
    """waiting, delivered or given_up."""


class _DemoteServerRequestAlways(TypedDict):
    server: str


class DemoteServerRequest(_DemoteServerRequestAlways, total=False):
    """What Cluster.DemoteServer takes."""

    force: bool
    """Take its vote although that leaves fewer than a majority of servers alive."""


class DemoteServerResponse(TypedDict):
    pass


class _DrainHostRequestAlways(TypedDict):
    host: str
    """Stable id or name."""


_DrainHostRequestFields = TypedDict(
    "_DrainHostRequestFields",
    {
        "by": "str",
        # What still holds a task then is stopped too; 0: never.
        "deadline": "Duration",
        # How long the drain lasts, 1 s to 365 days and longer than until its deadline; absent:
        # until somebody ends it.
        "for": "Duration",
        # Ends the drain.
        "off": "bool",
    },
    total=False,
)


class DrainHostRequest(_DrainHostRequestAlways, _DrainHostRequestFields):
    """What Fleet.DrainHost takes."""


class ErrorInfo(TypedDict, total=False):
    """ErrorInfo travels in the details of every error status."""

    code: str
    """Stable name, for instance "conflict"; the table is in docs/errors.md."""
    index: Digits
    """Log index of the entry in which it was decided; 0: none was written."""
    leader: str
    """API address of the leader, when the server knows it."""
    message: str
    """What happened, where, and what to do."""
    oldest: Digits
    """Oldest index that a watch may resume from, when code is "compacted"."""
    rev: Digits
    """The current revision, when code is "conflict" and a revision was named."""


class _EscalationAlways(TypedDict):
    commands: List[str]
    """What a human can do, those commands first that only look."""
    facts: Dict[str, str]
    """Figures of the last time."""
    lasts: bool
    """It is still so. A human closes it in any case."""
    reopened: int
    """How often it came back soon after it was closed."""


class Escalation(_EscalationAlways, total=False):
    """Escalation is one thing that a human has to decide. It holds names and figures, never the
    content of a task or a mail."""

    ack_at: Time
    ack_by: str
    age: Duration
    """Cluster time since the last time."""
    agent: str
    close_at: Time
    close_by: str
    count: Digits
    """How often it has happened, first and last."""
    done: str
    """What vigil has done about it."""
    first_at: Time
    host: str
    id: Digits
    incarnation: str
    kind: str
    """stuck_process, breaker_open, broken_start, task_quarantined, mail_unacknowledged, mass_failure,
    room_canceled, server_diverged, agent_stuck, overseer_down or states_differ."""
    last_at: Time
    note: str
    notice: Notice
    priority: str
    """urgent, high, normal or low."""
    reason: str
    """What has happened, in fixed words for each kind."""
    room: str
    """Names, where known."""
    state: str
    """open, acknowledged or closed."""
    subject: str
    """What it is about: an agent, "task 7", a room, a server or "cluster"."""
    task: Digits


class _EventAlways(TypedDict):
    at: Time
    attempt: int
    kind: str
    seq: Digits


class Event(_EventAlways, total=False):
    """Event is one entry of the history."""

    agent: str
    host: str
    incarnation: str
    index: Digits
    room: str
    task: Digits
    text: str


class _ExitAlways(TypedDict):
    code: int


class Exit(_ExitAlways, total=False):
    """Exit is the last death of an agent with its evidence."""

    ago: Duration
    at: Time
    host: str
    incarnation: str
    kind: str
    reason: str
    signal: str
    tail: str
    task: Digits


class _FailedAttemptAlways(TypedDict):
    attempt: int


class FailedAttempt(_FailedAttemptAlways, total=False):
    """FailedAttempt is why an attempt at a task failed."""

    at: Time
    reason: str
    """In the words of its agent, at most 256 bytes; where it gave none, in vigil's."""


class Failure(TypedDict, total=False):
    after: Duration
    reason: str
    result: str
    retryable: bool
    """As in WorkRequest."""


class FollowRequest(TypedDict, total=False):
    """What Desk.Follow takes."""

    after: Wide
    """Events behind this one; 0: from now on."""
    epoch: int
    """The epoch of the News that `after` is from."""
    room: str
    """Only of this room; empty: everything."""


class FollowScreenRequest(TypedDict):
    """What Fleet.FollowScreen takes."""

    agent: str


class _ForgetHostRequestAlways(TypedDict):
    host: str


class ForgetHostRequest(_ForgetHostRequestAlways, total=False):
    """What Fleet.ForgetHost takes."""

    by: str


class ForgetHostResponse(TypedDict):
    pass


class _GetAgentRequestAlways(TypedDict):
    agent: str


class GetAgentRequest(_GetAgentRequestAlways, total=False):
    """What Fleet.GetAgent takes."""

    stale: bool


class _GetAgentResponseAlways(TypedDict):
    events: List[Event]
    """Newest events about it, oldest first, at most 20."""
    hosts: List[HostFit]
    """For each host, why it would or would not take the next start."""


class GetAgentResponse(_GetAgentResponseAlways, total=False):
    agent: Agent
    role: RoleSpec
    task: Task


class _GetAgentStatusRequestAlways(TypedDict):
    agent: str


class GetAgentStatusRequest(_GetAgentStatusRequestAlways, total=False):
    """What Fleet.GetAgentStatus takes."""

    stale: bool


class _GetEscalationRequestAlways(TypedDict):
    escalation: Wide


class GetEscalationRequest(_GetEscalationRequestAlways, total=False):
    """What Escalations.GetEscalation takes."""

    stale: bool


class GetGossipRequest(TypedDict, total=False):
    """What Trust.GetGossip takes."""

    stale: bool


class GetHealthRequest(TypedDict):
    """What Cluster.GetHealth takes."""


class _GetHealthResponseAlways(TypedDict):
    leader: bool


class GetHealthResponse(_GetHealthResponseAlways, total=False):
    server: str
    status: str
    """healthy, or why not."""
    watchdog: HealthWatchdog


class _GetHostRequestAlways(TypedDict):
    host: str
    """Stable id or name."""


class GetHostRequest(_GetHostRequestAlways, total=False):
    """What Fleet.GetHost takes."""

    stale: bool


class _GetMailRequestAlways(TypedDict):
    mail: Wide


class GetMailRequest(_GetMailRequestAlways, total=False):
    """What Mailbox.GetMail takes."""

    stale: bool


class _GetOverseerRequestAlways(TypedDict):
    agent: str


class GetOverseerRequest(_GetOverseerRequestAlways, total=False):
    """What Overseers.GetOverseer takes."""

    stale: bool


class GetOverviewRequest(TypedDict, total=False):
    """What Desk.GetOverview takes."""

    room: str
    """Only what is of this room; empty: everything."""
    stale: bool
    """Let any server answer from what it has."""


class _GetRoomRequestAlways(TypedDict):
    room: str


class GetRoomRequest(_GetRoomRequestAlways, total=False):
    """What Fleet.GetRoom takes."""

    stale: bool


class GetRootsRequest(TypedDict, total=False):
    """What Trust.GetRoots takes."""

    stale: bool


class GetSettingsRequest(TypedDict, total=False):
    """What Cluster.GetSettings takes."""

    stale: bool


class _GetTaskRequestAlways(TypedDict):
    task: Wide


class GetTaskRequest(_GetTaskRequestAlways, total=False):
    """What Fleet.GetTask takes."""

    stale: bool


_GetTimelineRequestFields = TypedDict(
    "_GetTimelineRequestFields",
    {
        # Only of this agent; empty: all.
        "agent": "str",
        # The span; without an end until now, without a beginning the hour before the end.
        "from": "Time",
        # Lanes of agents, at most 500; 0: 100.
        "limit": "int",
        # Only of this room; empty: everything.
        "room": "str",
        # Let any server answer from what it has.
        "stale": "bool",
        "to": "Time",
    },
    total=False,
)


class GetTimelineRequest(_GetTimelineRequestFields):
    """What Desk.GetTimeline takes."""


class GetTrendRequest(TypedDict, total=False):
    """What Desk.GetTrend takes."""

    stale: bool
    """Let any server answer from what it has."""


class GetTrendResponse(TypedDict):
    points: List[TrendPoint]
    """Of the last hour as far as the answering server saw it, the oldest first, at most 240."""


class GetTrustRequest(TypedDict, total=False):
    """What Trust.GetTrust takes."""

    stale: bool


class GetUsageRequest(TypedDict, total=False):
    """What Fleet.GetUsage takes."""

    role: str
    """Of that room; empty: all of them."""
    room: str
    """Empty: all rooms."""
    stale: bool


class GetUsageResponse(TypedDict):
    usage: List[UsageState]
    """At most 10,000."""
    warnings: List[str]
    """Sentences about budgets that cannot bite, since what they bound is never told; at most 11."""


class GetWatchdogRequest(TypedDict, total=False):
    """What Fleet.GetWatchdog takes."""

    stale: bool


class _GetWatchdogResponseAlways(TypedDict):
    active_rooms: int
    """Rooms with open tasks that are not exempt for good."""
    enabled: bool
    history: List[Cancellation]
    """Newest first, at most 500."""
    stalled: List[str]
    """Of these, silent for too long: the oldest, at most 100."""


class GetWatchdogResponse(_GetWatchdogResponseAlways, total=False):
    canceled_total: Digits
    stats: WatchdogStats
    """Of the leader (stale: of the answering server), since that server started."""
    warned_total: Digits
    """Of the whole cluster since the watchdog is on."""


class _GossipRingAlways(TypedDict):
    keys: List[GossipRingKey]
    """Those that members take, the newest last."""
    servers: List[GossipServer]
    """All servers of the cluster."""


class GossipRing(_GossipRingAlways, total=False):
    revision: Digits
    """Of what follows, raised with each change; 0: there was no key yet."""
    step: str
    """empty (no key yet), spread (the newest key comes to every member), switch (members begin to use
    it) or rest (all use it, and there is no other)."""
    why: str
    """Why the newest key is to be replaced next; empty: it is not."""


class _GossipRingKeyAlways(TypedDict):
    used: bool
    """Members encrypt with it."""


class GossipRingKey(_GossipRingKeyAlways, total=False):
    key: str
    """The first bytes of its SHA-256, in hexadecimal."""
    number: Digits


class _GossipServerAlways(TypedDict):
    done: bool
    """It has carried out the present revision, and so have the hosts that it reaches."""


class GossipServer(_GossipServerAlways, total=False):
    server: str


class _HandOverRequestAlways(TypedDict):
    speaker: Speaker


class HandOverRequest(_HandOverRequestAlways, total=False):
    body: str
    subject: str


class HandOverResponse(TypedDict, total=False):
    mail: Digits


class _HandoffRequestAlways(TypedDict):
    attempt: int
    speaker: Speaker
    task: Wide
    to_role: str


class HandoffRequest(_HandoffRequestAlways, total=False):
    priority: int
    result: str
    text: str
    title: str


class HandoffResponse(TypedDict, total=False):
    next_task: Digits


class Handover(TypedDict, total=False):
    priority: int
    result: str
    """As in HandoffRequest."""
    text: str
    title: str
    to_role: str


class HealthSpec(TypedDict, total=False):
    """HealthSpec says how often the agents of a role report their health (Declare): a preset, or every
    and missed."""

    every: Duration
    missed: int
    """Reports that are missing in a row before the agent counts as unreported; 0: 3."""
    preset: str
    """critical (30 s, 2), active (60 s, 3), background (5 min, 3) or standby (15 min, 5)."""


class _HealthWatchdogAlways(TypedDict):
    enabled: bool


class HealthWatchdog(_HealthWatchdogAlways, total=False):
    stats: WatchdogStats


class Hit(TypedDict, total=False):
    """Hit is something that fits."""

    kind: str
    """room, agent, host or task."""
    name: str
    """A name; of a task its number."""
    text: str
    """What it is, for people: the title of a task, the state of the others."""


class _HostAlways(TypedDict):
    capacity: int
    drain: bool
    id: int
    labels: Dict[str, str]
    runners: List[str]
    running: int
    servers: List[str]
    """API addresses of the servers that it knows; empty: its agentd has not said."""
    starting: int
    unproven: int
    """Lives of roles with policy confirm that were there when it fell silent, and of which nobody has
    said since that they are over."""
    views: List[HostView]
    warnings: List[str]


class Host(_HostAlways, total=False):
    """Host is a worker machine. What it identifies itself with is no part of it: whoever knew that
    could speak for the host."""

    containment: str
    """What holds the processes of an agent together there, as its agentd measured: sealed (nothing
    leaves the agent's control group), group (what leaves it is found by its mark) or weak (what
    leaves the process group is neither frozen nor killed: two lives may overlap); empty:
    unknown."""
    drain_at: Time
    drain_by: str
    drain_ends_in: Duration
    """Until the drain ends by itself; absent: it does not, or there is none."""
    drain_left: Duration
    gossip_addr: str
    heard: Duration
    """Since its last beat or registration, in cluster time."""
    kept: HostKept
    """What agents have left on its disk; absent: its agentd has not said."""
    lease_left: Duration
    name: str
    pressure: str
    rev: Digits
    seen_at: Time
    """When it was registered or came back into service last."""
    state: str
    """ready, suspect, lost, returning, draining or left."""
    steady_in: Duration
    suspect_why: str
    terminals: str
    """What makes terminals there (tmux 3.3a), or "degraded: " and what cannot be done; empty: its
    agentd has not said."""
    version: str


class _HostFitAlways(TypedDict):
    fits: bool


class HostFit(_HostFitAlways, total=False):
    host: str
    reason: str


class HostKept(TypedDict, total=False):
    """HostKept is what agents have in the data directory of a host: logs, folders, refused results."""

    bytes: Digits
    """All of it, also of agents that run."""
    oldest: Time
    """When the oldest of that was used last, by the host's clock; absent: nothing may go."""
    removable: Digits
    """Of lives that are over: goes by age, by size or for a full disk (keep of agentd.yaml)."""


class HostView(TypedDict, total=False):
    """HostView is what one server hears of a host: none, alive, silent or left."""

    gossip: str
    server: str
    stream: str


class _IdentityAlways(TypedDict):
    gone: bool


class Identity(_IdentityAlways, total=False):
    age: Duration
    """Since the newest certificate was issued, in cluster time."""
    generation: Digits
    grace: Duration
    host: str
    """The name by which people know the host of that key."""
    kind: str
    left: Duration
    name: str
    renews_in: Duration
    """Of the newest certificate, in cluster time: until its holder should renew it, until it can only
    be renewed, and for how long it can be renewed after that. Zero: that time has come."""
    serial: str
    """Of the newest certificate; empty: none was issued in this generation."""
    token: Digits
    """The token by which it joined."""
    until: Time
    """Its date, which only browsers and tools go by."""


class _InboxItemAlways(TypedDict):
    actions: List[str]
    """What a human can do, the usual answer first: answer, nudge, restart, stop, unpark, lift, ack,
    close, retry, unquarantine, cancel, release_brake, reopen, confirm_dead."""
    lasts: bool
    """It is still so; what is over waits only to be closed."""
    reasons: List[Reason]


class InboxItem(_InboxItemAlways, total=False):
    """InboxItem is one thing that waits for a human."""

    ack_by: str
    """Somebody looks after it."""
    age: Duration
    """For how long, in cluster time."""
    agent: str
    agent_rev: Digits
    """Revisions of agent and task, for these actions."""
    count: Digits
    """How often it has happened."""
    done: str
    """What vigil has done about it, in fixed words; empty: nothing is said."""
    escalation: Digits
    host: str
    incarnation: str
    incarnation_raw: Digits
    key: str
    """The same as long as it is the same thing: "escalation/7", "prompt/web/a#3"."""
    kind: str
    """A kind of escalation (with escalation, task_failed is about the tasks of a role), or prompt,
    needs_input, parked, unserved, half_open, task_failed (of one task)."""
    mail: Digits
    priority: str
    """urgent, high, normal or low."""
    role: str
    room: str
    said: str
    """In the agent's or task's own words; empty: it has said nothing."""
    subject: str
    """What it is about, for people."""
    task: Digits
    task_rev: Digits
    text: str
    """What has happened, in fixed words."""
    verdict: str
    """The verdict on the agent, and what speaks against it; empty: it is about none."""


class JoinRequest(TypedDict):
    speaker: Speaker


class _JoinResponseAlways(TypedDict):
    agent: str
    agent_id: int
    incarnation: Digits
    managed: bool
    """True when a supervisor started it."""
    ttl: Duration


class JoinResponse(_JoinResponseAlways, total=False):
    task: Digits
    """A task that this incarnation already holds; 0: none."""


class _JoinTrustRequestAlways(TypedDict):
    csr: str
    """PKCS #10 request in DER, for an ECDSA P-256 key; nothing but its key is looked at."""
    kind: str
    """server or host."""
    name: str
    """The id of the server, the key of the host."""
    secret: str
    token: Wide


class JoinTrustRequest(_JoinTrustRequestAlways, total=False):
    addresses: List[str]
    """Of a server: IP addresses and DNS names under which browsers and tools find it."""


class _LadderAlways(TypedDict):
    failed: List[str]
    """Rungs that reached nobody: nothing could be typed."""
    steps: int
    """Rungs of this episode."""


class Ladder(_LadderAlways, total=False):
    """Ladder is what was and will be done about a stuck agent."""

    next: str
    """The rung that follows; none: no rung follows, see why."""
    next_in: Duration
    """Until it follows unless the agent recovers; absent: it is due, or none follows."""
    rung: str
    """The last rung of this episode: none, nudge, wake, interrupt, restart or escalate."""
    taken: Duration
    """How long ago it was taken, in cluster time."""
    why: str
    """Why no rung follows; empty: one does."""


class _LaneAlways(TypedDict):
    marks: List[Mark]
    spans: List[Span]


class Lane(_LaneAlways, total=False):
    """Lane is what has happened to one agent or host."""

    kind: str
    """agent or host."""
    name: str


class _LateResultAlways(TypedDict):
    attempt: int


class LateResult(_LateResultAlways, total=False):
    at: Time
    incarnation: str
    result: str


class _LeaveRequestAlways(TypedDict):
    speaker: Speaker


class LeaveRequest(_LeaveRequestAlways, total=False):
    reason: str


class LeaveResponse(TypedDict):
    pass


class _LiftBudgetRequestAlways(TypedDict):
    room: str


class LiftBudgetRequest(_LiftBudgetRequestAlways, total=False):
    """What Fleet.LiftBudget takes."""

    by: str
    role: str
    """Empty: the budget of the room."""


class LiftBudgetResponse(TypedDict, total=False):
    usage: UsageState


class ListAPITokensRequest(TypedDict, total=False):
    """What Trust.ListAPITokens takes."""

    stale: bool


class ListAPITokensResponse(TypedDict):
    tokens: List[APIToken]


class ListAgentsRequest(TypedDict, total=False):
    """What Fleet.ListAgents takes."""

    after: str
    """Names above this one, at most `limit` (1,000; 0: 100)."""
    host: str
    limit: int
    not_fine: bool
    """Only those that somebody has to look at: without the ones whose verdict is fine. It is bounded
    like verdicts."""
    role: str
    room: str
    stale: bool
    verdicts: List[str]
    """Only with one of these verdicts: healthy, busy, idle, degraded, needs_input, sleeping, suspect,
    deaf, stalled, unresponsive, offline. Empty: any. An answer looks at 10,000 agents at most then:
    it may have few or none, and more."""


class _ListAgentsResponseAlways(TypedDict):
    agents: List[Agent]
    more: bool
    """There is more; then `next` is what to give as `after` for the next page."""


class ListAgentsResponse(_ListAgentsResponseAlways, total=False):
    next: str


class ListAuditRequest(TypedDict, total=False):
    """What Trust.ListAudit takes."""

    after: Wide
    """Numbers above this one, at most `limit` (1,000; 0: 100)."""
    limit: int
    method: str
    """Only this call: Fleet/ApplyRoom."""
    room: str
    """Only about this room."""
    stale: bool
    tail: bool
    """Nothing of what is there: only where it ends."""
    who: str
    """Only by this one: user/anna or token/7."""


class _ListAuditResponseAlways(TypedDict):
    entries: List[AuditEntry]
    more: bool
    """There is more. In any case `next` is what to give as `after` for what comes behind."""


class ListAuditResponse(_ListAuditResponseAlways, total=False):
    next: Digits


class ListDeadlinesRequest(TypedDict, total=False):
    """What Fleet.ListDeadlines takes."""

    agent: str
    room: str
    stale: bool


class ListDeadlinesResponse(TypedDict):
    deadlines: List[Deadline]
    """The earliest first, at most 100."""
    more: int
    """How many later ones are left out."""


class ListEscalationsRequest(TypedDict, total=False):
    """What Escalations.ListEscalations takes."""

    after: Wide
    """Behind this number; at most 1000 a page, 100 by default."""
    all: bool
    """Closed ones too."""
    kind: str
    """Only of this kind; empty: all."""
    limit: int
    room: str
    """Only of this room."""
    stale: bool


class _ListEscalationsResponseAlways(TypedDict):
    escalations: List[Escalation]
    more: bool
    """There is more; then `next` is what to give as `after` for the next page."""
    open: int
    """Not closed, in the whole cluster."""
    pending: int
    """Of these with a notice that is not delivered everywhere."""


class ListEscalationsResponse(_ListEscalationsResponseAlways, total=False):
    dropped: Digits
    """Things that were not escalated since too many were open."""
    next: Digits


class ListEventsRequest(TypedDict, total=False):
    """What Desk.ListEvents takes."""

    agent: str
    """Only of one agent, host or task; empty or 0: of all."""
    before: Wide
    """Events before this one; 0: from the newest on."""
    host: str
    kind: str
    """Only kinds that begin so: "task." or "agent.exited"; empty: all."""
    limit: int
    """At most 1,000; 0: 200."""
    room: str
    """Only of this room; empty: everything."""
    stale: bool
    """Let any server answer from what it has."""
    task: Wide
    words: str
    """Only where all these words are in one of the fields, in any case; empty: all."""


class _ListEventsResponseAlways(TypedDict):
    events: List[Event]
    """The newest first."""


class ListEventsResponse(_ListEventsResponseAlways, total=False):
    next: Digits
    """What to give as `before` to go on; 0: there are no older ones. A call looks at 20,000 events at
    most, so there may be more though this answer is empty."""


class ListHostsRequest(TypedDict, total=False):
    """What Fleet.ListHosts takes."""

    after: int
    """Ids above this one, at most `limit` (1,000; 0: 1,000)."""
    limit: int
    stale: bool


class ListHostsResponse(TypedDict):
    hosts: List[Host]
    more: bool
    """There is more; then `next` is what to give as `after` for the next page."""
    next: int


class ListIdentitiesRequest(TypedDict, total=False):
    """What Trust.ListIdentities takes."""

    after: Wide
    """Numbers above this one, at most `limit` (1,000; 0: 100)."""
    gone: bool
    """Also names that nobody has any more."""
    kind: str
    """server, host or user; empty: all."""
    limit: int
    stale: bool


class _ListIdentitiesResponseAlways(TypedDict):
    identities: List[Identity]
    more: bool
    """There is more; then `next` is what to give as `after` for the next page."""


class ListIdentitiesResponse(_ListIdentitiesResponseAlways, total=False):
    next: Digits


class ListInboxRequest(TypedDict, total=False):
    """What Desk.ListInbox takes."""

    limit: int
    """At most 1,000; 0: 200."""
    room: str
    """Only of this room; empty: everything."""
    stale: bool
    """Let any server answer from what it has."""


class _ListInboxResponseAlways(TypedDict):
    items: List[InboxItem]
    more: int
    """How many less urgent ones are left out."""


class ListInboxResponse(_ListInboxResponseAlways, total=False):
    index: Digits


_ListMailRequestFields = TypedDict(
    "_ListMailRequestFields",
    {
        # Behind this number; at most 1000 a page, 100 by default.
        "after": "Wide",
        # Whose mailbox; empty: all.
        "agent": "str",
        # Only what this agent, human or tool has sent.
        "from": "str",
        "limit": "int",
        # Newest first; then `after` means below it, 0 from the newest. An answer looks at 10,000
        # mails at most then: it may have few or none, and more.
        "newest_first": "bool",
        # Only what is for agents of this room.
        "room": "str",
        "stale": "bool",
        # Only this conversation; 0: all.
        "thread": "Wide",
        # Only what nobody has acknowledged yet.
        "unacknowledged": "bool",
    },
    total=False,
)


class ListMailRequest(_ListMailRequestFields):
    """What Mailbox.ListMail takes."""


class _ListMailResponseAlways(TypedDict):
    mails: List[Mail]
    more: bool
    """There is more; then `next` is what to give as `after` for the next page."""


class ListMailResponse(_ListMailResponseAlways, total=False):
    next: Digits


class ListOverseersRequest(TypedDict, total=False):
    """What Overseers.ListOverseers takes."""

    after: str
    """Names above this one, at most `limit` (1,000; 0: 100)."""
    limit: int
    room: str
    """Empty: all rooms."""
    stale: bool


class _ListOverseersResponseAlways(TypedDict):
    more: bool
    """There is more; then `next` is what to give as `after` for the next page."""
    overseers: List[OverseerStatus]


class ListOverseersResponse(_ListOverseersResponseAlways, total=False):
    next: str


class ListRoomsRequest(TypedDict, total=False):
    """What Fleet.ListRooms takes."""

    after: str
    """Names above this one, at most `limit` (1,000; 0: 100)."""
    limit: int
    stale: bool


class _ListRoomsResponseAlways(TypedDict):
    more: bool
    """There is more; then `next` is what to give as `after` for the next page."""
    rooms: List[Room]


class ListRoomsResponse(_ListRoomsResponseAlways, total=False):
    next: str


class ListServersRequest(TypedDict, total=False):
    """What Cluster.ListServers takes."""

    figures: bool
    """With what each server says of its part in raft. They are asked for it, which takes up to a
    second while one of them is silent."""


class ListServersResponse(TypedDict):
    servers: List[Server]


class ListTasksRequest(TypedDict, total=False):
    """What Fleet.ListTasks takes."""

    after: Wide
    """Ids above this one; 0: from the first."""
    limit: int
    """At most 1,000; 0: 100."""
    newest_first: bool
    """Newest first; then `after` means below it."""
    role: str
    room: str
    """Empty: all rooms."""
    stale: bool
    states: List[TaskState]
    """Empty: all states."""


class _ListTasksResponseAlways(TypedDict):
    more: bool
    """There is more; then `next` is what to give as `after` for the next page."""
    tasks: List[Task]


class ListTasksResponse(_ListTasksResponseAlways, total=False):
    next: Digits


class ListTokensRequest(TypedDict, total=False):
    """What Trust.ListTokens takes."""

    stale: bool


class ListTokensResponse(TypedDict):
    tokens: List[Token]


class ListUsersRequest(TypedDict, total=False):
    """What Trust.ListUsers takes."""

    after: str
    """Names above this one, at most `limit` (1,000; 0: 100)."""
    limit: int
    stale: bool


class _ListUsersResponseAlways(TypedDict):
    more: bool
    """There is more; then `next` is what to give as `after` for the next page."""
    users: List[User]


class ListUsersResponse(_ListUsersResponseAlways, total=False):
    next: str


class LogChunk(TypedDict, total=False):
    data: str


class LoginRequest(TypedDict):
    csr: str
    secret: str
    token: Wide
    user: str


class _LookAtAgentRequestAlways(TypedDict):
    agent: str


class LookAtAgentRequest(_LookAtAgentRequestAlways, total=False):
    """What Fleet.LookAtAgent takes."""

    lines: int
    """Of what has scrolled out of the terminal; at most 10,000."""


class _LookAtOverseerRequestAlways(TypedDict):
    agent: str


class LookAtOverseerRequest(_LookAtOverseerRequestAlways, total=False):
    """What Overseers.LookAtOverseer takes."""

    by: str


class _MailAlways(TypedDict):
    deliveries: int
    """How often it was handed over."""
    escalated: bool
    id: Digits
    redelivered: bool
    """It was handed over before: to a life that has ended, or before a reminder."""
    reminded: int
    """Reminders so far."""


_MailFields = TypedDict(
    "_MailFields",
    {
        # Cluster time since it was sent.
        "age": "Duration",
        # Left out of lists.
        "body": "str",
        # The life that got it last; empty: none has it yet.
        "delivered_to": "str",
        # An agent, or the name of a human or a tool.
        "from": "str",
        # The life that sent it; empty: no agent did.
        "from_incarnation": "str",
        # For programs, for instance status-inquiry.
        "kind": "str",
        # urgent, high, normal or low.
        "priority": "str",
        # 0: it answers nothing.
        "reply_to": "Digits",
        "sent_at": "Time",
        # queued, delivered, acknowledged or expired.
        "state": "str",
        "subject": "str",
        # First mail of the conversation.
        "thread": "Digits",
        # The agent whose mailbox it is in.
        "to": "str",
    },
    total=False,
)


class Mail(_MailAlways, _MailFields):
    """Mail is one copy of a message, in the mailbox of one agent."""


class _MarkAlways(TypedDict):
    at: int


class Mark(_MarkAlways, total=False):
    """Mark is something at one moment."""

    kind: str
    seq: Digits
    text: str


class _NewsAlways(TypedDict):
    epoch: int
    events: List[Event]
    """At most 200; the newest of more."""
    reset: bool
    """Events before this cannot be told: read the state anew."""


class News(_NewsAlways, total=False):
    """News is what has happened since the last one, or only a sign of life."""

    clock: Duration
    """Cluster time."""
    index: Digits
    leader: str
    """Who leads, as far as it knows; empty: nobody, and what it shows grows old."""
    leaderless: Duration
    """For how long it has known no leader; absent: it knows one."""
    left_out: Digits
    """How many events before these are left out."""
    overview: Overview
    """Absent: it is as it was."""
    seq: Digits
    """The newest event that was looked at: what to give as `after`."""
    server: str
    """The answering server, and the index that it has applied."""


class _NextRequestAlways(TypedDict):
    attempt: int
    speaker: Speaker
    task: Wide
    """The task that ends; one of the three says how."""


class NextRequest(_NextRequestAlways, total=False):
    complete: Completion
    fail: Failure
    handoff: Handover
    max_wait: Duration
    """Where there is no next task yet, the call parks for one as Wait does, at most 10 min; absent: it
    does not. Clients that have many writes under way leave it out and call Wait, which holds up no
    write id."""
    start: bool
    """Of the next task, as in WaitRequest."""


class NextResponse(TypedDict, total=False):
    claim: ClaimResponse
    """The next task; absent: there is none."""
    index: Digits
    next_task: Digits
    """With handoff: the task that it has made."""
    none: ErrorInfo
    """Why there is none. With the code no_task the agent is WAITING and may call Wait; any other is
    what Wait would have failed with."""
    rev: Digits
    state: TaskState
    """How the task ended, and the log index of that."""


class _NoticeAlways(TypedDict):
    deliveries: List[Delivery]
    pending: bool
    """Not yet delivered by every notifier of the leader."""


class Notice(_NoticeAlways, total=False):
    """Notice is the last announcement of an escalation."""

    number: Digits


class _NudgeAgentRequestAlways(TypedDict):
    agent: str


class NudgeAgentRequest(_NudgeAgentRequestAlways, total=False):
    """What Fleet.NudgeAgent takes."""

    answer: bool
    """The text, one line, is the answer to a permission prompt, or where something else is to be
    chosen: it is typed there only, key by key, and Enter follows only while that prompt stands and
    shows the answer. Without a text Enter alone is pressed there. Without answer nothing is typed
    where one stands: its Enter would take what is highlighted there, most often "yes"."""
    by: str
    if_dialog: str
    """Of an answer: only while what stands there is what Screen.dialog was of; empty: whatever stands
    there."""
    if_rev: Wide
    """Only while this is the agent's revision; 0: whatever it is."""
    reason: str
    """Why, for people."""
    text: str
    """Typed as a paste and followed by Enter; at most 4 KiB; empty: a question how it is getting
    on."""


class OpenSessionRequest(TypedDict, total=False):
    client: str


class OpenSessionResponse(TypedDict):
    session: Digits


class OverseerSpec(TypedDict, total=False):
    """OverseerSpec makes the agents of a role overseers."""

    fresh: Duration
    """A patrol younger than fresh is fresh, one older than stale is very stale; 0: the settings
    overseer_fresh and overseer_stale."""
    handoff_after: int
    """Patrols of one life after which a hand-over is due; 0: never."""
    stale: Duration
    triage: str
    """Role of the same room whose agents answer looks; empty: the mechanical rule decides."""


class _OverseerStatusAlways(TypedDict):
    handoff_after: int
    handoff_due: bool
    """The present life has made as many patrols as one should: `vigil handoff`."""
    healthy: int
    mail_waiting: int
    """Mail that waits for it; what vigil wrote itself is not counted."""
    overruled: int
    """How often in a row triage has said less than the rule."""
    patrols: int
    """Patrols of the present life; 0: it has reported none yet."""
    unhealthy: int


class OverseerStatus(_OverseerStatusAlways, total=False):
    """OverseerStatus is what is known of an overseer. Times are cluster time."""

    act: str
    """What followed."""
    agent: str
    asked_by: str
    """The human who asked for the last look; empty: its turn, or an event."""
    cycle: Digits
    """The last report; of an earlier life when patrols is 0."""
    decided: Duration
    decided_by: str
    """mechanical or triage."""
    decision: str
    """The last decision: NOTHING, NUDGE, WAKE or START; empty: no look has ended yet."""
    degraded: str
    """Why triage was not heard although the role names one; empty: it was, or names none."""
    facts: str
    fresh: Duration
    freshness: str
    """fresh, stale or very_stale."""
    incarnation: str
    """The present life."""
    last_action: str
    look_left: Duration
    look_task: Digits
    """The look that is open: the task that waits for triage, the marker that makes a second look
    impossible, and how long it still lasts; 0: none is open."""
    next_look: Duration
    """Until the next look, when nothing happens before; absent: nobody looks, see off."""
    off: str
    """Why nobody looks at it; empty: somebody does."""
    patrol_age: Duration
    """Since the last patrol; without one, since the life began or its excuse has ended."""
    reason: str
    """What triage says."""
    rule: str
    """What the mechanical rule says now."""
    session: str
    """alive, starting or dead."""
    stale: Duration
    triage: str
    """The role that is asked; empty: none."""


class _OverviewAlways(TypedDict):
    agents: int
    agents_running: int
    agents_wanted: int
    """Agents that should have a process by now, and those that have one."""
    hosts: Dict[str, int]
    """Hosts by state; a drained one counts as draining. Empty when one room is asked for."""
    inbox: Dict[str, int]
    """What waits for a human, by priority."""
    paused: bool
    """Who has paused everything, or the room; empty: nobody."""
    rooms: int
    servers: List[OverviewServer]
    tasks: List[TaskCount]
    """Tasks by state, in the order of their life."""
    verdicts: Dict[str, int]
    """Agents by verdict."""


class Overview(_OverviewAlways, total=False):
    """Overview is how the fleet is at one index of the log."""

    brake: str
    """The mass-failure brake, a sentence; empty: it is not set."""
    clock: Duration
    """Cluster time since the cluster began."""
    hold: Duration
    """Until starts go on after a backup was restored; absent: nothing holds them."""
    index: Digits
    leader: str
    """Who leads, as far as the answering server knows; empty: nobody."""
    pause_by: str
    pause_ends_in: Duration
    pause_why: str
    term: Digits


class _OverviewServerAlways(TypedDict):
    diverged: bool
    leader: bool


class OverviewServer(_OverviewServerAlways, total=False):
    api_addr: str
    id: str
    version: str


class PromoteServerRequest(TypedDict):
    """What Cluster.PromoteServer takes."""

    server: str


class PromoteServerResponse(TypedDict):
    pass


class _PutSettingsRequestAlways(TypedDict):
    values: Dict[str, str]


class PutSettingsRequest(_PutSettingsRequestAlways, total=False):
    by: str


class PutUserRequest(TypedDict):
    """What Trust.PutUser takes."""

    bindings: List[Binding]
    user: str


class _RaftFiguresAlways(TypedDict):
    hears: Dict[str, str]
    """By server: how long ago its API answered this one."""


class RaftFigures(_RaftFiguresAlways, total=False):
    """RaftFigures are what a server says of its part in raft, at most 2 s old."""

    applied_index: Digits
    commit_index: Digits
    commit_p50: Duration
    """Of the last minute, from an entry's sealing to its answer, on the leader. Absent: nothing was
    committed."""
    commit_p99: Duration
    error: str
    """Why the server was not heard; empty: it was. Then nothing else is set."""
    last_index: Digits
    """Of the log on its disk."""
    log_bytes: Digits
    """Of the files of its log, as they are long."""
    log_entries: Digits
    """On its disk."""
    snapshot_bytes: Digits
    snapshot_index: Digits
    """The last entry that its newest snapshot holds; 0: it has none."""
    state: str
    """leader, follower, candidate or shutdown."""
    term: Digits


class _ReadMailRequestAlways(TypedDict):
    speaker: Speaker


class ReadMailRequest(_ReadMailRequestAlways, total=False):
    max: int
    """At most 100 at once; 0: 100."""


class ReadMailResponse(TypedDict):
    mails: List[Mail]
    unread: int
    """Still unread after these."""


class _ReasonAlways(TypedDict):
    bad: bool
    """It speaks against the agent."""


class Reason(_ReasonAlways, total=False):
    age: Duration
    """Since when it is so, or how long ago it was, in cluster time; absent: unknown."""
    evidence: str
    """process, participant, lease, fence, health, progress, task, host, leader, declaration, order,
    intent, mail or screen."""
    text: str


class ReleaseBrakeRequest(TypedDict, total=False):
    by: str


class ReleaseBrakeResponse(TypedDict):
    pass


class _ReleaseTerminalRequestAlways(TypedDict):
    agent: str


class ReleaseTerminalRequest(_ReleaseTerminalRequestAlways, total=False):
    """What Fleet.ReleaseTerminal takes."""

    by: str
    grant: Wide
    """0: whoever has it."""


class _RemoveServerRequestAlways(TypedDict):
    server: str


class RemoveServerRequest(_RemoveServerRequestAlways, total=False):
    """What Cluster.RemoveServer takes."""

    force: bool
    """Remove it although that leaves fewer than a majority of servers alive."""


class RemoveServerResponse(TypedDict):
    pass


class RemoveUserRequest(TypedDict):
    """What Trust.RemoveUser takes."""

    user: str


class RemoveUserResponse(TypedDict):
    pass


class RenewRequest(TypedDict):
    speaker: Speaker


class RenewResponse(TypedDict):
    ttl: Duration
    """How long the lease lasts from now; beat again after a quarter of it."""


class _RenewTrustRequestAlways(TypedDict):
    csr: str


class RenewTrustRequest(_RenewTrustRequestAlways, total=False):
    addresses: List[str]
    """As in Join."""


class _ReopenRoomRequestAlways(TypedDict):
    room: str


class ReopenRoomRequest(_ReopenRoomRequestAlways, total=False):
    """What Fleet.ReopenRoom takes."""

    by: str
    if_rev: Wide


class _ReopenRoomResponseAlways(TypedDict):
    tasks: int
    """Tasks that came back."""


class ReopenRoomResponse(_ReopenRoomResponseAlways, total=False):
    room: Room


class _ReplaceRootRequestAlways(TypedDict):
    chain: List[str]
    """In DER: the new root first, then the same key signed by the old one."""


class ReplaceRootRequest(_ReplaceRootRequestAlways, total=False):
    lost: bool
    """The key of the old root was lost, so nothing vouches for the new one."""


class _ReportPatrolRequestAlways(TypedDict):
    speaker: Speaker


class ReportPatrolRequest(_ReportPatrolRequestAlways, total=False):
    action: str
    """A name of up to 64 characters, for instance health-scan."""
    cycle: Wide
    """As the overseer counts; 0: the next one."""
    healthy: int
    unhealthy: int


class _RestartAgentRequestAlways(TypedDict):
    agent: str


class RestartAgentRequest(_RestartAgentRequestAlways, total=False):
    """What Fleet.RestartAgent takes."""

    by: str
    fresh: bool
    """Forgets the resume value."""
    if_rev: Wide
    """Only while this is the agent's revision; 0: whatever it is."""
    reason: str
    """Why, for people."""


class _RetryTaskRequestAlways(TypedDict):
    task: Wide


class RetryTaskRequest(_RetryTaskRequestAlways, total=False):
    """What Fleet.RetryTask takes."""

    by: str
    if_rev: Wide


class RevokeAPITokenRequest(TypedDict):
    """What Trust.RevokeAPIToken takes."""

    token: Wide


class RevokeAPITokenResponse(TypedDict):
    pass


class RevokeRequest(TypedDict):
    kind: str
    name: str


class RevokeResponse(TypedDict, total=False):
    generation: Digits
    """Certificates of a smaller generation are void."""


class RevokeTokenRequest(TypedDict):
    """What Trust.RevokeToken takes."""

    token: Wide


class RevokeTokenResponse(TypedDict):
    pass


class _RoleAlways(TypedDict):
    agents: int
    agents_live: int
    delayed: int
    """Of its QUEUED tasks, those that are put off."""
    outdated: int
    """Agents that are outdated; only in the answers of ApplyRoom and GetRoom."""
    retired: bool
    tasks: Dict[str, int]
    """Number of tasks by state name."""


class Role(_RoleAlways, total=False):
    """Role is a declared role with its counts."""

    half_open: str
    """Why most of its tasks wait, when it is half-open: most attempts at them have failed, and single
    ones are tried. Empty: it is not."""
    rev: Digits
    spec: RoleSpec


class _RolePlanAlways(TypedDict):
    agents: List[AgentEnd]
    """Of both, at most 100; those at work first."""
    canceled: int
    changes: List[str]
    """"replicas 5 -> 2", one for each value that changes."""
    ends: int
    """Agents with a life that end at once."""
    finishes: int
    """Agents that end when the task that they hold is over."""
    starts: int
    """Agents that are started because of it."""


class RolePlan(_RolePlanAlways, total=False):
    """RolePlan is what a change of its room would do to a role."""

    kind: str
    """created, changed, unchanged or deleted."""
    role: str


class _RoleSpecAlways(TypedDict):
    name: str


class RoleSpec(_RoleSpecAlways, total=False):
    """RoleSpec is what `vigil apply` declares; left-out values take the cluster's defaults."""

    ack_limit: Duration
    agent_budget: Budget
    attempt_limit: int
    budget: Budget
    """The budget of the role, and that of each of its agents; absent: none."""
    containment: str
    """With grants: sealed (its agents run only on hosts that keep them apart from all others) or weak
    (anywhere: others of the same account can act as they do); empty: sealed."""
    desired: str
    """running, stopped or paused."""
    expect: Duration
    """How long an attempt at a task may take from its claim, where who created the task does not say;
    1 s to 30 days. Absent: nothing is expected."""
    grants: List[Binding]
    """What its agents may do beyond their own work, through the socket of their life: viewer, reader
    or operator of rooms. Whoever declares it needs the same rights."""
    health: HealthSpec
    """Absent: no reports are expected."""
    kill_limit: int
    labels: Dict[str, str]
    ladder: str
    """How far the ladder goes with a stuck agent: restart, escalate (a human is told instead of an
    interrupt and a restart), careful (restart if it has spoken before it fell silent and its own
    beats do not go on, else escalate) or off; empty: careful."""
    overseer: OverseerSpec
    """Its agents watch others; absent: they do not."""
    params: Dict[str, str]
    pending_limit: Duration
    policy: str
    """fenced, fast or confirm."""
    progress_limit: Duration
    proof: str
    """process or agent."""
    replicas: int
    retry_first: Duration
    """The wait between a failed attempt at a task and the next one: first, doubled with each further
    failure up to most, of which half is by chance. Absent: the settings retry_first, retry_most."""
    retry_most: Duration
    run_limit: Duration
    runner: str
    """Name of a runner on the hosts; empty: agents are started by hand."""
    start: str
    """always or on_demand."""
    start_limit: Duration
    stop_grace: Duration
    ttl: Duration
    turn_limit: Duration
    """Longest time with one task, and longest life; 0: none."""


class _RoomAlways(TypedDict):
    deleting: bool
    paused: bool
    roles: List[Role]
    unfinished: int
    """Agents that are still to be created, or changed as the last word about the room says: what is
    declared for many agents is carried out over several entries of the log."""


class Room(_RoomAlways, total=False):
    """Room is one conversation or project."""

    canceled: Cancellation
    """The last cancellation by the watchdog, until the room is reopened."""
    changed_by: str
    created_at: Time
    name: str
    pause_at: Time
    pause_by: str
    pause_ends_in: Duration
    """Until its pause ends by itself; absent: it does not, or it is not paused."""
    pause_why: str
    plan: RoomPlan
    """What a change would do; only in answers to ApplyRoom with dry_run."""
    quiet: RoomQuiet
    """How the watchdog sees it."""
    rev: Digits
    watch: RoomWatch
    """What the room sets for the conversation watchdog; absent: nothing of its own."""


class RoomPlan(TypedDict):
    """RoomPlan is what a change of a room would do."""

    at_work: int
    """Agents that would be ended while they hold a task."""
    canceled: int
    """Open tasks that would be canceled."""
    changes: List[str]
    """What of the room itself changes."""
    created: bool
    deleted: bool
    roles: List[RolePlan]
    warnings: List[str]
    """What is allowed and is perhaps not meant, a sentence each."""


class RoomQuiet(TypedDict, total=False):
    """RoomQuiet is how the conversation watchdog sees a room."""

    active_at: Time
    cancel_in: Duration
    """Until a room that was warned may be canceled."""
    due_in: Duration
    """Until it is stalled, when nothing happens."""
    limit: Duration
    reason: str
    """idle_timeout or deadline."""
    silent: Duration
    """Since something was done or said in it."""
    state: str
    """unwatched, idle, exempt, active, stalled, stalling (warned) or untaken (warned, and not
    canceled, since nobody serves it)."""
    why: str
    """Why nothing is done; empty for stalled and stalling."""


class RoomWatch(TypedDict, total=False):
    """RoomWatch is what a room sets for the conversation watchdog."""

    deadline: Duration
    """The longest time that it may be active at a stretch; absent: none."""
    disabled: bool
    """The watchdog leaves the room alone."""
    idle_limit: Duration
    """Of silence; absent: the setting watchdog_threshold."""
    untaken: str
    """What becomes of the room when it is silent and no agent has lived in it since it was created:
    warn (a human is told, its tasks wait) or cancel. Empty: cancel where the room has a limit or a
    deadline of its own, else the setting watchdog_untaken."""


class _RootCertificateAlways(TypedDict):
    issues: bool
    """It signs the keys of servers."""


class RootCertificate(_RootCertificateAlways, total=False):
    fingerprint: str
    """SHA-256 of its public key, in hexadecimal, as in tokens."""
    not_after: Time
    """What only browsers and tools go by."""


class _RootsAlways(TypedDict):
    behind: List[str]
    """Servers and hosts that the step waits for, as kind/name; at most 20 are named."""
    behind_count: int
    roots: List[RootCertificate]
    """The oldest first."""


class Roots(_RootsAlways, total=False):
    left: Duration
    """Until no certificate of the old root is young enough, of a person for example."""
    revision: Digits
    """Of what follows, raised with each change."""
    step: str
    """rest (there is one), spread (the new one becomes known to every server and host) or retire
    (every server and host gets a certificate of the new one)."""


class RotateGossipRequest(TypedDict):
    pass


class RotateGossipResponse(TypedDict, total=False):
    number: Digits
    """The number of the newest key when this was asked: it is done at rest with a key above it."""


class _ScreenAlways(TypedDict):
    columns: int
    """The size of the terminal and its cursor, from 0; of FollowScreen only."""
    cursor_hidden: bool
    cursor_x: int
    cursor_y: int
    rows: int


class Screen(_ScreenAlways, total=False):
    dialog: str
    """A mark of what stands there and waits to be answered, a permission prompt or choices, by its
    letters and those of some lines above. Empty: nothing does. See if_dialog of NudgeAgent."""
    host: str
    incarnation: str
    text: str


class _ScreenStateAlways(TypedDict):
    quiet: bool
    """Nothing new was printed for a while."""


class ScreenState(_ScreenStateAlways, total=False):
    """ScreenState is what a host has seen on the terminal of an agent's life, never the text."""

    prompt: str
    """none, permission, usage_limit, error or idle."""
    quiet_for: Duration
    """Since when quiet is as it is, in cluster time."""
    shown: Duration
    """Since when, in cluster time."""


class SearchRequest(TypedDict, total=False):
    """What Desk.Search takes."""

    limit: int
    """At most 100; 0: 20."""
    query: str
    """Words that all have to be in the name or the title, in any case; a number finds the task,
    too."""
    room: str
    """Only of this room; empty: everything."""
    stale: bool
    """Let any server answer from what it has."""


class SearchResponse(TypedDict):
    hits: List[Hit]
    """What fits best first."""
    more: bool
    """More may fit: not everything was looked at, or shown."""


_SendMailRequestFields = TypedDict(
    "_SendMailRequestFields",
    {
        # At most 16 KiB.
        "body": "str",
        # Without a speaker: who sends it, for people; at most 128 bytes.
        "from": "str",
        # A name (a-z, 0-9, - and _), or empty.
        "kind": "str",
        # urgent, high, normal or low; empty: normal.
        "priority": "str",
        # false: agents that are off get no copy, and when all are, the mail is refused with
        # agent_offline. Absent: it is kept for them.
        "queue": "bool",
        "reply_to": "Wide",
        # The life of the agent that sends it. Absent: no agent does, see from.
        "speaker": "Speaker",
        # At most 256 bytes.
        "subject": "str",
        # 0: that of reply_to, else a new one.
        "thread": "Wide",
        # room (each agent of it), room/role (each agent of the role) or room/role.2 (that agent
        # alone; room/role.1 is the first). Empty with reply_to: the agent that sent that mail.
        "to": "str",
    },
    total=False,
)


class SendMailRequest(_SendMailRequestFields):
    pass


class _SendMailResponseAlways(TypedDict):
    mails: List[Digits]
    """One for each agent that gets a copy."""


class SendMailResponse(_SendMailResponseAlways, total=False):
    note: str
    """Says so when some of the agents get no copy."""
    thread: Digits


class _ServerAlways(TypedDict):
    diverged: bool
    features: int
    leader: bool
    standby: bool
    """It has no vote and is kept to take the place of a server that is lost."""
    voter: bool


class Server(_ServerAlways, total=False):
    api_addr: str
    figures: RaftFigures
    """Only if they were asked for."""
    gossip_addr: str
    health: str
    """Unknown when it cannot be reached from the answering server."""
    id: str
    raft_addr: str
    silent: Duration
    """For how long the answering server has not heard it, or has not reached it. Absent: it hears it,
    or nothing is known."""
    version: str
    zone: str
    """What fails together, as its configuration says; empty: not said."""


class _SetAgentRequestAlways(TypedDict):
    agent: str
    desired: str
    """running or stopped."""


_SetAgentRequestFields = TypedDict(
    "_SetAgentRequestFields",
    {
        "by": "str",
        # With stopped: how long that lasts, 1 s to 365 days; absent: until somebody ends it.
        "for": "Duration",
        # Forgets the resume value.
        "fresh": "bool",
        "if_rev": "Wide",
        # Why, for people.
        "reason": "str",
    },
    total=False,
)


class SetAgentRequest(_SetAgentRequestAlways, _SetAgentRequestFields):
    """What Fleet.SetAgent takes."""


class _SetPauseRequestAlways(TypedDict):
    pause: bool
    """Must be given: true pauses, false resumes."""


_SetPauseRequestFields = TypedDict(
    "_SetPauseRequestFields",
    {
        "by": "str",
        # How long a pause lasts, 1 s to 365 days; absent: until somebody ends it.
        "for": "Duration",
        "reason": "str",
        # Empty: everything; room; or room/role.2.
        "scope": "str",
    },
    total=False,
)


class SetPauseRequest(_SetPauseRequestAlways, _SetPauseRequestFields):
    pass


class SetPauseResponse(TypedDict, total=False):
    rev: Digits


class _SetResumeRequestAlways(TypedDict):
    speaker: Speaker


class SetResumeRequest(_SetResumeRequestAlways, total=False):
    resume: str


class SetResumeResponse(TypedDict):
    pass


class _SetRoomWatchRequestAlways(TypedDict):
    room: str


class SetRoomWatchRequest(_SetRoomWatchRequestAlways, total=False):
    """What Fleet.SetRoomWatch takes."""

    by: str
    if_rev: Wide
    watch: RoomWatch


class _SettingsAlways(TypedDict):
    defaults: Dict[str, str]
    help: Dict[str, str]
    """What each one means, with its range."""
    values: Dict[str, str]
    """Values by name, as `vigil settings set` takes them."""


class Settings(_SettingsAlways, total=False):
    rev: Digits


class _SpanAlways(TypedDict):
    bad: bool
    """It ended badly."""
    begin: int
    """When it began and ended, in milliseconds since `from`; clipped to the span that was asked
    for."""
    end: int
    joined: int
    """So many short ones are drawn as this one; 0: it is one."""
    open: bool
    """It goes on."""


class Span(_SpanAlways, total=False):
    """Span is something that lasted."""

    kind: str
    """life, task, paused; of hosts suspect, lost, returning, drained."""
    name: str
    """The life, or the number of the task."""
    seq: Digits
    """The event that it began or ended with."""
    text: str
    """How it ended, for people."""


class _SpeakerAlways(TypedDict):
    agent: str
    """room/role or room/role.2; in a Join by hand also room/role.* for the first free one."""


class Speaker(_SpeakerAlways, total=False):
    """Speaker says which life of which agent speaks."""

    incarnation: Wide
    """0 in a Join: started by hand, a new incarnation is given out."""
    token: str
    """What the file VIGIL_TOKEN_FILE holds; hashed before it reaches the log."""


class StatusRequest(TypedDict, total=False):
    """What Cluster.Status takes."""

    room: str
    """Only the roles of this room in `unserved`."""
    stale: bool


class _StatusResponseAlways(TypedDict):
    agents: int
    agents_live: int
    agents_running: int
    agents_wanted: int
    """Agents that should have a process by now, and those that have one."""
    epoch: int
    escalations_open: int
    """Escalations that no human has closed, and those of them that nobody has acknowledged."""
    escalations_unacknowledged: int
    host_states: Dict[str, int]
    """Hosts by state; a drained one counts as draining."""
    hosts: int
    hosts_ready: int
    paused: bool
    rooms: int
    servers: List[Server]
    tasks: Dict[str, Digits]
    unserved: List[UnservedRole]
    """Roles with waiting tasks and nobody who could take one, at most 100, and how many more."""
    unserved_more: int
    warnings: List[str]


class StatusResponse(_StatusResponseAlways, total=False):
    brake: str
    """The mass-failure brake, a sentence; empty: it is not set."""
    clock: Duration
    cluster_id: str
    index: Digits
    last_event: Digits
    leader: str
    leader_addr: str
    leaderless: str
    """While no leader is known: for which servers the answering one waits, a sentence. Empty: one
    leads."""
    pause_at: Time
    pause_by: str
    pause_ends_in: Duration
    """Until the pause of everything ends by itself; absent: it does not, or there is none."""
    pause_why: str
    server: str
    term: Digits
    version: str
    waiters: Digits
    """Waits parked on the answering server."""


class _TakeTerminalRequestAlways(TypedDict):
    agent: str


class TakeTerminalRequest(_TakeTerminalRequestAlways, total=False):
    """What Fleet.TakeTerminal takes."""

    by: str
    if_rev: Wide
    """Only while this is the agent's revision; 0: whatever it is."""


class TakeTerminalResponse(TypedDict, total=False):
    agent: Agent
    grant: Digits
    """The number of the turn, for TypeKeys and ReleaseTerminal."""
    span: Duration
    """It ends by itself that long after the last key."""


class _TaskAlways(TypedDict):
    attempt: int
    charged: int
    """Attempts that count towards attempt_limit of the role."""
    extended: int
    """How often the expected completion of the last attempt was put off after it had passed."""
    failed: List[FailedAttempt]
    failures: int
    """Attempts in a row that have failed, and why the last of them did, oldest first, at most 3. The
    reasons are left out of lists."""
    hops: int
    """How often in a row the work was handed on until it was this task; a human's retry sets it to 0.
    At handoff_limit the task is QUARANTINED."""
    id: Digits
    kills: int
    late_results: List[LateResult]
    priority: int
    role: str
    room: str
    state: TaskState
    text_gone: bool


class Task(_TaskAlways, total=False):
    """Task is a unit of work addressed to a role."""

    again_in: Duration
    """Until the task is offered again, in cluster time. Absent: it is not put off."""
    assigned: Duration
    """Since the claim, and since the last sign of progress, of the attempt that goes on."""
    created_at: Time
    created_by: str
    dropped: Digits
    """How many bytes of its texts and results were dropped or cut since a budget was full, and whether
    its text was among them: such a task cannot be retried."""
    expect: Duration
    """How long an attempt may take from its claim, by who created the task, else by its role. Absent:
    nothing is said."""
    expect_left: Duration
    """Until the expected completion of the attempt that goes on, in cluster time; negative: it has
    passed. Absent: nobody works on the task, or nothing is expected."""
    expected_completion: Time
    """When that is, on the clock of the server that answers; for people."""
    holder: str
    """Agent of the last attempt, room/role or room/role.2."""
    holder_incarnation: str
    in_state: Duration
    key: str
    """By which whoever created it finds it again; empty: it has none."""
    next: Digits
    """The task that its hand-off created; 0: none."""
    note: str
    parent: Digits
    percent: int
    """How far the last attempt is by its agent's word, 0 to 100. Absent: it has not said."""
    progressed: Duration
    result: str
    result_dropped: Digits
    """How many bytes of what was dropped were of its result: what is left of that is not what its
    worker said."""
    rev: Digits
    text: str
    """Left out of lists."""
    title: str
    traceparent: str
    """Where a task was claimed: the W3C traceparent of the attempt, for the spans of who works on it.
    Absent: nobody traces the task."""
    usage: Usage
    """What was used for it, as AI tools tell it of themselves, to within the interval of their
    reports: all its attempts together. Absent: nothing was told."""
    why: str
    """While it waits: why nobody has taken it, and the stable name of that reason (busy, offered,
    no_agent, paused, or why_code of the agent that should). Left out of lists."""
    why_code: str


class TaskCount(TypedDict, total=False):
    count: Digits
    oldest: Duration
    """How long the oldest of them is in that state; absent: there is none, or it has ended."""
    state: TaskState


class _TimelineAlways(TypedDict):
    cut: bool
    """Not everything of the span was looked at."""
    lanes: List[Lane]
    """Agents by name, then hosts."""
    marks: List[Mark]
    """Elections, pauses of everything, the brake: of no single lane."""
    more: int
    """How many more agents something has happened to."""


_TimelineFields = TypedDict(
    "_TimelineFields",
    {
        # The history begins within the span, at this moment; absent: it is older.
        "begins": "Time",
        "from": "Time",
        "to": "Time",
    },
    total=False,
)


class Timeline(_TimelineAlways, _TimelineFields):
    """Timeline is what has happened between two moments, as the history tells it, by the clocks of the
    leaders."""


class _TokenAlways(TypedDict):
    labels: Dict[str, str]
    runners: List[str]
    uses_left: int


class Token(_TokenAlways, total=False):
    by: str
    created_at: Time
    ends_in: Duration
    """Zero: it has ended."""
    name: str
    role: str
    token: Digits


class TransferLeadershipRequest(TypedDict, total=False):
    to: str
    """Empty: the server that is most up to date."""


class TransferLeadershipResponse(TypedDict, total=False):
    leader: str


class _TrendPointAlways(TypedDict):
    agents_running: int


class TrendPoint(_TrendPointAlways, total=False):
    """TrendPoint is how much there was at one moment."""

    ago: Duration
    """How long ago, by the clock of the answering server."""
    ended: Digits
    """Tasks that have ended, and events that were written, since the cluster began."""
    events: Digits
    waiting: Digits
    """Tasks that nobody has taken, and those that somebody works on."""
    working: Digits


class _TrustAnchorsAlways(TypedDict):
    issues: int
    """The place in `roots` of the one that issues."""
    roots: List[str]
    """Root certificates in DER."""


class TrustAnchors(_TrustAnchorsAlways, total=False):
    cluster: str
    """UUID; certificates name their holder by spiffe://cluster/kind/name."""


class _TypeKeysRequestAlways(TypedDict):
    agent: str
    grant: Wide
    seq: Wide
    """The number of this call within the turn, from 1; a number that was heard before types
    nothing."""


class TypeKeysRequest(_TypeKeysRequestAlways, total=False):
    """What Fleet.TypeKeys takes."""

    by: str
    columns: int
    """The size that the terminal gets before the keys are typed, for as long as the turn lasts: 20 to
    500 columns and 5 to 200 rows; both 0: it stays as it is."""
    keys: str
    """As a terminal sends them: letters in UTF-8, keys as their escapes; at most 4 KiB. A host takes
    50 calls a second. Empty only with a size."""
    rows: int


class TypeKeysResponse(TypedDict):
    pass


class Typist(TypedDict, total=False):
    """Typist is the human who has the terminal of an agent's life."""

    by: str
    grant: Digits
    """The number of the turn."""
    left: Duration
    """Until that ends by itself, unless a key comes."""
    since: Duration
    """Since when, in cluster time."""


class _UnparkAgentRequestAlways(TypedDict):
    agent: str


class UnparkAgentRequest(_UnparkAgentRequestAlways, total=False):
    """What Fleet.UnparkAgent takes."""

    by: str
    if_rev: Wide
    """Only while this is the agent's revision; 0: whatever it is."""


class _UnquarantineTaskRequestAlways(TypedDict):
    task: Wide


class UnquarantineTaskRequest(_UnquarantineTaskRequestAlways, total=False):
    """What Fleet.UnquarantineTask takes."""

    by: str
    if_rev: Wide


class _UnservedRoleAlways(TypedDict):
    waiting: int


class UnservedRole(_UnservedRoleAlways, total=False):
    """UnservedRole is a role with tasks that wait and no agent that could take one."""

    role: str
    room: str
    since: Duration
    """That the first task has waited."""
    why: str
    why_code: str


class _UsageAlways(TypedDict):
    kinds: List[Digits]
    """The same by kind: other, shell, read, edit, search, web, agent, mcp. Of lives only."""


class Usage(_UsageAlways, total=False):
    """Usage is what was used, as AI tools tell it of themselves."""

    cache_tokens: Digits
    """Read from a cache; budgets do not count them."""
    input_tokens: Digits
    micro_usd: Digits
    """Millionths of a US dollar, as the tools reckon."""
    output_tokens: Digits
    tools: Digits
    """Uses of tools."""


class UsageState(TypedDict, total=False):
    """UsageState is what an agent, a role or a room has used, and how its budget stands."""

    budget: Budget
    """Absent: it has none."""
    clamped: Digits
    """Of an agent: how often it has told more than any tool can use."""
    day: Usage
    """In the hour under way and the 24 before it."""
    incarnation: str
    kind: str
    """room, role or agent."""
    life: Usage
    """Of an agent: what the life of this incarnation has used."""
    lifted_by: str
    lifted_for: Duration
    """Until a lifted budget counts again; absent: it is not lifted."""
    name: str
    """ROOM, ROOM/ROLE or the name of the agent."""
    stage: str
    """free, warned (four fifths are used) or out (nothing new is started or claimed)."""


class _UserAlways(TypedDict):
    bindings: List[Binding]


class User(_UserAlways, total=False):
    by: str
    changed_at: Time
    user: str


class _VerdictAlways(TypedDict):
    fine: bool
    """Nobody has to look: it does what it should, or is off on purpose."""
    reasons: List[Reason]
    """What it rests on, what speaks against the agent first."""


class Verdict(_VerdictAlways, total=False):
    """Verdict is what all signals of an agent together say of it."""

    kind: str
    """healthy, busy, idle, degraded, needs_input, parked, suspect, deaf, stalled, unresponsive,
    offline or not_found."""


class _WaitMailRequestAlways(TypedDict):
    speaker: Speaker


class WaitMailRequest(_WaitMailRequestAlways, total=False):
    max_wait: Duration
    """At most 10 min; 0: 1 min."""


class WaitMailResponse(TypedDict):
    unread: int
    """0: none came within max_wait."""


class _WaitRequestAlways(TypedDict):
    speaker: Speaker


class WaitRequest(_WaitRequestAlways, total=False):
    max_wait: Duration
    """At most 10 min; 0: 1 min."""
    start: bool
    """The task counts as started when it is claimed, as by StartTask: for who begins at once. The
    acknowledgement limit does not run then, which takes back what nobody has begun."""


class WatchEventsRequest(TypedDict, total=False):
    """What Fleet.WatchEvents takes."""

    after: Wide
    """Events with a greater seq; 0: from the oldest kept."""
    agent: str
    no_follow: bool
    """Ends with the newest event instead of waiting for more."""
    room: str
    tail: bool
    """Only what happens from now on."""
    task: Wide


class WatchdogStats(TypedDict, total=False):
    """WatchdogStats are what one server's conversation watchdog has done since the server started."""

    canceled: Digits
    checked: Digits
    """Active rooms that were covered by these checks."""
    checks: Digits
    errors: Digits
    last_check: Time
    """Of the last check; absent: there was none."""
    last_duration: Duration
    total_duration: Duration
    warned: Digits


class _WorkRequestAlways(TypedDict):
    attempt: int
    speaker: Speaker
    task: Wide


class WorkRequest(_WorkRequestAlways, total=False):
    after: Duration
    """With FailTask and retryable: when another attempt may succeed, from now, at most 30 days, for
    instance what a Retry-After said; absent: by the rules of the role."""
    expect: Duration
    """With ProgressTask: how long the rest takes from now, 1 s to 30 days; absent: as said before."""
    percent: int
    """With ProgressTask: how far the work is, 0 to 100; absent: as said before."""
    result: str
    """With FailTask: what the attempt has made all the same, for instance a result whose hand-off was
    refused. It is kept for people among the late_results of the task. A cluster that is being
    upgraded refuses it (old_servers): say the failure without it then."""
    retryable: bool
    """With FailTask: another attempt may succeed."""
    text: str
    """With ProgressTask the note, with FailTask the reason."""


class WorkResponse(TypedDict, total=False):
    rev: Digits
    state: TaskState
