package serve

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/durationpb"

	"vigil/cluster"
	"vigil/cluster/duty"
	"vigil/fsm"
	"vigil/rpc"
	"vigil/rpc/code"
	"vigil/rpc/door"
	"vigil/rpc/fault"
	"vigil/rpc/gen/vigilv1"
	"vigil/rpc/servers"
)

// The rooms do not know each other: what the API needs of the replication is
// handed over here.

// reader gives the API its view of the replica.
type reader struct{ *cluster.Replica }

func (r reader) Leader() door.Leader {
	l := r.Replica.Leader()
	return door.Leader{ID: l.ID, APIAddr: l.APIAddr, Self: l.Self, Term: l.Term}
}

// members gives the API the servers of the cluster.
type members struct{ replica *cluster.Replica }

// Silences after which a server is called suspect, then dead.
const (
	suspectAfter = time.Second
	deadAfter    = 10 * time.Second
)

func (m members) List(context.Context) ([]servers.Member, error) {
	var list []servers.Member
	for _, s := range m.replica.Servers() {
		health := "alive"
		switch {
		case s.Self:
		case s.Contact < 0:
			health = ""
		case s.Contact > deadAfter:
			health = "dead"
		case s.Contact > suspectAfter:
			health = "suspect"
		}
		list = append(list, servers.Member{ID: s.ID, RaftAddr: s.RaftAddr, Voter: s.Voter, Standby: s.Standby, Health: health,
			Silent: silence(s)})
	}
	return list, nil
}

func (m members) Figures(context.Context) map[string]*vigilv1.RaftFigures {
	out := map[string]*vigilv1.RaftFigures{}
	for id, f := range m.replica.Survey() {
		if f.Err != "" {
			out[id] = &vigilv1.RaftFigures{Error: f.Err}
			continue
		}
		to := &vigilv1.RaftFigures{State: strings.ToLower(f.State), Term: f.Term, LastIndex: f.LastIndex,
			CommitIndex: f.CommitIndex, AppliedIndex: f.AppliedIndex, LogEntries: f.LogEntries,
			LogBytes: uint64(max(0, f.LogBytes)), SnapshotIndex: f.SnapshotIndex,
			SnapshotBytes: uint64(max(0, f.SnapshotBytes)), Hears: map[string]*durationpb.Duration{}}
		for other, since := range f.Hears {
			to.Hears[other] = durationpb.New(since)
		}
		if f.CommitP50 > 0 {
			to.CommitP50, to.CommitP99 = durationpb.New(f.CommitP50), durationpb.New(f.CommitP99)
		}
		out[id] = to
	}
	return out
}

// silence is for how long a server is silent that is called suspect or dead.
func silence(s cluster.Server) time.Duration {
	if s.Self || s.Contact <= suspectAfter {
		return 0
	}
	return s.Contact
}

func (m members) Add(ctx context.Context, id, raftAddr string, standby bool) error {
	if standby {
		return answer(m.replica.AddStandby(ctx, id, raftAddr))
	}
	return answer(m.replica.AddServer(ctx, id, raftAddr))
}

func (m members) Vote(ctx context.Context, id string, vote, force bool) error {
	if vote {
		return answer(m.replica.Promote(ctx, id))
	}
	return answer(m.replica.Demote(ctx, id, force))
}

func (m members) Remove(ctx context.Context, id string, force bool) error {
	return answer(m.replica.RemoveServer(ctx, id, force))
}

func (m members) Transfer(ctx context.Context, to string) error {
	return answer(m.replica.Transfer(ctx, to))
}

// backups gives the API the whole state.
type backups struct{ replica *cluster.Replica }

func (b backups) Snapshot(w io.Writer) error { return b.replica.Copy().Dump(w) }

func (b backups) Restore(ctx context.Context, r io.Reader, others fsm.Others) error {
	return answer(b.replica.Restore(ctx, r, others))
}

