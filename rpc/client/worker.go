package client

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"time"

	"google.golang.org/protobuf/types/known/durationpb"

	"vigil/rpc/gen/vigilv1"
)

// Kinds of beats, to be added up; see BeatRequest.
const (
	BeatLease uint32 = 1 // the agent's own lease
	BeatVouch uint32 = 2 // its supervisor vouches for it
	BeatFence uint32 = 4 // the fence of its incarnation
)

// WorkerConfig says which agent the caller is.
type WorkerConfig struct {
	// Agent is room/role or room/role.2; by hand also room/role.* for the first
	// free one.
	Agent string
	// Incarnation is the life that a supervisor has started; 0: started by hand, a
	// new one is given out.
	Incarnation uint64
	// Token is what the supervisor handed over with it; by hand there is none.
	Token string
	// MaxWait is how long one parked call lasts before it is made again: up to
	// 10 min; 0: 1 min. Worker.Wait as a whole lasts until its context ends.
	MaxWait time.Duration
	// Starts says that the caller begins at once what it has claimed, so that a task is started in the same step
	// and Job.Start is not needed. The acknowledgement limit does not run then.
	Starts bool
	// Patience is how long Wait goes on while no server answers; 0: for ever.
	Patience time.Duration
	// Spool is the folder in which Work leaves, at its end, a result that no server takes (EnvSpool); "": there is none.
	// Wait hands out no attempt whose result lies there.
	Spool string
}

// EnvToken holds the token of a life that was started by hand, EnvTokenFile names the file with that of a
// managed one: only its account can read it, and it goes when the life ends.
const (
	EnvToken     = "VIGIL_TOKEN"
	EnvTokenFile = "VIGIL_TOKEN_FILE"
)

// maxToken bounds the file of a token, in bytes.
const maxToken = 4 << 10

// TokenFromEnv gives the token of the life whose environment this is, "" when it has none; getenv is
// os.Getenv. Of both variables EnvToken counts.
func TokenFromEnv(getenv func(string) string) (string, error) {
	path := getenv(EnvTokenFile)
	if token := getenv(EnvToken); token != "" || path == "" {
		return token, nil
	}
	f, err := os.Open(path)
	if errors.Is(err, os.ErrNotExist) {
		return "", fmt.Errorf("read %s: %s is gone: the life that it belongs to has ended", EnvTokenFile, path)
	}
	if err != nil {
		return "", fmt.Errorf("read %s: %w: only the agent's own account can read it", EnvTokenFile, err)
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, maxToken+1))
	switch {
	case err != nil:
		return "", fmt.Errorf("read %s: %w", EnvTokenFile, err)
	case len(text) > maxToken:
		return "", fmt.Errorf("read %s: %s has more than %d bytes: it holds no token", EnvTokenFile, path, maxToken)
	}
	return strings.TrimSpace(string(text)), nil
}

// WorkerFromEnv reads VIGIL_AGENT, VIGIL_INCARNATION, the token and VIGIL_SPOOL, which a managed agent is
// told by its environment; getenv is os.Getenv. Without VIGIL_INCARNATION the agent was started
// by hand.
func WorkerFromEnv(getenv func(string) string) (WorkerConfig, error) {
	cfg := WorkerConfig{Agent: getenv("VIGIL_AGENT")}
	if cfg.Agent == "" {
		return cfg, errors.New("read environment: VIGIL_AGENT is not set: name the agent as room/role")
	}
	if text := getenv("VIGIL_INCARNATION"); text != "" {
		n, err := ParseIncarnation(text)
		if err != nil {
			return cfg, fmt.Errorf("read environment: VIGIL_INCARNATION: %w", err)
		}
		cfg.Incarnation, cfg.Spool = n, getenv(EnvSpool)
	}
	var err error
	if cfg.Token, err = TokenFromEnv(getenv); err != nil {
		return cfg, fmt.Errorf("read environment: %w", err)
	}
	return cfg, nil
}

// Worker is one life of an agent in its room. It beats from Join until Leave,
// Detach, or the end of its context. Its methods may be used by several goroutines,
// but one at a time should Wait.
type Worker struct {
	client   *Client
	work     vigilv1.WorkClient
	maxWait  time.Duration
	starts   bool
	patience time.Duration
	spool    string
	left     bool // a result is left there; of Work alone

	speaker *vigilv1.Speaker // as the cluster named it; never changed
	id      uint32
	managed bool
	held    uint64 // see Held

	ctx    context.Context
	end    context.CancelCauseFunc
	beats  sync.WaitGroup
	stop   context.CancelFunc // ends the beats
	unsure chan struct{}      // ask for a beat at once

	mu      sync.Mutex
	ttl     time.Duration
	waiting bool      // joined, and no task claimed since
	proven  time.Time // when the newest proof of life was sent that was acknowledged
	joins   int       // changes when the lease has ended and was taken up again
	job     *Job      // under way
}

