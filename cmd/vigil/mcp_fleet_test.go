package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"google.golang.org/protobuf/types/known/durationpb"

	"vigil/cmd/vigil/cli"
	"vigil/cmd/vigil/conf"
	"vigil/cmd/vigil/serve"
	"vigil/cmd/vigil/term"
	"vigil/rpc/client"
	"vigil/rpc/freeport"
	"vigil/rpc/gen/vigilv1"
)

// mcpPatience is how long any step may take on a machine that is busy with other tests.
const mcpPatience = 90 * time.Second

// logFile is written by a command and read by the test.
type logFile struct{ *os.File }

func newLogFile(t *testing.T) logFile {
	t.Helper()
	f := logFile{must(os.CreateTemp(t.TempDir(), "log"))(t)}
	t.Cleanup(func() { _ = f.Close() }) // nothing depends on it
	return f
}

func (f logFile) String() string {
	text, err := os.ReadFile(f.Name())
	if err != nil {
		return err.Error()
	}
	return string(text)
}

// mcpFleet is a real server in this process, with the room web: its roles builder,
// reviewer and tester have one agent each, started by hand.
type mcpFleet struct {
	t      *testing.T
	addr   string
	client *client.Client
	fleet  vigilv1.FleetClient
	work   vigilv1.WorkClient
	mail   vigilv1.MailboxClient
}

func newMCPFleet(t *testing.T, ttl time.Duration) *mcpFleet {
	t.Helper()
	f := &mcpFleet{t: t, addr: freeAddr(t)}
	conf := conf.DefaultServer()
	conf.Insecure, conf.ID, conf.DataDir, conf.Addr, conf.RaftAddr, conf.Found =
		true, "s1", t.TempDir(), f.addr, freeAddr(t), true
	log := newLogFile(t)
	s, err := serve.Open(conf, log)
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background()) // it outlives what speaks to it
	ended := make(chan error, 1)
	go func() { ended <- s.Run(ctx) }()
	t.Cleanup(func() {
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
		if t.Failed() {
			t.Logf("the server's log:\n%s", log)
		}
	})
	if f.client, err = client.Open(client.Config{Addrs: []string{f.addr}, Name: "test"}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.client.Close() })
	f.fleet, f.work, f.mail = vigilv1.NewFleetClient(f.client), vigilv1.NewWorkClient(f.client),
		vigilv1.NewMailboxClient(f.client)
	room := &vigilv1.ApplyRoomRequest{Room: "web", By: "test"}
	for _, name := range []string{"builder", "reviewer", "tester"} {
		room.Roles = append(room.Roles, &vigilv1.RoleSpec{Name: name, Replicas: 1, Ttl: durationpb.New(ttl),
			StopGrace: durationpb.New(ttl / 8)})
	}
	must(f.fleet.ApplyRoom(f.ctx(), room))(t)
	return f
}

// freeAddr gives an address on which nobody listens.
func freeAddr(t *testing.T) string {
	t.Helper()
	addrs, err := freeport.Addrs(1)
	if err != nil {
		t.Fatal(err)
	}
	return addrs[0]
}

// must gives the answer of a call that may not fail.
func must[T any](answer T, err error) func(*testing.T) T {
	return func(t *testing.T) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return answer
	}
}

// ctx bounds one step.
func (f *mcpFleet) ctx() context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), mcpPatience)
	f.t.Cleanup(cancel)
	return ctx
}

// task creates a task for a role of the room.
func (f *mcpFleet) task(role, title, text string) uint64 {
	f.t.Helper()
	return must(f.fleet.CreateTask(f.ctx(), &vigilv1.CreateTaskRequest{Room: "web", Role: role, Title: title,
		Text: text, By: "ann"}))(f.t).GetId()
}

func (f *mcpFleet) get(task uint64) *vigilv1.Task {
	f.t.Helper()
	return must(f.fleet.GetTask(f.ctx(), &vigilv1.GetTaskRequest{Task: task}))(f.t)
}

func (f *mcpFleet) agent(name string) *vigilv1.Agent {
	f.t.Helper()
	return must(f.fleet.GetAgent(f.ctx(), &vigilv1.GetAgentRequest{Agent: name}))(f.t).GetAgent()
}

// send writes to an agent, as a human.
func (f *mcpFleet) send(to, subject, body string) uint64 {
	f.t.Helper()
	return must(f.mail.SendMail(f.ctx(), &vigilv1.SendMailRequest{From: "ann", To: to, Subject: subject,
		Body: body}))(f.t).GetMails()[0]
}

// until waits for something to become true.
func (f *mcpFleet) until(what string, fits func() bool) {
	f.t.Helper()
	for end := time.Now().Add(mcpPatience); !fits(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			f.t.Fatalf("%s: not seen within %s", what, mcpPatience)
		}
	}
}

// mcpClient is the SDK's client with the command `vigil mcp` behind it.
type mcpClient struct {
	t       *testing.T
	session *mcp.ClientSession
	stdin   *io.PipeWriter
	folder  string // where lives are kept
	log     logFile
	stop    context.CancelCauseFunc // as a signal does
	done    chan struct{}           // closed when the command has ended
	code    int
	changed chan struct{} // the list of tools has changed
}

