package main

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
	"unicode/utf8"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/timestamppb"

	"vigil/cmd/vigil/cli"
	"vigil/cmd/vigil/term"
	"vigil/rpc/gen/vigilv1"
)

// testNow is when every command of the tests runs.
var testNow = time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)

func before(d time.Duration) *timestamppb.Timestamp { return timestamppb.New(testNow.Add(-d)) }

// cannedServer answers with what the test has put in.
type cannedServer struct {
	vigilv1.UnimplementedFleetServer
	vigilv1.UnimplementedWorkServer
	vigilv1.UnimplementedClusterServer
	vigilv1.UnimplementedMailboxServer
	vigilv1.UnimplementedDeskServer
	vigilv1.UnimplementedEscalationsServer
	addr string

	mu     sync.Mutex
	err    error // every answer, when set
	agent  *vigilv1.GetAgentResponse
	status *vigilv1.StatusResponse
	task   *vigilv1.Task
	events []*vigilv1.Event
	said   []string // words of agents
	left   chan string
	parked chan struct{}
	give   bool          // Wait answers with task
	next   *vigilv1.Task // what comes with the end of one; nil: nothing
	host   *vigilv1.Host
	hosts  []*vigilv1.Host // answer of ListHosts, two a page; nil: host
	room   *vigilv1.Room
	many   int                         // so many rooms, tasks, agents and escalations are listed; 0: those above
	cut    bool                        // the next look behind the first page of agents or escalations fails, once
	asked  []proto.Message             // requests, but those about sessions
	called map[string]bool             // full names of all methods
	post   []*vigilv1.ListMailResponse // answers of ListMail, the last one again and again
	looked func()                      // called with the last of them
	unread []*vigilv1.Mail             // answer of ReadMail
	beaten string                      // verdict of beats that renew nothing; "": they do
}

// refusal makes an error as servers do.
func refusal(code codes.Code, name, message string) error {
	st, _ := status.New(code, message).WithDetails(&vigilv1.ErrorInfo{Code: name, Message: message})
	return st.Err()
}

func newCanned(t *testing.T) *cannedServer {
	t.Helper()
	lis, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := &cannedServer{addr: lis.Addr().String(), called: map[string]bool{},
		left: make(chan string, 8), parked: make(chan struct{}, 8)}
	g := grpc.NewServer(grpc.UnaryInterceptor(func(ctx context.Context, req any, info *grpc.UnaryServerInfo,
		next grpc.UnaryHandler) (any, error) {
		s.mu.Lock()
		s.called[info.FullMethod] = true
		err := s.err
		if m, ok := req.(proto.Message); ok && !strings.HasSuffix(info.FullMethod, "Session") {
			s.asked = append(s.asked, m)
		}
		s.mu.Unlock()
		if err != nil && !strings.HasSuffix(info.FullMethod, "Session") {
			return nil, err
		}
		return next(ctx, req)
	}))
	vigilv1.RegisterFleetServer(g, s)
	vigilv1.RegisterWorkServer(g, s)
	vigilv1.RegisterClusterServer(g, s)
	vigilv1.RegisterMailboxServer(g, s)
	vigilv1.RegisterDeskServer(g, s)
	vigilv1.RegisterEscalationsServer(g, s)
	var serving sync.WaitGroup
	serving.Go(func() { _ = g.Serve(lis) })
	t.Cleanup(func() { g.Stop(); serving.Wait() })
	return s
}

func (s *cannedServer) OpenSession(context.Context, *vigilv1.OpenSessionRequest) (*vigilv1.OpenSessionResponse, error) {
	return &vigilv1.OpenSessionResponse{Session: 1}, nil
}

func (s *cannedServer) CloseSession(context.Context,
	*vigilv1.CloseSessionRequest) (*vigilv1.CloseSessionResponse, error) {
	return &vigilv1.CloseSessionResponse{}, nil
}

func (s *cannedServer) Status(context.Context, *vigilv1.StatusRequest) (*vigilv1.StatusResponse, error) {
	return s.status, nil
}

