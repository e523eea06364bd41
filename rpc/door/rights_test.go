package door

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"google.golang.org/genproto/googleapis/api/annotations"
	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
	"google.golang.org/protobuf/types/dynamicpb"

	"vigil/rpc/code"
	"vigil/rpc/door/who"
	"vigil/rpc/gen/vigilv1"
)

// Who may do what, by hand: not from the table that the doors use.
var (
	seesRoom = words("GetRoom GetUsage ListTasks ListAgents GetAgent GetAgentStatus ListDeadlines WatchEvents Status " +
		"ListEscalations GetEscalation ListOverseers GetOverseer GetOverview Follow ListInbox " +
		"Search ListEvents GetTimeline OpenPage")
	readsRoom   = append(words("GetTask LookAtAgent FollowScreen AgentLogs ListMail GetMail"), seesRoom...)
	changesRoom = words("ApplyRoom DeleteRoom ReopenRoom SetRoomWatch LiftBudget CreateTask CancelTask RetryTask " +
		"UnquarantineTask SetAgent RestartAgent UnparkAgent SetPause NudgeAgent TakeTerminal TypeKeys " +
		"ReleaseTerminal AckEscalation CloseEscalation LookAtOverseer")
	runsRoom = slices.Concat(changesRoom, speaks, readsRoom)
	speaks   = words("Join Leave Wait Claim StartTask ProgressTask CompleteTask FailTask Handoff " +
		"Next SetResume Declare Renew SendMail ReadMail WaitMail AckMail ReportPatrol HandOver")
	seesAll = words("ListRooms GetWatchdog ListHosts GetHost GetHealth GetSettings ListServers GetTrend " +
		"Trust/GetGossip Trust/GetRoots")
	runsAll = words("ReleaseBrake DrainHost ConfirmDead ForgetHost Beat")
	adminOf = words("Trust/CreateToken Trust/ListTokens Trust/RevokeToken Trust/ListIdentities Trust/PutUser " +
		"Trust/ListUsers Trust/RemoveUser Trust/CreateAPIToken Trust/ListAPITokens Trust/RevokeAPIToken " +
		"Trust/Revoke Trust/RotateGossip Trust/ReplaceRoot Trust/ListAudit PutSettings " +
		"AddServer RemoveServer PromoteServer DemoteServer TransferLeadership SaveSnapshot RestoreSnapshot Diagnose")
	open     = words("Batch OpenSession Trust/GetTrust Trust/Join Trust/Login")
	known    = append(words("CloseSession Trust/Renew Carry"), open...)
	agents   = append(words("CloseSession Carry"), open...)
	outcasts = words("Trust/GetTrust Trust/Join Trust/Login")
	reports  = words("Register LeaveHost Stream AcceptOrder ReportStarted ReportExit ReportStuck " +
		"ReportPressure ReportKept ReportScreen ReportTerminals DrainSelf")
	readsOwn = words("GetRoom ListTasks GetTask ListAgents GetAgent GetAgentStatus ListDeadlines ListMail GetMail " +
		"GetOverseer")
)

func words(list string) []string { return strings.Fields(list) }

// identity is one who calls, and what it may do when requests are about the room web, its agent
// web/a, the host h1 or the server s1.
type identity struct {
	name   string
	kind   who.Kind
	leaf   string
	rights []who.Right
	bearer string
	life   string // speaks on behalf of it
	token  bool   // requests bring the token of web/a
	beats  bool   // requests are those of a host
	ago    uint64 // lives before the newest one that it speaks for; its words are those of that life
	may    []string
	over   []string // answered that the life is over
	bad    string   // code of an identity that does not count; empty: it counts
}

// toCome is an ago of minus one.
const toCome = math.MaxUint64

// incarnation is that of the life for which the identity speaks, or of web/a.
func (g *gates) incarnation(id *identity, agent string) uint64 {
	return uint64(g.lives[agent]) - id.ago
}