// Join makes the caller an agent of its room and starts to beat. The context
// bounds the call only; end the worker with Leave on every way out (law L5).
func Join(ctx context.Context, c *Client, cfg WorkerConfig) (*Worker, error) {
	w := &Worker{client: c, work: vigilv1.NewWorkClient(c), maxWait: cfg.MaxWait, patience: cfg.Patience,
		starts: cfg.Starts, spool: cfg.Spool, unsure: make(chan struct{}, 1), speaker: &vigilv1.Speaker{Agent: cfg.Agent,
			Incarnation: cfg.Incarnation, Token: cfg.Token}}
	if w.maxWait == 0 {
		w.maxWait = time.Minute
	}
	// A call that is broken off may have joined all the same, under a number that
	// only its answer tells: it goes on for a moment, so that there is a way back out.
	call, cancel := afterwards(ctx, joinLimit)
	defer cancel()
	w.proven = time.Now()
	answer, err := w.work.Join(call, &vigilv1.JoinRequest{Speaker: w.speaker})
	if call.Err() != nil {
		return nil, c.endedBy(ctx.Err(), &trial{})
	}
	if err != nil {
		return nil, err
	}
	w.speaker = &vigilv1.Speaker{Agent: answer.GetAgent(), Incarnation: answer.GetIncarnation(), Token: cfg.Token}
	w.id, w.managed, w.waiting = answer.GetAgentId(), answer.GetManaged(), true
	w.ttl, w.held = lifetime(answer.GetTtl()), answer.GetTask()
	w.ctx, w.end = context.WithCancelCause(c.life)
	beat, stop := context.WithCancel(w.ctx)
	w.stop = stop
	w.beats.Go(func() { w.beatLoop(beat) })
	if ctx.Err() == nil {
		return w, nil
	}
	if err := w.breakOff(call); err != nil {
		return nil, err
	}
	return nil, c.endedBy(ctx.Err(), &trial{})
}

// joinLimit is how long a join that was broken off waits for its answer.
const joinLimit = time.Second

// afterwards gives a context that ends a while after ctx.
func afterwards(ctx context.Context, d time.Duration) (context.Context, context.CancelFunc) {
	late, cancel := context.WithCancel(context.WithoutCancel(ctx))
	stop := context.AfterFunc(ctx, func() {
		timer := time.AfterFunc(d, cancel)
		context.AfterFunc(late, func() { timer.Stop() })
	})
	return late, func() { stop(); cancel() }
}

// lifetime reads a TTL of an answer, a minute when there is none.
func lifetime(d *durationpb.Duration) time.Duration {
	if ttl := d.AsDuration(); ttl > 0 {
		return ttl
	}
	return time.Minute
}

// Agent is the agent's full name: room/role or room/role.2.
func (w *Worker) Agent() string { return w.speaker.GetAgent() }

// ID is the agent's number in beats.
func (w *Worker) ID() uint32 { return w.id }

// Incarnation is the number of this life.
func (w *Worker) Incarnation() uint64 { return w.speaker.GetIncarnation() }

// Managed tells whether a supervisor started it.
func (w *Worker) Managed() bool { return w.managed }

// TTL is how long the lease lasts after a beat.
func (w *Worker) TTL() time.Duration {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.ttl
}

// Context ends when this life is over: context.Cause gives ErrSuperseded when a
// newer one has begun, ErrStopped or ErrNotFound when a human ended it, ErrClosed
// after Leave, Detach or the end of the client.
func (w *Worker) Context() context.Context { return w.ctx }

// Leave leaves the room at once and ends the beats; a task that is held goes back
// to its role. Give it a context of its own, not the one whose end is the reason
// for leaving. Only the first call does anything.
func (w *Worker) Leave(ctx context.Context, reason string) error {
	if !w.quit() {
		return nil
	}
	_, err := w.work.Leave(ctx, &vigilv1.LeaveRequest{Speaker: w.speaker, Reason: reason})
	if errors.Is(err, ErrSuperseded) || errors.Is(err, ErrRejoin) {
		return nil // it is out of the room already
	}
	return err
}

// Detach ends the beats and stays in the room: somebody else goes on beating for
// this life before its lease ends.
func (w *Worker) Detach() { w.quit() }

// quit ends the beats; it gives false when this life was over before.
func (w *Worker) quit() bool {
	w.stop()
	w.beats.Wait()
	over := w.ctx.Err() != nil
	w.end(ErrClosed)
	return !over
}

