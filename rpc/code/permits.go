package code

// Role is what a person may do in a room, or in all; each one may do what those before it may.
type Role uint8

// The roles of people and of API tokens.
const (
	NoRole   Role = iota
	Viewer        // sees names, states and counts
	Reader        // sees contents too: texts of tasks, mail, results, output, screens
	Operator      // changes what runs: tasks, mail, nudges, restarts, drains
	Admin         // changes the cluster: settings, servers, tokens, users, backups
)

var roleNames = [...]string{"none", "viewer", "reader", "operator", "admin"}

// String gives the word of configurations and messages.
func (r Role) String() string { return roleNames[min(int(r), len(roleNames)-1)] }

// ParseRole reads the word of a role; false for any other word.
func ParseRole(word string) (Role, bool) {
	for r := Viewer; r <= Admin; r++ {
		if roleNames[r] == word {
			return r, true
		}
	}
	return NoRole, false
}

// Reach says where a person needs the role.
type Reach uint8

// The reaches of methods.
const (
	Cluster  Reach = iota // in all rooms
	InRoom                // in the room that the request is about; one about none needs all rooms
	Anywhere              // in some room: the answer holds only what the caller may see
)

// Permit says who may call a method. Servers and hosts speak for themselves only, agents for their
// own life: what that means for a request is checked beside the permit.
type Permit struct {
	Does  string // after "may not"
	Role  Role   // of people; NoRole: no person may
	Reach Reach

	Anybody bool // without an identity, too
	Outcast bool // with Anybody: also with an identity that is revoked, too old or not known
	Known   bool // whoever has an identity, whichever
	Renews  bool // with an identity that has expired, too
	Server  bool // a server
	Host    bool // a host
	Life    bool // an agent: through its host, or with the token of the life that the request names
	Reads   bool // an agent through its host, about what is its own
}

// PermitOf gives the permit of a method by its full name, as in /vigil.v1.Work/Join. What is not in
// the table nobody may call.
func PermitOf(method string) (Permit, bool) {
	p, ok := permits[method]
	return p, ok
}

// Permits gives the names of all methods that are in the table.
func Permits() []string {
	names := make([]string, 0, len(permits))
	for name := range permits {
		names = append(names, name)
	}
	return names
}

const (
	fleet       = "/vigil.v1.Fleet/"
	work        = "/vigil.v1.Work/"
	mailbox     = "/vigil.v1.Mailbox/"
	hostAgent   = "/vigil.v1.HostAgent/"
	cluster     = "/vigil.v1.Cluster/"
	escalations = "/vigil.v1.Escalations/"
	overseers   = "/vigil.v1.Overseers/"
	desk        = "/vigil.v1.Desk/"
	trust       = "/vigil.v1.Trust/"
	calls       = "/vigil.v1.Calls/"
)

func sees(does string, r Reach) Permit    { return Permit{Does: does, Role: Viewer, Reach: r} }
func reads(does string, r Reach) Permit   { return Permit{Does: does, Role: Reader, Reach: r} }
func runs(does string, r Reach) Permit    { return Permit{Does: does, Role: Operator, Reach: r} }
func admin(does string) Permit            { return Permit{Does: does, Role: Admin} }
func ofHost(does string) Permit           { return Permit{Does: does, Host: true} }
func ofServer(does string) Permit         { return Permit{Does: does, Server: true} }
func (p Permit) andAgent() Permit         { p.Reads = true; return p }
func (p Permit) andHost() Permit          { p.Host = true; return p }
func (p Permit) andServer() Permit        { p.Server = true; return p }
func ofLife(does string) Permit           { return Permit{Does: does, Role: Operator, Reach: InRoom, Life: true} }
func open(does string) Permit             { return Permit{Does: does, Anybody: true, Known: true} }
func (p Permit) andOutcast() Permit       { p.Outcast = true; return p }
func known(does string, late bool) Permit { return Permit{Does: does, Known: true, Renews: late} }

