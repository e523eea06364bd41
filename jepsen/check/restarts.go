package check

import (
	"strconv"
	"strings"
	"time"

	"vigil/jepsen/history"
)

// budget is what the log says of one agent's restarts.
type budget struct {
	parked  *history.Event // the pause that is not over; nil: none
	pause   time.Duration
	crashes []history.Event // within the window of the breaker
	row     int             // failures since something forgave them
	last    *history.Event  // the failure after which nothing was started yet
	told    bool            // an order to stop is open: its end is no failure
}

// restarts replays the budget of every agent, as far as the log shows it. Cluster time
// never runs faster than real time, so a pause can only be longer than it was said.
func restarts(t *trial, r *Result) {
	limit, window := t.breaker()
	agents := map[string]*budget{}
	parks, failures := 0, 0
	for i, e := range t.log {
		if !t.follows(i) || e.Kind == "cluster.restored" {
			clear(agents)
		}
		if e.Agent == "" {
			continue
		}
		b := agents[e.Agent]
		if b == nil {
			b = &budget{}
			agents[e.Agent] = b
		}
		switch e.Kind {
		case "order.start":
			r.judged(1)
			t.mayStart(r, b, e, limit)
			b.parked, b.told, b.last = nil, false, nil
		case "order.stop":
			b.told = true
		case "agent.parked":
			parks++
			b.parked, b.pause, b.crashes = &t.log[i], pauseOf(e.Text), nil
		case "agent.unparked", "agent.wanted", "agent.restarted", "agent.recovered", "agent.removed", "task.completed":
			b.parked, b.crashes, b.row, b.last = nil, nil, 0, nil
		case "agent.exited":
			if crashed(e.Text) && !b.told {
				failures++
				b.row++
				b.last = &t.log[i]
				b.crashes = append(b.crashes, e)
				for e.Got-b.crashes[0].Got > int64(window) {
					b.crashes = b.crashes[1:]
				}
			}
		}
	}
	r.count("ends that count as failures", failures)
	r.count("agents parked", parks)
}

// mayStart judges one start order.
func (t *trial) mayStart(r *Result, b *budget, e history.Event, limit int) {
	if b.parked != nil {
		passed := time.Duration(t.happened(e).to - t.happened(*b.parked).from)
		if passed < b.pause {
			r.found(Finding{From: b.parked.Got, To: e.Got, Events: []history.Event{*b.parked, e}},
				"%s: start %d was ordered at most %s after it was parked for %s", e.Agent, e.Incarnation,
				passed, b.pause)
		}
	}
	if b.last != nil {
		passed := time.Duration(t.happened(e).to - t.happened(*b.last).from)
		if pause := backoff[min(b.row, len(backoff))-1]; passed < pause {
			r.found(Finding{From: b.last.Got, To: e.Got, Events: []history.Event{*b.last, e}},
				"%s: start %d was ordered at most %s after failure %d in a row, which has a pause of %s",
				e.Agent, e.Incarnation, passed, b.row, pause)
		}
	}
	if limit > 0 && len(b.crashes) > limit {
		r.found(Finding{From: b.crashes[0].Got, To: e.Got,
			Events: append(b.crashes[:len(b.crashes):len(b.crashes)], e)},
			"%s: start %d was ordered after %d failures in a row; it should be parked after %d", e.Agent,
			e.Incarnation, len(b.crashes), limit)
	}
}

// backoff are the pauses after failures in a row.
var backoff = [...]time.Duration{0, 2 * time.Second, 5 * time.Second, 15 * time.Second, 45 * time.Second,
	2 * time.Minute, 5 * time.Minute}

// breaker gives the limit of failures within a window, from the settings of the run or
// the defaults of the product.
func (t *trial) breaker() (limit int, window time.Duration) {
	limit, window = 5, 10*time.Minute
	if n, err := strconv.Atoi(t.rec.Run.Settings["breaker_starts"]); err == nil {
		limit = n
	}
	if d, err := time.ParseDuration(t.rec.Run.Settings["breaker_window"]); err == nil {
		window = d
	}
	return limit, window
}

// pauseOf takes the pause out of "WHY; next start in PAUSE"; 0 when it says none.
func pauseOf(text string) time.Duration {
	_, after, _ := strings.Cut(text, "next start in ")
	d, err := time.ParseDuration(strings.Fields(after + " 0")[0])
	if err != nil {
		return 0
	}
	return d
}

// crashed tells whether an end was a failure, from how the log words it.
func crashed(text string) bool {
	return strings.HasPrefix(text, "ended by signal: ") ||
		strings.HasPrefix(text, "exited with code ") && !strings.HasPrefix(text, "exited with code 0")
}
