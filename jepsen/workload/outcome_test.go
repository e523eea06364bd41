package workload

import (
	"context"
	"errors"
	"net"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"vigil/jepsen/history"
	"vigil/rpc/client"
	"vigil/rpc/gen/vigilv1"
)

// What proves that nothing was done is failed; the rest is unknown.
func TestOutcome(t *testing.T) {
	for _, c := range []struct {
		err           error
		outcome, code string
	}{
		{nil, history.OK, ""},
		{client.ErrConflict, history.Failed, "conflict"},
		{client.ErrSuperseded, history.Failed, "superseded"},
		{client.ErrLate, history.Failed, "late"},
		{client.ErrNotLeader, history.Failed, "not_leader"},
		{client.ErrUnknownSession, history.Failed, "unknown_session"},
		{client.ErrTooOld, history.Unknown, "too_old"},
		{client.ErrNoLeader, history.Unknown, "no_leader"},
		{client.ErrUnavailable, history.Unknown, "unavailable"},
		{client.ErrUnknownOutcome, history.Unknown, "unknown_outcome"},
		{client.ErrTimeout, history.Unknown, "timeout"},
		{client.ErrCanceled, history.Unknown, "canceled"},
		{client.ErrClosed, history.Unknown, "closed"},
		{client.ErrInternal, history.Unknown, "internal"},
		{errors.New("something else"), history.Unknown, "internal"},
	} {
		if outcome, code := outcome(c.err); outcome != c.outcome || code != c.code {
			t.Errorf("%v: got %s %q, want %s %q", c.err, outcome, code, c.outcome, c.code)
		}
	}
}

// A call that was given up is unknown, whatever its last attempt was told, and is
// recorded under a number that is not used again.
func TestGivenUp(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0") // accepts and says nothing
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	folder := filepath.Join(t.TempDir(), "record")
	record, err := history.Create(folder)
	if err != nil {
		t.Fatal(err)
	}
	s, err := Open(Config{Addrs: []string{l.Addr().String()}, Record: record}, []string{"reads"})
	if err != nil {
		t.Fatal(err)
	}
	p := s.process("reads")
	before := p.id
	op := history.Op{Kind: "read", Key: "room/x"}
	err = p.ask(s.servers[0], 50*time.Millisecond, &op, func(ctx context.Context, a *asker) error {
		_, err := a.fleet.GetRoom(ctx, &vigilv1.GetRoomRequest{Room: "x"})
		return err
	})
	if err == nil || op.Outcome != history.Unknown || op.Via != "s1" || op.Process != before || p.id == before {
		t.Errorf("got %+v (%v), process %d after %d", op, err, p.id, before)
	}
	if p.somebody(); s.servers[0].rests.Load() <= history.Now() {
		t.Error("the server that did not answer does not rest")
	}
	if err := errors.Join(s.Close(), record.Close()); err != nil {
		t.Fatal(err)
	}
	if err := history.WriteRun(folder, history.Run{}); err != nil {
		t.Fatal(err)
	}
	got, err := history.Read(folder)
	if err != nil || len(got.Ops) != 1 || got.Ops[0].Outcome != history.Unknown {
		t.Errorf("recorded: %+v (%v)", got, err)
	}
}

// Open says what is wrong with a choice.
func TestChoice(t *testing.T) {
	for _, c := range []struct {
		names  []string
		runner string
		want   []string // nil: it is refused
	}{
		{Names(), "ticker", Names()},
		{[]string{"reads", "register", "reads"}, "", []string{"register", "reads"}},
		{Hosted(), "", nil},
		{Hosted(), "ticker", Hosted()},
		{[]string{"lifecycle"}, "", []string{"lifecycle"}},
		{[]string{"nonsense", "reads"}, "", nil},
		{nil, "", nil},
	} {
		kinds, err := choose(c.names, c.runner)
		var got []string
		for _, k := range kinds {
			got = append(got, k.name)
		}
		if (err != nil) != (c.want == nil) || err == nil && !slices.Equal(got, c.want) {
			t.Errorf("%v with runner %q: got %v (%v), want %v", c.names, c.runner, got, err, c.want)
		}
	}
}