func (s *cannedServer) GetAgent(context.Context, *vigilv1.GetAgentRequest) (*vigilv1.GetAgentResponse, error) {
	return s.agent, nil
}

func (s *cannedServer) GetTask(context.Context, *vigilv1.GetTaskRequest) (*vigilv1.Task, error) {
	return s.task, nil
}

func (s *cannedServer) CreateTask(_ context.Context, r *vigilv1.CreateTaskRequest) (*vigilv1.Task, error) {
	return &vigilv1.Task{Id: 7, Room: r.GetRoom(), Role: r.GetRole(), Title: r.GetTitle(), Text: r.GetText(),
		State: vigilv1.TaskState_PENDING}, nil
}

func (s *cannedServer) WatchEvents(_ *vigilv1.WatchEventsRequest,
	stream grpc.ServerStreamingServer[vigilv1.Event]) error {
	for _, e := range s.events {
		if err := stream.Send(e); err != nil {
			return err
		}
	}
	return nil
}

func (s *cannedServer) Join(_ context.Context, r *vigilv1.JoinRequest) (*vigilv1.JoinResponse, error) {
	return &vigilv1.JoinResponse{Agent: r.GetSpeaker().GetAgent(), AgentId: 3,
		Incarnation: max(r.GetSpeaker().GetIncarnation(), 5),
		Ttl:         durationpb.New(time.Minute)}, nil
}

func (s *cannedServer) Beat(_ context.Context, r *vigilv1.BeatRequest) (*vigilv1.BeatResponse, error) {
	if s.beaten == "" {
		return &vigilv1.BeatResponse{}, nil
	}
	return &vigilv1.BeatResponse{Exceptions: []*vigilv1.BeatException{{Agent: r.GetAgents()[0],
		Incarnation: r.GetIncarnations()[0], Verdict: s.beaten}}}, nil
}

func (s *cannedServer) Leave(_ context.Context, r *vigilv1.LeaveRequest) (*vigilv1.LeaveResponse, error) {
	s.left <- r.GetReason()
	return &vigilv1.LeaveResponse{}, nil
}

func (s *cannedServer) Wait(ctx context.Context, _ *vigilv1.WaitRequest) (*vigilv1.ClaimResponse, error) {
	if s.give {
		return &vigilv1.ClaimResponse{Task: s.task, Attempt: s.task.GetAttempt(), Ttl: durationpb.New(time.Minute)}, nil
	}
	s.parked <- struct{}{}
	<-ctx.Done()
	return nil, ctx.Err()
}

func (s *cannedServer) say(what, text string, speaker *vigilv1.Speaker) (*vigilv1.WorkResponse, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	b, err := term.Marshal(speaker)
	s.said = append(s.said, what+" "+text+" "+string(b))
	return &vigilv1.WorkResponse{State: vigilv1.TaskState_COMPLETED}, err
}

func (s *cannedServer) StartTask(_ context.Context, r *vigilv1.WorkRequest) (*vigilv1.WorkResponse, error) {
	return s.say("start", r.GetText(), r.GetSpeaker())
}

func (s *cannedServer) CompleteTask(_ context.Context, r *vigilv1.CompleteTaskRequest) (*vigilv1.WorkResponse, error) {
	return s.say("complete", r.GetResult(), r.GetSpeaker())
}

func (s *cannedServer) FailTask(_ context.Context, r *vigilv1.WorkRequest) (*vigilv1.WorkResponse, error) {
	answer, err := s.say("fail", r.GetText(), r.GetSpeaker())
	answer.State = vigilv1.TaskState_FAILED
	return answer, err
}

func (s *cannedServer) Next(_ context.Context, r *vigilv1.NextRequest) (*vigilv1.NextResponse, error) {
	text := r.GetComplete().GetResult() + r.GetFail().GetReason() + r.GetHandoff().GetToRole()
	if _, err := s.say("next", text, r.GetSpeaker()); err != nil {
		return nil, err
	}
	answer := &vigilv1.NextResponse{State: vigilv1.TaskState_COMPLETED}
	if s.next == nil {
		answer.None = &vigilv1.ErrorInfo{Code: "no_task"}
		return answer, nil
	}
	answer.Claim = &vigilv1.ClaimResponse{Task: s.next, Attempt: s.next.GetAttempt()}
	return answer, nil
}

