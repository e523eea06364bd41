package rpc

import (
	"runtime"

	"github.com/prometheus/client_golang/prometheus"

	"vigil/fsm"
	"vigil/fsm/noun"
	"vigil/rpc/base"
	"vigil/rpc/door"
	"vigil/rpc/hosts"
)

// figure is one number that is read from the state or from this server's parts. To
// add one, add a line to newFigures.
type figure struct {
	desc  *prometheus.Desc
	kind  prometheus.ValueType
	value func(*scrape) float64
}

// scrape is what one collection has read.
type scrape struct {
	counts  fsm.Counts
	figures fsm.Figures
	clock   noun.Time
	index   uint64
	epoch   uint32
	events  uint64
	stint   noun.Stint
	paused  bool
	braked  bool
	hosts   map[noun.HostState]int

	escalations fsm.EscalationCounts
	budgets     []fsm.BudgetUse
	rooms       []roomLoad
	halfOpen    int // roles
	trying      int // of these
}

// collector reads the state's figures at every scrape, under one short read lock.
type collector struct {
	*base.Core
	watches *door.Places
	hosts   *hosts.Streams
	next    *hosts.NextLives
	figures []figure

	tasks, processes, exits, states, decisions *prometheus.Desc

	build   prometheus.Metric
	budgets *budgetFigures
	work    *workFigures
}

func gauge(name, help string, v func(*scrape) float64) figure {
	return figure{prometheus.NewDesc(name, help, nil, nil), prometheus.GaugeValue, v}
}

func counter(name, help string, v func(*scrape) float64) figure {
	return figure{prometheus.NewDesc(name, help, nil, nil), prometheus.CounterValue, v}
}

func one(yes bool) float64 {
	if yes {
		return 1
	}
	return 0
}

func seconds(t noun.Time) float64 { return float64(t) / 1e9 }

func newCollector(c *base.Core, version string, watches *door.Places, hosts *hosts.Streams,
	next *hosts.NextLives) *collector {
	col := &collector{Core: c, watches: watches, hosts: hosts, next: next,
		tasks: prometheus.NewDesc("vigil_tasks", "Tasks by state.", []string{"state"}, nil),
		processes: prometheus.NewDesc("vigil_agent_processes", "Agents by the state of their process.",
			[]string{"state"}, nil),
		states: prometheus.NewDesc("vigil_hosts", "Hosts by state.", []string{"state"}, nil),
		exits: prometheus.NewDesc("vigil_agent_exits_total", "Ends of agents by kind, as applied here.",
			[]string{"kind"}, nil),
		decisions: prometheus.NewDesc("vigil_overseer_decisions_total",
			"Ends of looks at overseers by decision and by who decided, as applied here.",
			[]string{"decision", "by"}, nil)}
	col.build = prometheus.MustNewConstMetric(prometheus.NewDesc("vigil_build_info",
		"Always 1: the version of the program that answers and of Go, with which it was built.",
		[]string{"version", "goversion"}, nil), prometheus.GaugeValue, 1, version, runtime.Version())
	col.budgets, col.work = newBudgetFigures(), newWorkFigures(c)
	col.figures = append(stateFigures(), lawFigures()...)
	col.figures = append(col.figures, col.serverFigures()...)
	return col
}

// stateFigures are the sizes of what is replicated; the same on every server.
func stateFigures() []figure {
	return []figure{
		gauge("vigil_rooms", "Rooms, those that are being deleted included.",
			func(s *scrape) float64 { return float64(s.counts.Rooms) }),
		gauge("vigil_agents", "Agents declared.", func(s *scrape) float64 { return float64(s.counts.Agents) }),
		gauge("vigil_leases_active", "Participants with a lease (WAITING or ACTIVE).",
			func(s *scrape) float64 { return float64(s.counts.Live) }),
		gauge("vigil_agents_parked", "Agents that a breaker or a usage limit keeps from running.",
			func(s *scrape) float64 { return float64(s.counts.Parked) }),
		counter("vigil_events_total", "Events written.", func(s *scrape) float64 { return float64(s.events) }),
		gauge("vigil_applied_index", "Last log index applied here.",
			func(s *scrape) float64 { return float64(s.index) }),
		gauge("vigil_cluster_time_seconds", "Cluster time, which stands still without a leader.",
			func(s *scrape) float64 { return seconds(s.clock) }),
		gauge("vigil_epoch", "Restores of backups so far.", func(s *scrape) float64 { return float64(s.epoch) }),
		gauge("vigil_paused", "1 while everything is paused.", func(s *scrape) float64 { return one(s.paused) }),
		gauge("vigil_brake_set", "1 while the mass-failure brake is set.",
			func(s *scrape) float64 { return one(s.braked) }),
		gauge("vigil_escalations_open", "Escalations that no human has closed.",
			func(s *scrape) float64 { return float64(s.escalations.Open) }),
		gauge("vigil_escalations_unacknowledged", "Open escalations that nobody has acknowledged.",
			func(s *scrape) float64 { return float64(s.escalations.Alone) }),
		gauge("vigil_notices_pending", "Escalations whose notice is not delivered by every notifier.",
			func(s *scrape) float64 { return float64(s.escalations.Pending) }),
		counter("vigil_escalations_opened_total", "Escalations opened.",
			func(s *scrape) float64 { return float64(s.escalations.Opened) }),
		counter("vigil_escalations_dropped_total",
			"Escalations not opened, or closed for more urgent ones, since too many were open.",
			func(s *scrape) float64 { return float64(s.escalations.Dropped) }),
		gauge("vigil_stint_term", "Term of the newest stint.",
			func(s *scrape) float64 { return float64(s.stint.Term) }),
	}
}

