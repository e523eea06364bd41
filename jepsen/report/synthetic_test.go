package report

import (
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"time"

	"vigil/cmd/vigil/bench/ledger"
	"vigil/jepsen/history"
)

const second = int64(time.Second)

// invented is a record of a run that never took place, of realistic size and shape.
type invented struct {
	*rand.Rand
	rec    *history.Record
	lives  []*ledger.Life
	seq    uint64
	length int64
	harmed []int // how many servers something harms, by second
}

// invent makes a record of a length with about so many operations, faults and lives.
// It keeps every law, but for what the caller spoils afterwards.
func invent(length time.Duration, ops, faults, lives int) *invented {
	v := &invented{Rand: rand.New(rand.NewPCG(7, 7)), length: int64(length), rec: &history.Record{Run: history.Run{
		Command: `make jepsen TIME=5m SEED=7 NEMESIS="servers host clocks"`, Revision: "4be1c77", Seed: 7,
		TTL:     3 * second,
		Servers: []string{"s1", "s2", "s3"}, Hosts: []string{"h1", "h2", "h3", "h4", "h5"},
		Lanes:  []string{"servers", "disks", "clocks", "h1", "h2", "h3", "h4", "h5"},
		Fenced: []string{"lifecycle/work"}, Began: 1000 * second, BeganAt: "2026-01-02T03:04:05Z",
		Settings: map[string]string{"breaker_starts": "1000"}}}}
	v.rec.Run.Calm = v.rec.Run.Began + v.length*8/10
	v.rec.Run.Ended = v.rec.Run.Began + v.length
	v.inventFaults(faults)
	v.harm()
	v.inventOps(ops)
	v.inventLives(lives)
	return v
}

// kindsOf are faults by lane, with what they do.
var kindsOf = map[string][][2]string{
	"servers": {{"leader_killed", history.Killed}, {"server_stopped", history.Stopped},
		{"majority_ring", history.Cut}, {"server_slow", history.Slow}, {"leader_moved", history.Leading},
		{"server_replaced", history.Away}},
	"disks":  {{"fsync_stalled", history.Disk}, {"disk_full", history.Disk}},
	"clocks": {{"clock_forward", history.Clock}, {"clock_strobing", history.Clock}},
	"host": {{"agentd_killed", history.Killed}, {"host_paused", history.Stopped},
		{"host_cut_off", history.Cut}, {"servers_unheard", history.Unheard}},
}

func (v *invented) inventFaults(n int) {
	run := &v.rec.Run
	for i, name := range run.Lanes {
		kinds := kindsOf[name]
		if kinds == nil {
			kinds = kindsOf["host"]
		}
		share := n/len(run.Lanes) + map[bool]int{true: 1}[i < n%len(run.Lanes)]
		room := (run.Calm - run.Began) / int64(max(1, share))
		for j := range share {
			kind := kinds[v.IntN(len(kinds))]
			from := run.Began + int64(j)*room + v.Int64N(room/4)
			to := from + room/4 + v.Int64N(room/3)
			machine := name
			if i < 3 {
				machine = run.Servers[v.IntN(3)]
			}
			if !slices.Contains(run.Kinds, kind[0]) {
				run.Kinds = append(run.Kinds, kind[0])
			}
			v.rec.Faults = append(v.rec.Faults, history.Fault{Kind: kind[0], Lane: name, From: from, To: to,
				Note:    fmt.Sprintf("the %d. of its lane, drawn <by seed> & weight", j+1),
				Effects: []history.Effect{{Machine: machine, What: kind[1], From: from, To: to}}})
		}
	}
	slices.SortFunc(v.rec.Faults, func(a, b history.Fault) int { return cmp.Compare(a.To, b.To) })
}

// harm notes when servers are harmed.
func (v *invented) harm() {
	v.harmed = make([]int, v.length/second+10)
	for _, f := range v.rec.Faults {
		e := f.Effects[0]
		if e.Machine[0] != 's' || e.What == history.Clock {
			continue
		}
		for at := (e.From - v.rec.Run.Began) / second; at <= (e.To-v.rec.Run.Began)/second; at++ {
			v.harmed[at]++
		}
	}
}

func (v *invented) inventOps(n int) {
	at, registers, counter := v.rec.Run.Began-2*second, map[string]string{}, 0
	step := (v.length + second) / int64(n)
	free := map[int]int64{} // when a process of registers may call again
	rev := uint64(100)
	for i := range n {
		at += step
		took := int64(4e6*math.Exp(v.NormFloat64()*0.6)) + 1e6
		outcome, code := history.OK, ""
		if busy := v.harmed[max(0, (at-v.rec.Run.Began)/second)]; busy > 0 {
			took *= int64(1 + v.IntN(20*busy))
			if v.IntN(12) == 0 {
				outcome, code = history.Unknown, "unavailable"
				took = 2 * second
			}
		}
		op := history.Op{Process: i % 40, Call: at, Return: at + took, Outcome: outcome, Error: code,
			Via: []string{"", "s1", "s2", "s3"}[v.IntN(4)]}
		rev++
		switch v.IntN(6) {
		case 0:
			op.Workload, op.Kind, op.Value, op.Task = "lifecycle", "create", fmt.Sprint("title ", i), uint64(i)
		case 1:
			op.Workload, op.Kind, op.Value, op.Task = "claim", "create", fmt.Sprint("race ", i), uint64(i)
		case 2, 3: // one call at a time on each key: its value is what it was left at
			key := i % 17
			if free[key] > at {
				op.Workload, op.Kind, op.Value = "requests", "create", fmt.Sprint("once ", i)
				op.WriteID = fmt.Sprint("s/", i)
				break
			}
			free[key] = op.Return + 1
			op.Workload, op.Key, op.Rev = "register", fmt.Sprint("room/r", key), rev
			if op.Outcome != history.OK {
				op.Kind, op.Outcome = "read", history.Failed
			} else if op.Kind = "read"; v.IntN(2) == 0 || registers[op.Key] == "" {
				op.Kind, op.Rev = "write", 0
				registers[op.Key] = fmt.Sprint("v", i)
			}
			op.Value = registers[op.Key]
		default:
			counter++
			op.Workload, op.Kind, op.Key, op.Value = "reads", "read", "k", "0"
			op.Stale = v.IntN(2) == 0
			if counter == 1 {
				op.Kind = "write"
			}
		}
		v.rec.Ops = append(v.rec.Ops, op)
	}
	slices.SortFunc(v.rec.Ops, func(a, b history.Op) int { return cmp.Compare(a.Return, b.Return) })
}

