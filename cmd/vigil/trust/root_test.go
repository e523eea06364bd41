package trust

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"vigil/cmd/vigil/cli"
	"vigil/cmd/vigil/term"
	"vigil/rpc/gen/vigilv1"
	"vigil/rpc/trust"
)

// The next root is made once, and once more when the present one has changed since; without the key of the
// root nothing is made unless that is said to be lost, and with it nobody says so.
func TestNextRoot(t *testing.T) {
	dir := trust.Dir(t.TempDir())
	refused := func(lost bool, want string) {
		t.Helper()
		if next, err := nextRoot(dir, lost); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, %v; want %q", next, err, want)
		}
	}
	made := func(lost bool) *trust.Authority {
		t.Helper()
		next, err := nextRoot(dir, lost)
		if err != nil {
			t.Fatal(err)
		}
		return next
	}
	same := func(a, b *trust.Authority) bool { return a.Chain[0].Equal(b.Chain[0]) }
	keep := func(name string, a *trust.Authority) {
		t.Helper()
		if err := dir.Put(name, a); err != nil {
			t.Fatal(err)
		}
	}
	refused(false, "is no identity of a server")
	cluster := trust.NewCluster()
	old, err := trust.NewRoot(cluster, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	roots, err := trust.NewRoots(old.Chain[0])
	if err != nil {
		t.Fatal(err)
	}
	if err := dir.PutRoots(roots); err != nil {
		t.Fatal(err)
	}
	refused(false, "if it is lost, say --lost")
	keep(trust.RootFiles, old)
	refused(true, "it is not lost")
	first := made(false)
	if !vouches(old, first) || !same(first, made(false)) {
		t.Error("what was made before is not taken again")
	}
	another, err := trust.NewRoot(cluster, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	keep(trust.RootFiles, another) // by somebody else meanwhile
	if next := made(false); same(next, first) || !vouches(another, next) {
		t.Error("the successor of a root that was replaced is taken again")
	}
	if err := dir.PromoteRoot(); err != nil {
		t.Fatal(err)
	}
	if next := made(false); next.Chain[0].Equal(another.Chain[0]) || len(next.Chain) != 3 {
		t.Errorf("the next one has a chain of %d", len(next.Chain))
	}

	dir = trust.Dir(t.TempDir())
	if err := dir.PutRoots(roots); err != nil {
		t.Fatal(err)
	}
	if next := made(true); vouches(old, next) || !same(next, made(true)) {
		t.Error("a root instead of one that was lost")
	}
}

// Who has replaced the root is told that a copy of the old key is of no use; programs read roots only.
func TestReplacedRootOutdatesCopies(t *testing.T) {
	for _, json := range []bool{false, true} {
		var out bytes.Buffer
		a := &cli.App{Terminal: term.Terminal{Out: &out, Err: &out, JSON: json}}
		if err := printReplaced(a, &vigilv1.Roots{Step: "retire"}); err != nil {
			t.Fatal(err)
		}
		if strings.Contains(out.String(), "a copy of root.key elsewhere") == json {
			t.Errorf("JSON %v: it prints %s", json, out.String())
		}
	}
}
