package serve

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"vigil/cluster"
	"vigil/cluster/duty"
	"vigil/fsm"
	"vigil/rpc"
	"vigil/rpc/door"
	"vigil/rpc/gen/vigilv1"
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

func (m members) List(context.Context) ([]rpc.Member, error) {
	var list []rpc.Member
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
		list = append(list, rpc.Member{ID: s.ID, RaftAddr: s.RaftAddr, Voter: s.Voter, Health: health})
	}
	return list, nil
}

func (m members) Add(ctx context.Context, id, raftAddr string) error {
	return answer(m.replica.AddServer(ctx, id, raftAddr))
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

func (b backups) Restore(ctx context.Context, r io.Reader) error {
	return answer(b.replica.Restore(ctx, r))
}

// answer gives a refusal of the replication the form in which the API passes it on
// with its code.
func answer(err error) error {
	var no *cluster.Refused
	if !errors.As(err, &no) {
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

// Collect implements prometheus.Collector.
func (d dutyFigures) Collect(ch chan<- prometheus.Metric) {
	d.collectWatchdog(ch)
	d.collectNotify(ch)
	d.collectLadder(ch)
	d.collectChain(ch)
	f := d.duty.Figures()
	plans := prometheus.NewDesc("vigil_duty_plans_total", "Plans made while this server led.", nil, nil)
	orders := prometheus.NewDesc("vigil_duty_orders_total", "Orders planned, by kind and outcome.", []string{"order", "outcome"}, nil)
	ch <- prometheus.MustNewConstMetric(plans, prometheus.CounterValue, float64(f.Plans))
	for _, o := range f.Orders {
		ch <- prometheus.MustNewConstMetric(orders, prometheus.CounterValue, float64(o.Count), o.Kind, o.Outcome)
	}
}

// watchdogStats gives the API what this server's conversation watchdog has done.
func (s *server) watchdogStats() rpc.WatchdogStats {
	if s.duty == nil { // the API is opened first
		return rpc.WatchdogStats{}
	}
	f := s.duty.WatchFigures()
	return rpc.WatchdogStats{Checks: f.Checks, Checked: f.Checked, Warned: f.Warned, Canceled: f.Canceled, Errors: f.Errors,
		LastCheck: f.LastAt, LastDuration: f.Last, TotalDuration: f.Total}
}

// collectWatchdog shows the conversation watchdog.
func (d dutyFigures) collectWatchdog(ch chan<- prometheus.Metric) {
	f := d.duty.WatchFigures()
	for _, m := range []struct {
		name, help string
		value      float64
	}{
		{"vigil_watchdog_checks_total", "Looks for silent rooms while this server led.", float64(f.Checks)},
		{"vigil_watchdog_rooms_checked_total", "Active rooms that these looks covered.", float64(f.Checked)},
		{"vigil_watchdog_rooms_warned_total", "Silent rooms that were warned.", float64(f.Warned)},
		{"vigil_watchdog_rooms_canceled_total", "Silent rooms that were canceled.", float64(f.Canceled)},
		{"vigil_watchdog_errors_total", "Plans about silent rooms that could not be written.", float64(f.Errors)},
		{"vigil_watchdog_seconds_total", "Time that the looks took, without waiting.", f.Total.Seconds()},
	} {
		ch <- prometheus.MustNewConstMetric(prometheus.NewDesc(m.name, m.help, nil, nil), prometheus.CounterValue, m.value)
	}
}

// collectNotify shows what the notifiers have done.
func (d dutyFigures) collectNotify(ch chan<- prometheus.Metric) {
	tries := prometheus.NewDesc("vigil_notify_total", "Notices that this server has tried to deliver, by notifier and outcome.", []string{"notifier", "outcome"}, nil)
	took := prometheus.NewDesc("vigil_notify_seconds_total", "Time that these tries took.", []string{"notifier"}, nil)
	for _, n := range d.duty.NotifyFigures() {
		ch <- prometheus.MustNewConstMetric(tries, prometheus.CounterValue, float64(n.Delivered), n.Notifier, "delivered")
		ch <- prometheus.MustNewConstMetric(tries, prometheus.CounterValue, float64(n.Failed), n.Notifier, "failed")
		ch <- prometheus.MustNewConstMetric(took, prometheus.CounterValue, n.Total.Seconds(), n.Notifier)
	}
}

// collectLadder shows the ladder for stuck agents.
func (d dutyFigures) collectLadder(ch chan<- prometheus.Metric) {
	f := d.duty.LadderFigures()
	steps := prometheus.NewDesc("vigil_ladder_steps_total", "Rungs taken with stuck agents while this server led.", []string{"rung"}, nil)
	for rung, n := range f.Steps {
		ch <- prometheus.MustNewConstMetric(steps, prometheus.CounterValue, float64(n), rung)
	}
	ch <- prometheus.MustNewConstMetric(prometheus.NewDesc("vigil_ladder_failed_total", "Rungs of which nobody can have noticed anything at a terminal.", nil, nil),
		prometheus.CounterValue, float64(f.Failed))
	ch <- prometheus.MustNewConstMetric(prometheus.NewDesc("vigil_ladder_errors_total", "Plans about stuck agents that could not be written.", nil, nil),
		prometheus.CounterValue, float64(f.Errors))
}

// collectChain shows what was typed to overseers.
func (d dutyFigures) collectChain(ch chan<- prometheus.Metric) {
	f := d.duty.ChainFigures()
	for _, m := range []struct {
		name, help string
		value      uint64
	}{
		{"vigil_overseer_prods_total", "Decisions about overseers that were typed while this server led.", f.Typed},
		{"vigil_overseer_prods_failed_total", "Of those that were to be typed, of which nobody can have noticed anything.", f.Failed},
		{"vigil_overseer_prod_errors_total", "Plans about them that could not be written.", f.Errors},
	} {
		ch <- prometheus.MustNewConstMetric(prometheus.NewDesc(m.name, m.help, nil, nil), prometheus.CounterValue, float64(m.value))
	}
}

// reportHash brings the hash of this server's state to the leader.
func (s *server) reportHash(ctx context.Context, h fsm.ReportHash) error {
	_, err := vigilv1.NewClusterClient(s.client).ReportHash(ctx, &vigilv1.ReportHashRequest{Server: h.Server, Index: h.Index, Hash: h.Hash})
	if err != nil {
		return fmt.Errorf("report hash to the leader: %w", err)
	}
	return nil
}
