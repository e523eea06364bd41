package agentd

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"vigil/agentd/disk"
	"vigil/agentd/shim"
	"vigil/rpc/gen/vigilv1"
)

// noted tells whether the folder of a life says that its terminal has another size.
func (r *rig) noted(t *testing.T, life string) bool {
	t.Helper()
	_, err := os.Stat(filepath.Join(r.dir, "lives", life, sizedFile))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		t.Fatal(err)
	}
	return err == nil
}

// Whoever has a turn at a terminal gives it the size of their window, within bounds; it gets its own again when the
// turn is given back, when no key came for a minute, and when the next turn asks for none.
func TestTerminalHasTheSizeOfATurn(t *testing.T) {
	r, p := newPuppetRig(t, true)
	r.stream.orders(t, order("start", 1, 2, "sleep"))
	one := next(t, p.started)
	next(t, r.starts)
	one.typed = make(chan shim.TerminalRequest, 4)
	request := uint64(10)
	ask := func(q *vigilv1.TerminalRequest) string {
		t.Helper()
		request++
		q.Request, q.Agent, q.Incarnation = request, 1, 2
		return r.stream.askTerminal(t, q).GetError()
	}
	is := func(what string, want shim.TerminalRequest) {
		t.Helper()
		if got := next(t, one.typed); got != want {
			t.Fatalf("%s: asked %+v, want %+v", what, got, want)
		}
	}
	own := shim.TerminalRequest{OwnSize: true}
	for _, bad := range [][2]uint32{{19, 30}, {501, 30}, {80, 4}, {80, 201}, {80, 0}, {0, 30}, {1 << 31, 1 << 31}} {
		if e := ask(&vigilv1.TerminalRequest{Grant: 5, Seq: 1, Columns: bad[0], Rows: bad[1]}); !strings.Contains(e, "no ") {
			t.Errorf("%d was answered with %q", bad, e)
		}
	}
	none(t, one.typed, "a size out of bounds reached the terminal")

	if e := ask(&vigilv1.TerminalRequest{Grant: 5, Seq: 1, Columns: 60, Rows: 20}); e != "" || !r.noted(t, "1-2") {
		t.Fatalf("the size of a turn: %q, noted: %v", e, r.noted(t, "1-2"))
	}
	is("a turn", shim.TerminalRequest{Columns: 60, Rows: 20})
	if e := ask(&vigilv1.TerminalRequest{Grant: 5, Seq: 2, Columns: 70, Rows: 20, Keys: []byte("y")}); e != "" {
		t.Fatal(e)
	}
	is("a new size", shim.TerminalRequest{Columns: 70, Rows: 20})
	is("keys after it", shim.TerminalRequest{Keys: "79"})
	if e := ask(&vigilv1.TerminalRequest{Grant: 4, Over: true}); e != "" {
		t.Fatal(e)
	}
	if e := ask(&vigilv1.TerminalRequest{Grant: 5, Seq: 2, Columns: 71, Rows: 20}); e != "" { // heard before
		t.Fatal(e)
	}
	none(t, one.typed, "an earlier turn has ended, or a repeat was heard, and the size changed")
	if e := ask(&vigilv1.TerminalRequest{Grant: 5, Over: true}); e != "" {
		t.Fatal(e)
	}
	is("given back", own)
	until(t, "it has its own size", func() bool { return !r.noted(t, "1-2") })
	if e := ask(&vigilv1.TerminalRequest{Grant: 5, Seq: 3, Columns: 90, Rows: 20}); e != errTurnOver.Error() {
		t.Errorf("a turn that was given back resizes: %q", e)
	}

	ask(&vigilv1.TerminalRequest{Grant: 6, Seq: 1, Columns: 80, Rows: 20})
	is("the next turn", shim.TerminalRequest{Columns: 80, Rows: 20})
	r.advance(turnSpan + time.Second)
	is("no key for a minute", own)

	ask(&vigilv1.TerminalRequest{Grant: 7, Seq: 1, Columns: 81, Rows: 20})
	is("one more turn", shim.TerminalRequest{Columns: 81, Rows: 20})
	ask(&vigilv1.TerminalRequest{Grant: 8, Seq: 1, Keys: []byte("y")})
	for got := map[shim.TerminalRequest]bool{}; len(got) < 2; {
		q := next(t, one.typed)
		if got[q] = true; q != own && q.Keys != "79" {
			t.Fatalf("a turn that asks for no size: %+v", q)
		}
	}
	none(t, one.typed, "the size changed once more")
	one.exit <- shim.Exit{}
	next(t, r.exits)
}

// Whoever had the size of their window when agentd died has it no more with the next one, as soon as the shim lets it:
// nobody is left to tell when their turn ends.
func TestNextDaemonPutsTheSizeBack(t *testing.T) {
	p := &puppets{t: t, started: make(chan *puppet, 10), asked: make(chan string, 10)}
	r := &rig{fake: newFake(t, time.Minute), dir: t.TempDir(), log: &lockedBuffer{}, shims: p}
	j := disk.Journal{Dir: filepath.Join(r.dir, "lives")}
	lives := map[uint32]*puppet{}
	for agent := uint32(1); agent <= 2; agent++ {
		folder, lock, err := j.Begin(disk.Intent{Version: 1, Boot: "boot-1", Agent: agent,
			AgentName: fmt.Sprintf("demo/r%d", agent), Incarnation: 1, TTL: time.Minute}, nil, nil)
		if err == nil && agent == 1 {
			err = os.WriteFile(filepath.Join(folder, sizedFile), nil, 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
		defer lock.Close() // the shim has it
		lives[agent] = newPuppet(shim.Spec{})
		lives[agent].typed = make(chan shim.TerminalRequest, 4)
	}
	p.adopt = func(folder string) *puppet {
		if filepath.Base(folder) == "1-1" {
			return lives[1]
		}
		return lives[2]
	}
	p.open(t, r, false)
	if got := next(t, lives[1].typed); !got.OwnSize {
		t.Errorf("asked %+v", got)
	}
	until(t, "it is noted", func() bool { return !r.noted(t, "1-1") })
	none(t, lives[2].typed, "another terminal was touched")
	for _, one := range lives {
		one.exit <- shim.Exit{}
		next(t, r.exits)
	}
}
