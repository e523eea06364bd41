package formtest

import (
	"testing"

	"google.golang.org/protobuf/proto"

	"vigil/fsm"
	"vigil/fsm/noun"
)

// Builder turns the bytes of a request into a command.
type Builder func([]byte) (fsm.Command, error)

// Decoded is the builder of one kind of request.
func Decoded[R any, P interface {
	*R
	proto.Message
}](build func(P) (fsm.Command, error)) Builder {
	return func(b []byte) (fsm.Command, error) {
		req := P(new(R))
		if err := proto.Unmarshal(b, req); err != nil {
			return nil, err
		}
		return build(req)
	}
}

// Seed adds a request for the builder of that number.
func Seed(f *testing.F, kind byte, m proto.Message) {
	f.Helper()
	b, err := proto.Marshal(m)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(append([]byte{kind}, b...))
}

// Writes sends whatever bytes decode to a request through validation into a
// state: nothing may panic, and the laws hold afterwards.
func Writes(f *testing.F, kinds []Builder) {
	f.Fuzz(func(t *testing.T, b []byte) {
		if len(b) == 0 {
			return
		}
		cmd, err := kinds[int(b[0])%len(kinds)](b[1:])
		if err != nil {
			return
		}
		st := fsm.New()
		first := []fsm.Request{
			{Cmd: fsm.LeaderEstablished{Server: "s1", APIAddr: "a:1"}},
			{Cmd: fsm.ApplyRoom{Room: "demo", Roles: []noun.RoleSpec{{Name: "builder", Replicas: 2}}}},
			{Cmd: fsm.CreateTask{Room: "demo", Role: "builder", Title: "t"}},
			{Cmd: fsm.RegisterHost{Key: "k", Name: "h", Boot: "b"}},
			{Cmd: fsm.Join{Speaker: fsm.Speaker{Agent: "demo/builder"}}},
			{Cmd: fsm.Claim{Speaker: fsm.Speaker{Agent: "demo/builder", Inc: 1}}},
		}
		st.Apply(&fsm.Entry{Index: 1, Term: 1, Stint: 1, Requests: first})
		st.Apply(&fsm.Entry{Index: 2, Term: 1, Stint: 1, Stamp: 1e9, Requests: []fsm.Request{{Cmd: cmd}}})
		if err := st.Check(); err != nil {
			t.Fatalf("after %T: %v", cmd, err)
		}
	})
}
