package main

import (
	"strings"
	"testing"
	"time"
)

func TestEveryRowOnce(t *testing.T) {
	seen := map[string]bool{}
	for _, r := range rows {
		if seen[r.ID] || r.System == "" || !strings.HasPrefix(r.Link, "https://") {
			t.Errorf("row %+v", r)
		}
		seen[r.ID] = true
	}
	if len(rows) < 100 {
		t.Errorf("%d rows", len(rows))
	}
}

func TestTableTellsWhatTestsSaid(t *testing.T) {
	said := `{"Action":"run","Test":"TestI57PartitionedHostRejoins"}
{"Action":"pass","Test":"TestI57PartitionedHostRejoins","Elapsed":3.25}
{"Action":"fail","Test":"TestI14LeaderIsGone","Elapsed":1}
{"Action":"output","Test":"TestI98MemoryTakesTheAgent","Output":"    herd_test.go:9: no memory controller\n"}
{"Action":"skip","Test":"TestI98MemoryTakesTheAgent","Elapsed":0}
`
	found := map[string][]result{}
	if n, err := listen(strings.NewReader(said), "vigil/jepsen/incidents", found); err != nil || n != 3 {
		t.Fatalf("%d results, %v", n, err)
	}
	text, bad := table(found, time.Now())
	for _, want := range []string{"| passed | partitioned host rejoins | `jepsen/incidents` | 3.2 s |",
		"| **FAILED** | leader is gone |", "no memory controller"} {
		if !strings.Contains(text, want) {
			t.Errorf("the table has no %q", want)
		}
	}
	failed := map[string]bool{}
	for _, id := range bad {
		failed[id] = true
	}
	if !failed["I14"] || failed["I57"] || failed["I98"] || !failed["I11"] {
		t.Errorf("not passed: %v", bad)
	}
	if got := sum(row{ID: "I01", Not: "needs something"}, nil); got != "needs a feature" {
		t.Errorf("a row that waits for a feature is %q", got)
	}
}
