package gossip

import (
	"go/ast"
	"go/parser"
	"go/token"
	"net"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/hashicorp/memberlist"
)

// Which run of a member is the newest is what this member has heard, whatever their
// names say: the clock of the machine may have been set back between two runs.
func TestNewestRunIsTheOneHeardLast(t *testing.T) {
	node := func(run uint64, meta string) *memberlist.Node {
		return &memberlist.Node{Name: nameOf(Host, veiled("h"), veiled("h\x00b"), run),
			Addr: net.IPv4(10, 0, 0, 1), Port: 7422, Meta: []byte(meta)}
	}
	for _, runs := range [][2]uint64{{1, 2}, {2, 1}} {
		tab := newTable(false)
		now := time.Now()
		old, young := node(runs[0], ""), node(runs[1], "")
		tab.NotifyJoin(old)
		tab.NotifyLeave(node(runs[0], left))
		if got := tab.state(Host, "h", "b", now); got != Left {
			t.Errorf("runs %v: the first run is heard %s after its good-bye", runs, got)
		}
		tab.NotifyJoin(young)
		if got := tab.state(Host, "h", "b", now); got != Alive {
			t.Errorf("runs %v: heard %s while its second run lives", runs, got)
		}
		tab.NotifyLeave(young)
		if got := tab.state(Host, "h", "b", now); got != Silent {
			t.Errorf("runs %v: heard %s after its second run has failed", runs, got)
		}
		if len(tab.runs[keyOf(Host, "h", "b")]) != 1 {
			t.Errorf("runs %v: the first run was kept", runs)
		}
		// A run that comes back, after a partition for instance, is the newest news.
		tab.NotifyJoin(old)
		tab.NotifyLeave(node(runs[0], left))
		if got := tab.state(Host, "h", "b", now); got != Left {
			t.Errorf("runs %v: heard %s after its good-bye", runs, got)
		}
	}
}

// Machine clocks are never compared with each other: no time is written down here,
// sent, or stripped of its monotonic reading.
func TestNoWallTimeIsTold(t *testing.T) {
	banned := []string{"Unix", "UnixNano", "UnixMilli", "UnixMicro", "Round", "Truncate", "UTC", "Local",
		"In", "Format", "AppendFormat", "Parse", "Date", "MarshalText", "MarshalBinary", "MarshalJSON"}
	files, err := os.ReadDir(".")
	if err != nil {
		t.Fatal(err)
	}
	looked := 0
	for _, f := range files {
		if !strings.HasSuffix(f.Name(), ".go") || strings.HasSuffix(f.Name(), "_test.go") {
			continue
		}
		set := token.NewFileSet()
		tree, err := parser.ParseFile(set, f.Name(), nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		looked++
		ast.Inspect(tree, func(n ast.Node) bool {
			if sel, ok := n.(*ast.SelectorExpr); ok && slices.Contains(banned, sel.Sel.Name) {
				t.Errorf("%s: %s makes a wall time of a time", set.Position(sel.Pos()), sel.Sel.Name)
			}
			return true
		})
	}
	if looked < 5 {
		t.Errorf("looked at %d files", looked)
	}
}
