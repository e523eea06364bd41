//go:build unix

package rpc

import (
	"context"
	"fmt"
	"sync"
	"syscall"
	"testing"
	"time"

	"vigil/fsm"
	"vigil/rpc/gen/vigilv1"
)

// furnished fills a world with agents in rooms of 1,000 each, and tasks.
func furnished(b *testing.B, agents, tasks int) *world {
	w := start(b, 1)
	rooms := max(agents/1000, 1)
	for i := range rooms {
		w.room(fmt.Sprintf("room%d", i), "builder", uint32(min(agents, 1000)))
	}
	for i := range tasks {
		cmd := fsm.CreateTask{Room: fmt.Sprintf("room%d", i%rooms), Role: "builder",
			Title: fmt.Sprintf("Build the %d. part", i)}
		if err := w.do(cmd); err != nil {
			b.Fatal(err)
		}
	}
	o, err := w.desk(0).GetOverview(context.Background(), &vigilv1.GetOverviewRequest{Stale: true})
	if err != nil {
		b.Fatal(err)
	}
	held := 0
	for _, t := range o.GetTasks() {
		held += int(t.GetCount())
	}
	if int(o.GetAgents()) < agents || held < tasks {
		b.Fatalf("there are %d agents and %d tasks", o.GetAgents(), held)
	}
	return w
}

// BenchmarkDesk asks for what a page shows of 10,000 agents and 100,000 tasks, over TCP, client included.
func BenchmarkDesk(b *testing.B) {
	w := furnished(b, 10_000, 100_000)
	desk, ctx := w.desk(0), context.Background()
	for name, ask := range map[string]func() error{
		"overview": func() error {
			_, err := desk.GetOverview(ctx, &vigilv1.GetOverviewRequest{Stale: true})
			return err
		},
		"inbox": func() error {
			_, err := desk.ListInbox(ctx, &vigilv1.ListInboxRequest{Stale: true})
			return err
		},
		"search": func() error {
			_, err := desk.Search(ctx, &vigilv1.SearchRequest{Query: "builder.999", Stale: true})
			return err
		},
		"search-nothing": func() error {
			_, err := desk.Search(ctx, &vigilv1.SearchRequest{Query: "nowhere", Stale: true})
			return err
		},
		"events": func() error {
			_, err := desk.ListEvents(ctx, &vigilv1.ListEventsRequest{Stale: true})
			return err
		},
		"events-nothing": func() error {
			_, err := desk.ListEvents(ctx, &vigilv1.ListEventsRequest{Words: "nowhere", Stale: true})
			return err
		},
		"timeline": func() error {
			_, err := desk.GetTimeline(ctx, &vigilv1.GetTimelineRequest{Stale: true})
			return err
		},
		"tasks": func() error {
			_, err := w.fleet(0).ListTasks(ctx, &vigilv1.ListTasksRequest{NewestFirst: true, Limit: 200, Stale: true})
			return err
		},
		"agents": func() error {
			_, err := w.fleet(0).ListAgents(ctx, &vigilv1.ListAgentsRequest{Limit: 1000, Stale: true})
			return err
		},
	} {
		b.Run(name, func(b *testing.B) {
			for range b.N {
				if err := ask(); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkFollow holds streams of pages for some seconds while 50 tasks a second are created, and reports how many
// cores the whole process takes, clients included.
func BenchmarkFollow(b *testing.B) {
	for _, n := range []int{0, 1, 200} {
		b.Run(fmt.Sprintf("streams=%d", n), func(b *testing.B) {
			w := furnished(b, 1000, 1000)
			ctx, leave := context.WithCancel(context.Background())
			var streams sync.WaitGroup
			for range n {
				s, err := w.desk(0).Follow(ctx, &vigilv1.FollowRequest{})
				if err != nil {
					b.Fatal(err)
				}
				streams.Go(func() {
					for {
						if _, err := s.Recv(); err != nil {
							return
						}
					}
				})
			}
			b.ResetTimer()
			before, began := processorTime(b), time.Now()
			for range b.N {
				for tick, k := time.NewTicker(20*time.Millisecond), 0; k < 250; k++ {
					<-tick.C
					if err := w.do(fsm.CreateTask{Room: "room0", Role: "builder", Title: "x"}); err != nil {
						b.Fatal(err)
					}
				}
			}
			b.ReportMetric(float64(processorTime(b)-before)/float64(time.Since(began)), "cores")
			leave()
			streams.Wait()
		})
	}
}

func processorTime(b *testing.B) time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