// answer is the code with which a server answers when the identity calls that method. One that does not
// lead says neither yes nor no to who reads for a life that it has not heard of.
func (id *identity) answer(name string, leads bool) string {
	switch {
	case name == "Carry" && slices.Contains(id.may, name):
		return code.OK // the door itself answers
	case id.ago == toCome && !leads && slices.Contains(readsOwn, name):
		return code.Unavailable
	case slices.Contains(id.may, name):
		return code.Unimplemented
	case slices.Contains(id.over, name):
		return code.Superseded
	case id.bad != "":
		return id.bad
	}
	return code.Denied
}

func identities() []identity {
	in := func(role code.Role, room string) []who.Right { return []who.Right{{Role: role, Room: room}} }
	all := who.AllRooms
	person := func(name string, rights []who.Right, may ...[]string) identity {
		return identity{name: name, kind: who.User, leaf: name, rights: rights, may: slices.Concat(may...)}
	}
	lost := func(name, bad string, may ...[]string) identity {
		return identity{name: name, kind: who.User, leaf: name, rights: in(code.Admin, all), bad: bad,
			may: slices.Concat(may...)}
	}
	agent := func(name, host, life string, may ...[]string) identity {
		return identity{name: name, kind: who.Host, leaf: host, life: life, may: slices.Concat(may...)}
	}
	return []identity{
		{name: "nobody", may: open},
		{name: "nobody with a token", token: true, may: slices.Concat(open, speaks, words("Beat"))},
		{name: "server s1", kind: who.Server, leaf: "s1",
			may: slices.Concat(known, words("AtTerminal AgentLogs FollowScreen Status "+
				"ListServers AddServer AnnounceServer ReportHash ReportViews Trust/SignIssuer Trust/GetGossipKeys "+
				"Trust/ReportGossip"))},
		{name: "server s2", kind: who.Server, leaf: "s2", may: slices.Concat(known,
			words("AtTerminal AgentLogs FollowScreen Status ListServers Trust/SignIssuer Trust/GetGossipKeys"))},
		{name: "host h1", kind: who.Host, leaf: "h1", beats: true, may: slices.Concat(known, reports, speaks,
			words("GetAgent Beat"))},
		{name: "host h2", kind: who.Host, leaf: "h2", beats: true, may: slices.Concat(known, words("GetAgent"))},
		agent("agent web/a", "h1", "web/a", agents, speaks, readsOwn, words("Beat")),
		agent("agent web/b", "h1", "web/b", agents,
			words("GetRoom ListTasks ListAgents GetAgent GetAgentStatus ListDeadlines")),
		agent("agent ops/a", "h2", "ops/a", agents),
		agent("agent ops/c, granted the room web", "h2", "ops/c", agents, changesRoom, readsRoom),
		agent("agent ops/c by a host where it does not run", "h1", "ops/c", agents),
		agent("agent web/a by a host where it does not run", "h2", "web/a", agents),
		person("stranger", nil, known),
		person("viewer", in(code.Viewer, "web"), known, seesRoom),
		person("reader", in(code.Reader, "web"), known, readsRoom),
		person("operator", in(code.Operator, "web"), known, runsRoom),
		person("admin of one room", in(code.Admin, "web"), known, runsRoom),
		person("admin of another room", in(code.Admin, "ops"), known, words("OpenPage")),
		person("viewer of all", in(code.Viewer, all), known, seesRoom, seesAll),
		person("operator of all", in(code.Operator, all), known, runsRoom, seesAll, runsAll),
		person("admin", in(code.Admin, all), known, runsRoom, seesAll, runsAll, adminOf),
		{name: "agent web/a of a life that is over", kind: who.Host, leaf: "h1", life: "web/a", ago: 1, may: agents,
			over: slices.Concat(speaks, readsOwn, words("Beat"))},
		{name: "agent web/a of a life to come", kind: who.Host, leaf: "h1", life: "web/a", ago: toCome,
			may: slices.Concat(agents, speaks, words("Beat"))}, // who judges its words is the state machine
		lost("revoked admin", code.AuthDenied, outcasts),
		lost("admin whose certificate is too old", code.AuthExpired, outcasts, words("Trust/Renew")),
		{name: "revoked host", kind: who.Host, leaf: "h8", beats: true, bad: code.AuthDenied, may: outcasts},
		{name: "agent web/a by a revoked host", kind: who.Host, leaf: "h9", life: "web/a",
			bad: code.AuthDenied, may: outcasts},
		{name: "revoked server", kind: who.Server, leaf: "s9", bad: code.AuthDenied, may: outcasts},
		{name: "a token that has ended", kind: who.APIToken, bearer: "8", rights: in(code.Admin, all),
			bad: code.AuthDenied, may: outcasts},
		{name: "a token of an operator", kind: who.APIToken, bearer: "7", rights: in(code.Operator, "web"),
			may: slices.Concat(known, runsRoom)},
	}
}