// Wait parks until the role has a task and claims it. It outlives servers and
// leaders: only the end of ctx, of this life or of its patience ends it. It finishes
// no job that is still under way; finish that first.
func (w *Worker) Wait(ctx context.Context) (*Job, error) {
	ctx, cancel := w.both(ctx)
	defer cancel()
	t := &trial{}
	for {
		err := w.enter(ctx)
		// The life may go on when its host is heard again: its fence has ended, and
		// nothing newer is ordered.
		later := errors.Is(err, ErrRejoin)
		joins := w.joined()
		var answer *vigilv1.ClaimResponse
		if err == nil {
			answer, err = w.waitOnce(ctx)
		}
		var job *Job
		if err == nil {
			job, err = w.accept(ctx, answer, joins)
		}
		switch {
		case job != nil && w.isDone(ctx, job):
			continue
		case job != nil:
			return job, nil
		case err == nil: // the claim is over; wait anew
			continue
		case w.ctx.Err() != nil:
			return nil, context.Cause(w.ctx)
		case ctx.Err() != nil:
			return nil, w.client.endedBy(ctx.Err(), &trial{tries: 1, last: t.last})
		case errors.Is(err, ErrNoTask), errors.Is(err, ErrRejoin) && !later:
			*t = trial{}
			continue
		case !later && !lost(err):
			return nil, w.over(err)
		}
		if t.last = From(err); t.tries == 0 {
			t.began = time.Now()
		}
		if t.tries++; w.patience > 0 && time.Since(t.began) >= w.patience {
			return nil, err
		}
		// The servers may have been away for longer than the lease; a beat tells.
		w.askBeat()
		t.pause(ctx, w.client.done)
	}
}

// waitOnce parks for MaxWait at most.
func (w *Worker) waitOnce(ctx context.Context) (*vigilv1.ClaimResponse, error) {
	r := &vigilv1.WaitRequest{Speaker: w.speaker, MaxWait: durationpb.New(w.maxWait), Start: w.starts}
	answer, err := w.work.Wait(ctx, r)
	if errors.Is(err, ErrOldServers) { // which start nothing
		r.Start = false
		answer, err = w.work.Wait(ctx, r)
	}
	if errors.Is(err, ErrRejoin) {
		w.outside()
	}
	return answer, err
}

// accept makes a job of a claim, nil when the claim is over already: an answer that
// was long on its way may tell of a lease that has ended meanwhile.
func (w *Worker) accept(ctx context.Context, answer *vigilv1.ClaimResponse, joins int) (*Job, error) {
	if w.joined() != joins {
		w.outside()
		return nil, nil // what this life holds now, the next call tells
	}
	job := w.begin(answer)
	w.mu.Lock()
	fresh := elapsed(w.proven) < w.ttl/2
	w.mu.Unlock()
	if fresh {
		return job, nil
	}
	if err := w.Beat(ctx); err != nil {
		job.stop(err)
		return nil, err
	}
	if job.ctx.Err() != nil {
		return nil, nil
	}
	return job, nil
}

// joined counts the joins.
func (w *Worker) joined() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.joins
}

// lost tells whether err says only that nobody answered.
func lost(err error) bool {
	return From(err).fleeting()
}

// both gives a context that ends with ctx and with this life.
func (w *Worker) both(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancelCause(ctx)
	stop := context.AfterFunc(w.ctx, func() { cancel(context.Cause(w.ctx)) })
	return ctx, func() { stop(); cancel(nil) }
}

// over gives the reason why this life is over, or err when it is not.
func (w *Worker) over(err error) error {
	if w.ctx.Err() != nil {
		return context.Cause(w.ctx)
	}
	if final(err) {
		w.end(err)
	}
	return err
}

// final tells whether err ends a life.
func final(err error) bool {
	for _, e := range []error{ErrSuperseded, ErrStopped, ErrNotFound, ErrDenied} {
		if errors.Is(err, e) {
			return true
		}
	}
	return false
}

// enter joins the room, unless the worker waits in it already.
func (w *Worker) enter(ctx context.Context) error {
	w.mu.Lock()
	waiting := w.waiting
	w.mu.Unlock()
	if waiting {
		return nil
	}
	sent := time.Now()
	answer, err := w.work.Join(ctx, &vigilv1.JoinRequest{Speaker: w.speaker})
	if err != nil {
		return err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.ttl, w.waiting, w.proven = lifetime(answer.GetTtl()), true, sent
	w.joins++
	if w.job != nil && answer.GetTask() != w.job.Task.GetId() {
		w.job.stop(ErrRejoin)
		w.job = nil
	}
	return nil
}

// outside notes that the lease has ended.
func (w *Worker) outside() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.waiting = false
}
