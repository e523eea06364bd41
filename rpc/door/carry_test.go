package door

import (
	"context"
	"io"
	"slices"
	"strings"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"
	"google.golang.org/protobuf/proto"

	"vigil/rpc/code"
	"vigil/rpc/door/who"
	"vigil/rpc/gen/vigilv1"
)

// ride opens a stream of calls that the server has taken.
func ride(ctx context.Context, t *testing.T, conn *grpc.ClientConn) vigilv1.Calls_CarryClient {
	t.Helper()
	s, err := vigilv1.NewCallsClient(conn).Carry(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Send(&vigilv1.CarryRequest{}); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Recv(); err != nil {
		t.Fatal(err)
	}
	return s
}

// answersOf sends calls, and gives the codes of their answers by number.
func answersOf(t *testing.T, s vigilv1.Calls_CarryClient, calls ...*vigilv1.Call) map[uint64][]string {
	t.Helper()
	if err := s.Send(&vigilv1.CarryRequest{Calls: calls}); err != nil {
		t.Fatal(err)
	}
	got := map[uint64][]string{}
	for n := 0; n < len(calls); {
		in, err := s.Recv()
		if err != nil {
			t.Fatal(err)
		}
		for _, a := range in.GetAnswers() {
			got[a.GetNumber()] = append(got[a.GetNumber()], a.GetError().GetCode())
			if a.GetError().GetMessage() == "" {
				t.Errorf("answer %d has no sentence", a.GetNumber())
			}
			n++
		}
	}
	return got
}

func marshal(t *testing.T, m proto.Message) []byte {
	t.Helper()
	b, err := proto.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// Calls that break a rule of the stream, or of their method, are answered by themselves; the stream goes on.
func TestCarriedCallsThatBreakRules(t *testing.T) {
	g := openGates(t)
	g.known.give("user/anna", []who.Right{{Role: code.Admin, Room: who.AllRooms}})
	s := ride(t.Context(), t, g.dial(0, who.User, "anna"))
	const create = vigilv1.Fleet_CreateTask_FullMethodName
	good := marshal(t, &vigilv1.CreateTaskRequest{Room: "web", Role: "a", Title: "x"})
	long := marshal(t, &vigilv1.CreateTaskRequest{Room: "web", Text: strings.Repeat("x", code.MaxRequest(create))})
	many := slices.Repeat([]string{"vigil-x"}, 2*maxHeaders+2)
	got := answersOf(t, s,
		&vigilv1.Call{Number: 1, Method: create, Request: good},
		&vigilv1.Call{Number: 2, Method: "/vigil.v1.Nothing/Nothing", Request: good},
		&vigilv1.Call{Number: 3, Method: vigilv1.Fleet_ListTasks_FullMethodName}, // its answers are long
		&vigilv1.Call{Number: 4, Method: vigilv1.Cluster_PutSettings_FullMethodName},
		&vigilv1.Call{Number: 5, Method: create, Request: long},
		&vigilv1.Call{Number: 6, Method: create, Request: []byte{0xff, 0xff}},
		&vigilv1.Call{Number: 7, Method: create, Request: good, Headers: []string{"key without a value"}},
		&vigilv1.Call{Number: 8, Method: create, Request: good, Headers: many},
		&vigilv1.Call{Number: 9, Method: create, Request: good, Headers: []string{code.HeaderWriteID, "x"}},
		&vigilv1.Call{Number: 10, Method: "", Request: good},
		&vigilv1.Call{Number: 1<<64 - 1, Method: create, Request: good, TimeoutUs: 1<<64 - 1},
	)
	want := map[uint64]string{1: code.Unimplemented, 2: code.Unimplemented, 3: code.Unimplemented, 4: code.Unimplemented,
		5: code.TooLarge, 6: code.Invalid, 7: code.Invalid, 8: code.Invalid, 9: code.Invalid, 10: code.Unimplemented,
		1<<64 - 1: code.Unimplemented}
	for n, w := range want {
		if !slices.Equal(got[n], []string{w}) {
			t.Errorf("call %d was answered with %v, want %s once", n, got[n], w)
		}
	}
}

// What only servers may say of a call counts in a carried call as little as in one that comes by itself, and the
// words of one call are not heard in the next.
func TestCarriedHeadersAreNotBelieved(t *testing.T) {
	g := openGates(t)
	g.known.give("user/anna", []who.Right{{Role: code.Admin, Room: who.AllRooms}})
	anna := (&who.Claim{Kind: who.User, Name: "anna", Generation: 1}).Encode()
	life := (&who.Life{Agent: "web/a", Incarnation: uint64(g.lives["web/a"])}).Encode()
	const create, claim = vigilv1.Fleet_CreateTask_FullMethodName, vigilv1.Work_Claim_FullMethodName
	task := marshal(t, &vigilv1.CreateTaskRequest{Room: "web", Role: "a", Title: "x"})
	me := &vigilv1.Speaker{Agent: "web/a", Incarnation: uint64(g.lives["web/a"])}
	work := marshal(t, &vigilv1.ClaimRequest{Speaker: me})
	for _, tt := range []struct {
		kind    who.Kind
		name    string
		method  string
		headers []string
		want    string
	}{
		{who.Host, "h1", create, []string{code.HeaderClaim, anna}, code.Denied},
		{who.User, "eve", create, []string{code.HeaderClaim, anna, code.HeaderForwarded, "s2"}, code.Denied},
		{who.User, "eve", create, []string{"Vigil-Claim", anna}, code.Denied},
		{who.User, "eve", create, []string{"authorization", "Bearer vigil-api.7.wrong"}, code.AuthDenied},
		{who.Server, "s2", create, []string{code.HeaderClaim, anna}, code.Unimplemented}, // it may say so
		{who.Server, "s2", create, []string{code.HeaderClaim, anna, code.HeaderClaim, anna}, code.AuthDenied},
		{who.Host, "h2", claim, []string{code.HeaderOnBehalf, life}, code.Denied},
		{who.Host, "h1", claim, []string{code.HeaderOnBehalf, life}, code.Unimplemented},
		{who.User, "eve", claim, []string{code.HeaderOnBehalf, life}, code.Denied},
	} {
		method, body := tt.method, task
		if method == claim {
			body = work
		}
		s := ride(t.Context(), t, g.dial(0, tt.kind, tt.name))
		got := answersOf(t, s, &vigilv1.Call{Number: 1, Method: method, Request: body, Headers: tt.headers})
		if !slices.Equal(got[1], []string{tt.want}) {
			t.Errorf("%s/%s with %v: %v, want %s", tt.kind, tt.name, tt.headers, got[1], tt.want)
		}
		if tt.kind != who.Server {
			continue
		}
		for i, headers := range [][]string{nil, {code.HeaderSaid, "1"}} {
			n := uint64(2 + i) // that of a call is free again a moment after its answer
			got := answersOf(t, s, &vigilv1.Call{Number: n, Method: create, Request: task, Headers: headers})
			if !slices.Equal(got[n], []string{code.Denied}) {
				t.Errorf("%s/%s without a claim, after a call with one: %v", tt.kind, tt.name, got[n])
			}
		}
	}
}

// Who is revoked while it holds a stream may not make another call over it.
func TestCarriedCallsOfTheRevoked(t *testing.T) {
	g := openGates(t)
	g.known.give("user/anna", []who.Right{{Role: code.Admin, Room: who.AllRooms}})
	s := ride(t.Context(), t, g.dial(0, who.User, "anna"))
	call := func(n uint64) *vigilv1.Call {
		return &vigilv1.Call{Number: n, Method: vigilv1.Fleet_CreateTask_FullMethodName,
			Request: marshal(t, &vigilv1.CreateTaskRequest{Room: "web", Role: "a", Title: "x"})}
	}
	if got := answersOf(t, s, call(1)); got[1][0] != code.Unimplemented {
		t.Fatalf("before: %v", got)
	}
	g.known.revoke("user/anna", code.AuthDenied)
	if got := answersOf(t, s, call(2)); got[2][0] != code.AuthDenied {
		t.Fatalf("of a revoked identity: %v", got)
	}
}

// Calls over a stream count in the share of their identity like others.
func TestCarriedCallsTakeFromTheShare(t *testing.T) {
	g := openGates(t)
	limit := shares[who.User].calls
	g.known.give("user/anna", []who.Right{{Role: code.Admin, Room: who.AllRooms}})
	conn := g.dial(1, who.User, "anna")
	s := ride(t.Context(), t, conn) // takes one
	for range limit - 1 {
		w, err := vigilv1.NewFleetClient(conn).WatchEvents(t.Context(), &vigilv1.WatchEventsRequest{})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := w.Header(); err != nil { // it has begun
			t.Fatal(err)
		}
	}
	got := answersOf(t, s, &vigilv1.Call{Number: 1, Method: vigilv1.Fleet_CreateTask_FullMethodName,
		Request: marshal(t, &vigilv1.CreateTaskRequest{Room: "web", Role: "a", Title: "x"})})
	if got[1][0] != code.Unavailable {
		t.Fatalf("beside %d calls under way a carried one is answered with %v, want unavailable", limit-1, got[1])
	}
}

// A stream shows the token that came with its first header, with every call.
func TestCarriedCallsByToken(t *testing.T) {
	g := openGates(t)
	for _, id := range identities() {
		if id.bearer == "7" {
			g.known.give(string(id.kind)+"/"+id.leaf+id.bearer, id.rights)
		}
	}
	ctx := metadata.AppendToOutgoingContext(t.Context(), "authorization", "Bearer vigil-api.7.secret")
	s := ride(ctx, t, g.dial(0, who.Nobody, ""))
	got := answersOf(t, s,
		&vigilv1.Call{Number: 1, Method: vigilv1.Fleet_CreateTask_FullMethodName,
			Request: marshal(t, &vigilv1.CreateTaskRequest{Room: "web", Role: "a", Title: "x"})},
		&vigilv1.Call{Number: 2, Method: vigilv1.Fleet_CreateTask_FullMethodName,
			Request: marshal(t, &vigilv1.CreateTaskRequest{Room: "ops", Role: "a", Title: "x"})})
	if got[1][0] != code.Unimplemented || got[2][0] != code.Denied {
		t.Fatalf("in its room, in another one: %v", got)
	}
}

// A caller that does not read its answers is not read either, so what it is owed stays bounded; once it reads, it
// gets them all. What it says last is its end, and no fault.
func TestCarriedCallsOfWhoDoesNotRead(t *testing.T) {
	g := openGates(t)
	g.known.give("user/anna", []who.Right{{Role: code.Admin, Room: who.AllRooms}})
	s := ride(t.Context(), t, g.dial(0, who.User, "anna"))
	const messages, each = 40, 2000
	sent := make(chan error, 1)
	go func() {
		for m := range uint64(messages) {
			in := &vigilv1.CarryRequest{}
			for n := range uint64(each) {
				in.Calls = append(in.Calls, &vigilv1.Call{Number: 1 + m*each + n, Method: "/none"})
			}
			if err := s.Send(in); err != nil {
				sent <- err
				return
			}
		}
		sent <- s.CloseSend()
	}()
	for n := 0; n < messages*each; {
		in, err := s.Recv()
		if err != nil {
			t.Fatalf("after %d answers: %v", n, err)
		}
		n += len(in.GetAnswers())
	}
	if err := <-sent; err != nil {
		t.Fatal(err)
	}
	if _, err := s.Recv(); err != io.EOF {
		t.Errorf("the stream ended with %v", err)
	}
}