// fill makes a request about the room web and what is in it.
func (g *gates) fill(m proto.Message, id *identity) {
	r := m.ProtoReflect()
	fields := r.Descriptor().Fields()
	set := func(name string, text string, number uint64) {
		f := fields.ByName(protoreflect.Name(name))
		switch {
		case f == nil || f.IsList() || f.IsMap():
		case f.Kind() == protoreflect.StringKind:
			r.Set(f, protoreflect.ValueOfString(text))
		case f.Kind() == protoreflect.Uint64Kind:
			r.Set(f, protoreflect.ValueOfUint64(number))
		case f.Kind() == protoreflect.Uint32Kind:
			r.Set(f, protoreflect.ValueOfUint32(uint32(number)))
		}
	}
	set("room", "web", 0)
	set("agent", "web/a", uint64(g.agent))
	set("incarnation", "", g.incarnation(id, "web/a"))
	set("scope", "web", 0)
	set("to", "web/a", 0)
	set("role", "a", 0)
	set("task", "", 1)
	set("mail", "", 1)
	set("escalation", "", 1)
	set("host", "h1", uint64(g.host))
	set("key", "h1", 0)
	set("boot", "b1", 0)
	set("server", "s1", 0)
	set("session", "", 1)
	if f := fields.ByName("id"); f != nil && f.Kind() == protoreflect.StringKind {
		r.Set(f, protoreflect.ValueOfString("s1"))
	}
	if f := fields.ByName("speaker"); f != nil {
		sp := &vigilv1.Speaker{Agent: "web/a", Incarnation: g.incarnation(id, "web/a")}
		if id.token {
			sp.Token = "token of web/a"
		}
		r.Set(f, protoreflect.ValueOfMessage(sp.ProtoReflect()))
	}
	switch m := m.(type) {
	case *vigilv1.BeatRequest:
		m.Agents, m.Incarnations, m.Kinds = []uint32{g.agent}, []uint64{g.incarnation(id, "web/a")}, []uint32{1}
		if !id.beats {
			m.Host, m.Boot = 0, ""
		}
		if id.token {
			m.Tokens = []string{"token of web/a"}
		}
	case *vigilv1.HostMessage:
		m.Kind = &vigilv1.HostMessage_Hello{Hello: &vigilv1.Hello{Host: g.host, Boot: "b1"}}
	case *vigilv1.WatchEventsRequest:
		m.NoFollow, m.Task = true, 0
	}
}

// shows gives the context of calls of an identity.
func (g *gates) shows(ctx context.Context, id *identity) context.Context {
	if id.bearer != "" {
		ctx = metadata.AppendToOutgoingContext(ctx, "authorization", "Bearer vigil-api."+id.bearer+".secret")
	}
	if id.life != "" {
		life := who.Life{Agent: id.life, Incarnation: g.incarnation(id, id.life)}
		ctx = metadata.AppendToOutgoingContext(ctx, code.HeaderOnBehalf, life.Encode())
	}
	return ctx
}