// answer gives a refusal of the replication the form in which the API passes it on
// with its code.
func answer(err error) error {
	var no *cluster.Refused
	switch {
	case errors.Is(err, cluster.ErrNotLearning):
		return fault.New(code.Timeout, "%s", fault.Sentence(err.Error()))
	case !errors.As(err, &no):
		return err
	}
	st, e := status.New(codes.FailedPrecondition, no.Error()).
		WithDetails(&vigilv1.ErrorInfo{Code: no.Code().String(), Message: no.Error()})
	if e != nil {
		return err
	}
	return st.Err()
}

// dutyFigures shows what duties have done.
type dutyFigures struct{ duty *duty.Duty }

// Describe implements prometheus.Collector.
func (d dutyFigures) Describe(ch chan<- *prometheus.Desc) { prometheus.DescribeByCollect(d, ch) }

// Collect implements prometheus.Collector: one family of metrics for all duties.
func (d dutyFigures) Collect(ch chan<- prometheus.Metric) {
	counter := func(name, help string, labels ...string) func(float64, ...string) {
		desc := prometheus.NewDesc("vigil_duty_"+name, help, append([]string{"duty"}, labels...), nil)
		return func(v float64, values ...string) {
			ch <- prometheus.MustNewConstMetric(desc, prometheus.CounterValue, v, values...)
		}
	}
	f, says := d.duty.Figures(), ""
	for _, x := range f.Duties {
		says += " " + x.Duty + " " + x.Says + ";"
	}
	passes := counter("passes_total", "Passes of what only a leader does:"+strings.TrimSuffix(says, ";")+".")
	looks := counter("looks_total", "Looks at the state, each with one plan; a pass has one or more.")
	visited := counter("visited_total", "Roles, agents, active rooms or hosts that looks went over.")
	took := counter("look_seconds_total", "Time that looks took until their orders were written.")
	errs := counter("errors_total", "Looks that could not write.")
	orders := counter("orders_total", "Orders planned, by what became of them.", "order", "outcome")
	effects := counter("effects_total", "What followed outside of the state, at a terminal or notifier.",
		"target", "outcome")
	effect := counter("effect_seconds_total", "Time that what followed outside of the state took.", "target")
	for _, x := range f.Duties {
		passes(float64(x.Passes), x.Duty)
		looks(float64(x.Looks), x.Duty)
		visited(float64(x.Visited), x.Duty)
		took(x.Total.Seconds(), x.Duty)
		errs(float64(x.Errors), x.Duty)
		for _, o := range x.Orders {
			if o.Count == 0 && o.Outcome != "accepted" { // what went wrong has a line once it has happened
				continue
			}
			orders(float64(o.Count), x.Duty, o.Order, o.Outcome)
		}
	}
	for _, x := range f.Effects {
		effects(float64(x.Done), x.Duty, x.Target, "done")
		effects(float64(x.Failed), x.Duty, x.Target, "failed")
		effect(x.Total.Seconds(), x.Duty, x.Target)
	}
}

// watchdogStats gives the API what this server's conversation watchdog has done.
func (s *server) watchdogStats() rpc.WatchdogStats {
	if s.duty == nil { // the API is opened first
		return rpc.WatchdogStats{}
	}
	f := s.duty.Figures().Of("silence")
	return rpc.WatchdogStats{Checks: f.Passes, Checked: f.Visited, Warned: f.Accepted("warn"),
		Canceled: f.Accepted("cancel"), Errors: f.Errors,
		LastCheck: f.LastAt, LastDuration: f.Last, TotalDuration: f.Total}
}

// reportHash brings the hash of this server's state to the leader.
func (s *server) reportHash(ctx context.Context, h fsm.ReportHash) error {
	_, err := vigilv1.NewClusterClient(s.client).ReportHash(ctx,
		&vigilv1.ReportHashRequest{Server: h.Server, Index: h.Index, Hash: h.Hash})
	if err != nil {
		return fmt.Errorf("report hash to the leader: %w", err)
	}
	return nil
}
