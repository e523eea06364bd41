package bench

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"vigil/rpc/gen/vigilv1"
)

func TestEveryBenchmarkAcceptsItsDefaults(t *testing.T) {
	seen := map[string]bool{}
	for _, s := range All() {
		if seen[s.Name] || Find(s.Name) == nil {
			t.Errorf("benchmark %q is listed twice or not found", s.Name)
		}
		seen[s.Name] = true
		o, err := s.check(Options{})
		if err != nil {
			t.Errorf("%s: defaults: %v", s.Name, err)
		}
		for _, use := range s.Uses {
			zero := map[string]bool{"count": o.Count == 0, "duration": o.Duration == 0,
				"clients": len(o.Clients) == 0 && s.Name != "beats",
				"batch":   o.Batch == 0, "rate": o.Rate == 0, "ttl": o.TTL == 0, "conns": o.Conns == 0}[use]
			if zero {
				t.Errorf("%s uses %s but has no default for it", s.Name, use)
			}
		}
	}
	if Find("nothing") != nil {
		t.Error("found a benchmark that does not exist")
	}
}

func TestSenselessOptionsAreRefusedBeforeAnythingStarts(t *testing.T) {
	for name, c := range map[string]struct {
		bench string
		o     Options
		word  string
	}{
		"addr of a cluster that would be killed": {"failover", Options{Addrs: []string{"127.0.0.1:1"}}, "--addr"},
		"settings of somebody else": {"beats", Options{Managed: true,
			Addrs: []string{"127.0.0.1:1"}}, "--managed"},
		"negative count":      {"beats", Options{Count: -1}, "count"},
		"batch beyond a call": {"tasks", Options{Batch: 5000}, "batch"},
		"no clients":          {"writes", Options{Clients: []int{0}}, "clients"},
		"endless":             {"writes", Options{Duration: 2 * time.Hour}, "duration"},
		"backwards":           {"writes", Options{Duration: -time.Second}, "duration"},
		"ttl too short":       {"idle", Options{TTL: time.Second}, "ttl"},
		"busy backwards":      {"hostloss", Options{Busy: -time.Second}, "busy"},
	} {
		c.o.Program = "/nonexistent"
		_, err := Find(c.bench).Run(context.Background(), c.o)
		if !errors.Is(err, ErrOptions) || !strings.Contains(err.Error(), c.word) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestReportIsOneObjectInOrder(t *testing.T) {
	r := newReport("beats")
	r.take(&tally{samples: samples{times: []time.Duration{2 * time.Millisecond, time.Millisecond}}, ops: 20,
		seconds: 4, errors: 1, first: errors.New("why")})
	r.set("agents", 7)
	r.set("took", 1500*time.Microsecond)
	r.set("agents", 8)
	text, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	want := `{"name":"beats","count":20,"seconds":4,"per_second":5,"p50_ms":1,"p99_ms":2,"max_ms":2,"errors":1,"agents":8,"took":1.5,"first_error":"why","machine":`
	if !strings.HasPrefix(string(text), want) {
		t.Errorf("got  %s\nwant %s...", text, want)
	}
	if !json.Valid(text) {
		t.Error("not valid JSON")
	}
	var b strings.Builder
	if err := r.Print(&b); err != nil || !strings.Contains(b.String(), "per second") {
		t.Errorf("table: %v\n%s", err, b.String())
	}
}

func TestWarmUpAndUnfinishedCallsAreNotCounted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		got := load{2, time.Second, 10 * time.Second}.drive(t.Context(), func(ctx context.Context, i int) (int, error) {
			pause(ctx, 300*time.Millisecond)
			return 5, nil
		})
		// Calls end at 0.3 s, 0.6 s, ...: those that end in (1 s, 11 s] count.
		if len(got.times) != 2*33 || got.ops != 5*2*33 || got.percentile(0.5) != 300*time.Millisecond ||
			got.seconds != 10 {
			t.Errorf("%d samples, %d operations, median %v, %v s", len(got.times), got.ops, got.percentile(0.5),
				got.seconds)
		}
	})
}

func TestFailedCallsAreCountedAndNotMeasured(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		broken := errors.New("broken")
		got := load{1, 0, time.Second}.drive(t.Context(), func(context.Context, int) (int, error) { return 1, broken })
		if got.errors != 100 || got.ops != 0 || got.first != broken || len(got.times) != 0 {
			t.Errorf("%d errors (%v), %d operations, %d samples", got.errors, got.first, got.ops, len(got.times))
		}
	})
}

func TestPacedCallsDoNotWaitForEachOther(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		n, late := paced(t.Context(), 100, time.Second, func(int) { pause(t.Context(), 5*time.Second) })
		if n != 100 || late.max() != 0 {
			t.Errorf("%d calls, the latest %v late", n, late.max())
		}
		if took := time.Since(began); took < 5*time.Second || took > 6*time.Second {
			t.Errorf("returned after %v: want when the last call has", took)
		}
	})
}

