package life

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"vigil/cmd/vigil/cli"
	"vigil/cmd/vigil/term"
	"vigil/rpc/client"
)

// What is noted of attempts that were given up is bounded, whatever their reasons are and however many there are.
func TestWhatIsGivenUpIsBounded(t *testing.T) {
	folder := t.TempDir()
	a := &cli.App{Terminal: term.Terminal{Now: time.Now}, Getenv: func(name string) string {
		return map[string]string{client.EnvSpool: folder, "XDG_RUNTIME_DIR": folder}[name]
	}}
	l := &Life{Agent: "web/builder", Incarnation: 3, Managed: true}
	for i := uint64(1); i <= 100; i++ {
		f := Failure{Attempt: Attempt{i, 1}, Reason: strings.Repeat("\u20ac", 10_000)}
		if noted, err := GiveUp(a, l, f); !noted || err != nil {
			t.Fatalf("%d: %v, %v", i, noted, err)
		}
	}
	got := GivenUp(a, l, 100, 1)
	if got == nil || len(got.Reason) > maxReason || len(got.Reason) < maxReason-3 || !utf8.ValidString(got.Reason) {
		t.Errorf("noted %v", got)
	}
	if GivenUp(a, l, 100-maxGivenUp, 1) != nil || GivenUp(a, l, 100, 2) != nil || GivenUp(a, l, 100, 0) == nil {
		t.Error("an attempt is taken for another one")
	}
	info, err := os.Stat(filepath.Join(folder, HeldFile))
	if err != nil || info.Size() > 2*maxGivenUp*maxReason || info.Mode().Perm() != 0o600 {
		t.Errorf("kept in %v, %v", info, err)
	}
	// What was ended is not given up, nor what is another life's, nor by a life by hand.
	kept := KeptOf(a, l)
	kept.NoteEnded(100, 1)
	if err := Save(a, kept); err != nil || GivenUp(a, l, 100, 1) != nil || GivenUp(a, l, 99, 1) == nil {
		t.Errorf("after an end: %v", err)
	}
	next := &Life{Agent: "web/builder", Incarnation: 4, Managed: true}
	byHand := &Life{Agent: "web/tester", Incarnation: 5}
	for _, one := range []struct {
		of   *Life
		task uint64
	}{{l, 100}, {byHand, 1}, {l, 0}} {
		if noted, err := GiveUp(a, one.of, Failure{Attempt: Attempt{one.task, 1}, Reason: "no"}); noted || err != nil {
			t.Errorf("%s, task %d: %v, %v", one.of.Agent, one.task, noted, err)
		}
	}
	if GivenUp(a, next, 99, 1) != nil {
		t.Error("the next life has it too")
	}
}
