package agentd

import (
	"slices"
	"syscall"
	"testing"
	"time"

	"vigil/rpc/gen/vigilv1"
)

// BenchmarkRestart measures what this daemon adds to a restart, with 200 agents and
// a cluster that answers at once: kill -9 to the exit report, and to the report of
// the next start.
func BenchmarkRestart(b *testing.B) {
	r := newRig(b, time.Minute, false)
	const agents = 200
	pids := map[uint32]uint32{}
	var orders []*vigilv1.Order
	for agent := uint32(1); agent <= agents; agent++ {
		orders = append(orders, order("start", agent, 1, "wait"))
	}
	r.stream.orders(b, orders...)
	go func() { // nobody listens to what the agents say
		for {
			select {
			case a := <-r.agents:
				go func() {
					for range a.words {
					}
				}()
			case <-b.Context().Done():
				return
			}
		}
	}()
	for range agents {
		s := next(b, r.starts)
		pids[s.GetAgent()] = s.GetPid()
	}
	var exits, starts []time.Duration
	inc := uint64(1)
	for agent := uint32(0); b.Loop(); agent = (agent + 1) % agents {
		if agent == 0 {
			inc++
		}
		begin := time.Now()
		if err := syscall.Kill(int(pids[agent+1]), syscall.SIGKILL); err != nil {
			b.Fatal(err)
		}
		next(b, r.exits)
		exits = append(exits, time.Since(begin))
		r.stream.orders(b, order("start", agent+1, inc, "wait"))
		pids[agent+1] = next(b, r.starts).GetPid()
		starts = append(starts, time.Since(begin))
		for len(r.accepts) > 0 {
			<-r.accepts
		}
	}
	for _, d := range []struct {
		name string
		all  []time.Duration
	}{{"exit", exits}, {"restart", starts}} {
		slices.Sort(d.all)
		b.ReportMetric(float64(d.all[len(d.all)/2].Microseconds()), d.name+"_p50_us")
		b.ReportMetric(float64(d.all[len(d.all)*99/100].Microseconds()), d.name+"_p99_us")
	}
}