// permits is the table of who may do what, by full names: a service may be added to it before its
// messages are there.
var permits = map[string]Permit{
	fleet + "ApplyRoom":        runs("apply rooms", InRoom),
	fleet + "ListRooms":        sees("list all rooms", Cluster),
	fleet + "GetRoom":          sees("look at rooms", InRoom).andAgent(),
	fleet + "DeleteRoom":       runs("delete rooms", InRoom),
	fleet + "ReopenRoom":       runs("reopen rooms", InRoom),
	fleet + "SetRoomWatch":     runs("change how rooms are watched", InRoom),
	fleet + "GetUsage":         sees("look at usage", InRoom),
	fleet + "LiftBudget":       runs("lift budgets", InRoom),
	fleet + "GetWatchdog":      sees("look at the watchdog", Cluster),
	fleet + "CreateTask":       runs("create tasks", InRoom),
	fleet + "ListTasks":        sees("list tasks", InRoom).andAgent(),
	fleet + "GetTask":          reads("read tasks", InRoom).andAgent(),
	fleet + "CancelTask":       runs("cancel tasks", InRoom),
	fleet + "RetryTask":        runs("retry tasks", InRoom),
	fleet + "UnquarantineTask": runs("release tasks from quarantine", InRoom),
	fleet + "ListAgents":       sees("list agents", InRoom).andAgent(),
	fleet + "GetAgent":         sees("look at agents", InRoom).andAgent().andHost(),
	fleet + "GetAgentStatus":   sees("look at agents", InRoom).andAgent(),
	fleet + "ListDeadlines":    sees("list deadlines", InRoom).andAgent(),
	fleet + "SetAgent":         runs("start or stop agents", InRoom),
	fleet + "RestartAgent":     runs("restart agents", InRoom),
	fleet + "UnparkAgent":      runs("unpark agents", InRoom),
	fleet + "SetPause":         runs("pause or resume", InRoom),
	fleet + "ReleaseBrake":     runs("release the brake", Cluster),
	fleet + "LookAtAgent":      reads("look at screens", InRoom),
	fleet + "NudgeAgent":       runs("nudge agents", InRoom),
	fleet + "FollowScreen":     reads("look at screens", InRoom).andServer(),
	fleet + "TakeTerminal":     runs("take terminals", InRoom),
	fleet + "TypeKeys":         runs("type at terminals", InRoom),
	fleet + "ReleaseTerminal":  runs("give terminals back", InRoom),
	fleet + "AtTerminal":       ofServer("ask other servers for terminals"),
	fleet + "AgentLogs":        reads("read the output of agents", InRoom).andServer(),
	fleet + "ListHosts":        sees("list hosts", Cluster),
	fleet + "GetHost":          sees("look at hosts", Cluster),
	fleet + "DrainHost":        runs("drain hosts", Cluster),
	fleet + "ConfirmDead":      runs("confirm that hosts are dead", Cluster),
	fleet + "ForgetHost":       runs("forget hosts", Cluster),
	fleet + "WatchEvents":      sees("watch events", Anywhere),

	work + "Join":         ofLife("join as an agent"),
	work + "Leave":        ofLife("leave for an agent"),
	work + "Wait":         ofLife("wait for tasks"),
	work + "Claim":        ofLife("claim tasks"),
	work + "StartTask":    ofLife("start tasks"),
	work + "ProgressTask": ofLife("report progress"),
	work + "CompleteTask": ofLife("complete tasks"),
	work + "FailTask":     ofLife("fail tasks"),
	work + "Handoff":      ofLife("hand tasks off"),
	work + "Next":         ofLife("end tasks and take the next"),
	work + "SetResume":    ofLife("set what an agent resumes from"),
	work + "Declare":      ofLife("declare for an agent"),
	work + "Renew":        ofLife("beat for an agent"),
	work + "Beat":         {Does: "beat", Role: Operator, Host: true, Life: true},
	// Every write of a batch is checked by the row of its own, for an identity that counts.
	work + "Batch": open("send batches"),
	// Who has only the token of a life numbers its writes, too.
	work + "OpenSession":  open("open sessions"),
	work + "CloseSession": known("close sessions", false),

	// Every call that is carried is checked by the row of its own, when it comes.
	calls + "Carry": known("carry calls", false),

	mailbox + "SendMail": ofLife("send mail"),
	mailbox + "ListMail": reads("list mail", InRoom).andAgent(),
	mailbox + "GetMail":  reads("read mail", InRoom).andAgent(),
	mailbox + "ReadMail": ofLife("take the mail of agents"),
	mailbox + "WaitMail": ofLife("wait for the mail of agents"),
	mailbox + "AckMail":  ofLife("acknowledge the mail of agents"),

	hostAgent + "Register":        ofHost("register hosts"),
	hostAgent + "LeaveHost":       ofHost("say that hosts leave"),
	hostAgent + "Stream":          ofHost("take the orders of hosts"),
	hostAgent + "AcceptOrder":     ofHost("accept orders of hosts"),
	hostAgent + "ReportStarted":   ofHost("report starts"),
	hostAgent + "ReportExit":      ofHost("report exits"),
	hostAgent + "ReportStuck":     ofHost("report what is stuck"),
	hostAgent + "ReportPressure":  ofHost("report the pressure of hosts"),
	hostAgent + "ReportKept":      ofHost("report what is kept on hosts"),
	hostAgent + "ReportScreen":    ofHost("report screens"),
	hostAgent + "ReportTerminals": ofHost("report terminals"),
	hostAgent + "DrainSelf":       ofHost("drain hosts in their name"),

	cluster + "Status":             sees("look at the cluster", InRoom).andServer(),
	cluster + "GetHealth":          sees("look at the health of the cluster", Cluster),
	cluster + "GetSettings":        sees("look at settings", Cluster),
	cluster + "PutSettings":        admin("change settings"),
	cluster + "ListServers":        sees("list servers", Cluster).andServer(),
	cluster + "AddServer":          admin("add servers").andServer(),
	cluster + "RemoveServer":       admin("remove servers"),
	cluster + "TransferLeadership": admin("move the leadership"),
	cluster + "Diagnose":           admin("look into servers"),
	cluster + "PromoteServer":      admin("give servers votes"),
	cluster + "DemoteServer":       admin("take the votes of servers"),
	cluster + "AnnounceServer":     ofServer("announce servers"),
	cluster + "ReportHash":         ofServer("report hashes of servers"),
	cluster + "ReportViews":        ofServer("report what servers hear"),
	cluster + "SaveSnapshot":       admin("take backups"),
	cluster + "RestoreSnapshot":    admin("restore backups"),

	escalations + "ListEscalations": sees("list escalations", InRoom),
	escalations + "GetEscalation":   sees("look at escalations", InRoom),
	escalations + "AckEscalation":   runs("acknowledge escalations", InRoom),
	escalations + "CloseEscalation": runs("close escalations", InRoom),

	overseers + "ListOverseers":  sees("list overseers", InRoom),
	overseers + "GetOverseer":    sees("look at overseers", InRoom).andAgent(),
	overseers + "LookAtOverseer": runs("have overseers looked at", InRoom),
	overseers + "ReportPatrol":   ofLife("report patrols"),
	overseers + "HandOver":       ofLife("hand over for an overseer"),

	desk + "GetOverview": sees("look at the fleet", InRoom),
	desk + "Follow":      sees("follow the fleet", InRoom),
	desk + "GetTrend":    sees("look at the fleet", Cluster),
	desk + "ListInbox":   sees("list what waits for a human", InRoom),
	desk + "OpenPage":    sees("sign a browser in", Anywhere),
	desk + "Search":      sees("search", Anywhere),
	desk + "ListEvents":  sees("list events", Anywhere),
	desk + "GetTimeline": sees("look at what has happened", Anywhere),

	trust + "GetTrust":       open("read the roots").andOutcast(),
	trust + "Join":           open("join with a token").andOutcast(),
	trust + "Login":          open("log in with a token").andOutcast(),
	trust + "Renew":          known("renew certificates", true),
	trust + "CreateToken":    admin("create tokens"),
	trust + "ListTokens":     admin("list tokens"),
	trust + "RevokeToken":    admin("revoke tokens"),
	trust + "ListIdentities": admin("list identities"),
	trust + "PutUser":        admin("change users"),
	trust + "ListUsers":      admin("list users"),
	trust + "RemoveUser":     admin("remove users"),
	trust + "CreateAPIToken": admin("create API tokens"),
	trust + "ListAPITokens":  admin("list API tokens"),
	trust + "RevokeAPIToken": admin("revoke API tokens"),
	trust + "Revoke":         admin("revoke identities"),
	trust + "SignIssuer":     ofServer("get issuing keys"),
	trust + "GetGossip":      sees("look at the keys of gossip", Cluster),
	trust + "RotateGossip":   admin("have keys of gossip replaced"),
	trust + "GetRoots":       sees("look at the roots", Cluster),
	trust + "ReplaceRoot":    admin("replace the root"),
	trust + "GetGossipKeys":  ofServer("get keys of gossip"),
	trust + "ReportGossip":   ofServer("report what servers have of gossip"),
	trust + "ListAudit":      admin("read the audit"),
}