// lawFigures are what the laws are about, as this server has applied it since it
// started.
func lawFigures() []figure {
	return []figure{
		counter("vigil_renewals_total", "Leases renewed.",
			func(s *scrape) float64 { return float64(s.figures.Renewals) }),
		counter("vigil_renewal_margin_seconds_total",
			"Sum of what was left of leases when they were renewed.",
			func(s *scrape) float64 { return seconds(s.figures.MarginLeft) }),
		gauge("vigil_renewal_margin_least_seconds",
			"The least that was left of a lease when it was renewed.",
			func(s *scrape) float64 { return seconds(s.figures.MarginLeast) }),
		counter("vigil_leases_ended_total", "Leases that ended without a word.",
			func(s *scrape) float64 { return float64(s.figures.LeasesEnded) }),
		counter("vigil_lease_end_late_seconds_total",
			"Sum of how late ends of leases were noticed, in cluster time.",
			func(s *scrape) float64 { return seconds(s.figures.LateSum) }),
		gauge("vigil_lease_end_latest_seconds", "The latest that an end of a lease was noticed.",
			func(s *scrape) float64 { return seconds(s.figures.LateMost) }),
		counter("vigil_tasks_extended_total",
			"Tasks whose expected completion was put off after it had passed.",
			func(s *scrape) float64 { return float64(s.figures.Extended) }),
		counter("vigil_task_retries_total", "Attempts at tasks that had been tried before.",
			func(s *scrape) float64 { return float64(s.figures.Retried) }),
		counter("vigil_tasks_recovered_total", "Tasks taken from holders that were gone.",
			func(s *scrape) float64 { return float64(s.figures.Recovered) }),
		counter("vigil_writes_repeated_total", "Writes answered from a session instead of done again.",
			func(s *scrape) float64 { return float64(s.figures.Repeated) }),
		counter("vigil_usage_clamped_total",
			"Reports of usage of agents that said more than any tool can use; the rest of them was left out.",
			func(s *scrape) float64 { return float64(s.figures.UsageClamped) }),
		counter("vigil_superseded_words_total", "Words of superseded incarnations and attempts, refused.",
			func(s *scrape) float64 { return float64(s.figures.Superseded) }),
		counter("vigil_budget_refusals_total", "Writes refused because a budget was used up.",
			func(s *scrape) float64 { return float64(s.figures.Full) }),
		counter("vigil_task_texts_dropped_total",
			"Finished tasks whose texts were dropped because a budget was used up.",
			func(s *scrape) float64 { return float64(s.figures.Dropped) }),
		counter("vigil_write_conflicts_total", "Writes refused because something had changed.",
			func(s *scrape) float64 { return float64(s.figures.Conflicts) }),
		counter("vigil_agent_starts_total", "Lives of agents whose process was reported.",
			func(s *scrape) float64 { return float64(s.figures.Started) }),
		counter("vigil_agent_repairs_total", "Lives of agents started after an end that nobody ordered.",
			func(s *scrape) float64 { return float64(s.figures.Repaired) }),
		counter("vigil_agent_repair_seconds_total",
			"Sum of the times from an end that nobody ordered to the next life, back-off included.",
			func(s *scrape) float64 { return seconds(s.figures.RepairSum) }),
		gauge("vigil_agent_repair_longest_seconds", "The longest time from an end that nobody ordered to the next life.",
			func(s *scrape) float64 { return seconds(s.figures.RepairMost) }),
		counter("vigil_brakes_total", "Times that the mass-failure brake was set.",
			func(s *scrape) float64 { return float64(s.figures.Brakes) }),
		counter("vigil_overseer_looks_total", "Looks at overseers begun.",
			func(s *scrape) float64 { return float64(s.figures.Looks) }),
		counter("vigil_overseer_fallbacks_total",
			"Looks at overseers left to the mechanical rule since triage, which was asked, gave no decision.",
			func(s *scrape) float64 { return float64(s.figures.LooksFailed) }),
		counter("vigil_orders_deduplicated_total", "Start orders refused because one was open.",
			func(s *scrape) float64 { return float64(s.figures.OrdersDeduped) }),
	}
}