// connect starts the command and connects to it.
func connect(t *testing.T, env map[string]string, args ...string) *mcpClient {
	t.Helper()
	in, stdin := io.Pipe()
	stdout, out := io.Pipe()
	c := &mcpClient{t: t, stdin: stdin, folder: t.TempDir(), log: newLogFile(t), done: make(chan struct{}),
		changed: make(chan struct{}, 16)}
	if env["XDG_RUNTIME_DIR"] != "" {
		c.folder = env["XDG_RUNTIME_DIR"]
	}
	getenv := func(name string) string {
		if name == "XDG_RUNTIME_DIR" {
			return c.folder
		}
		return env[name]
	}
	a := &cli.App{Terminal: term.Terminal{In: in, Out: out, Err: c.log, Now: time.Now}, Getenv: getenv}
	ctx, stop := context.WithCancelCause(context.Background())
	c.stop = stop
	go func() {
		defer close(c.done)
		c.code = runApp(ctx, a, append([]string{"mcp"}, args...))
		_ = out.Close() // never fails
	}()
	t.Cleanup(func() {
		_ = stdin.Close() // never fails
		c.end()
		_ = c.session.Close() // the other end has gone first
		stop(nil)
		if t.Failed() {
			t.Logf("log of vigil mcp:\n%s", c.log)
		}
	})
	var err error
	heard := &mcp.ClientOptions{ToolListChangedHandler: func(context.Context,
		*mcp.ToolListChangedRequest) {
		c.changed <- struct{}{}
	}}
	c.session, err = mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, heard).
		Connect(context.Background(), &mcp.IOTransport{Reader: stdout, Writer: stdin}, nil)
	if err != nil {
		t.Fatalf("connect: %v; it said %s", err, c.log)
	}
	return c
}

// connect starts `vigil mcp` for an agent by hand.
func (f *mcpFleet) connect(agent string, args ...string) *mcpClient {
	f.t.Helper()
	return connect(f.t, map[string]string{"VIGIL_ADDR": f.addr},
		append([]string{"--agent", agent, "--timeout", mcpPatience.String()}, args...)...)
}

// end waits for the end of the command and gives its exit code.
func (c *mcpClient) end() int {
	c.t.Helper()
	select {
	case <-c.done:
		return c.code
	case <-time.After(mcpPatience):
		c.t.Fatal("vigil mcp does not end")
		return 0
	}
}

// mcpReply is the answer to one call of a tool.
type mcpReply struct {
	text   string
	fields map[string]any
	failed bool
	err    error
}

// begin calls a tool and does not wait for the answer.
func (c *mcpClient) begin(tool string, args map[string]any) <-chan mcpReply {
	to := make(chan mcpReply, 1)
	ctx, cancel := context.WithTimeout(context.Background(), mcpPatience)
	go func() {
		defer cancel()
		got, err := c.session.CallTool(ctx, &mcp.CallToolParams{Name: tool, Arguments: args})
		r := mcpReply{err: err}
		if err == nil {
			r.failed = got.IsError
			r.fields, _ = got.StructuredContent.(map[string]any) // an error has none
			for _, part := range got.Content {
				if p, ok := part.(*mcp.TextContent); ok {
					r.text += p.Text
				}
			}
		}
		to <- r
	}()
	return to
}

// says calls a tool, which has to succeed and to say all of want.
func (c *mcpClient) says(tool string, args map[string]any, want ...string) map[string]any {
	c.t.Helper()
	r := <-c.begin(tool, args)
	if r.err != nil || r.failed {
		c.t.Fatalf("%s %v: %v %s", tool, args, r.err, r.text)
	}
	r.holds(c.t, tool, want...)
	return r.fields
}

// refuses calls a tool, which has to fail and to say all of want.
func (c *mcpClient) refuses(tool string, args map[string]any, want ...string) {
	c.t.Helper()
	r := <-c.begin(tool, args)
	if r.err != nil || !r.failed {
		c.t.Errorf("%s %.200v was not refused: %v %s", tool, args, r.err, r.text)
	}
	r.holds(c.t, tool, want...)
}

func (r *mcpReply) holds(t *testing.T, tool string, want ...string) {
	t.Helper()
	for _, w := range want {
		if !strings.Contains(r.text, w) {
			t.Errorf("%s says %q (%v), want %q", tool, r.text, r.err, w)
		}
	}
}

// claims waits for a task.
func (c *mcpClient) claims(task uint64, want ...string) {
	c.t.Helper()
	got := c.says("wait_for_task", map[string]any{"seconds": mcpPatience.Seconds()}, want...)
	if id := fmt.Sprint(got["task"].(map[string]any)["id"]); id != fmt.Sprint(task) {
		c.t.Fatalf("got task %s, want %d", id, task)
	}
}

// lives lists the files of lives that are kept.
func (c *mcpClient) lives() []string {
	files, _ := filepath.Glob(filepath.Join(c.folder, "vigil", "*.json")) // the pattern is right
	return files
}
