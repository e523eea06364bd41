package bench

import (
	"context"
	"fmt"
	"time"
)

// usage is what the servers had used at a moment.
type usage struct {
	leader  *server
	figures figures
	at      time.Time
	cpu     time.Duration // of all servers
	own     time.Duration // of this process, which makes the load

	profiles *profiles
}

// begin is measure at the beginning of a measurement.
func (r *run) begin(ctx context.Context) (*usage, error) {
	u, err := r.measure(ctx)
	if err == nil {
		u.profiles = r.startProfiles(ctx, warmUp(r.Duration)+r.Duration)
	}
	return u, err
}

// measure reads what the servers have used so far.
func (r *run) measure(ctx context.Context) (*usage, error) {
	lead, err := r.stand.leader(ctx)
	if err != nil {
		return nil, err
	}
	u := &usage{leader: lead, at: time.Now(), own: ownTime()}
	if u.figures, err = lead.scrape(ctx); err != nil {
		return nil, err
	}
	for _, sv := range r.stand.servers {
		u.cpu += sv.proc.cpuTime()
	}
	return u, nil
}

// measureAfter reports what the log and the processor had to bear since then.
func (r *run) measureAfter(ctx context.Context, before *usage) error {
	after, err := r.measure(ctx)
	if err != nil {
		return err
	}
	if after.leader != before.leader {
		return fmt.Errorf("the leader has changed from %s to %s under load: the figures would mean nothing", before.leader.id, after.leader.id)
	}
	if err := before.profiles.wait(); err != nil {
		return err
	}
	seconds := after.at.Sub(before.at).Seconds()
	r.report.set("log_entries_per_second", since(before.figures, after.figures, "vigil_cluster_log_entries_total")/seconds)
	r.report.set("log_bytes_per_second", since(before.figures, after.figures, "vigil_cluster_log_bytes_total")/seconds)
	if after.cpu > 0 {
		r.report.set("servers_cpu_cores", (after.cpu-before.cpu).Seconds()/seconds)
	}
	r.report.set("bench_cpu_cores", (after.own-before.own).Seconds()/seconds)
	return nil
}