func (v *invented) inventLives(n int) {
	run := v.rec.Run
	const each = 10
	type happening struct {
		at int64
		e  history.Event
	}
	var log []happening
	for a := range (n + each - 1) / each {
		agent := fmt.Sprintf("lifecycle/work.%d", a+1)
		room := v.length / each
		for i := range int64(min(each, n-a*each)) {
			start := run.Began + i*room + v.Int64N(room/8)
			end := start + room*3/4 + v.Int64N(room/8)
			l := &ledger.Life{Agent: agent, Incarnation: uint64(i + 1),
				Host: run.Hosts[v.IntN(len(run.Hosts))], Start: start, PID: 100 + a, Exit: end}
			l.File = fmt.Sprintf("lifecycle%%work.%d-%d-%s-%d-%d.life", a+1, i+1, l.Host, l.PID, start)
			frozen := start + v.Int64N(room)
			for at := start; at <= end; at += ledger.TickEvery {
				if v.IntN(3) > 0 || at < frozen || at > frozen+2*second {
					l.Ticks = append(l.Ticks, at)
				}
			}
			if v.IntN(4) == 0 { // a real freeze
				l.Ticks = slices.DeleteFunc(l.Ticks, func(at int64) bool { return at > frozen && at < frozen+2*second })
			}
			l.Ticks = append(l.Ticks, end)
			l.Said = []ledger.Said{{Sent: start + 1e6, At: start + 2e6, What: "join"}}
			v.lives = append(v.lives, l)
			for _, h := range []happening{{start - 30e6, history.Event{Kind: "order.start"}},
				{start - 1e6, history.Event{Kind: "agent.started"}},
				{end + 5e6, history.Event{Kind: "agent.exited", Text: "exited with code 0"}}} {
				h.e.Agent, h.e.Incarnation, h.e.Host = agent, l.Incarnation, l.Host
				log = append(log, h)
			}
		}
		for at := run.Calm + 9*second; at < run.Ended; at += 2 * second {
			for _, l := range v.lives {
				if l.Agent == agent && l.Start <= at && at <= l.Exit {
					v.rec.Looks = append(v.rec.Looks, history.Look{Sent: at, At: at + 1e6, Agent: agent,
						Incarnation: l.Incarnation,
						Process:     "running", Participant: "WAITING", Desired: "running"})
				}
			}
		}
	}
	slices.SortStableFunc(log, func(a, b happening) int { return cmp.Compare(a.at, b.at) })
	for _, h := range log {
		v.seq++
		for watcher := 1; watcher <= 3; watcher++ {
			e := h.e
			e.Watcher, e.Seq, e.Index, e.Got = watcher, v.seq, v.seq*3, h.at+int64(watcher)*3e6
			v.rec.Events = append(v.rec.Events, e)
		}
	}
	slices.SortFunc(v.lives, func(a, b *ledger.Life) int {
		return cmp.Or(cmp.Compare(a.Agent, b.Agent), cmp.Compare(a.Incarnation, b.Incarnation))
	})
}

// spoil breaks several laws.
func (v *invented) spoil() {
	run := v.rec.Run
	at := run.Began + v.length*9/10
	v.rec.Ops = append(v.rec.Ops,
		history.Op{Workload: "register", Kind: "write", Key: "room/<script>alert(1)</script>", Value: "a&b",
			Call: at, Return: at + 5e6, Outcome: history.OK},
		history.Op{Workload: "register", Kind: "write", Key: "room/<script>alert(1)</script>", Value: "c",
			Call: at + 10e6, Return: at + 15e6, Outcome: history.OK},
		history.Op{Workload: "register", Kind: "read", Key: "room/<script>alert(1)</script>", Value: "a&b",
			Rev: 9, Call: at + 20e6, Return: at + 25e6, Outcome: history.OK},
	)
	first := v.lives[0]
	twin := *first
	twin.Incarnation, twin.Host, twin.File = 2, "h5", "another.life"
	twin.Start += second
	twin.Ticks = slices.DeleteFunc(slices.Clone(twin.Ticks), func(at int64) bool { return at < twin.Start })
	twin.Said = nil
	v.lives = slices.Insert(v.lives, 1, &twin)
	v.rec.Events = append(v.rec.Events, history.Event{Watcher: 1, Got: at, Seq: v.seq + 5,
		Index: v.seq*3 + 50, Kind: "server.diverged", Text: "s2"})
}