// request is what an identity asks with.
func (g *gates) request(id *identity, d protoreflect.MethodDescriptor) proto.Message {
	kind, err := protoregistry.GlobalTypes.FindMessageByName(d.Input().FullName())
	if err != nil {
		g.t.Fatal(err)
	}
	req := kind.New().Interface()
	g.fill(req, id)
	return req
}

// callCarried makes a call over a stream of many, and gives the code of its answer, or that of the stream.
func (g *gates) callCarried(ctx context.Context, conn *grpc.ClientConn, id *identity, full string,
	d protoreflect.MethodDescriptor) (name string, err error) {
	ctx, cancel := context.WithCancel(g.shows(ctx, id))
	defer cancel()
	s, err := vigilv1.NewCallsClient(conn).Carry(ctx)
	if err != nil {
		return codeOf(err), err
	}
	body, err := proto.Marshal(g.request(id, d))
	if err != nil {
		g.t.Fatal(err)
	}
	for _, m := range []*vigilv1.CarryRequest{{}, {Calls: []*vigilv1.Call{{Number: 7, Method: full, Request: body}}}} {
		if err := s.Send(m); err != nil && err != io.EOF {
			return codeOf(err), err
		}
	}
	for {
		in, err := s.Recv()
		if err != nil {
			return codeOf(err), err
		}
		for _, a := range in.GetAnswers() {
			if a.GetNumber() != 7 {
				g.t.Errorf("an answer to call %d", a.GetNumber())
			}
			return cmp.Or(a.GetError().GetCode(), code.OK), errors.New(a.GetError().GetMessage())
		}
	}
}

// callAs makes a call over gRPC, and gives the code of its answer.
func (g *gates) callAs(ctx context.Context, conn *grpc.ClientConn, id *identity, full string,
	d protoreflect.MethodDescriptor) (string, error) {
	ctx, req := g.shows(ctx, id), g.request(id, d)
	var err error
	out := dynamicpb.NewMessage(d.Output())
	if !d.IsStreamingClient() && !d.IsStreamingServer() {
		err = conn.Invoke(ctx, full, req, out)
		return codeOf(err), err
	}
	s, err := conn.NewStream(ctx, &grpc.StreamDesc{ClientStreams: d.IsStreamingClient(),
		ServerStreams: d.IsStreamingServer()}, full)
	if err != nil {
		return codeOf(err), err
	}
	if err := s.SendMsg(req); err != nil && err != io.EOF {
		return codeOf(err), err
	}
	if !d.IsStreamingClient() {
		_ = s.CloseSend()
	}
	err = s.RecvMsg(out)
	return codeOf(err), err
}

// For each kind of caller and each method: who may is let through, everybody else is denied, on the
// leader and on another server, over gRPC, over a stream of many calls, and over HTTP.
func TestEveryCallIsAllowedOrDenied(t *testing.T) {
	g := openGates(t)
	for _, id := range identities() {
		name := string(id.kind) + "/" + id.leaf + id.bearer
		g.known.rights[name] = id.rights
		if id.bad != "" {
			g.known.revoke(name, id.bad)
		}
	}
	for _, id := range identities() {
		t.Run(id.name, func(t *testing.T) {
			for i := range g.doors {
				kind := id.kind
				if id.bearer != "" {
					kind = who.Nobody
				}
				conn, web := g.dial(i, kind, id.leaf), g.browser(kind, id.leaf)
				for _, svc := range services() {
					for k := range svc.Methods().Len() {
						d := svc.Methods().Get(k)
						full := "/" + string(svc.FullName()) + "/" + string(d.Name())
						name := string(d.Name())
						if svc.Name() == "Trust" { // some of its names are those of Work, too
							name = "Trust/" + name
						}
						want := id.answer(name, i == 0)
						ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
						if got, err := g.callAs(ctx, conn, &id, full, d); got != want {
							t.Errorf("%s at %s over gRPC: %s (%v), want %s", d.Name(), g.doors[i].self, got, err, want)
						}
						carried := id.answer("Carry", i == 0)
						if carried == code.OK {
							carried = want
						}
						if !code.NatureOf(full).Carried() && id.answer("Carry", i == 0) == code.OK {
							carried = code.Unimplemented
						}
						if got, err := g.callCarried(ctx, conn, &id, full, d); got != carried {
							t.Errorf("%s at %s over a stream: %s (%v), want %s", d.Name(), g.doors[i].self, got, err, carried)
						}
						if got, body := g.ask(ctx, web, i, &id, d); got != want && got != "" {
							t.Errorf("%s at %s over HTTP: %s (%s), want %s", d.Name(), g.doors[i].self, got, body, want)
						}
						cancel()
					}
				}
			}
		})
	}
}

