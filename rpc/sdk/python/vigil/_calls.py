"""The calls of vigil's API: how each is made over HTTP, and when it may be repeated.

Made by `make generate` from the OpenAPI document. Do not edit.
"""

from __future__ import annotations

from typing import Dict, NamedTuple, Tuple


class Route(NamedTuple):
    """How a call is made. Of several routes the first counts whose variables all have a value."""

    verb: str
    path: str
    variables: Tuple[str, ...]
    """Fields of the message that stand in the path."""
    query: Tuple[str, ...]
    """Fields that follow it, where the call has no body."""
    body: bool
    """All other fields are sent as JSON."""


class Method(NamedTuple):
    """What a client has to know of a call."""

    routes: Tuple[Route, ...]
    repeat: str
    """always: it may be repeated while it is open whether it was done, where numbered says so under
    its write id only; unsent: only after an answer that proves that nothing was done; never."""
    numbered: bool
    """It takes a write id."""
    parked: bool
    """A server may hold it for as long as its caller likes."""
    long: bool
    """Its answer may take minutes."""
    streams: bool
    """Its answer is many messages, one a line."""


METHODS: Dict[str, Method] = {
    "Cluster.AddServer": Method(
        (
            Route("POST", "/v1/servers", (), (), True),
        ),
        "unsent", numbered=False, parked=False, long=True, streams=False,
    ),
    "Cluster.DemoteServer": Method(
        (
            Route("POST", "/v1/servers/{server}:demote", ("server",), (), True),
        ),
        "unsent", numbered=False, parked=False, long=True, streams=False,
    ),
    "Cluster.GetHealth": Method(
        (
            Route("GET", "/v1/health", (), (), False),
        ),
        "always", numbered=False, parked=False, long=False, streams=False,
    ),
    "Cluster.GetSettings": Method(
        (
            Route("GET", "/v1/settings", (), ("stale",), False),
        ),
        "always", numbered=False, parked=False, long=False, streams=False,
    ),
    "Cluster.ListServers": Method(
        (
            Route("GET", "/v1/servers", (), ("figures",), False),
        ),
        "always", numbered=False, parked=False, long=False, streams=False,
    ),
    "Cluster.PromoteServer": Method(
        (
            Route("POST", "/v1/servers/{server}:promote", ("server",), (), True),
        ),
        "unsent", numbered=False, parked=False, long=True, streams=False,
    ),
    "Cluster.PutSettings": Method(
        (
            Route("PATCH", "/v1/settings", (), (), True),
        ),
        "unsent", numbered=False, parked=False, long=False, streams=False,
    ),
    "Cluster.RemoveServer": Method(
        (
            Route("DELETE", "/v1/servers/{server}", ("server",), ("force",), False),
        ),
        "unsent", numbered=False, parked=False, long=True, streams=False,
    ),
    "Cluster.Status": Method(
        (
            Route("GET", "/v1/status", (), ("stale", "room",), False),
        ),
        "always", numbered=False, parked=False, long=False, streams=False,
    ),
    "Cluster.TransferLeadership": Method(
        (
            Route("POST", "/v1/servers:transfer", (), (), True),
        ),
        "unsent", numbered=False, parked=False, long=True, streams=False,
    ),
    "Desk.Follow": Method(
        (
            Route("GET", "/v1/follow", (), ("room", "after", "epoch",), False),
        ),
        "never", numbered=False, parked=True, long=True, streams=True,
    ),
    "Desk.GetOverview": Method(
        (
            Route("GET", "/v1/overview", (), ("room", "stale",), False),
        ),
        "always", numbered=False, parked=False, long=False, streams=False,
    ),
    "Desk.GetTimeline": Method(
        (
            Route("GET", "/v1/timeline", (), ("from", "to", "room", "agent", "limit", "stale",), False),
        ),
        "always", numbered=False, parked=False, long=False, streams=False,
    ),
    "Desk.GetTrend": Method(
        (
            Route("GET", "/v1/trend", (), ("stale",), False),
        ),
        "always", numbered=False, parked=False, long=False, streams=False,
    ),
    "Desk.ListEvents": Method(
        (
            Route("GET", "/v1/events:back", (), ("before", "limit", "room", "agent", "host", "task", "kind", "words", "stale",), False),
        ),
        "always", numbered=False, parked=False, long=False, streams=False,
    ),
    "Desk.ListInbox": Method(
        (
            Route("GET", "/v1/inbox", (), ("room", "limit", "stale",), False),
        ),
        "always", numbered=False, parked=False, long=False, streams=False,
    ),
    "Desk.Search": Method(
        (
            Route("GET", "/v1/search", (), ("query", "room", "limit", "stale",), False),
        ),
        "always", numbered=False, parked=False, long=False, streams=False,
    ),
    "Escalations.AckEscalation": Method(
        (
            Route("POST", "/v1/escalations/{escalation}:ack", ("escalation",), (), True),
        ),
        "always", numbered=True, parked=False, long=False, streams=False,
    ),
    "Escalations.CloseEscalation": Method(
        (
            Route("POST", "/v1/escalations/{escalation}:close", ("escalation",), (), True),
        ),
        "always", numbered=True, parked=False, long=False, streams=False,
    ),
    "Escalations.GetEscalation": Method(
        (
            Route("GET", "/v1/escalations/{escalation}", ("escalation",), ("stale",), False),
        ),
        "always", numbered=False, parked=False, long=False, streams=False,
    ),
    "Escalations.ListEscalations": Method(
        (
            Route("GET", "/v1/escalations", (), ("all", "room", "kind", "after", "limit", "stale",), False),
        ),
        "always", numbered=False, parked=False, long=False, streams=False,
    ),
    "Fleet.AgentLogs": Method(
        (
            Route("GET", "/v1/agents/{agent}/logs", ("agent",), ("follow", "lines",), False),
        ),
        "never", numbered=False, parked=True, long=True, streams=True,
    ),
    "Fleet.ApplyRoom": Method(
        (
            Route("PUT", "/v1/rooms/{room}", ("room",), (), True),
        ),
        "always", numbered=True, parked=False, long=False, streams=False,
    ),
    "Fleet.CancelTask": Method(
        (
            Route("POST", "/v1/tasks/{task}:cancel", ("task",), (), True),
        ),
        "always", numbered=True, parked=False, long=False, streams=False,
    ),
    "Fleet.ConfirmDead": Method(
        (
            Route("POST", "/v1/hosts/{host}:confirm-dead", ("host",), (), True),
        ),
        "always", numbered=True, parked=False, long=False, streams=False,
    ),
    "Fleet.CreateTask": Method(
        (
            Route("POST", "/v1/rooms/{room}/tasks", ("room",), (), True),
        ),
        "always", numbered=True, parked=False, long=False, streams=False,
    ),
    "Fleet.DeleteRoom": Method(
        (
            Route("DELETE", "/v1/rooms/{room}", ("room",), ("by", "if_rev", "dry_run", "gentle",), False),
        ),
        "always", numbered=True, parked=False, long=False, streams=False,
    ),
    "Fleet.DrainHost": Method(
        (
            Route("POST", "/v1/hosts/{host}:drain", ("host",), (), True),
        ),
        "always", numbered=True, parked=False, long=False, streams=False,
    ),
    "Fleet.FollowScreen": Method(
        (
            Route("GET", "/v1/agents/{agent}/screen/follow", ("agent",), (), False),
        ),
        "never", numbered=False, parked=True, long=True, streams=True,
    ),
    "Fleet.ForgetHost": Method(
        (
            Route("DELETE", "/v1/hosts/{host}", ("host",), ("by",), False),
        ),
        "always", numbered=True, parked=False, long=False, streams=False,
    ),
    "Fleet.GetAgent": Method(
        (
            Route("GET", "/v1/agents/{agent}", ("agent",), ("stale",), False),
        ),
        "always", numbered=False, parked=False, long=False, streams=False,
    ),
    "Fleet.GetAgentStatus": Method(
        (
            Route("GET", "/v1/agents/{agent}/status", ("agent",), ("stale",), False),
        ),
        "always", numbered=False, parked=False, long=False, streams=False,
    ),
    "Fleet.GetHost": Method(
        (
            Route("GET", "/v1/hosts/{host}", ("host",), ("stale",), False),
        ),
        "always", numbered=False, parked=False, long=False, streams=False,
    ),
    "Fleet.GetRoom": Method(
        (
            Route("GET", "/v1/rooms/{room}", ("room",), ("stale",), False),
        ),
        "always", numbered=False, parked=False, long=False, streams=False,
    ),
    "Fleet.GetTask": Method(
        (
            Route("GET", "/v1/tasks/{task}", ("task",), ("stale",), False),
        ),
        "always", numbered=False, parked=False, long=False, streams=False,
    ),
    "Fleet.GetUsage": Method(
        (
            Route("GET", "/v1/usage", (), ("room", "role", "stale",), False),
        ),
        "always", numbered=False, parked=False, long=False, streams=False,
    ),
    "Fleet.GetWatchdog": Method(
        (
            Route("GET", "/v1/watchdog", (), ("stale",), False),
        ),
        "always", numbered=False, parked=False, long=False, streams=False,
    ),
    "Fleet.LiftBudget": Method(
        (
            Route("POST", "/v1/rooms/{room}:liftBudget", ("room",), (), True),
        ),
        "always", numbered=True, parked=False, long=False, streams=False,
    ),
    "Fleet.ListAgents": Method(
        (
            Route("GET", "/v1/agents", (), ("room", "role", "host", "stale", "after", "limit", "verdicts", "not_fine",), False),
        ),
        "always", numbered=False, parked=False, long=False, streams=False,
    ),
    "Fleet.ListDeadlines": Method(
        (
            Route("GET", "/v1/agents/{agent}/deadlines", ("agent",), ("room", "stale",), False),
            Route("GET", "/v1/rooms/{room}/deadlines", ("room",), ("agent", "stale",), False),
        ),
        "always", numbered=False, parked=False, long=False, streams=False,
    ),
    "Fleet.ListHosts": Method(
        (
            Route("GET", "/v1/hosts", (), ("stale", "after", "limit",), False),
        ),
        "always", numbered=False, parked=False, long=False, streams=False,
    ),
    "Fleet.ListRooms": Method(
        (
            Route("GET", "/v1/rooms", (), ("stale", "after", "limit",), False),
        ),
        "always", numbered=False, parked=False, long=False, streams=False,
    ),
    "Fleet.ListTasks": Method(
        (
            Route("GET", "/v1/tasks", (), ("room", "role", "states", "after", "limit", "stale", "newest_first",), False),
        ),
        "always", numbered=False, parked=False, long=False, streams=False,
    ),
    "Fleet.LookAtAgent": Method(
        (
            Route("GET", "/v1/agents/{agent}/screen", ("agent",), ("lines",), False),
        ),
        "always", numbered=False, parked=False, long=False, streams=False,
    ),
    "Fleet.NudgeAgent": Method(
        (
            Route("POST", "/v1/agents/{agent}:nudge", ("agent",), (), True),
        ),
        "always", numbered=True, parked=False, long=False, streams=False,
    ),
    "Fleet.ReleaseBrake": Method(
        (
            Route("POST", "/v1/brake:release", (), (), True),
        ),
        "always", numbered=True, parked=False, long=False, streams=False,
    ),
    "Fleet.ReleaseTerminal": Method(
        (
            Route("POST", "/v1/agents/{agent}:release-terminal", ("agent",), (), True),
        ),
        "always", numbered=True, parked=False, long=False, streams=False,
    ),
    "Fleet.ReopenRoom": Method(
        (
            Route("POST", "/v1/rooms/{room}:reopen", ("room",), (), True),
        ),
        "always", numbered=True, parked=False, long=False, streams=False,
    ),
    "Fleet.RestartAgent": Method(
        (
            Route("POST", "/v1/agents/{agent}:restart", ("agent",), (), True),
        ),
        "always", numbered=True, parked=False, long=False, streams=False,
    ),
    "Fleet.RetryTask": Method(
        (
            Route("POST", "/v1/tasks/{task}:retry", ("task",), (), True),
        ),
        "always", numbered=True, parked=False, long=False, streams=False,
    ),
    "Fleet.SetAgent": Method(
        (
            Route("POST", "/v1/agents/{agent}:set", ("agent",), (), True),
        ),
        "always", numbered=True, parked=False, long=False, streams=False,
    ),
    "Fleet.SetPause": Method(
        (
            Route("POST", "/v1/pause", (), (), True),
        ),
        "always", numbered=True, parked=False, long=False, streams=False,
    ),
    "Fleet.SetRoomWatch": Method(
        (
            Route("POST", "/v1/rooms/{room}:watchdog", ("room",), (), True),
        ),
        "always", numbered=True, parked=False, long=False, streams=False,
    ),
    "Fleet.TakeTerminal": Method(
        (
            Route("POST", "/v1/agents/{agent}:take-terminal", ("agent",), (), True),
        ),
        "always", numbered=True, parked=False, long=False, streams=False,
    ),
    "Fleet.TypeKeys": Method(
        (
            Route("POST", "/v1/agents/{agent}:type", ("agent",), (), True),
        ),
        "always", numbered=False, parked=False, long=False, streams=False,
    ),
    "Fleet.UnparkAgent": Method(
        (
            Route("POST", "/v1/agents/{agent}:unpark", ("agent",), (), True),
        ),
        "always", numbered=True, parked=False, long=False, streams=False,
    ),
    "Fleet.UnquarantineTask": Method(
        (
            Route("POST", "/v1/tasks/{task}:unquarantine", ("task",), (), True),
        ),
        "always", numbered=True, parked=False, long=False, streams=False,
    ),
    "Fleet.WatchEvents": Method(
        (
            Route("GET", "/v1/events", (), ("after", "room", "agent", "task", "tail", "no_follow",), False),
        ),
        "never", numbered=False, parked=True, long=True, streams=True,
    ),
    "Mailbox.AckMail": Method(
        (
            Route("POST", "/v1/mail/{mail}/ack", ("mail",), (), True),
        ),
        "always", numbered=True, parked=False, long=False, streams=False,
    ),
    "Mailbox.GetMail": Method(
        (
            Route("GET", "/v1/mail/{mail}", ("mail",), ("stale",), False),
        ),
        "always", numbered=False, parked=False, long=False, streams=False,
    ),
    "Mailbox.ListMail": Method(
        (
            Route("GET", "/v1/mail", (), ("agent", "from", "room", "unacknowledged", "thread", "after", "limit", "stale", "newest_first",), False),
        ),
        "always", numbered=False, parked=False, long=False, streams=False,
    ),
    "Mailbox.ReadMail": Method(
        (
            Route("POST", "/v1/mail:read", (), (), True),
        ),
        "always", numbered=True, parked=False, long=False, streams=False,
    ),
    "Mailbox.SendMail": Method(
        (
            Route("POST", "/v1/mail", (), (), True),
        ),
        "always", numbered=True, parked=False, long=False, streams=False,
    ),
    "Mailbox.WaitMail": Method(
        (
            Route("POST", "/v1/mail:wait", (), (), True),
        ),
        "never", numbered=False, parked=True, long=True, streams=False,
    ),
    "Overseers.GetOverseer": Method(
        (
            Route("GET", "/v1/overseers/{agent}", ("agent",), ("stale",), False),
        ),
        "always", numbered=False, parked=False, long=False, streams=False,
    ),
    "Overseers.HandOver": Method(
        (
            Route("POST", "/v1/overseers:handover", (), (), True),
        ),
        "always", numbered=True, parked=False, long=False, streams=False,
    ),
    "Overseers.ListOverseers": Method(
        (
            Route("GET", "/v1/overseers", (), ("stale", "room", "after", "limit",), False),
        ),
        "always", numbered=False, parked=False, long=False, streams=False,
    ),
    "Overseers.LookAtOverseer": Method(
        (
            Route("POST", "/v1/overseers/{agent}:look", ("agent",), (), True),
        ),
        "always", numbered=True, parked=False, long=False, streams=False,
    ),
    "Overseers.ReportPatrol": Method(
        (
            Route("POST", "/v1/overseers:patrol", (), (), True),
        ),
        "always", numbered=True, parked=False, long=False, streams=False,
    ),
    "Trust.CreateAPIToken": Method(
        (
            Route("POST", "/v1/api-tokens", (), (), True),
        ),
        "unsent", numbered=False, parked=False, long=False, streams=False,
    ),
    "Trust.CreateToken": Method(
        (
            Route("POST", "/v1/tokens", (), (), True),
        ),
        "unsent", numbered=False, parked=False, long=False, streams=False,
    ),
    "Trust.GetGossip": Method(
        (
            Route("GET", "/v1/gossip", (), ("stale",), False),
        ),
        "always", numbered=False, parked=False, long=False, streams=False,
    ),
    "Trust.GetRoots": Method(
        (
            Route("GET", "/v1/roots", (), ("stale",), False),
        ),
        "always", numbered=False, parked=False, long=False, streams=False,
    ),
    "Trust.GetTrust": Method(
        (
            Route("GET", "/v1/trust", (), ("stale",), False),
        ),
        "always", numbered=False, parked=False, long=False, streams=False,
    ),
    "Trust.Join": Method(
        (
            Route("POST", "/v1/trust:join", (), (), True),
        ),
        "always", numbered=False, parked=False, long=False, streams=False,
    ),
    "Trust.ListAPITokens": Method(
        (
            Route("GET", "/v1/api-tokens", (), ("stale",), False),
        ),
        "always", numbered=False, parked=False, long=False, streams=False,
    ),
    "Trust.ListAudit": Method(
        (
            Route("GET", "/v1/audit", (), ("stale", "after", "limit", "room", "who", "method", "tail",), False),
        ),
        "always", numbered=False, parked=False, long=False, streams=False,
    ),
    "Trust.ListIdentities": Method(
        (
            Route("GET", "/v1/identities", (), ("stale", "kind", "gone", "after", "limit",), False),
        ),
        "always", numbered=False, parked=False, long=False, streams=False,
    ),
    "Trust.ListTokens": Method(
        (
            Route("GET", "/v1/tokens", (), ("stale",), False),
        ),
        "always", numbered=False, parked=False, long=False, streams=False,
    ),
    "Trust.ListUsers": Method(
        (
            Route("GET", "/v1/users", (), ("stale", "after", "limit",), False),
        ),
        "always", numbered=False, parked=False, long=False, streams=False,
    ),
    "Trust.Login": Method(
        (
            Route("POST", "/v1/trust:login", (), (), True),
        ),
        "always", numbered=False, parked=False, long=False, streams=False,
    ),
    "Trust.PutUser": Method(
        (
            Route("PUT", "/v1/users/{user}", ("user",), (), True),
        ),
        "always", numbered=True, parked=False, long=False, streams=False,
    ),
    "Trust.RemoveUser": Method(
        (
            Route("DELETE", "/v1/users/{user}", ("user",), (), False),
        ),
        "always", numbered=True, parked=False, long=False, streams=False,
    ),
    "Trust.Renew": Method(
        (
            Route("POST", "/v1/trust:renew", (), (), True),
        ),
        "always", numbered=False, parked=False, long=False, streams=False,
    ),
    "Trust.ReplaceRoot": Method(
        (
            Route("POST", "/v1/roots", (), (), True),
        ),
        "always", numbered=True, parked=False, long=False, streams=False,
    ),
    "Trust.Revoke": Method(
        (
            Route("POST", "/v1/identities:revoke", (), (), True),
        ),
        "always", numbered=True, parked=False, long=False, streams=False,
    ),
    "Trust.RevokeAPIToken": Method(
        (
            Route("DELETE", "/v1/api-tokens/{token}", ("token",), (), False),
        ),
        "always", numbered=True, parked=False, long=False, streams=False,
    ),
    "Trust.RevokeToken": Method(
        (
            Route("DELETE", "/v1/tokens/{token}", ("token",), (), False),
        ),
        "always", numbered=True, parked=False, long=False, streams=False,
    ),
    "Trust.RotateGossip": Method(
        (
            Route("POST", "/v1/gossip:rotate", (), (), True),
        ),
        "always", numbered=True, parked=False, long=False, streams=False,
    ),
    "Work.Claim": Method(
        (
            Route("POST", "/v1/work:claim", (), (), True),
        ),
        "always", numbered=True, parked=False, long=False, streams=False,
    ),
    "Work.CloseSession": Method(
        (
            Route("DELETE", "/v1/sessions/{session}", ("session",), (), False),
        ),
        "always", numbered=False, parked=False, long=False, streams=False,
    ),
    "Work.CompleteTask": Method(
        (
            Route("POST", "/v1/work:complete", (), (), True),
        ),
        "always", numbered=True, parked=False, long=False, streams=False,
    ),
    "Work.Declare": Method(
        (
            Route("POST", "/v1/work:declare", (), (), True),
        ),
        "always", numbered=True, parked=False, long=False, streams=False,
    ),
    "Work.FailTask": Method(
        (
            Route("POST", "/v1/work:fail", (), (), True),
        ),
        "always", numbered=True, parked=False, long=False, streams=False,
    ),
    "Work.Handoff": Method(
        (
            Route("POST", "/v1/work:handoff", (), (), True),
        ),
        "always", numbered=True, parked=False, long=False, streams=False,
    ),
    "Work.Join": Method(
        (
            Route("POST", "/v1/work:join", (), (), True),
        ),
        "always", numbered=True, parked=False, long=False, streams=False,
    ),
    "Work.Leave": Method(
        (
            Route("POST", "/v1/work:leave", (), (), True),
        ),
        "always", numbered=True, parked=False, long=False, streams=False,
    ),
    "Work.Next": Method(
        (
            Route("POST", "/v1/work:next", (), (), True),
        ),
        "always", numbered=True, parked=False, long=False, streams=False,
    ),
    "Work.OpenSession": Method(
        (
            Route("POST", "/v1/sessions", (), (), True),
        ),
        "always", numbered=False, parked=False, long=False, streams=False,
    ),
    "Work.ProgressTask": Method(
        (
            Route("POST", "/v1/work:progress", (), (), True),
        ),
        "always", numbered=True, parked=False, long=False, streams=False,
    ),
    "Work.Renew": Method(
        (
            Route("POST", "/v1/work:beat", (), (), True),
        ),
        "never", numbered=False, parked=False, long=False, streams=False,
    ),
    "Work.SetResume": Method(
        (
            Route("POST", "/v1/work:resume", (), (), True),
        ),
        "always", numbered=True, parked=False, long=False, streams=False,
    ),
    "Work.StartTask": Method(
        (
            Route("POST", "/v1/work:start", (), (), True),
        ),
        "always", numbered=True, parked=False, long=False, streams=False,
    ),
    "Work.Wait": Method(
        (
            Route("POST", "/v1/work:wait", (), (), True),
        ),
        "never", numbered=False, parked=True, long=True, streams=False,
    ),
}
