package conformance

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/durationpb"

	"vigil/rpc/code"
	"vigil/rpc/gen/vigilv1"
)

// arrival is a call as a server heard it.
type arrival struct {
	method string // Next
	id     string // write id, SESSION-SEQ; "": none
	again  bool   // it says that it was sent before
	server int
	at     time.Time
}

// cluster is servers of one state: a role, its agent and its tasks. It follows a script.
type cluster struct {
	t       *testing.T
	ttl     time.Duration
	servers []*server

	mu         sync.Mutex
	script     []fault
	heard      []arrival
	counts     map[string]int
	session    uint64
	sessions   map[uint64]bool
	answers    map[string]func() (proto.Message, error) // by write id
	tasks      []*vigilv1.Task
	holds      uint64 // the task under way; 0: none
	joins      int
	leased     bool
	superseded bool
	left       bool
	changed    chan struct{} // closed and made anew with each change
}

func newCluster(t *testing.T, s *story) *cluster {
	c := &cluster{t: t, ttl: 2 * time.Second, script: s.script, counts: map[string]int{}, sessions: map[uint64]bool{},
		answers: map[string]func() (proto.Message, error){}, changed: make(chan struct{})}
	for i, text := range s.tasks {
		c.tasks = append(c.tasks, &vigilv1.Task{Id: uint64(i + 1), Room: "web", Role: "builder", Text: text, Title: text,
			State: vigilv1.TaskState_PENDING})
	}
	for i := range max(s.servers, 1) {
		c.servers = append(c.servers, c.serve(i, s.socket))
	}
	return c
}

// refused is an error as servers send it.
func refused(name, leader string) error {
	st, _ := status.New(code.Of(name).GRPC, name).WithDetails(&vigilv1.ErrorInfo{Code: name,
		Message: "The answer is " + name + ".", Leader: leader})
	return st.Err()
}

// touch tells who waits that something has changed; the caller holds mu.
func (c *cluster) touch() {
	close(c.changed)
	c.changed = make(chan struct{})
}

// handle hears a call at a server, does what the script says, and carries the call out.
func (c *cluster) handle(ctx context.Context, s *server, method string, req proto.Message,
	md metadata.MD) (proto.Message, error) {
	a := arrival{method: method[strings.LastIndexByte(method, '/')+1:], again: len(md.Get(code.HeaderRepeat)) > 0,
		server: s.index, at: time.Now()}
	if ids := md.Get(code.HeaderWriteID); len(ids) > 0 {
		a.id = ids[0]
	}
	if m, ok := req.(interface{ GetId() *vigilv1.WriteId }); ok && m.GetId() != nil {
		a.id = fmt.Sprintf("%d-%d", m.GetId().GetSession(), m.GetId().GetSeq())
	}
	if a.method == "Renew" {
		a.method = "Beat"
	}
	f := c.hear(a)
	if f.before != nil {
		if err := f.before(c, s); err != nil {
			return nil, err
		}
	}
	answer, err := c.once(ctx, &a, req)
	if f.after != nil {
		f.after(c, s)
	}
	return answer, err
}

// hear notes a call and finds what the script has for it.
func (c *cluster) hear(a arrival) fault {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.heard = append(c.heard, a)
	c.counts[a.method]++
	held := ""
	if a.method == "Beat" && c.holds != 0 {
		held = "BeatHeld"
		c.counts[held]++
	}
	for _, f := range c.script {
		if f.on == a.method || f.on == held {
			if n := c.counts[f.on]; n >= f.from && n < f.from+f.times {
				return f
			}
		}
	}
	return fault{}
}

