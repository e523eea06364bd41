package servers

import (
	"crypto/sha256"
	"fmt"
	"strings"
	"testing"
	"time"

	"vigil/fsm"
	"vigil/fsm/noun"
)

// API tokens that end soon are told of in one line, measured against what they were made for: not those that
// have ended, and no token for an hour that was just made.
func TestStatusTellsOfAPITokensThatEndSoon(t *testing.T) {
	const day = 24 * time.Hour
	st, index := fsm.New(), uint64(0)
	at := func(since time.Duration, cmds ...fsm.Command) {
		t.Helper()
		index++
		e := &fsm.Entry{Index: index, Term: 1, Stint: 1, Stamp: noun.Time(since), Wall: noun.Wall(since)}
		for _, c := range cmds {
			e.Requests = append(e.Requests, fsm.Request{Cmd: c})
		}
		for i, out := range st.Apply(e).Outcomes {
			if out.Code != noun.OK {
				t.Fatalf("%T: %s", cmds[i], out.Detail)
			}
		}
	}
	number := 0
	token := func(span time.Duration) fsm.Command {
		number++
		hash := sha256.Sum256([]byte(fmt.Sprint(number)))
		return fsm.PutAPIToken{Name: "secret-name", Hash: hash[:], For: span,
			Bindings: []noun.Binding{{Role: noun.Viewer, Room: "*"}}}
	}
	says := func(since time.Duration, want string) {
		t.Helper()
		at(since)
		got := strings.Join(tokenWarnings(&st.View, noun.Wall(since)), "\n")
		if (got == "") != (want == "") || !strings.HasPrefix(got, want) || strings.Contains(got, "secret-name") {
			t.Errorf("after %s: %q, want %q", since, got, want)
		}
	}
	at(0, fsm.LeaderEstablished{Server: "s1"}, fsm.RaiseLevel{Level: fsm.NewestLevel}, fsm.PutServer{ID: "s1"},
		fsm.FoundTrust{Cluster: "0b6f0a3e-8f0e-4c5b-9a53-0f5f6f3f2a11", Roots: []fsm.Root{{Cert: []byte("root")}},
			Server: "s1", Serial: "1", Admin: "ann"})
	says(0, "")
	at(day, token(30*day), token(time.Hour), token(8*day))
	says(day, "")
	says(day+50*time.Minute, "API tokens that end soon: 1, the first in 10m0s; `vigil token list`")
	says(2*day, "")
	says(8*day, "API tokens that end soon: 1, the first in 24h0m0s;")
	says(23*day, "")
	says(24*day+time.Minute, "API tokens that end soon: 1, the first in 167h59m0s;")
	says(40*day, "")
}
