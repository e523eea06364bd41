package bench

import (
	"context"
	"time"
)

// usage is what the servers had used at a moment.
type usage struct {
	servers []figures // as in the stand
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
	u := &usage{at: time.Now(), own: ownTime(), profiles: &profiles{}}
	for _, sv := range r.stand.servers {
		f, err := sv.scrape(ctx)
		if err != nil {
			return nil, err
		}
		u.servers = append(u.servers, f)
		u.cpu += sv.proc.cpuTime()
	}
	return u, nil
}

// grown gives by how much a counter of what is replicated has grown: on the server
// that has seen most of it.
func (u *usage) grown(later *usage, name string) (most float64) {
	for i := range u.servers {
		most = max(most, since(u.servers[i], later.servers[i], name))
	}
	return most
}

// grownAll is grown for what each server counts for itself: the sum.
func (u *usage) grownAll(later *usage, name string) (sum float64) {
	for i := range u.servers {
		sum += since(u.servers[i], later.servers[i], name)
	}
	return sum
}

// measureAfter reports what the log and the processor had to bear since then.
func (r *run) measureAfter(ctx context.Context, before *usage) error {
	after, err := r.measure(ctx)
	if err != nil {
		return err
	}
	if err := before.profiles.wait(); err != nil {
		return err
	}
	r.reportUsage(before, after)
	return nil
}

// reportWaking reports what waking cost, as the servers have counted.
func (r *run) reportWaking(before, after *usage, tasks int) {
	r.report.set("wakeups_per_task", before.grownAll(after, "vigil_waiters_woken_total")/float64(tasks))
	r.report.set("claims_lost_per_task", before.grownAll(after, "vigil_claims_lost_total")/float64(tasks))
}

func (r *run) reportUsage(before, after *usage) {
	seconds := after.at.Sub(before.at).Seconds()
	r.report.set("entries_per_second", before.grown(after, "vigil_cluster_log_entries_total")/seconds)
	r.report.set("bytes_per_second", before.grown(after, "vigil_cluster_log_bytes_total")/seconds)
	if after.cpu > before.cpu {
		r.report.set("servers_cpu_cores", (after.cpu-before.cpu).Seconds()/seconds)
	}
	r.report.set("bench_cpu_cores", (after.own-before.own).Seconds()/seconds)
	// Nobody was killed, so every new stint was an election without a reason.
	r.elections += int(before.grown(after, "vigil_stint_term"))
	r.report.set("false_elections", r.elections)
}

// quietLimit is how long servers may go on working after a load has ended.
const quietLimit = 30 * time.Second

// quiet waits until the servers have nothing to do: no snapshot is being written,
// no garbage is collected.
func (r *run) quiet(ctx context.Context) {
	const look, busy = 500 * time.Millisecond, 25 * time.Millisecond
	used := func() (sum time.Duration) {
		for _, sv := range r.stand.servers {
			sum += sv.proc.cpuTime()
		}
		return sum
	}
	ctx, cancel := context.WithTimeout(ctx, quietLimit)
	defer cancel()
	for last := used(); ctx.Err() == nil; {
		pause(ctx, look)
		now := used()
		if now-last <= busy {
			return
		}
		last = now
	}
}