// once carries a call out; the answer to a write id is given once and repeated.
func (c *cluster) once(ctx context.Context, a *arrival, req proto.Message) (proto.Message, error) {
	if a.method == "Wait" {
		return c.wait(ctx, req.(*vigilv1.WaitRequest))
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if a.id != "" {
		var session uint64
		fmt.Sscanf(a.id, "%d-", &session) // 0, which is none, where it is no number
		if !c.sessions[session] {
			return nil, refused(code.UnknownSession, "")
		}
		if known := c.answers[a.id]; known != nil {
			return known()
		}
	}
	answer, err := c.apply(a.method, req)
	if a.id != "" {
		c.answers[a.id] = func() (proto.Message, error) { return answer, err }
	}
	c.touch()
	return answer, err
}

// apply changes the state; the caller holds mu.
func (c *cluster) apply(method string, req proto.Message) (proto.Message, error) {
	switch req.(type) {
	case *vigilv1.OpenSessionRequest:
		c.session++
		c.sessions[c.session] = true
		return &vigilv1.OpenSessionResponse{Session: c.session}, nil
	case *vigilv1.CloseSessionRequest:
		return &vigilv1.CloseSessionResponse{}, nil
	case *vigilv1.JoinRequest:
		if c.superseded {
			return nil, refused(code.Superseded, "")
		}
		c.joins++
		c.leased, c.left = true, false
		return &vigilv1.JoinResponse{Agent: "web/builder", AgentId: 7, Incarnation: 1, Ttl: durationpb.New(c.ttl),
			Task: c.holds}, nil
	case *vigilv1.LeaveRequest:
		c.left = true
		return &vigilv1.LeaveResponse{}, nil
	case *vigilv1.GetAgentRequest:
		return &vigilv1.GetAgentResponse{Agent: &vigilv1.Agent{Name: "web/builder", Id: 7, Task: c.holds}}, nil
	case *vigilv1.BeatRequest:
		out := &vigilv1.BeatResponse{Renewed: 1}
		if err := c.mayNot(); err != nil {
			out.Exceptions = []*vigilv1.BeatException{{Agent: 7, Incarnation: 1, Verdict: status.Convert(err).Message()}}
		}
		return out, nil
	}
	if err := c.mayNot(); err != nil {
		return nil, err
	}
	switch r := req.(type) {
	case *vigilv1.RenewRequest:
		return &vigilv1.RenewResponse{Ttl: durationpb.New(c.ttl)}, nil
	case *vigilv1.WorkRequest:
		if method != "FailTask" {
			_, err := c.own(r.GetTask())
			return &vigilv1.WorkResponse{}, err
		}
		return &vigilv1.WorkResponse{}, c.end(r.GetTask(), failed(r.GetText(), r.GetRetryable(), r.GetAfter(), r.GetResult()))
	case *vigilv1.CompleteTaskRequest:
		return &vigilv1.WorkResponse{}, c.end(r.GetTask(), "completed: "+r.GetResult())
	case *vigilv1.NextRequest:
		if r.GetHandoff() != nil { // there is no such role
			return nil, refused(code.NotFound, "")
		}
		return c.next(r)
	case *vigilv1.HandoffRequest:
		return nil, refused(code.NotFound, "")
	}
	return nil, refused(code.Unimplemented, "")
}

// failed says how an attempt has failed.
func failed(why string, retryable bool, after *durationpb.Duration, kept string) string {
	if kept != "" {
		why += " Kept: " + kept
	}
	if retryable {
		return fmt.Sprintf("retry in %s: %s", after.AsDuration(), why)
	}
	return "failed: " + why
}

// mayNot refuses what this life says once it is over, or has no lease.
func (c *cluster) mayNot() error {
	switch {
	case c.superseded:
		return refused(code.Superseded, "")
	case !c.leased:
		return refused(code.Rejoin, "")
	}
	return nil
}

func (c *cluster) own(task uint64) (*vigilv1.Task, error) {
	if task == 0 || c.holds != task {
		return nil, refused(code.Superseded, "")
	}
	return c.tasks[task-1], nil
}

// end ends the task that is held: its note says how, and it says so twice when that was done twice.
func (c *cluster) end(task uint64, how string) error {
	t, err := c.own(task)
	if err != nil {
		return err
	}
	t.Note += how
	t.State, c.holds = vigilv1.TaskState_COMPLETED, 0
	return nil
}

func (c *cluster) next(r *vigilv1.NextRequest) (proto.Message, error) {
	how := "completed: " + r.GetComplete().GetResult()
	if f := r.GetFail(); f != nil {
		how = failed(f.GetReason(), f.GetRetryable(), f.GetAfter(), f.GetResult())
	}
	if err := c.end(r.GetTask(), how); err != nil {
		return nil, err
	}
	out := &vigilv1.NextResponse{State: vigilv1.TaskState_COMPLETED, Claim: c.claim()}
	if out.Claim == nil {
		out.None = &vigilv1.ErrorInfo{Code: code.NoTask}
	}
	return out, nil
}

// claim gives the task that is held, or the first that waits.
func (c *cluster) claim() *vigilv1.ClaimResponse {
	for _, t := range c.tasks {
		if t.Id == c.holds || c.holds == 0 && t.State == vigilv1.TaskState_PENDING {
			if c.holds == 0 {
				t.State, t.Attempt = vigilv1.TaskState_IN_PROGRESS, t.Attempt+1
			}
			c.holds = t.Id
			return &vigilv1.ClaimResponse{Task: proto.CloneOf(t), Attempt: t.Attempt, Ttl: durationpb.New(c.ttl)}
		}
	}
	return nil
}

func (c *cluster) wait(ctx context.Context, r *vigilv1.WaitRequest) (proto.Message, error) {
	over := time.After(r.GetMaxWait().AsDuration())
	for {
		c.mu.Lock()
		err := c.mayNot()
		claim := (*vigilv1.ClaimResponse)(nil)
		if err == nil {
			claim = c.claim()
		}
		changed := c.changed
		c.mu.Unlock()
		switch {
		case err != nil:
			return nil, err
		case claim != nil:
			return claim, nil
		}
		select {
		case <-changed:
		case <-over:
			return nil, refused(code.NoTask, "")
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// over tells whether every task has ended.
func (c *cluster) over() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, t := range c.tasks {
		if t.State != vigilv1.TaskState_COMPLETED && t.State != vigilv1.TaskState_CANCELED {
			return false
		}
	}
	return true
}

// again tells whether a method was heard as a repetition.
func (c *cluster) again(method string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.ContainsFunc(c.heard, func(a arrival) bool { return a.method == method && a.again })
}