// terminalRun is one run of the command line in a test.
type terminalRun struct {
	ctx   context.Context
	env   map[string]string
	in    string
	typed io.Reader // in its place; nil: none
	width int
	color bool
	out   interface{ Write([]byte) (int, error) }
	spawn func([]string) error

	attended bool
}

// do runs a command and gives its exit code and what it printed.
func (r terminalRun) do(t *testing.T, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	var out, errs bytes.Buffer
	a := &cli.App{Terminal: term.Terminal{In: strings.NewReader(r.in), Out: &out, Err: &errs,
		Now:    func() time.Time { return testNow },
		Screen: term.Screen{Width: r.width, Color: r.color}, Attended: r.attended},
		Getenv: func(k string) string { return r.env[k] }, Spawn: r.spawn}
	if r.typed != nil {
		a.In = r.typed
	}
	if r.out != nil {
		a.Out = r.out
	}
	ctx := r.ctx
	if ctx == nil {
		ctx = t.Context()
	}
	code = runApp(ctx, a, args)
	return code, out.String(), errs.String()
}

func TestExitCodes(t *testing.T) {
	t.Parallel()
	s := newCanned(t)
	s.task = &vigilv1.Task{Id: 1}
	for name, tc := range map[string]struct {
		err  error
		args []string
		want int
	}{
		"done":              {nil, []string{"task", "list"}, 0},
		"help":              {nil, []string{"--help"}, 0},
		"noun alone":        {nil, []string{"task"}, 0},
		"unknown command":   {nil, []string{"tsk"}, 2},
		"unknown verb":      {nil, []string{"task", "lst"}, 2},
		"unknown flag":      {nil, []string{"task", "list", "--bogus"}, 2},
		"missing argument":  {nil, []string{"task", "show"}, 2},
		"bad number":        {nil, []string{"task", "show", "x"}, 2},
		"bad state":         {nil, []string{"task", "list", "--state", "SLEEPING"}, 2},
		"bad address":       {nil, []string{"task", "list", "--addr", "nowhere"}, 2},
		"negative timeout":  {nil, []string{"task", "list", "--timeout", "-1s"}, 2},
		"no such file":      {nil, []string{"apply", "-f", "/nonexistent/room.yaml"}, 2},
		"apply what":        {nil, []string{"apply"}, 2},
		"who waits":         {nil, []string{"wait-for-task"}, 2},
		"restore needs yes": {nil, []string{"server", "snapshot", "restore", "x"}, 2},
		"refused by rule":   {refusal(codes.InvalidArgument, "invalid", "No."), []string{"task", "list"}, 2},
		"not found":         {refusal(codes.NotFound, "not_found", "No."), []string{"task", "show", "1"}, 3},
		"conflict":          {refusal(codes.Aborted, "conflict", "No."), []string{"task", "show", "1"}, 4},
		"stopped":           {refusal(codes.FailedPrecondition, "stopped", "No."), []string{"task", "show", "1"}, 4},
		"no leader": {refusal(codes.Unavailable, "no_leader", "No."),
			[]string{"task", "list", "--timeout", "3s"}, 5},
		"no server": {nil, []string{"task", "list", "--addr", "127.0.0.1:1", "--timeout", "3s"}, 5},
		"superseded": {refusal(codes.FailedPrecondition, "superseded", "No."),
			[]string{"wait-for-task", "--agent", "a/b", "--incarnation", "1"}, 7},
		"server failed": {refusal(codes.Internal, "internal", "No."), []string{"task", "list"}, 1},
	} {
		t.Run(name, func(t *testing.T) {
			s.mu.Lock()
			s.err = tc.err
			s.mu.Unlock()
			code, _, errs := terminalRun{env: map[string]string{"VIGIL_ADDR": s.addr,
				"XDG_RUNTIME_DIR": t.TempDir()}}.do(t, tc.args...)
			if code != tc.want {
				t.Errorf("exit code %d, want %d; it said %q", code, tc.want, errs)
			}
			if (code == 0) != (errs == "") {
				t.Errorf("exit code %d with %q on standard error", code, errs)
			}
			if code != 0 && (!strings.HasPrefix(errs, "vigil: ") || strings.Count(errs, "\n") != 1) {
				t.Errorf("standard error is %q, want one line that begins with vigil:", errs)
			}
		})
	}
}