// browser is an HTTP client that shows that name.
func (g *gates) browser(kind who.Kind, name string) *http.Client {
	transport := &http.Transport{TLSClientConfig: g.ca.client(kind, name), ForceAttemptHTTP2: true}
	g.t.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Transport: transport}
}

var pathVariable = regexp.MustCompile(`\{([a-z_]+)[^}]*\}`)

// ask makes a call over HTTP; "" when the method has no path.
func (g *gates) ask(ctx context.Context, web *http.Client, i int, id *identity,
	d protoreflect.MethodDescriptor) (name, body string) {
	if !proto.HasExtension(d.Options(), annotations.E_Http) {
		return "", ""
	}
	rule := proto.GetExtension(d.Options(), annotations.E_Http).(*annotations.HttpRule)
	kind, err := protoregistry.GlobalTypes.FindMessageByName(d.Input().FullName())
	if err != nil {
		g.t.Fatal(err)
	}
	m := kind.New().Interface()
	g.fill(m, id)
	verb, path, _ := strings.Cut(verbAndPath(rule), " ")
	fields := m.ProtoReflect().Descriptor().Fields()
	var rest io.Reader
	for _, v := range pathVariable.FindAllStringSubmatch(path, -1) {
		f := fields.ByName(protoreflect.Name(v[1]))
		path = strings.Replace(path, v[0], fmt.Sprint(m.ProtoReflect().Get(f)), 1)
		m.ProtoReflect().Clear(f)
	}
	if rule.GetBody() == "*" {
		b, err := protojson.Marshal(m)
		if err != nil {
			g.t.Fatal(err)
		}
		rest = bytes.NewReader(b)
	} else {
		query := url.Values{}
		m.ProtoReflect().Range(func(f protoreflect.FieldDescriptor, v protoreflect.Value) bool {
			query.Set(f.TextName(), fmt.Sprint(v))
			return true
		})
		path += "?" + query.Encode()
	}
	req, err := http.NewRequestWithContext(ctx, verb, "https://"+g.addrs[i]+path, rest)
	if err != nil {
		g.t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	if id.bearer != "" {
		req.Header.Set("Authorization", "Bearer vigil-api."+id.bearer+".secret")
	}
	if id.life != "" {
		life := who.Life{Agent: id.life, Incarnation: g.incarnation(id, id.life)}
		req.Header.Set(code.HeaderOnBehalf, life.Encode())
	}
	return g.answer(web, req)
}

// answer gives the code of an answer over HTTP.
func (g *gates) answer(web *http.Client, req *http.Request) (name, body string) {
	resp, err := web.Do(req)
	if err != nil {
		g.t.Fatal(err)
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		g.t.Fatal(err)
	}
	var out struct {
		Code  string
		Error struct{ Code string }
	}
	_ = json.Unmarshal(b, &out) // what is no JSON has no code
	return out.Code + out.Error.Code, string(b)
}