func TestEachStopsAtTheFirstError(t *testing.T) {
	broken := errors.New("broken")
	calls := 0
	err := each(t.Context(), 100, 1, func(_ context.Context, i int) error {
		calls++
		if i == 3 {
			return broken
		}
		return nil
	})
	if err != broken || calls != 4 {
		t.Errorf("%v after %d calls", err, calls)
	}
	if err := each(t.Context(), 0, 4, nil); err != nil {
		t.Errorf("nothing to do: %v", err)
	}
}

func TestHerdNamesAndRooms(t *testing.T) {
	h := herdOf(25_000, time.Minute)
	rooms := h.rooms("x")
	total := 0
	for _, room := range rooms {
		sum := 0
		for _, role := range room.GetRoles() {
			sum += int(role.GetReplicas())
		}
		if sum > perRoom {
			t.Errorf("room %s has %d agents", room.GetRoom(), sum)
		}
		total += sum
	}
	if total != 25_000 || h.roles*h.replicas != 25_000 {
		t.Errorf("%d agents", total)
	}
	room, role := h.role("x", h.roles-1)
	last := rooms[len(rooms)-1]
	if last.GetRoom() != room || last.GetRoles()[len(last.GetRoles())-1].GetName() != role {
		t.Errorf("the last role is %s/%s", room, role)
	}
	if agentName("a", "b", 1) != "a/b" || agentName("a", "b", 2) != "a/b.2" {
		t.Error("names of agents")
	}
}

func TestFlocksHoldEveryAgentOnce(t *testing.T) {
	agents := make([]agent, 2500)
	for i := range agents {
		agents[i] = agent{id: uint32(i + 1), speaker: &vigilv1.Speaker{Incarnation: 1}}
	}
	seen := map[uint32]int{}
	list := flocks(agents, 1000, 1)
	for _, f := range list {
		for _, id := range f.req.GetAgents() {
			seen[id]++
		}
	}
	if len(list) != 3 || len(seen) != 2500 {
		t.Errorf("%d calls with %d agents", len(list), len(seen))
	}
}

func TestBookFindsLostAndDoubledTasks(t *testing.T) {
	b := newTaskBook()
	for id := uint64(1); id <= 5; id++ {
		b.created(id)
	}
	b.completed(1) // well
	b.completed(2) // acknowledged, but not so in the end
	b.completed(3)
	b.completed(3) // twice
	// 4 is open, 5 is gone.
	if b.open() != 2 {
		t.Errorf("%d are open", b.open())
	}
	got := b.judge(map[uint64]bool{1: true, 2: false, 3: true, 4: false})
	if want := (verdict{created: 5, completed: 2, lost: 2, twice: 1, unfinished: 1}); got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
}

func TestMetricsAreRead(t *testing.T) {
	before, err := parseFigures(strings.NewReader("# HELP x\nx_total{kind=\"a\"} 1\nx_total{kind=\"b\"} 2\n"))
	if err != nil {
		t.Fatal(err)
	}
	after, err := parseFigures(strings.NewReader(`x_total{kind="a"} 4
x_total{kind="b"} 2.5e3
p_bucket{le="0.001"} 2
p_bucket{le="0.01"} 3
p_bucket{le="+Inf"} 3
p_sum 0.006
p_count 3
`))
	if err != nil {
		t.Fatal(err)
	}
	if got := since(before, after, "x_total"); got != 2501 {
		t.Errorf("the counter grew by %v", got)
	}
	if got := after[`x_total{kind="a"}`]; got != 4 {
		t.Errorf("one label: %v", got)
	}
	if got, n := worst(before, after, "p"); got != 0.01 || n != 3 {
		t.Errorf("worst of %d: %v", n, got)
	}
	if _, err := parseFigures(strings.NewReader("nonsense\n")); err == nil {
		t.Error("a line without a value was read")
	}
}

func TestOneEventOfAKillIsOneSample(t *testing.T) {
	x := &reborn{agents: map[string]*lifeline{}, changed: make(chan struct{}, 1)}
	at := time.Now()
	event := func(kind, text string, after time.Duration) {
		x.note(&vigilv1.Event{Agent: "r/a", Kind: kind, Text: text}, at.Add(after))
	}
	event("agent.started", "pid 10", 0)
	event("agent.joined", "", 1)
	x.agents["r/a"].killed = at.Add(time.Second)
	event("agent.exited", "", time.Second)
	event("agent.started", "pid 11", time.Second+20*time.Millisecond)
	event("agent.joined", "", time.Second+50*time.Millisecond)
	event("agent.parked", "", 2*time.Second)
	if x.tally.percentile(1) != 20*time.Millisecond || x.joined.percentile(1) != 50*time.Millisecond ||
		x.agents["r/a"].pid != 11 || x.tally.errors != 1 {
		t.Errorf("started after %v, joined after %v, pid %d, %d errors", x.tally.max(), x.joined.max(),
			x.agents["r/a"].pid, x.tally.errors)
	}
}