func TestErrorsAreObjectsWithJSON(t *testing.T) {
	s := newCanned(t)
	s.err = refusal(codes.NotFound, "not_found", "There is no task 9.")
	code, _, errs := terminalRun{}.do(t, "--json", "--addr", s.addr, "task", "show", "9")
	var got map[string]string
	if err := json.Unmarshal([]byte(errs), &got); err != nil || code != cli.ExitNotFound || len(got) != 2 ||
		got["code"] != "not_found" || got["message"] != "There is no task 9." {
		t.Errorf("exit code %d, standard error %q (%v)", code, errs, err)
	}
	_, _, errs = terminalRun{}.do(t, "--json", "task", "show")
	if err := json.Unmarshal([]byte(errs), &got); err != nil || got["code"] != "usage" {
		t.Errorf("standard error %q (%v)", errs, err)
	}
}

func TestJSONKeepsTheNamesOfTheInterface(t *testing.T) {
	s := newCanned(t)
	s.task = &vigilv1.Task{Id: 12, Room: "web", State: vigilv1.TaskState_IN_PROGRESS, HolderIncarnation: "3"}
	for _, args := range [][]string{{"task", "show", "12"}, {"task", "list"}} {
		_, out, _ := terminalRun{}.do(t, append(args, "--json", "--addr", s.addr)...)
		for _, want := range []string{`"id":"12"`, `"state":"IN_PROGRESS"`, `"holder_incarnation":"3"`, `"kills":0`} {
			if !strings.Contains(out, want) || strings.Count(out, "\n") != 1 {
				t.Errorf("%v prints %q, want one line with %s", args, out, want)
			}
		}
	}
}

// L5: whatever ends the wait leaves the room.
func TestWaitForTaskLeavesOnEveryExit(t *testing.T) {
	for name, tc := range map[string]struct {
		end  func(s *cannedServer, cancel context.CancelCauseFunc)
		args []string
		code int
	}{
		"signal": {func(s *cannedServer, cancel context.CancelCauseFunc) {
			<-s.parked
			cancel(cli.SignalError{Sig: syscall.SIGTERM})
		}, nil, 143},
		"timeout": {func(s *cannedServer, _ context.CancelCauseFunc) { <-s.parked },
			[]string{"--timeout", "300ms"}, cli.ExitTimeout},
	} {
		t.Run(name, func(t *testing.T) {
			s := newCanned(t)
			ctx, cancel := context.WithCancelCause(t.Context())
			defer cancel(nil)
			go tc.end(s, cancel)
			r := terminalRun{ctx: ctx, env: map[string]string{"VIGIL_ADDR": s.addr, "XDG_RUNTIME_DIR": t.TempDir()}}
			code, out, errs := r.do(t, append([]string{"wait-for-task", "--agent", "web/builder"}, tc.args...)...)
			if code != tc.code || out != "" {
				t.Errorf("exit code %d, want %d; it printed %q and %q", code, tc.code, out, errs)
			}
			if len(s.left) != 1 {
				t.Errorf("left the room %d times, want once", len(s.left))
			}
		})
	}
}

// closedPipe is an output that nobody reads.
type closedPipe struct{}

func (closedPipe) Write([]byte) (int, error) { return 0, syscall.EPIPE }

func TestTaskThatCannotBePrintedIsGivenBack(t *testing.T) {
	s := newCanned(t)
	s.task, s.give = &vigilv1.Task{Id: 1, Attempt: 1}, true
	r := terminalRun{out: closedPipe{}, env: map[string]string{"VIGIL_ADDR": s.addr, "XDG_RUNTIME_DIR": t.TempDir()}}
	if code, _, errs := r.do(t, "wait-for-task", "--agent", "web/builder"); code != cli.ExitFailed || errs != "" {
		t.Errorf("exit code %d, standard error %q; want %d and silence", code, errs, cli.ExitFailed)
	}
	if len(s.left) != 1 {
		t.Errorf("left the room %d times, want once", len(s.left))
	}
}

