package main

// job is what is run on both sides in turn.
type job struct {
	name  string
	peer  []string // of peers run; none: the figure of the peer is quoted
	vigil []string // of vigil bench
	timed bool     // takes a duration
}

// jobs lists what `peers compare` runs. Both sides have the same callers and connections; those of
// failover and restart are fixed in vigil.
func jobs() []job {
	return []job{
		{"writes", []string{"etcd-writes", "-clients", "1,64,1000", "-conns", "4"},
			[]string{"writes", "--clients", "1,64,1000", "--conns", "4"}, true},
		{"wake", []string{"etcd-wake", "-rate", "1000", "-count", "800", "-conns", "4"},
			[]string{"wake", "--rate", "1000", "--count", "800", "--conns", "4"}, true},
		{"tasks", []string{"nats-tasks", "-clients", "512", "-conns", "4"},
			[]string{"tasks", "--batch", "1", "--clients", "512", "--conns", "4"}, true},
		{"failover", []string{"etcd-failover", "-count", "5", "-rate", "50"},
			[]string{"failover", "--count", "5", "--rate", "50"}, false},
		{"restart", nil, []string{"restart", "--count", "40"}, false},
		{"restart-alone", nil, []string{"restart", "--count", "20", "--batch", "1"}, false},
	}
}

// row is one line of the comparison.
type row struct {
	job  string
	what string // what is measured, and on which side how
	peer string // name of the figure in the peer's report
	own  string // and in vigil's
	unit unit
	aim  aim
	// quoted bounds the peer's figure where it is not measured; zero: it is.
	quoted [2]float64
	// differs says what one side promises and the other does not.
	differs string
}

// unit is that of a figure.
type unit int

const (
	milliseconds unit = iota // less is better
	perSecond                // more is better
	microseconds             // less is better
)

// aim is what the figure or the ratio of vigil to the peer should be; a zero field asks for nothing.
type aim struct {
	atMost  float64 // ratio
	atLeast float64 // ratio
	figure  float64 // at most, of vigil itself
}

// rows lists the comparison.
func rows() []row {
	const (
		put = "etcd puts a key. vigil checks a task against role and budgets, gives it a number and an event in the " +
			"history, and repeats a write of unknown outcome under the same id: it is done once"
		wake = "etcd: one watcher of each key sees it, nothing is decided. vigil: one of 20 waiting agents holds the " +
			"claim, fenced by its attempt; each task is completed beside: two writes for etcd's one"
		life = "JetStream: 3 writes (publish, delivery, acknowledgement), delivered at least once, to anybody whose 30 s " +
			"are not over. vigil: 2 writes (create; complete with the claim and the start of the next), to one agent with " +
			"a lease; a late word of an older attempt is refused"
		fail = "etcd: default election timeout of 1 s; first of puts begun every 25 ms. vigil: one write that the client " +
			"repeats; 30 agents work meanwhile and keep their leases"
		nomad = "Nomad's figure is quoted: its client restarts a task by itself. vigil: the next life is in the " +
			"replicated log before it runs"
	)
	return []row{
		{"writes", "one writer, p50: `etcd put`, `vigil bench writes`", "p50_ms_1_clients", "p50_ms_1_clients",
			milliseconds, aim{atMost: 0.9}, [2]float64{}, put},
		{"writes", "64 writers, rate", "per_second_64_clients", "per_second_64_clients",
			perSecond, aim{atLeast: 2}, [2]float64{}, "the same"},
		{"writes", "1,000 writers, rate", "per_second_1000_clients", "per_second_1000_clients",
			perSecond, aim{atLeast: 3}, [2]float64{}, "the same"},
		{"writes", "1,000 writers, processor time of a write, in servers and load", costOfOne, costOfOne,
			microseconds, aim{}, [2]float64{}, "the same"},
		{"wake", "1,000/s created until held, p50: `etcd put` until its watcher sees it, `vigil bench wake`",
			"p50_ms", "p50_ms", milliseconds, aim{atMost: 1}, [2]float64{}, wake},
		{"wake", "the same, p99", "p99_ms", "p99_ms", milliseconds, aim{atMost: 1}, [2]float64{}, "the same"},
		{"tasks", "lives of tasks in single calls, 512 workers, rate: JetStream publish, fetch 1, double acknowledge; " +
			"`vigil bench tasks --batch 1`", "per_second", "per_second", perSecond, aim{atLeast: 2}, [2]float64{}, life},
		{"tasks", "the same, processor time of a life, in servers and load", costOfOne, costOfOne,
			microseconds, aim{}, [2]float64{}, "the same"},
		{"failover", "leader killed until the next write, p50: `etcd put`, `vigil bench failover`", "p50_ms", "p50_ms",
			milliseconds, aim{}, [2]float64{}, fail},
		{"restart", "agent killed until the next life runs, three at a time, p50: `vigil bench restart`", "", "p50_ms",
			milliseconds, aim{figure: 60}, [2]float64{46, 62}, nomad},
		{"restart-alone", "the same, one at a time", "", "p50_ms", milliseconds, aim{figure: 60},
			[2]float64{46, 62}, "the same"},
	}
}
