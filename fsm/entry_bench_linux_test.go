package fsm

import (
	"fmt"
	"runtime"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"vigil/fsm/noun"
)

// crowdSize is the number of agents that the state machine is to move without a long entry.
const crowdSize = 100_000

// threadTime is what this thread has used of a processor.
func threadTime(b testing.TB) time.Duration {
	var at unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &at); err != nil {
		b.Fatal(err)
	}
	return time.Duration(at.Nano())
}

// watchman applies entries, and those that a leader adds because work is left, and keeps the
// greatest processor time that one took.
type watchman struct {
	*drive
	b       testing.TB
	worst   time.Duration
	sum     time.Duration
	entries int
}

func (w *watchman) run(reqs ...Request) noun.Outcome {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	first := noun.Outcome{}
	for more := true; more; reqs = nil {
		e := w.entry(reqs...)
		began := threadTime(w.b)
		res := w.s.Apply(e)
		took := threadTime(w.b) - began
		w.worst, w.sum, w.entries = max(w.worst, took), w.sum+took, w.entries+1
		for i, out := range res.Outcomes {
			if out.Code != noun.OK {
				w.b.Fatalf("%T: %+v", reqs[i].Cmd, out)
			}
			if i == 0 {
				first = out
			}
		}
		more = res.Effects.More
	}
	return first
}

// reset forgets what was measured.
func (w *watchman) reset() { w.worst, w.sum, w.entries = 0, 0, 0 }

// inBatches runs a command for each of so many things, a thousand in an entry.
func (w *watchman) inBatches(n int, make func(i int) Command) (outs []noun.Outcome) {
	for done := 0; done < n; {
		e := w.entry()
		for ; len(e.Requests) < 1000 && done < n; done++ {
			e.Requests = append(e.Requests, Request{Cmd: make(done)})
		}
		for i, out := range w.s.Apply(e).Outcomes {
			if out.Code != noun.OK {
				w.b.Fatalf("%T: %+v", e.Requests[i].Cmd, out)
			}
			outs = append(outs, out)
		}
	}
	return outs
}

// crowded is a state with a room of the greatest size; nothing runs in it yet.
func crowded(b testing.TB, change func(*noun.RoleSpec)) *watchman {
	w := &watchman{drive: &drive{s: New(), term: 1}, b: b}
	w.run(Request{Cmd: LeaderEstablished{Server: "a"}})
	w.run(Request{Cmd: PutSettings{Values: []noun.KV{{Key: "budget_room_share", Value: "100"},
		{Key: "budget_tasks", Value: "4294967296"},
		{Key: "budget_agents", Value: "4294967296"}, {Key: "budget_mail", Value: "4294967296"},
		{Key: "max_agents", Value: "2000000"},
		{Key: "starts_per_second", Value: "1000000"}, {Key: "starts_per_host", Value: "10000"},
		{Key: "host_ttl", Value: "1h"}, {Key: "session_ttl", Value: "1h"}}}})
	for i := range 100 {
		w.run(Request{Cmd: RegisterHost{Key: fmt.Sprint("h", i), Name: fmt.Sprint("h", i),
			Boot: "boot1", Runners: []string{"worker"}, Capacity: 10_000}})
	}
	w.run(Request{Cmd: ApplyRoom{Room: "demo", Roles: crowdRoles(change), By: "bench"}})
	w.reset()
	return w
}

func crowdRoles(change func(*noun.RoleSpec)) []noun.RoleSpec {
	roles := make([]noun.RoleSpec, crowdSize/noun.MaxReplicas)
	for i := range roles {
		roles[i] = noun.RoleSpec{Name: fmt.Sprint("r", i), Runner: "worker", Replicas: noun.MaxReplicas}
		if change != nil {
			change(&roles[i])
		}
	}
	return roles
}

// names of the crowd's agents by number.
func crowdName(i int) string {
	return noun.AgentName("demo", fmt.Sprint("r", i/noun.MaxReplicas), uint32(1+i%noun.MaxReplicas))
}

// mailName is the address of one agent; the name of the first would be that of the role.
func mailName(i int) string {
	return fmt.Sprintf("demo/r%d.%d", i/noun.MaxReplicas, 1+i%noun.MaxReplicas)
}

