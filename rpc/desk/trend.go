package desk

import (
	"context"
	"sync"
	"time"

	"google.golang.org/protobuf/types/known/durationpb"

	"vigil/fsm"
	"vigil/fsm/noun"
	"vigil/rpc/gen/vigilv1"
)

// The last hour, in steps.
const (
	trendStep   = 15 * time.Second
	trendPoints = int(time.Hour / trendStep)
)

// trend keeps figures of the last hour. The zero value is ready; safe for concurrent use.
type trend struct {
	mu     sync.Mutex
	newest time.Time
	points []trendPoint // the oldest first
}

type trendPoint struct {
	at     time.Time
	counts *vigilv1.TrendPoint
}

// Applied is called after every entry of the log, outside the lock of the state: it notes the figures of now,
// once in a step. A cluster in which nothing is written changes nothing, either.
func (s *Service) Applied() {
	t := &s.trend
	now := time.Now()
	if !t.mu.TryLock() {
		return // somebody notes them, or reads
	}
	defer t.mu.Unlock()
	if now.Sub(t.newest) < trendStep {
		return
	}
	t.newest = now
	s.Reader.Read(func(st *fsm.View) {
		n := st.Counts()
		t.points = append(t.points, trendPoint{now, &vigilv1.TrendPoint{
			AgentsRunning: n.Processes[noun.ProcRunning],
			Waiting:       n.Tasks[noun.TaskQueued] + n.Tasks[noun.TaskPending],
			Working:       n.Tasks[noun.TaskAcknowledged] + n.Tasks[noun.TaskInProgress],
			Ended:         st.TasksEnded(), Events: st.LastEvent()}})
	})
	t.points = t.points[max(0, len(t.points)-trendPoints):]
}

// GetTrend gives the figures of the last hour.
func (s *Service) GetTrend(context.Context, *vigilv1.GetTrendRequest) (*vigilv1.GetTrendResponse, error) {
	s.trend.mu.Lock()
	defer s.trend.mu.Unlock()
	out := &vigilv1.GetTrendResponse{}
	for _, p := range s.trend.points {
		ago := time.Since(p.at)
		if ago > time.Hour {
			continue
		}
		c := p.counts
		out.Points = append(out.Points, &vigilv1.TrendPoint{Ago: durationpb.New(ago), AgentsRunning: c.AgentsRunning,
			Waiting: c.Waiting, Working: c.Working, Ended: c.Ended, Events: c.Events})
	}
	return out, nil
}