func TestClaimByHandKeepsBeatingAndIsKeptForItsAgent(t *testing.T) {
	s := newCanned(t)
	s.task, s.give = &vigilv1.Task{Id: 41, Attempt: 2, Title: "Build", Text: "all of it\n"}, true
	var spawned []string
	dir := t.TempDir()
	r := terminalRun{env: map[string]string{"VIGIL_ADDR": s.addr, "XDG_RUNTIME_DIR": dir},
		spawn: func(args []string) error { spawned = args; return nil }}
	code, out, errs := r.do(t, "wait-for-task", "--agent", "web/builder")
	if want := "task 41, attempt 2, for web/builder: Build\n\nall of it\n"; code != 0 || out != want {
		t.Fatalf("exit code %d, printed %q, want %q; standard error %q", code, out, want, errs)
	}
	if !strings.Contains(errs, "next: vigil task start --agent web/builder, ") ||
		!strings.Contains(errs, "export VIGIL_AGENT=web/builder\n") {
		t.Errorf("standard error is %q", errs)
	}
	if got := strings.Join(spawned, " "); !strings.Contains(got, "beat --detached --until-done") ||
		!strings.Contains(got, "--incarnation 5 --agent-id 3 --task 41 --attempt 2 --follow-pid") {
		t.Errorf("started %q to beat", got)
	}
	if len(s.left) != 0 {
		t.Errorf("left the room with a claimed task: %s", <-s.left)
	}
	r.env["VIGIL_AGENT"] = "web/builder"
	if code, out, errs = r.do(t, "task", "complete", "done"); code != 0 || out != "task 41 is completed\n" {
		t.Errorf("complete: exit code %d, %q, %q", code, out, errs)
	}
	if want := `complete done {"agent":"web/builder","incarnation":"5"}`; len(s.said) != 1 ||
		s.said[0] != want {
		t.Errorf("the server heard %q, want %q", s.said, want)
	}
	if b, err := os.ReadFile(filepath.Join(dir, "vigil", "web%builder.json")); err != nil ||
		!strings.Contains(string(b), `"task":0`) {
		t.Errorf("kept %s (%v), want no task", b, err)
	}
}

// A result that is too large was refused, which ended the life of a shipped loop as a crash, each time, until its
// task was quarantined and the result lost. Of a file as much is kept as fits.
func TestResultOfAFileIsCutToWhatFits(t *testing.T) {
	s := newCanned(t)
	env := map[string]string{"VIGIL_ADDR": s.addr, "VIGIL_AGENT": "web/builder", "VIGIL_INCARNATION": "9",
		"VIGIL_TOKEN": "secret", "XDG_RUNTIME_DIR": t.TempDir()}
	s.task = &vigilv1.Task{Id: 41, Attempt: 2, Title: "Build"}
	s.agent = &vigilv1.GetAgentResponse{Agent: &vigilv1.Agent{Task: 41}, Task: s.task}
	file := filepath.Join(t.TempDir(), "result.txt")
	for _, c := range []struct{ holds, want string }{
		{strings.Repeat("x", cli.MaxTaskText), ""},
		{strings.Repeat("\u20ac", 100_000), "...\n[cut: it had 300000 bytes]"},
		{strings.Repeat("y", 5<<20), "...\n[cut: it had 5242880 bytes]"},
		{"a\xff\x00b", "a\uFFFD\x00b"},
	} {
		if err := os.WriteFile(file, []byte(c.holds), 0o600); err != nil {
			t.Fatal(err)
		}
		for _, from := range []string{file, "-"} {
			s.said = nil
			code, _, errs := terminalRun{env: env, in: c.holds}.do(t, "task", "complete", "--result-file", from)
			if code != 0 || len(s.said) != 1 {
				t.Fatalf("%d bytes: exit code %d, %q, said %d times", len(c.holds), code, errs, len(s.said))
			}
			kept, _, _ := strings.Cut(strings.TrimPrefix(s.said[0], "complete "), ` {"agent"`)
			switch cut := strings.HasPrefix(c.want, "..."); {
			case c.want == "" && (kept != c.holds || errs != ""):
				t.Errorf("%d bytes, which fit: %d kept, %q", len(c.holds), len(kept), errs)
			case cut && (!strings.HasSuffix(kept, c.want) || len(kept) > cli.MaxTaskText ||
				len(kept) < cli.MaxTaskText-4 || !utf8.ValidString(kept) || !strings.HasPrefix(c.holds, kept[:200_000]) ||
				!strings.Contains(errs, strings.Trim(c.want[strings.Index(c.want, "it had"):], "]"))):
				t.Errorf("%d bytes: %d kept, the end is %q; %q", len(c.holds), len(kept), kept[len(kept)-40:], errs)
			case c.want != "" && !cut && (kept != c.want || !strings.Contains(errs, "UTF-8")):
				t.Errorf("%q: %q, %q", c.holds, kept, errs)
			}
		}
	}
	s.said = nil
	code, _, errs := terminalRun{env: env}.do(t, "task", "complete", strings.Repeat("x", cli.MaxTaskText+1))
	if code != cli.ExitUsage || !strings.Contains(errs, "at most 256 KiB are kept") || len(s.said) != 0 {
		t.Errorf("one that is too large on the command line: exit code %d, %q, %d said", code, errs, len(s.said))
	}
}

