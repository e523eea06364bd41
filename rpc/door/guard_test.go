package door

import (
	"bufio"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc/metadata"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"

	"vigil/rpc/code"
	"vigil/rpc/door/who"
	"vigil/rpc/fault"
	"vigil/rpc/gen/vigilv1"
)

// What only servers may say of a call nobody else says with any effect: neither for whom it is, nor
// that it was sent on; and only a host says for which life it speaks.
func TestForgedHeadersAreNotBelieved(t *testing.T) {
	g := openGates(t)
	g.known.rights["user/anna"] = []who.Right{{Role: code.Admin, Room: who.AllRooms}}
	anna := (&who.Claim{Kind: who.User, Name: "anna", Generation: 1}).Encode()
	owner := (&who.Claim{Kind: who.Root, Name: "s2"}).Encode()
	settings := func(ctx context.Context, i int, kind who.Kind, name string) error {
		_, err := vigilv1.NewClusterClient(g.dial(i, kind, name)).PutSettings(ctx, &vigilv1.PutSettingsRequest{})
		return err
	}
	for i := range g.doors {
		for _, tt := range []struct {
			kind who.Kind
			name string
			md   []string
			want string
		}{
			{who.Nobody, "", []string{code.HeaderClaim, anna}, code.Denied},
			{who.Host, "h1", []string{code.HeaderClaim, anna}, code.Denied},
			{who.User, "eve", []string{code.HeaderClaim, anna, code.HeaderForwarded, "s2"}, code.Denied},
			{who.Server, "s2", []string{code.HeaderClaim, anna}, code.Unimplemented},
			{who.Server, "s2", []string{code.HeaderClaim, anna, code.HeaderClaim, anna}, code.AuthDenied},
			{who.Server, "s2", []string{code.HeaderClaim, "local - 0 0 0 - - 0"}, code.AuthDenied},
			{who.Server, "s2", nil, code.Denied},
			{who.Server, "s2", []string{code.HeaderClaim, owner}, code.Unimplemented}, // from its own socket
			{who.Server, "s3", []string{code.HeaderClaim, owner}, code.AuthDenied},
			{who.User, "eve", []string{code.HeaderClaim, owner}, code.Denied},
			{who.Root, "s2", nil, code.AuthDenied}, // a certificate of such a name
			{who.User, "eve", []string{"authorization", "Bearer vigil-api.7.wrong"}, code.AuthDenied},
			{who.User, "anna", []string{"authorization", "Basic YTpi"}, code.AuthDenied},
		} {
			ctx := metadata.AppendToOutgoingContext(t.Context(), tt.md...)
			if err := settings(ctx, i, tt.kind, tt.name); codeOf(err) != tt.want {
				t.Errorf("%s/%s with %v at %s: %v, want %s", tt.kind, tt.name, tt.md, g.doors[i].self, err, tt.want)
			}
		}
	}
	// The mark of a call that was sent on would keep a follower from sending it on.
	ctx := metadata.AppendToOutgoingContext(t.Context(), code.HeaderForwarded, "s9")
	if err := settings(ctx, 1, who.User, "anna"); codeOf(err) != code.Unimplemented {
		t.Errorf("a forged mark was believed: %v", err)
	}
	life := who.Life{Agent: "web/a", Incarnation: uint64(g.lives["web/a"])}
	ctx = metadata.AppendToOutgoingContext(t.Context(), code.HeaderOnBehalf, life.Encode())
	for _, kind := range []who.Kind{who.Nobody, who.User, who.Server} {
		_, err := vigilv1.NewFleetClient(g.dial(0, kind, "x")).GetTask(ctx, &vigilv1.GetTaskRequest{Task: 1})
		if codeOf(err) != code.Denied {
			t.Errorf("%q spoke for an agent: %v", kind, err)
		}
	}
	req, err := http.NewRequestWithContext(t.Context(), "GET", "https://"+g.addrs[0]+"/v1/settings", nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{code.HeaderClaim, "Grpc-Metadata-" + code.HeaderClaim} {
		req.Header.Set(name, anna)
	}
	if got, body := g.answer(g.browser(who.Nobody, ""), req); got != code.Denied {
		t.Errorf("a claim in a header over HTTP was believed: %s", body)
	}
}

// Who is revoked is nobody at once, on connections that were open before; who is too old may only
// renew. No such error is final.
func TestRevokedAndExpired(t *testing.T) {
	g := openGates(t)
	g.known.rights["user/anna"] = []who.Right{{Role: code.Admin, Room: who.AllRooms}}
	fleet := vigilv1.NewFleetClient(g.dial(1, who.User, "anna"))
	for _, tt := range []struct{ state, want string }{
		{"", code.Unimplemented}, {code.AuthExpired, code.AuthExpired}, {code.AuthDenied, code.AuthDenied},
		{"", code.Unimplemented},
	} {
		g.known.revoke("user/anna", tt.state)
		_, err := fleet.ListRooms(t.Context(), &vigilv1.ListRoomsRequest{})
		if codeOf(err) != tt.want {
			t.Errorf("while %q: %v, want %s", tt.state, err, tt.want)
		}
		if f := code.Of(codeOf(err)).Fate; tt.state != "" && (f.No() || f != code.Later) {
			t.Errorf("%s is %s: a life could end by it", codeOf(err), f)
		}
	}
	guard, p := g.doors[0].guard, &who.Principal{Claim: who.Claim{Kind: who.Host, Name: "h1"}}
	old, gone := fault.New(code.AuthExpired, "old"), fault.New(code.AuthDenied, "gone")
	const renew = "/vigil.v1.Trust/Renew"
	if err := guard.allow(p, renew, nil, old); err != nil {
		t.Errorf("who is too old may not renew: %v", err)
	}
	if err := guard.allow(p, renew, nil, gone); codeOf(err) != code.AuthDenied {
		t.Errorf("who is revoked renews: %v", err)
	}
	agent := &who.Principal{Claim: who.Claim{Kind: who.Host, Name: "h1", Life: who.Life{Agent: "web/a", Incarnation: 1}}}
	if err := guard.allow(agent, renew, nil, nil); codeOf(err) != code.Denied {
		t.Errorf("an agent renews the certificate of its host: %v", err)
	}
	if err := guard.allow(&who.Principal{}, renew, nil, nil); codeOf(err) != code.Denied {
		t.Errorf("nobody renews: %v", err)
	}
	if err := guard.allow(p, "/vigil.v1.Fleet/OfANewerVersion", nil, nil); codeOf(err) != code.Denied {
		t.Errorf("a method without a rule: %v", err)
	}
	g.known.revoke("server/s2", code.AuthDenied) // what it sends on is not believed either
	if _, err := fleet.CancelTask(t.Context(), &vigilv1.CancelTaskRequest{Task: 1}); codeOf(err) != code.NotLeader {
		t.Errorf("a revoked server sent a call on: %v", err)
	}
}

// A server may have let through a caller of whom it has not read yet that nobody is: the leader judges by
// its own state, people and hosts alike.
func TestTheLeaderJudgesWhatAnotherServerLetThrough(t *testing.T) {
	g := openGates(t)
	g.known.rights["user/anna"] = []who.Right{{Role: code.Admin, Room: who.AllRooms}}
	conn := g.dial(0, who.Server, "s2")
	calls := map[string]func(context.Context) error{
		"user/anna": func(ctx context.Context) error {
			_, err := vigilv1.NewFleetClient(conn).ListRooms(ctx, &vigilv1.ListRoomsRequest{})
			return err
		},
		"host/h1": func(ctx context.Context) error {
			_, err := vigilv1.NewHostAgentClient(conn).Register(ctx, &vigilv1.RegisterRequest{Key: "h1"})
			return err
		},
	}
	for name, call := range calls {
		kind, id, _ := strings.Cut(name, "/")
		claim := who.Claim{Kind: who.Kind(kind), Name: id, Generation: 1}
		ctx := metadata.AppendToOutgoingContext(t.Context(), code.HeaderClaim, claim.Encode())
		for _, tt := range []struct{ state, want string }{
			{"", code.Unimplemented}, {code.AuthExpired, code.AuthExpired}, {code.AuthDenied, code.AuthDenied},
		} {
			g.known.revoke(name, tt.state)
			if err := call(ctx); codeOf(err) != tt.want {
				t.Errorf("%s, to the leader %q: %v, want %s", name, tt.state, err, tt.want)
			}
		}
	}
}

// A read at a follower is as of a moment after the call: who was revoked before it is denied, although the
// follower has let the call in by an older state.
func TestReadsOfFollowersAreDeniedToTheRevoked(t *testing.T) {
	g := openGates(t)
	g.known.rights["user/anna"] = []who.Right{{Role: code.Admin, Room: who.AllRooms}}
	fleet := vigilv1.NewFleetClient(g.dial(1, who.User, "anna"))
	if _, err := fleet.ListRooms(t.Context(), &vigilv1.ListRoomsRequest{}); codeOf(err) != code.Unimplemented {
		t.Fatalf("an admin reads at a follower: %v, want %s, as the handlers of this test say", err, code.Unimplemented)
	}
	revoked := func() { g.known.revoke("user/anna", code.AuthDenied) }
	g.behind.Store(&revoked)
	if _, err := fleet.ListRooms(t.Context(), &vigilv1.ListRoomsRequest{}); codeOf(err) != code.AuthDenied {
		t.Errorf("somebody who was revoked before the call reads at a follower: %v, want %s", err, code.AuthDenied)
	}
}

// Requests are about the room that any of their fields names, also by the number of what is in it;
// one about two rooms needs a right in both, one about none in all.
func TestRequestsAreAboutTheirRooms(t *testing.T) {
	g := openGates(t)
	at := g.replica
	for _, name := range code.Permits() {
		permit, _ := code.PermitOf(name)
		d := descriptorOf(name)
		if permit.Reach != code.InRoom || permit.Role == code.NoRole || d == nil {
			continue
		}
		kind, err := protoregistry.GlobalTypes.FindMessageByName(d.Input().FullName())
		if err != nil {
			t.Fatal(err)
		}
		empty := kind.New().Interface()
		if rooms := roomsOf(at, empty); len(rooms) != 1 || rooms[0] != everywhere {
			t.Errorf("%s without a word is about %q", name, rooms)
		}
		found := 0
		for field, value := range map[string]any{"room": "web", "agent": "web/a", "scope": "web/a", "task": uint64(1),
			"mail": uint64(1), "escalation": uint64(1),
			"speaker": (&vigilv1.Speaker{Agent: "web/a"}).ProtoReflect()} {
			m := kind.New()
			f := m.Descriptor().Fields().ByName(protoreflect.Name(field))
			if f == nil || f.Kind() == protoreflect.Uint64Kind && m.Descriptor().Fields().ByName("speaker") != nil {
				continue
			}
			found++
			m.Set(f, protoreflect.ValueOf(value))
			if rooms := roomsOf(at, m.Interface()); len(rooms) != 1 || rooms[0] != "web" {
				t.Errorf("%s with %s is about %q, not about web", name, field, rooms)
			}
		}
		if found == 0 {
			t.Errorf("%s is for people of one room, and names none", name)
		}
	}
	for _, m := range []proto.Message{&vigilv1.ListDeadlinesRequest{Room: "web", Agent: "ops/a"},
		&vigilv1.SendMailRequest{Speaker: &vigilv1.Speaker{Agent: "web/a"}, To: "ops"}} {
		if rooms := roomsOf(at, m); len(rooms) != 2 {
			t.Errorf("%T about two rooms is about %q", m, rooms)
		}
	}
	if rooms := roomsOf(at, &vigilv1.GetTaskRequest{Task: 99}); rooms[0] != everywhere {
		t.Errorf("a task that there is not is in %q", rooms)
	}
}

func descriptorOf(full string) protoreflect.MethodDescriptor {
	for _, svc := range services() {
		for i := range svc.Methods().Len() {
			if d := svc.Methods().Get(i); full == "/"+string(svc.FullName())+"/"+string(d.Name()) {
				return d
			}
		}
	}
	return nil
}

// A refusal names what is missing to those who may see the room; to others it is the same whether
// the thing exists or not.
func TestDenialsTellNothingToStrangers(t *testing.T) {
	g := openGates(t)
	g.known.rights["user/anna"] = []who.Right{{Role: code.Viewer, Room: "web"}}
	fleet := vigilv1.NewFleetClient(g.dial(0, who.User, "anna"))
	_, err := fleet.RestartAgent(t.Context(), &vigilv1.RestartAgentRequest{Agent: "web/a"})
	if want := "user/anna may not restart agents in room web: needs operator."; fault.Of(err).Text != want {
		t.Errorf("%v, want %q", err, want)
	}
	var texts []string
	for _, task := range []uint64{2, 99} {
		_, err := fleet.CancelTask(t.Context(), &vigilv1.CancelTaskRequest{Task: task})
		texts = append(texts, fault.Of(err).Text)
	}
	for _, agent := range []string{"ops/a", "nowhere/a"} {
		_, err := fleet.GetAgent(t.Context(), &vigilv1.GetAgentRequest{Agent: agent})
		texts = append(texts, fault.Of(err).Text)
	}
	if texts[0] != texts[1] || texts[2] != texts[3] {
		t.Errorf("texts differ by what exists: %q", texts)
	}
	lines := strings.Split(strings.TrimSpace(g.denials.String()), "\n")
	if len(lines) != 5 {
		t.Fatalf("%d lines for 5 refusals: %q", len(lines), lines)
	}
	var line denial
	if err := json.Unmarshal([]byte(lines[0]), &line); err != nil || line.Method != "Fleet/RestartAgent" ||
		line.Who != "user/anna" || line.Code != code.Denied || !strings.HasPrefix(line.From, "127.0.0.1:") {
		t.Errorf("the line is %s (%v)", lines[0], err)
	}
	for range denialBurst {
		_, _ = fleet.CancelTask(t.Context(), &vigilv1.CancelTaskRequest{Task: 2})
	}
	if n := strings.Count(g.denials.String(), "\n"); n > denialBurst+50 {
		t.Errorf("%d lines were written: the file is not bounded", n)
	}
}

// An identity says who has made a request, whatever the request says; also in a batch.
func TestIdentitiesSignWrites(t *testing.T) {
	p := &who.Principal{Claim: who.Claim{Kind: who.User, Name: "anna"}}
	pause := &vigilv1.SetPauseRequest{By: "the boss"}
	task := &vigilv1.CreateTaskRequest{By: "the boss"}
	mail := &vigilv1.SendMailRequest{From: "the boss"}
	agents := &vigilv1.SendMailRequest{Speaker: &vigilv1.Speaker{Agent: "web/a"}}
	batch := &vigilv1.BatchRequest{Writes: []*vigilv1.Write{{Op: &vigilv1.Write_CreateTask{CreateTask: task}}, {}}}
	for _, m := range []any{pause, mail, agents, &vigilv1.ListRoomsRequest{}, batch} {
		sign(p, m)
	}
	if pause.GetBy() != "user/anna" || task.GetBy() != "user/anna" || mail.GetFrom() != "user/anna" ||
		agents.GetFrom() != "" {
		t.Errorf("by %q and %q, from %q and %q", pause.GetBy(), task.GetBy(), mail.GetFrom(), agents.GetFrom())
	}
}

// Pages for strangers tell nothing; figures are for those who may see everything.
func TestPagesForStrangers(t *testing.T) {
	g := openGates(t)
	g.known.rights["user/anna"] = []who.Right{{Role: code.Viewer, Room: who.AllRooms}}
	g.known.rights["user/ben"] = []who.Right{{Role: code.Admin, Room: "web"}}
	for _, tt := range []struct {
		name, path string
		status     int
	}{
		{"", "/livez", 200}, {"", "/readyz", 200}, {"", "/", 200}, {"", "/openapi.json", 200}, {"", "/metrics", 403},
		{"ben", "/metrics", 403}, {"anna", "/metrics", 200}, {"", "/v1/events", 403},
	} {
		kind := who.User
		if tt.name == "" {
			kind = who.Nobody
		}
		resp, err := g.browser(kind, tt.name).Get("https://" + g.addrs[0] + tt.path)
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(resp.Body)
		_ = resp.Body.Close()
		if err != nil || resp.StatusCode != tt.status {
			t.Errorf("%s for %q: %d %.200s (%v), want %d", tt.path, tt.name, resp.StatusCode, body, err, tt.status)
		}
		if strings.Contains(string(body), "secret-id") || tt.path == "/" && strings.Contains(string(body), "s1") {
			t.Errorf("%s tells strangers which cluster it is: %s", tt.path, body)
		}
	}
}

// A connection of an older version of TLS is refused, both protocols are served on the same port, and
// whoever speaks in clear is told so and gets nothing else.
func TestHandshakes(t *testing.T) {
	g := openGates(t)
	for name, cfg := range map[string]*tls.Config{
		"http/1.1": {InsecureSkipVerify: true, NextProtos: []string{"h2", "http/1.1"}},
		"h2":       {InsecureSkipVerify: true, NextProtos: []string{"h2"}},
		"":         {InsecureSkipVerify: true},
	} {
		c, err := tls.Dial("tcp", g.addrs[0], cfg)
		if err != nil {
			t.Fatal(err)
		}
		if got := c.ConnectionState().NegotiatedProtocol; got != name {
			t.Errorf("%v agreed on %q, want %q", cfg.NextProtos, got, name)
		}
		_ = c.Close()
	}
	if _, err := tls.Dial("tcp", g.addrs[0], &tls.Config{InsecureSkipVerify: true,
		MaxVersion: tls.VersionTLS12}); err == nil {
		t.Error("an older version of TLS was taken")
	}
	stranger := newAuthority(t)
	foreign := stranger.client(who.User, "anna")
	foreign.VerifyConnection = nil
	c, err := tls.Dial("tcp", g.addrs[0], foreign)
	if err == nil { // in TLS 1.3 the refusal comes with the first read
		_ = c.SetReadDeadline(time.Now().Add(time.Minute))
		_, err = c.Read(make([]byte, 1))
	}
	if err == nil || errors.Is(err, io.EOF) {
		t.Errorf("a certificate of another cluster was taken: %v", err)
	}
	for what, words := range map[string]string{
		"a page": "GET /livez HTTP/1.1\r\nHost: x\r\n\r\n",
		"a call": "POST /v1/rooms HTTP/1.1\r\nHost: x\r\nContent-Length: 2000000\r\n\r\n{" +
			strings.Repeat(" ", 1<<16),
		"gRPC":          http2Preface + "* HTTP/2.0\r\n\r\nSM\r\n\r\n\x00\x00\x00\x04\x00\x00\x00\x00\x00",
		"no HTTP":       "\x00\x00\r\n\r\n",
		"a long header": "GET / HTTP/1.1\r\nX: " + strings.Repeat("x", 2*clearHead),
	} {
		clear, err := net.Dial("tcp", g.addrs[0])
		if err != nil {
			t.Fatal(err)
		}
		_ = clear.SetDeadline(time.Now().Add(time.Minute))
		_, _ = io.WriteString(clear, words) // it may be ended before all was taken
		resp, err := http.ReadResponse(bufio.NewReader(clear), nil)
		if answered := err == nil; answered == (what == "a long header" || what == "no HTTP") {
			t.Errorf("%s in clear: answered: %v (%v)", what, answered, err)
		} else if answered {
			text, _ := io.ReadAll(resp.Body)
			if resp.StatusCode != http.StatusBadRequest || !strings.Contains(string(text), "https://") {
				t.Errorf("%s in clear: %d %s", what, resp.StatusCode, text)
			}
		}
		_ = clear.Close()
	}
}

// What a host says of a life that this server does not know, or that is over, is never denied: a
// denial would end the agent. What it would read for an invented one is.
func TestUnknownLivesAreNotDeniedTheirWords(t *testing.T) {
	g := openGates(t)
	now := uint64(g.lives["web/a"])
	for _, tt := range []struct {
		life        who.Life
		says, reads [2]string // by the leader, by the other server
	}{
		{who.Life{Agent: "web/a", Incarnation: now}, [2]string{"ok", "ok"}, [2]string{"ok", "ok"}},
		{who.Life{Agent: "web/a", Incarnation: now + 1}, [2]string{"ok", "ok"},
			[2]string{code.Denied, code.Unavailable}},
		{who.Life{Agent: "web/new", Incarnation: 1}, [2]string{"ok", "ok"}, [2]string{code.Denied, code.Unavailable}},
		{who.Life{Agent: "ops/a", Incarnation: uint64(g.lives["ops/a"])}, [2]string{code.Denied, code.Denied},
			[2]string{code.Denied, code.Denied}},
	} {
		p := &who.Principal{Claim: who.Claim{Kind: who.Host, Name: "h1", Life: tt.life}}
		for i, d := range g.doors {
			leave := &vigilv1.LeaveRequest{Speaker: &vigilv1.Speaker{Agent: tt.life.Agent,
				Incarnation: tt.life.Incarnation}}
			err := d.guard.allow(p, vigilv1.Work_Leave_FullMethodName, leave, nil)
			if codeOf(err) != tt.says[i] {
				t.Errorf("%v says something at %s: %v, want %s", tt.life, d.self, err, tt.says[i])
			}
			room := &vigilv1.GetRoomRequest{Room: roomIn(tt.life.Agent)}
			err = d.guard.allow(p, vigilv1.Fleet_GetRoom_FullMethodName, room, nil)
			if codeOf(err) != tt.reads[i] {
				t.Errorf("%v reads at %s: %v, want %s", tt.life, d.self, err, tt.reads[i])
			}
		}
	}
	old := who.Life{Agent: "web/a", Incarnation: now - 1}
	if err := g.doors[0].guard.speaksOn("h1", old); codeOf(err) != code.Superseded {
		t.Errorf("a life that is over hears %v", err)
	}
}