// launch starts all agents; with work each begins a task.
func (w *watchman) launch(work bool) []Speaker {
	sps := make([]Speaker, crowdSize)
	var ids []noun.AgentID
	for i := range sps {
		a := w.s.AgentByName(crowdName(i))
		sps[i], ids = Speaker{Agent: a.Name, Inc: w.s.NextInc(a)}, append(ids, a.ID)
	}
	host := func(i int) noun.HostID { return noun.HostID(1 + i%100) }
	w.inBatches(crowdSize, func(i int) Command { return OrderStart{Agent: ids[i], Inc: sps[i].Inc, Host: host(i)} })
	w.inBatches(crowdSize, func(i int) Command {
		return AcceptOrder{Host: host(i), Boot: "boot1", Agent: ids[i], Inc: sps[i].Inc}
	})
	w.inBatches(crowdSize, func(i int) Command {
		return ReportStarted{Host: host(i), Agent: ids[i], Inc: sps[i].Inc, PID: 7}
	})
	w.inBatches(crowdSize, func(i int) Command { return Join{Speaker: sps[i]} })
	if work {
		w.work(sps)
	}
	return sps
}

// work gives each a task.
func (w *watchman) work(sps []Speaker) {
	w.inBatches(len(sps), func(i int) Command {
		return CreateTask{Room: "demo", Role: fmt.Sprint("r", i/noun.MaxReplicas), Title: "build the thing",
			Text: "as described", By: "bench"}
	})
	outs := w.inBatches(len(sps), func(i int) Command { return Claim{Speaker: sps[i]} })
	w.inBatches(len(sps), func(i int) Command {
		return StartTask{Work: Work{Speaker: sps[i], Task: outs[i].Task, Attempt: outs[i].Attempt}}
	})
}

// byHand lets all join by hand.
func (w *watchman) byHand(work bool) []Speaker {
	sps := make([]Speaker, crowdSize)
	for i := range sps {
		sps[i] = Speaker{Agent: crowdName(i), Inc: w.s.NextInc(w.s.AgentByName(crowdName(i)))}
	}
	w.inBatches(crowdSize, func(i int) Command { return Join{Speaker: Speaker{Agent: crowdName(i)}} })
	if work {
		w.work(sps)
	}
	return sps
}

