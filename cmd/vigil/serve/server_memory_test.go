package serve

import (
	"math"
	"strings"
	"testing"

	"vigil/cluster"
	"vigil/cmd/vigil/conf"
	"vigil/fsm/noun"
	"vigil/rpc/form"
)

// F7: the budgets of a new cluster fit into the memory of a server with the shipped
// configuration, and a limit below what they need is said in words.
func TestF07DefaultBudgetsFitIntoTheDefaultMemory(t *testing.T) {
	set := noun.DefaultSettings()
	conf := conf.DefaultServer()
	if w := memoryWarning("s1", conf.MemoryLimit.N, set.Budget.Total()); w != "" {
		t.Errorf("with the defaults: %s", w)
	}
	w := memoryWarning("s1", 512<<20, set.Budget.Total())
	for _, word := range []string{"server s1", "512 MiB", "memory_limit", "budget_*"} {
		if !strings.Contains(w, word) {
			t.Errorf("the warning lacks %q: %s", word, w)
		}
	}
	if w := memoryWarning("s1", math.MaxInt64, 1<<40); w != "" {
		t.Errorf("without a limit: %s", w)
	}
}

// The warning that doctor and upgrade plan look for is the one that servers give.
func TestBehindIsOneWord(t *testing.T) {
	if form.Behind != cluster.Behind {
		t.Errorf("%q is looked for, and %q is said", form.Behind, cluster.Behind)
	}
}
