// The calls of vigil's API: how each is made over HTTP, and when it may be repeated.
// Made by `make generate` from the OpenAPI document. Do not edit.
export const methods = {
  "Cluster.AddServer": {
    routes: [
      { verb: "POST", path: "/v1/servers", variables: [], query: [], body: true },
    ],
    repeat: "unsent",
    numbered: false,
    parked: false,
    long: true,
    streams: false,
  },
  "Cluster.DemoteServer": {
    routes: [
      { verb: "POST", path: "/v1/servers/{server}:demote", variables: ["server"], query: [], body: true },
    ],
    repeat: "unsent",
    numbered: false,
    parked: false,
    long: true,
    streams: false,
  },
  "Cluster.GetHealth": {
    routes: [
      { verb: "GET", path: "/v1/health", variables: [], query: [], body: false },
    ],
    repeat: "always",
    numbered: false,
    parked: false,
    long: false,
    streams: false,
  },
  "Cluster.GetSettings": {
    routes: [
      { verb: "GET", path: "/v1/settings", variables: [], query: ["stale"], body: false },
    ],
    repeat: "always",
    numbered: false,
    parked: false,
    long: false,
    streams: false,
  },
  "Cluster.ListServers": {
    routes: [
      { verb: "GET", path: "/v1/servers", variables: [], query: ["figures"], body: false },
    ],
    repeat: "always",
    numbered: false,
    parked: false,
    long: false,
    streams: false,
  },
  "Cluster.PromoteServer": {
    routes: [
      { verb: "POST", path: "/v1/servers/{server}:promote", variables: ["server"], query: [], body: true },
    ],
    repeat: "unsent",
    numbered: false,
    parked: false,
    long: true,
    streams: false,
  },
  "Cluster.PutSettings": {
    routes: [
      { verb: "PATCH", path: "/v1/settings", variables: [], query: [], body: true },
    ],
    repeat: "unsent",
    numbered: false,
    parked: false,
    long: false,
    streams: false,
  },
  "Cluster.RemoveServer": {
    routes: [
      { verb: "DELETE", path: "/v1/servers/{server}", variables: ["server"], query: ["force"], body: false },
    ],
    repeat: "unsent",
    numbered: false,
    parked: false,
    long: true,
    streams: false,
  },
  "Cluster.Status": {
    routes: [
      { verb: "GET", path: "/v1/status", variables: [], query: ["stale", "room"], body: false },
    ],
    repeat: "always",
    numbered: false,
    parked: false,
    long: false,
    streams: false,
  },
  "Cluster.TransferLeadership": {
    routes: [
      { verb: "POST", path: "/v1/servers:transfer", variables: [], query: [], body: true },
    ],
    repeat: "unsent",
    numbered: false,
    parked: false,
    long: true,
    streams: false,
  },
  "Desk.Follow": {
    routes: [
      { verb: "GET", path: "/v1/follow", variables: [], query: ["room", "after", "epoch"], body: false },
    ],
    repeat: "never",
    numbered: false,
    parked: true,
    long: true,
    streams: true,
  },
  "Desk.GetOverview": {
    routes: [
      { verb: "GET", path: "/v1/overview", variables: [], query: ["room", "stale"], body: false },
    ],
    repeat: "always",
    numbered: false,
    parked: false,
    long: false,
    streams: false,
  },
  "Desk.GetTimeline": {
    routes: [
      { verb: "GET", path: "/v1/timeline", variables: [], query: ["from", "to", "room", "agent", "limit", "stale"], body: false },
    ],
    repeat: "always",
    numbered: false,
    parked: false,
    long: false,
    streams: false,
  },
  "Desk.GetTrend": {
    routes: [
      { verb: "GET", path: "/v1/trend", variables: [], query: ["stale"], body: false },
    ],
    repeat: "always",
    numbered: false,
    parked: false,
    long: false,
    streams: false,
  },
  "Desk.ListEvents": {
    routes: [
      { verb: "GET", path: "/v1/events:back", variables: [], query: ["before", "limit", "room", "agent", "host", "task", "kind", "words", "stale"], body: false },
    ],
    repeat: "always",
    numbered: false,
    parked: false,
    long: false,
    streams: false,
  },
  "Desk.ListInbox": {
    routes: [
      { verb: "GET", path: "/v1/inbox", variables: [], query: ["room", "limit", "stale"], body: false },
    ],
    repeat: "always",
    numbered: false,
    parked: false,
    long: false,
    streams: false,
  },
  "Desk.Search": {
    routes: [
      { verb: "GET", path: "/v1/search", variables: [], query: ["query", "room", "limit", "stale"], body: false },
    ],
    repeat: "always",
    numbered: false,
    parked: false,
    long: false,
    streams: false,
  },
  "Escalations.AckEscalation": {
    routes: [
      { verb: "POST", path: "/v1/escalations/{escalation}:ack", variables: ["escalation"], query: [], body: true },
    ],
    repeat: "always",
    numbered: true,
    parked: false,
    long: false,
    streams: false,
  },
  "Escalations.CloseEscalation": {
    routes: [
      { verb: "POST", path: "/v1/escalations/{escalation}:close", variables: ["escalation"], query: [], body: true },
    ],
    repeat: "always",
    numbered: true,
    parked: false,
    long: false,
    streams: false,
  },
  "Escalations.GetEscalation": {
    routes: [
      { verb: "GET", path: "/v1/escalations/{escalation}", variables: ["escalation"], query: ["stale"], body: false },
    ],
    repeat: "always",
    numbered: false,
    parked: false,
    long: false,
    streams: false,
  },
  "Escalations.ListEscalations": {
    routes: [
      { verb: "GET", path: "/v1/escalations", variables: [], query: ["all", "room", "kind", "after", "limit", "stale"], body: false },
    ],
    repeat: "always",
    numbered: false,
    parked: false,
    long: false,
    streams: false,
  },
  "Fleet.AgentLogs": {
    routes: [
      { verb: "GET", path: "/v1/agents/{agent}/logs", variables: ["agent"], query: ["follow", "lines"], body: false },
    ],
    repeat: "never",
    numbered: false,
    parked: true,
    long: true,
    streams: true,
  },
  "Fleet.ApplyRoom": {
    routes: [
      { verb: "PUT", path: "/v1/rooms/{room}", variables: ["room"], query: [], body: true },
    ],
    repeat: "always",
    numbered: true,
    parked: false,
    long: false,
    streams: false,
  },
  "Fleet.CancelTask": {
    routes: [
      { verb: "POST", path: "/v1/tasks/{task}:cancel", variables: ["task"], query: [], body: true },
    ],
    repeat: "always",
    numbered: true,
    parked: false,
    long: false,
    streams: false,
  },
  "Fleet.ConfirmDead": {
    routes: [
      { verb: "POST", path: "/v1/hosts/{host}:confirm-dead", variables: ["host"], query: [], body: true },
    ],
    repeat: "always",
    numbered: true,
    parked: false,
    long: false,
    streams: false,
  },
  "Fleet.CreateTask": {
    routes: [
      { verb: "POST", path: "/v1/rooms/{room}/tasks", variables: ["room"], query: [], body: true },
    ],
    repeat: "always",
    numbered: true,
    parked: false,
    long: false,
    streams: false,
  },
  "Fleet.DeleteRoom": {
    routes: [
      { verb: "DELETE", path: "/v1/rooms/{room}", variables: ["room"], query: ["by", "if_rev", "dry_run", "gentle"], body: false },
    ],
    repeat: "always",
    numbered: true,
    parked: false,
    long: false,
    streams: false,
  },
  "Fleet.DrainHost": {
    routes: [
      { verb: "POST", path: "/v1/hosts/{host}:drain", variables: ["host"], query: [], body: true },
    ],
    repeat: "always",
    numbered: true,
    parked: false,
    long: false,
    streams: false,
  },
  "Fleet.FollowScreen": {
    routes: [
      { verb: "GET", path: "/v1/agents/{agent}/screen/follow", variables: ["agent"], query: [], body: false },
    ],
    repeat: "never",
    numbered: false,
    parked: true,
    long: true,
    streams: true,
  },
  "Fleet.ForgetHost": {
    routes: [
      { verb: "DELETE", path: "/v1/hosts/{host}", variables: ["host"], query: ["by"], body: false },
    ],
    repeat: "always",
    numbered: true,
    parked: false,
    long: false,
    streams: false,
  },
  "Fleet.GetAgent": {
    routes: [
      { verb: "GET", path: "/v1/agents/{agent}", variables: ["agent"], query: ["stale"], body: false },
    ],
    repeat: "always",
    numbered: false,
    parked: false,
    long: false,
    streams: false,
  },
  "Fleet.GetAgentStatus": {
    routes: [
      { verb: "GET", path: "/v1/agents/{agent}/status", variables: ["agent"], query: ["stale"], body: false },
    ],
    repeat: "always",
    numbered: false,
    parked: false,
    long: false,
    streams: false,
  },
  "Fleet.GetHost": {
    routes: [
      { verb: "GET", path: "/v1/hosts/{host}", variables: ["host"], query: ["stale"], body: false },
    ],
    repeat: "always",
    numbered: false,
    parked: false,
    long: false,
    streams: false,
  },
  "Fleet.GetRoom": {
    routes: [
      { verb: "GET", path: "/v1/rooms/{room}", variables: ["room"], query: ["stale"], body: false },
    ],
    repeat: "always",
    numbered: false,
    parked: false,
    long: false,
    streams: false,
  },
  "Fleet.GetTask": {
    routes: [
      { verb: "GET", path: "/v1/tasks/{task}", variables: ["task"], query: ["stale"], body: false },
    ],
    repeat: "always",
    numbered: false,
    parked: false,
    long: false,
    streams: false,
  },
  "Fleet.GetUsage": {
    routes: [
      { verb: "GET", path: "/v1/usage", variables: [], query: ["room", "role", "stale"], body: false },
    ],
    repeat: "always",
    numbered: false,
    parked: false,
    long: false,
    streams: false,
  },
  "Fleet.GetWatchdog": {
    routes: [
      { verb: "GET", path: "/v1/watchdog", variables: [], query: ["stale"], body: false },
    ],
    repeat: "always",
    numbered: false,
    parked: false,
    long: false,
    streams: false,
  },
  "Fleet.LiftBudget": {
    routes: [
      { verb: "POST", path: "/v1/rooms/{room}:liftBudget", variables: ["room"], query: [], body: true },
    ],
    repeat: "always",
    numbered: true,
    parked: false,
    long: false,
    streams: false,
  },
  "Fleet.ListAgents": {
    routes: [
      { verb: "GET", path: "/v1/agents", variables: [], query: ["room", "role", "host", "stale", "after", "limit", "verdicts", "not_fine"], body: false },
    ],
    repeat: "always",
    numbered: false,
    parked: false,
    long: false,
    streams: false,
  },
  "Fleet.ListDeadlines": {
    routes: [
      { verb: "GET", path: "/v1/agents/{agent}/deadlines", variables: ["agent"], query: ["room", "stale"], body: false },
      { verb: "GET", path: "/v1/rooms/{room}/deadlines", variables: ["room"], query: ["agent", "stale"], body: false },
    ],
    repeat: "always",
    numbered: false,
    parked: false,
    long: false,
    streams: false,
  },
  "Fleet.ListHosts": {
    routes: [
      { verb: "GET", path: "/v1/hosts", variables: [], query: ["stale", "after", "limit"], body: false },
    ],
    repeat: "always",
    numbered: false,
    parked: false,
    long: false,
    streams: false,
  },
  "Fleet.ListRooms": {
    routes: [
      { verb: "GET", path: "/v1/rooms", variables: [], query: ["stale", "after", "limit"], body: false },
    ],
    repeat: "always",
    numbered: false,
    parked: false,
    long: false,
    streams: false,
  },
  "Fleet.ListTasks": {
    routes: [
      { verb: "GET", path: "/v1/tasks", variables: [], query: ["room", "role", "states", "after", "limit", "stale", "newest_first"], body: false },
    ],
    repeat: "always",
    numbered: false,
    parked: false,
    long: false,
    streams: false,
  },
  "Fleet.LookAtAgent": {
    routes: [
      { verb: "GET", path: "/v1/agents/{agent}/screen", variables: ["agent"], query: ["lines"], body: false },
    ],
    repeat: "always",
    numbered: false,
    parked: false,
    long: false,
    streams: false,
  },
  "Fleet.NudgeAgent": {
    routes: [
      { verb: "POST", path: "/v1/agents/{agent}:nudge", variables: ["agent"], query: [], body: true },
    ],
    repeat: "always",
    numbered: true,
    parked: false,
    long: false,
    streams: false,
  },
  "Fleet.ReleaseBrake": {
    routes: [
      { verb: "POST", path: "/v1/brake:release", variables: [], query: [], body: true },
    ],
    repeat: "always",
    numbered: true,
    parked: false,
    long: false,
    streams: false,
  },
  "Fleet.ReleaseTerminal": {
    routes: [
      { verb: "POST", path: "/v1/agents/{agent}:release-terminal", variables: ["agent"], query: [], body: true },
    ],
    repeat: "always",
    numbered: true,
    parked: false,
    long: false,
    streams: false,
  },
  "Fleet.ReopenRoom": {
    routes: [
      { verb: "POST", path: "/v1/rooms/{room}:reopen", variables: ["room"], query: [], body: true },
    ],
    repeat: "always",
    numbered: true,
    parked: false,
    long: false,
    streams: false,
  },
  "Fleet.RestartAgent": {
    routes: [
      { verb: "POST", path: "/v1/agents/{agent}:restart", variables: ["agent"], query: [], body: true },
    ],
    repeat: "always",
    numbered: true,
    parked: false,
    long: false,
    streams: false,
  },
  "Fleet.RetryTask": {
    routes: [
      { verb: "POST", path: "/v1/tasks/{task}:retry", variables: ["task"], query: [], body: true },
    ],
    repeat: "always",
    numbered: true,
    parked: false,
    long: false,
    streams: false,
  },
  "Fleet.SetAgent": {
    routes: [
      { verb: "POST", path: "/v1/agents/{agent}:set", variables: ["agent"], query: [], body: true },
    ],
    repeat: "always",
    numbered: true,
    parked: false,
    long: false,
    streams: false,
  },
  "Fleet.SetPause": {
    routes: [
      { verb: "POST", path: "/v1/pause", variables: [], query: [], body: true },
    ],
    repeat: "always",
    numbered: true,
    parked: false,
    long: false,
    streams: false,
  },
  "Fleet.SetRoomWatch": {
    routes: [
      { verb: "POST", path: "/v1/rooms/{room}:watchdog", variables: ["room"], query: [], body: true },
    ],
    repeat: "always",
    numbered: true,
    parked: false,
    long: false,
    streams: false,
  },
  "Fleet.TakeTerminal": {
    routes: [
      { verb: "POST", path: "/v1/agents/{agent}:take-terminal", variables: ["agent"], query: [], body: true },
    ],
    repeat: "always",
    numbered: true,
    parked: false,
    long: false,
    streams: false,
  },
  "Fleet.TypeKeys": {
    routes: [
      { verb: "POST", path: "/v1/agents/{agent}:type", variables: ["agent"], query: [], body: true },
    ],
    repeat: "always",
    numbered: false,
    parked: false,
    long: false,
    streams: false,
  },
  "Fleet.UnparkAgent": {
    routes: [
      { verb: "POST", path: "/v1/agents/{agent}:unpark", variables: ["agent"], query: [], body: true },
    ],
    repeat: "always",
    numbered: true,
    parked: false,
    long: false,
    streams: false,
  },
  "Fleet.UnquarantineTask": {
    routes: [
      { verb: "POST", path: "/v1/tasks/{task}:unquarantine", variables: ["task"], query: [], body: true },
    ],
    repeat: "always",
    numbered: true,
    parked: false,
    long: false,
    streams: false,
  },
  "Fleet.WatchEvents": {
    routes: [
      { verb: "GET", path: "/v1/events", variables: [], query: ["after", "room", "agent", "task", "tail", "no_follow"], body: false },
    ],
    repeat: "never",
    numbered: false,
    parked: true,
    long: true,
    streams: true,
  },
  "Mailbox.AckMail": {
    routes: [
      { verb: "POST", path: "/v1/mail/{mail}/ack", variables: ["mail"], query: [], body: true },
    ],
    repeat: "always",
    numbered: true,
    parked: false,
    long: false,
    streams: false,
  },
  "Mailbox.GetMail": {
    routes: [
      { verb: "GET", path: "/v1/mail/{mail}", variables: ["mail"], query: ["stale"], body: false },
    ],
    repeat: "always",
    numbered: false,
    parked: false,
    long: false,
    streams: false,
  },
  "Mailbox.ListMail": {
    routes: [
      { verb: "GET", path: "/v1/mail", variables: [], query: ["agent", "from", "room", "unacknowledged", "thread", "after", "limit", "stale", "newest_first"], body: false },
    ],
    repeat: "always",
    numbered: false,
    parked: false,
    long: false,
    streams: false,
  },
  "Mailbox.ReadMail": {
    routes: [
      { verb: "POST", path: "/v1/mail:read", variables: [], query: [], body: true },
    ],
    repeat: "always",
    numbered: true,
    parked: false,
    long: false,
    streams: false,
  },
  "Mailbox.SendMail": {
    routes: [
      { verb: "POST", path: "/v1/mail", variables: [], query: [], body: true },
    ],
    repeat: "always",
    numbered: true,
    parked: false,
    long: false,
    streams: false,
  },
  "Mailbox.WaitMail": {
    routes: [
      { verb: "POST", path: "/v1/mail:wait", variables: [], query: [], body: true },
    ],
    repeat: "never",
    numbered: false,
    parked: true,
    long: true,
    streams: false,
  },
  "Overseers.GetOverseer": {
    routes: [
      { verb: "GET", path: "/v1/overseers/{agent}", variables: ["agent"], query: ["stale"], body: false },
    ],
    repeat: "always",
    numbered: false,
    parked: false,
    long: false,
    streams: false,
  },
  "Overseers.HandOver": {
    routes: [
      { verb: "POST", path: "/v1/overseers:handover", variables: [], query: [], body: true },
    ],
    repeat: "always",
    numbered: true,
    parked: false,
    long: false,
    streams: false,
  },
  "Overseers.ListOverseers": {
    routes: [
      { verb: "GET", path: "/v1/overseers", variables: [], query: ["stale", "room", "after", "limit"], body: false },
    ],
    repeat: "always",
    numbered: false,
    parked: false,
    long: false,
    streams: false,
  },
  "Overseers.LookAtOverseer": {
    routes: [
      { verb: "POST", path: "/v1/overseers/{agent}:look", variables: ["agent"], query: [], body: true },
    ],
    repeat: "always",
    numbered: true,
    parked: false,
    long: false,
    streams: false,
  },
  "Overseers.ReportPatrol": {
    routes: [
      { verb: "POST", path: "/v1/overseers:patrol", variables: [], query: [], body: true },
    ],
    repeat: "always",
    numbered: true,
    parked: false,
    long: false,
    streams: false,
  },
  "Trust.CreateAPIToken": {
    routes: [
      { verb: "POST", path: "/v1/api-tokens", variables: [], query: [], body: true },
    ],
    repeat: "unsent",
    numbered: false,
    parked: false,
    long: false,
    streams: false,
  },
  "Trust.CreateToken": {
    routes: [
      { verb: "POST", path: "/v1/tokens", variables: [], query: [], body: true },
    ],
    repeat: "unsent",
    numbered: false,
    parked: false,
    long: false,
    streams: false,
  },
  "Trust.GetGossip": {
    routes: [
      { verb: "GET", path: "/v1/gossip", variables: [], query: ["stale"], body: false },
    ],
    repeat: "always",
    numbered: false,
    parked: false,
    long: false,
    streams: false,
  },
  "Trust.GetRoots": {
    routes: [
      { verb: "GET", path: "/v1/roots", variables: [], query: ["stale"], body: false },
    ],
    repeat: "always",
    numbered: false,
    parked: false,
    long: false,
    streams: false,
  },
  "Trust.GetTrust": {
    routes: [
      { verb: "GET", path: "/v1/trust", variables: [], query: ["stale"], body: false },
    ],
    repeat: "always",
    numbered: false,
    parked: false,
    long: false,
    streams: false,
  },
  "Trust.Join": {
    routes: [
      { verb: "POST", path: "/v1/trust:join", variables: [], query: [], body: true },
    ],
    repeat: "always",
    numbered: false,
    parked: false,
    long: false,
    streams: false,
  },
  "Trust.ListAPITokens": {
    routes: [
      { verb: "GET", path: "/v1/api-tokens", variables: [], query: ["stale"], body: false },
    ],
    repeat: "always",
    numbered: false,
    parked: false,
    long: false,
    streams: false,
  },
  "Trust.ListAudit": {
    routes: [
      { verb: "GET", path: "/v1/audit", variables: [], query: ["stale", "after", "limit", "room", "who", "method", "tail"], body: false },
    ],
    repeat: "always",
    numbered: false,
    parked: false,
    long: false,
    streams: false,
  },
  "Trust.ListIdentities": {
    routes: [
      { verb: "GET", path: "/v1/identities", variables: [], query: ["stale", "kind", "gone", "after", "limit"], body: false },
    ],
    repeat: "always",
    numbered: false,
    parked: false,
    long: false,
    streams: false,
  },
  "Trust.ListTokens": {
    routes: [
      { verb: "GET", path: "/v1/tokens", variables: [], query: ["stale"], body: false },
    ],
    repeat: "always",
    numbered: false,
    parked: false,
    long: false,
    streams: false,
  },
  "Trust.ListUsers": {
    routes: [
      { verb: "GET", path: "/v1/users", variables: [], query: ["stale", "after", "limit"], body: false },
    ],
    repeat: "always",
    numbered: false,
    parked: false,
    long: false,
    streams: false,
  },
  "Trust.Login": {
    routes: [
      { verb: "POST", path: "/v1/trust:login", variables: [], query: [], body: true },
    ],
    repeat: "always",
    numbered: false,
    parked: false,
    long: false,
    streams: false,
  },
  "Trust.PutUser": {
    routes: [
      { verb: "PUT", path: "/v1/users/{user}", variables: ["user"], query: [], body: true },
    ],
    repeat: "always",
    numbered: true,
    parked: false,
    long: false,
    streams: false,
  },
  "Trust.RemoveUser": {
    routes: [
      { verb: "DELETE", path: "/v1/users/{user}", variables: ["user"], query: [], body: false },
    ],
    repeat: "always",
    numbered: true,
    parked: false,
    long: false,
    streams: false,
  },
  "Trust.Renew": {
    routes: [
      { verb: "POST", path: "/v1/trust:renew", variables: [], query: [], body: true },
    ],
    repeat: "always",
    numbered: false,
    parked: false,
    long: false,
    streams: false,
  },
  "Trust.ReplaceRoot": {
    routes: [
      { verb: "POST", path: "/v1/roots", variables: [], query: [], body: true },
    ],
    repeat: "always",
    numbered: true,
    parked: false,
    long: false,
    streams: false,
  },
  "Trust.Revoke": {
    routes: [
      { verb: "POST", path: "/v1/identities:revoke", variables: [], query: [], body: true },
    ],
    repeat: "always",
    numbered: true,
    parked: false,
    long: false,
    streams: false,
  },
  "Trust.RevokeAPIToken": {
    routes: [
      { verb: "DELETE", path: "/v1/api-tokens/{token}", variables: ["token"], query: [], body: false },
    ],
    repeat: "always",
    numbered: true,
    parked: false,
    long: false,
    streams: false,
  },
  "Trust.RevokeToken": {
    routes: [
      { verb: "DELETE", path: "/v1/tokens/{token}", variables: ["token"], query: [], body: false },
    ],
    repeat: "always",
    numbered: true,
    parked: false,
    long: false,
    streams: false,
  },
  "Trust.RotateGossip": {
    routes: [
      { verb: "POST", path: "/v1/gossip:rotate", variables: [], query: [], body: true },
    ],
    repeat: "always",
    numbered: true,
    parked: false,
    long: false,
    streams: false,
  },
  "Work.Claim": {
    routes: [
      { verb: "POST", path: "/v1/work:claim", variables: [], query: [], body: true },
    ],
    repeat: "always",
    numbered: true,
    parked: false,
    long: false,
    streams: false,
  },
  "Work.CloseSession": {
    routes: [
      { verb: "DELETE", path: "/v1/sessions/{session}", variables: ["session"], query: [], body: false },
    ],
    repeat: "always",
    numbered: false,
    parked: false,
    long: false,
    streams: false,
  },
  "Work.CompleteTask": {
    routes: [
      { verb: "POST", path: "/v1/work:complete", variables: [], query: [], body: true },
    ],
    repeat: "always",
    numbered: true,
    parked: false,
    long: false,
    streams: false,
  },
  "Work.Declare": {
    routes: [
      { verb: "POST", path: "/v1/work:declare", variables: [], query: [], body: true },
    ],
    repeat: "always",
    numbered: true,
    parked: false,
    long: false,
    streams: false,
  },
  "Work.FailTask": {
    routes: [
      { verb: "POST", path: "/v1/work:fail", variables: [], query: [], body: true },
    ],
    repeat: "always",
    numbered: true,
    parked: false,
    long: false,
    streams: false,
  },
  "Work.Handoff": {
    routes: [
      { verb: "POST", path: "/v1/work:handoff", variables: [], query: [], body: true },
    ],
    repeat: "always",
    numbered: true,
    parked: false,
    long: false,
    streams: false,
  },
  "Work.Join": {
    routes: [
      { verb: "POST", path: "/v1/work:join", variables: [], query: [], body: true },
    ],
    repeat: "always",
    numbered: true,
    parked: false,
    long: false,
    streams: false,
  },
  "Work.Leave": {
    routes: [
      { verb: "POST", path: "/v1/work:leave", variables: [], query: [], body: true },
    ],
    repeat: "always",
    numbered: true,
    parked: false,
    long: false,
    streams: false,
  },
  "Work.Next": {
    routes: [
      { verb: "POST", path: "/v1/work:next", variables: [], query: [], body: true },
    ],
    repeat: "always",
    numbered: true,
    parked: false,
    long: false,
    streams: false,
  },
  "Work.OpenSession": {
    routes: [
      { verb: "POST", path: "/v1/sessions", variables: [], query: [], body: true },
    ],
    repeat: "always",
    numbered: false,
    parked: false,
    long: false,
    streams: false,
  },
  "Work.ProgressTask": {
    routes: [
      { verb: "POST", path: "/v1/work:progress", variables: [], query: [], body: true },
    ],
    repeat: "always",
    numbered: true,
    parked: false,
    long: false,
    streams: false,
  },
  "Work.Renew": {
    routes: [
      { verb: "POST", path: "/v1/work:beat", variables: [], query: [], body: true },
    ],
    repeat: "never",
    numbered: false,
    parked: false,
    long: false,
    streams: false,
  },
  "Work.SetResume": {
    routes: [
      { verb: "POST", path: "/v1/work:resume", variables: [], query: [], body: true },
    ],
    repeat: "always",
    numbered: true,
    parked: false,
    long: false,
    streams: false,
  },
  "Work.StartTask": {
    routes: [
      { verb: "POST", path: "/v1/work:start", variables: [], query: [], body: true },
    ],
    repeat: "always",
    numbered: true,
    parked: false,
    long: false,
    streams: false,
  },
  "Work.Wait": {
    routes: [
      { verb: "POST", path: "/v1/work:wait", variables: [], query: [], body: true },
    ],
    repeat: "never",
    numbered: false,
    parked: true,
    long: true,
    streams: false,
  },
};
