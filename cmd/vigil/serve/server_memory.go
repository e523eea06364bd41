package serve

import (
	"context"
	"fmt"
	"math"
	"os"
	"runtime/debug"
	"time"

	"vigil/cluster"
	"vigil/cluster/backup"
	"vigil/fsm"
	"vigil/rpc/form"
)

// What a server needs beside the budgets, in memory of Go: log entries on their way, calls,
// and what snapshots copy. Both numbers are measured by `vigil bench full`, see
// docs/performance.md.
const (
	heapPerBudget = 105       // percent: heap of a full state in terms of its budgets
	heapBeside    = 192 << 20 // bytes
	// memoryCheck is how often the replicated budgets are compared with the limit.
	memoryCheck = 2 * time.Second
)

// limitMemory lets a small heap grow without much collecting and keeps a large one
// under the limit. The runtime's own variables win.
func (s *server) limitMemory() {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(200)
	}
	if os.Getenv("GOMEMLIMIT") == "" && s.conf.MemoryLimit.N > 0 {
		debug.SetMemoryLimit(s.conf.MemoryLimit.N)
	}
}

// memoryNeed is the memory limit that budgets of so many bytes need.
func memoryNeed(budgets uint64) int64 { return int64(budgets)/100*heapPerBudget + heapBeside }

// memoryWarning says that a limit is below what the budgets need; "" when it is not.
func memoryWarning(id string, limit int64, budgets uint64) string {
	const mib = 1 << 20
	need := memoryNeed(budgets)
	if limit == math.MaxInt64 || limit >= need {
		return ""
	}
	return fmt.Sprintf("The memory limit of server %s is %d MiB, "+
		"the budgets of the cluster may need %d MiB: "+
		"raise memory_limit in its file, or lower the settings budget_* (%d MiB in all).",
		id, limit/mib, (need+mib-1)/mib, budgets/mib)
}

// health is what the replica says of itself, and whether this server has memory for it.
type health struct {
	*cluster.Replica
	id      string
	lacks   *troubles      // of notifiers
	backups *backup.Keeper // nil: it makes none
}

// Warnings are sentences for people.
func (h health) Warnings() []string {
	list := append(h.Replica.Warnings(), h.lacks.list()...)
	if h.backups != nil {
		if w := h.backups.Warning(); w != "" {
			list = append(list, fmt.Sprintf("%s %s: %s. It is tried again by itself.", form.BackupsFail, h.id, w))
		}
	}
	if w := h.memory(); w != "" {
		list = append(list, w)
	}
	return list
}

func (h health) memory() string {
	var budgets uint64
	h.Read(func(st *fsm.View) {
		set := st.Settings()
		budgets = set.Budget.Total()
	})
	return memoryWarning(h.id, debug.SetMemoryLimit(-1), budgets)
}

// watchMemory writes the warning to the log once the state is there, and again when the
// budgets have changed.
func (s *server) watchMemory(ctx context.Context) error {
	for said := ""; ; {
		if s.replica.Ready() == nil {
			warning := health{Replica: s.replica, id: s.conf.ID}.memory()
			if warning != said && warning != "" {
				s.log.Warn(warning)
			}
			said = warning
		}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(memoryCheck):
		}
	}
}