// BenchmarkEntries reports the processor time of the longest entry while something happens to
// 100,000 agents of one room at once.
func BenchmarkEntries(b *testing.B) {
	later := func(w *watchman, d time.Duration) { w.clock += noun.Time(d) }
	for _, x := range []struct {
		name string
		prep func(b *testing.B) *watchman
		do   func(w *watchman)
	}{
		{"declare", func(b *testing.B) *watchman {
			w := crowded(b, nil)
			return w
		}, func(w *watchman) {
			w.run(Request{Cmd: ApplyRoom{Room: "second", Roles: crowdRoles(nil), By: "bench", Gentle: true}})
		}},
		{"again", func(b *testing.B) *watchman { return crowded(b, nil) }, func(w *watchman) {
			w.run(Request{Cmd: ApplyRoom{Room: "demo", Roles: crowdRoles(nil), By: "bench", Gentle: true}})
		}},
		{"change", func(b *testing.B) *watchman {
			w := crowded(b, nil)
			w.launch(true)
			return w
		}, func(w *watchman) {
			w.run(Request{Cmd: ApplyRoom{Room: "demo",
				Roles: crowdRoles(func(r *noun.RoleSpec) { r.ProgressLimit = time.Minute }), By: "bench"}})
		}},
		{"shrink", func(b *testing.B) *watchman {
			w := crowded(b, nil)
			w.launch(true)
			return w
		}, func(w *watchman) {
			w.run(Request{Cmd: ApplyRoom{Room: "demo",
				Roles: crowdRoles(func(r *noun.RoleSpec) { r.Replicas = 1 }), By: "bench", Now: true}})
		}},
		{"delete", func(b *testing.B) *watchman {
			w := crowded(b, nil)
			w.launch(true)
			return w
		}, func(w *watchman) { w.run(Request{Cmd: DeleteRoom{Room: "demo", By: "bench"}}) }},
		{"leases", func(b *testing.B) *watchman {
			w := crowded(b, nil)
			w.byHand(false)
			return w
		}, func(w *watchman) {
			later(w, time.Minute)
			w.run()
		}},
		{"leases-work", func(b *testing.B) *watchman {
			w := crowded(b, nil)
			w.byHand(true)
			return w
		}, func(w *watchman) {
			later(w, time.Minute)
			w.run()
		}},
		{"leases-excused", func(b *testing.B) *watchman {
			w := crowded(b, nil)
			sps := w.byHand(true)
			w.inBatches(len(sps), func(i int) Command {
				return Declare{Speaker: sps[i], Status: noun.StatusBusy, For: 30 * time.Minute}
			})
			return w
		}, func(w *watchman) {
			later(w, time.Minute)
			w.run()
		}},
		{"deaf", func(b *testing.B) *watchman {
			w := crowded(b, nil)
			w.launch(true)
			return w
		}, func(w *watchman) {
			later(w, time.Minute)
			w.run()
		}},
		{"progress-limit", func(b *testing.B) *watchman {
			w := crowded(b, func(r *noun.RoleSpec) { r.TTL, r.ProgressLimit = 30*time.Minute, 5*time.Minute })
			w.launch(true)
			return w
		}, func(w *watchman) {
			later(w, 10*time.Minute)
			w.run()
		}},
		{"turn-limit", func(b *testing.B) *watchman {
			w := crowded(b, func(r *noun.RoleSpec) { r.TTL, r.TurnLimit = 30*time.Minute, 5*time.Minute })
			w.launch(true)
			return w
		}, func(w *watchman) {
			later(w, 10*time.Minute)
			w.run()
		}},
		{"pending-limit", func(b *testing.B) *watchman {
			w := crowded(b, nil)
			w.inBatches(crowdSize, func(i int) Command {
				return CreateTask{Room: "demo", Role: fmt.Sprint("r", i/noun.MaxReplicas), Title: "t", By: "bench"}
			})
			return w
		}, func(w *watchman) {
			later(w, time.Hour)
			w.run()
		}},
		{"mail", func(b *testing.B) *watchman {
			w := crowded(b, func(r *noun.RoleSpec) { r.TTL = 2 * time.Hour })
			w.byHand(false)
			w.inBatches(crowdSize, func(i int) Command {
				return SendMail{To: mailName(i), From: "bench", Priority: noun.MailUrgent, Subject: "s", Body: "b"}
			})
			return w
		}, func(w *watchman) {
			later(w, time.Hour)
			w.run()
		}},
		{"pause-room", func(b *testing.B) *watchman {
			w := crowded(b, nil)
			w.launch(true)
			return w
		}, func(w *watchman) {
			w.run(Request{Cmd: SetPause{Scope: "demo", Pause: true, By: "bench"}})
			w.run(Request{Cmd: SetPause{Scope: "demo", By: "bench"}})
		}},
		{"pause-ordered", func(b *testing.B) *watchman {
			w := crowded(b, nil)
			var ids []*noun.Agent
			for i := range crowdSize {
				ids = append(ids, w.s.AgentByName(crowdName(i)))
			}
			w.inBatches(crowdSize, func(i int) Command {
				return OrderStart{Agent: ids[i].ID, Inc: w.s.NextInc(ids[i]), Host: noun.HostID(1 + i%100)}
			})
			return w
		}, func(w *watchman) {
			w.run(Request{Cmd: SetPause{Scope: "demo", Pause: true, By: "bench"}})
			w.run(Request{Cmd: SetPause{Scope: "demo", By: "bench"}})
		}},
		{"pause-all", func(b *testing.B) *watchman {
			w := crowded(b, nil)
			w.launch(true)
			return w
		}, func(w *watchman) {
			w.run(Request{Cmd: SetPause{Pause: true, By: "bench"}})
			w.run(Request{Cmd: SetPause{By: "bench"}})
		}},
	} {
		b.Run(x.name, func(b *testing.B) {
			worst, sum, entries := time.Duration(0), time.Duration(0), 0
			for range b.N {
				b.StopTimer()
				w := x.prep(b)
				runtime.GC()
				w.reset()
				b.StartTimer()
				x.do(w)
				worst, sum, entries = max(worst, w.worst), sum+w.sum, entries+w.entries
			}
			b.ReportMetric(float64(worst.Microseconds())/1000, "worst-ms")
			b.ReportMetric(float64(sum.Microseconds())/1000/float64(b.N), "cpu-ms")
			b.ReportMetric(float64(entries)/float64(b.N), "entries")
			b.ReportMetric(0, "ns/op")
		})
	}
}