func TestManagedAgentNeedsNoFlags(t *testing.T) {
	s := newCanned(t)
	s.task, s.give = &vigilv1.Task{Id: 41, Attempt: 2, Title: "Build"}, true
	s.agent = &vigilv1.GetAgentResponse{Agent: &vigilv1.Agent{Task: 41}, Task: s.task}
	env := map[string]string{"VIGIL_ADDR": s.addr, "VIGIL_AGENT": "web/builder.2", "VIGIL_INCARNATION": "9",
		"VIGIL_TOKEN": "secret"}
	for _, kept := range []bool{true, false} {
		env["XDG_RUNTIME_DIR"] = t.TempDir()
		r := terminalRun{env: env,
			spawn: func([]string) error { t.Error("a managed agent needs no process that beats"); return nil }}
		if kept {
			code, out, errs := r.do(t, "wait-for-task", "--json")
			if code != 0 || !strings.Contains(out, `"agent":"web/builder.2","incarnation":"9"}`) || errs != "" {
				t.Errorf("wait: exit code %d, %q, %q", code, out, errs)
			}
		}
		s.said = nil
		if code, _, errs := r.do(t, "task", "start"); code != 0 {
			t.Errorf("start: exit code %d, %q", code, errs)
		}
		if want := `start  {"agent":"web/builder.2","incarnation":"9","token":"secret"}`; len(s.said) != 1 ||
			s.said[0] != want {
			t.Errorf("the server heard %q, want %q", s.said, want)
		}
		_ = filepath.WalkDir(env["XDG_RUNTIME_DIR"], func(name string, d os.DirEntry, _ error) error {
			if b, err := os.ReadFile(name); err == nil && strings.Contains(string(b), "secret") {
				t.Errorf("%s holds the token", name)
			}
			return nil
		})
	}
}

func TestTaskTextComesFromStandardInput(t *testing.T) {
	s := newCanned(t)
	_, out, _ := terminalRun{in: "# Fix it\nall\n"}.do(t, "task", "create", "web/builder", "--file", "-",
		"--json", "--addr", s.addr)
	if !strings.Contains(out, `"title":"Fix it","text":"# Fix it\nall\n"`) {
		t.Errorf("printed %s", out)
	}
	code, _, errs := terminalRun{in: strings.Repeat("x", cli.MaxTaskText+1)}.do(t,
		"task", "create", "web/builder", "--file", "-", "--addr", s.addr)
	if code != cli.ExitUsage || !strings.Contains(errs, "at most 256 KiB") {
		t.Errorf("a task that is too large: exit code %d, %q", code, errs)
	}
}