// serverFigures are this server's own.
func (c *collector) serverFigures() []figure {
	return []figure{
		gauge("vigil_waiters", "Calls that wait on this server for a task, mail or a change.",
			func(*scrape) float64 { return float64(c.Park.TaskFigures().Parked) }),
		counter("vigil_waiters_woken_total", "Wake-ups given to waiters.",
			func(*scrape) float64 { return float64(c.Park.TaskFigures().Woken) }),
		counter("vigil_claims_matched_total",
			"Claims of waiters that this leader put into the entries that made their tasks.",
			func(*scrape) float64 { return float64(c.Park.TaskFigures().Matched) }),
		counter("vigil_claims_lost_total",
			"Claims of woken waiters that found nothing: another server's waiter was faster.",
			func(*scrape) float64 { return float64(c.Park.TaskFigures().Lost) }),
		counter("vigil_next_lives_ordered_total",
			"Lives that this leader ordered in the entries that ended the ones before.",
			func(*scrape) float64 { return float64(c.next.Ordered()) }),
		gauge("vigil_watchers", "Watches of events on this server.",
			func(*scrape) float64 { return float64(c.watches.Taken()) }),
		gauge("vigil_host_streams", "Streams that hosts hold to this server.",
			func(*scrape) float64 { return float64(c.hosts.Open()) }),
		gauge("vigil_leader", "1 on the server that leads.",
			func(*scrape) float64 { return one(c.Reader.Leader().Self) }),
	}
}

// Describe implements prometheus.Collector.
func (c *collector) Describe(ch chan<- *prometheus.Desc) {
	ch <- c.tasks
	ch <- c.processes
	ch <- c.exits
	ch <- c.states
	ch <- c.decisions
	ch <- c.build.Desc()
	c.budgets.describe(ch)
	c.work.describe(ch)
	for _, f := range c.figures {
		ch <- f.desc
	}
}

// Collect implements prometheus.Collector.
func (c *collector) Collect(ch chan<- prometheus.Metric) {
	s := base.Read(c.Core, func(st *fsm.View) *scrape {
		out := &scrape{counts: st.Counts(), figures: st.Figures(), clock: st.Clock(), index: st.LastIndex(),
			epoch: st.Epoch(), events: st.LastEvent(), stint: st.Stint(),
			escalations: st.EscalationCounts(), hosts: map[noun.HostState]int{}}
		out.paused, _, _, _ = st.Pause()
		out.braked, out.budgets = st.Brake().Set != 0, st.Budgets()
		out.rooms = busiest(st)
		out.halfOpen, out.trying = st.HalfOpenRoles(), st.HalfOpenTrying()
		for h := range st.Hosts() {
			out.hosts[h.Status()]++
		}
		return out
	})
	for state := noun.HostReady; state <= noun.HostDraining; state++ {
		ch <- prometheus.MustNewConstMetric(c.states, prometheus.GaugeValue, float64(s.hosts[state]), state.String())
	}
	for state := noun.TaskQueued; state <= noun.TaskQuarantined; state++ {
		ch <- prometheus.MustNewConstMetric(c.tasks, prometheus.GaugeValue, float64(s.counts.Tasks[state]),
			state.String())
	}
	for state, n := range s.counts.Processes {
		ch <- prometheus.MustNewConstMetric(c.processes, prometheus.GaugeValue, float64(n),
			noun.ProcState(state).String())
	}
	for kind := noun.ExitClean; int(kind) < len(s.figures.Exits); kind++ {
		ch <- prometheus.MustNewConstMetric(c.exits, prometheus.CounterValue, float64(s.figures.Exits[kind]),
			kind.String())
	}
	for by := noun.ByRule; by <= noun.ByTriage; by++ {
		for d, n := range s.figures.Decisions[by-noun.ByRule] {
			ch <- prometheus.MustNewConstMetric(c.decisions, prometheus.CounterValue, float64(n),
				noun.Decision(d).String(), by.String())
		}
	}
	ch <- c.build
	c.budgets.collect(ch, s.budgets)
	c.work.collect(ch, s)
	for _, f := range c.figures {
		ch <- prometheus.MustNewConstMetric(f.desc, f.kind, f.value(s))
	}
}

// register adds everything that this room measures; what was added is taken back
// when one of them is refused.
func register(reg prometheus.Registerer, all ...prometheus.Collector) (undo func(), err error) {
	var done []prometheus.Collector
	undo = func() {
		for _, c := range done {
			reg.Unregister(c)
		}
	}
	for _, c := range all {
		if err := reg.Register(c); err != nil {
			undo()
			return nil, err
		}
		done = append(done, c)
	}
	return undo, nil
}
