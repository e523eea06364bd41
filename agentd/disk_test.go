package agentd

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/grpc"

	"vigil/agentd/accounts"
	"vigil/rpc/gen/vigilv1"
)

// On a full disk, or one without inodes, nothing is started and the cluster knows why.
func TestA07DiskPressure(t *testing.T) {
	var free, inodes atomic.Uint64
	free.Store(300 << 20)
	inodes.Store(5000)
	r := newRig(t, time.Minute, true, func(c *Config) {
		c.MinFreeDisk, c.MinFreeMemory = 200<<20, 1
		c.Disk = func() (Room, error) { n := inodes.Load(); return Room{Bytes: free.Load(), Inodes: &n}, nil }
	})
	for next(t, r.pressures).GetReason() != "" {
	}
	disk, files := "is short of disk space for "+r.dir+": 100 MiB are available, 200 MiB are wanted",
		"is short of inodes on the disk of "+r.dir+": 999 are available, 1000 are wanted"
	for i, step := range []struct {
		mib, inodes uint64
		want        string
	}{{100, 5000, disk}, {100, 999, disk + "; " + files}, {250, 999, files}, {250, 1250, ""}} {
		free.Store(step.mib << 20)
		inodes.Store(step.inodes)
		r.advance(2 * time.Second)
		if got := next(t, r.pressures).GetReason(); got != step.want {
			t.Errorf("step %d: %q, want %q", i, got, step.want)
		}
	}
	free.Store(0)
	r.advance(2 * time.Second)
	next(t, r.pressures)
	r.stream.orders(t, order("start", 1, 1, "wait"))
	r.stream.settle(t)
	none(t, r.accepts, "accepted on a full disk")
	free.Store(1 << 30)
	r.advance(2 * time.Second)
	next(t, r.agents).expect(t, "up")
	if room, err := roomAt(r.dir); err != nil || room.Bytes == 0 {
		t.Errorf("%+v, %v", room, err)
	}
	if info, err := os.Stat(filepath.Join(r.dir, "lives", "1-1", "exit.json.new")); err != nil || info.Size() < 64<<10 {
		t.Errorf("no room is reserved for the record of its end: %v", err)
	}
}

// Nothing is started while nothing can be written, whatever is free and wanted.
func TestDiskThatIsReadOnly(t *testing.T) {
	var readOnly atomic.Bool
	readOnly.Store(true)
	r := newRig(t, time.Minute, true, func(c *Config) {
		c.Disk = func() (Room, error) { return Room{Bytes: 1 << 40, ReadOnly: readOnly.Load()}, nil }
	})
	want := "cannot write to " + r.dir + ": its file system is read-only"
	if got := next(t, r.pressures).GetReason(); got != want {
		t.Errorf("%q, want %q", got, want)
	}
	r.stream.orders(t, order("start", 1, 1, "wait"))
	r.stream.settle(t)
	r.advance(2 * time.Second)
	r.stream.settle(t)
	none(t, r.accepts, "accepted although nothing can be written")
	readOnly.Store(false)
	r.advance(2 * time.Second)
	if got := next(t, r.pressures).GetReason(); got != "" {
		t.Errorf("%q, want none", got)
	}
	next(t, r.agents).expect(t, "up")
	if room, err := roomAt("/proc/self"); err != nil || room.ReadOnly {
		t.Errorf("%+v, %v", room, err)
	}
}

// A disk that does not answer holds up neither beats nor anything else; nothing is started meanwhile, and the cluster
// knows why.
func TestA07DiskThatDoesNotAnswer(t *testing.T) {
	hangs := make(chan struct{})
	var hung atomic.Bool
	r := newRig(t, time.Minute, true, func(c *Config) {
		c.MinFreeDisk = 1
		c.Disk = func() (Room, error) {
			if hung.Load() {
				<-hangs
			}
			return Room{Bytes: 1 << 40}, nil
		}
	})
	answers := sync.OnceFunc(func() { hung.Store(false); close(hangs) })
	t.Cleanup(answers)
	a := r.start(t, "wait", 1, 1)
	for next(t, r.pressures).GetReason() != "" {
	}
	hung.Store(true)
	for why := ""; why == ""; {
		r.advance(time.Second)
		r.stream.orders(t) // the keeper looks
		r.stream.settle(t)
		select {
		case p := <-r.pressures:
			why = p.GetReason()
			want := "cannot be measured: for more than 5s neither the disk of " + r.dir
			if !strings.HasPrefix(why, want) {
				t.Fatalf("%q, want %q", why, want)
			}
		default:
		}
	}
	for range 3 {
		drained(r.beats)
		r.advance(16 * time.Second)
		for b := next(t, r.beats); len(b.GetAgents()) == 0; b = next(t, r.beats) {
		}
	}
	a.conn.Write([]byte("are you there?\n"))
	a.expect(t, "heard")
	r.stream.orders(t, order("start", 2, 1, "wait"))
	r.stream.settle(t)
	drained(r.beats)
	r.advance(16 * time.Second)
	next(t, r.beats)
	for _, accepted := range drained(r.accepts) {
		if accepted.GetAgent() == 2 {
			t.Error("accepted while the disk does not answer")
		}
	}
	answers()
	if p := next(t, r.pressures); p.GetReason() != "" {
		t.Errorf("pressure %v after the disk has answered", p)
	}
	next(t, r.agents).expect(t, "up")
}

// One that hangs from the start, and to the end, holds up neither.
func TestA07DiskThatNeverAnswers(t *testing.T) {
	hangs := make(chan struct{})
	t.Cleanup(func() { close(hangs) })
	r := newRig(t, time.Minute, false, func(c *Config) {
		c.MinFreeDisk = 1
		c.Disk = func() (Room, error) { <-hangs; return Room{}, nil }
	})
	next(t, r.registers)
	if err := r.end(); err != nil {
		t.Error(err)
	}
}

// census answers which agents there are, before everything else goes to the fake cluster.
type census struct {
	grpc.ClientConnInterface
	known func(agent string) (*vigilv1.Agent, error)
}

func (c census) Invoke(ctx context.Context, method string, args, reply any, opts ...grpc.CallOption) error {
	if r, ok := args.(*vigilv1.GetAgentRequest); ok {
		a, err := c.known(r.GetAgent())
		reply.(*vigilv1.GetAgentResponse).Agent = a
		return err
	}
	return c.ClientConnInterface.Invoke(ctx, method, args, reply, opts...)
}

// What deleted agents have left goes when nothing of it was used for long, and only when the
// cluster says that there is no such agent.
func TestA07LeftoversOfDeletedAgents(t *testing.T) {
	old := time.Now().Add(-8 * 24 * time.Hour)
	r := newRig(t, time.Minute, true, func(c *Config) {
		for _, path := range []string{"logs/demo/gone.log", "logs/demo/gone.log.1",
			"work/demo/gone/deep/file", "homes/demo/gone/.login", "logs/demo/kept.log",
			"logs/demo/fresh.log", "work/demo/fresh/file", "logs/demo/unsure.log",
			"work/demo/odd.log/file", "logs/demo/odd.log.log"} {
			path = filepath.Join(c.DataDir, path)
			if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(path, []byte("x"), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		for _, path := range []string{"logs/demo/gone.log", "logs/demo/gone.log.1", "work/demo/gone",
			"homes/demo/gone", "logs/demo/kept.log", "logs/demo/fresh.log", "logs/demo/unsure.log", "work/demo/odd.log",
			"logs/demo/odd.log.log"} {
			if err := os.Chtimes(filepath.Join(c.DataDir, path), old, old); err != nil {
				t.Fatal(err)
			}
		}
		given := `{"Agents":{"demo/gone":2000001,"demo/kept":2000002,"demo/bare":2000003},` +
			`"Ranges":[{"First":2000000,"Last":2000010,"Start":0,"Given":4}]}`
		if err := os.WriteFile(filepath.Join(c.DataDir, accounts.File), []byte(given), 0o600); err != nil {
			t.Fatal(err)
		}
		c.Keep.Deleted = 7 * 24 * time.Hour
		c.Conn = census{c.Conn, func(agent string) (*vigilv1.Agent, error) {
			switch agent {
			case "demo/kept", "demo/odd.log":
				return &vigilv1.Agent{Id: 9, IncarnationRaw: 7, Host: "elsewhere"}, nil
			case "demo/unsure":
				return nil, no("no_leader")
			}
			return nil, no("not_found")
		}}
	})
	until(t, "the end of what is left", func() bool {
		_, err := os.Stat(filepath.Join(r.dir, "work/demo/gone"))
		return os.IsNotExist(err) && strings.Contains(r.log.String(), "agent=demo/gone") &&
			strings.Contains(r.log.String(), "agent=demo/bare")
	})
	until(t, "the end of what was taken away", func() bool {
		_, err := os.Stat(filepath.Join(r.dir, "gone"))
		return os.IsNotExist(err)
	})
	given, err := os.ReadFile(filepath.Join(r.dir, accounts.File))
	if want := `"Agents":{"demo/kept":2000002}`; err != nil || !strings.Contains(string(given), want) {
		t.Errorf("accounts %s, %v: want %s", given, err, want)
	}
	for path, want := range map[string]bool{"logs/demo/gone.log": false, "logs/demo/gone.log.1": false,
		"homes/demo/gone":    false,
		"logs/demo/kept.log": true, "logs/demo/fresh.log": true, "work/demo/fresh": true,
		"logs/demo/unsure.log": true, "work/demo/odd.log": true, "logs/demo/odd.log.log": true} {
		if _, err := os.Stat(filepath.Join(r.dir, path)); (err == nil) != want {
			t.Errorf("%s: %v", path, err)
		}
	}
	// A life that ends makes its folder young again.
	folder, files := filepath.Join(r.dir, "work/demo/r1"), filepath.Join(r.dir, "files/demo/r1")
	r.stream.orders(t, order("start", 1, 1, "plain"))
	a := next(t, r.agents)
	a.expect(t, "up")
	if err := errors.Join(os.Chtimes(folder, old, old), os.Chtimes(files, old, old)); err != nil {
		t.Fatal(err)
	}
	r.stream.orders(t, order("stop", 1, 1, "plain"))
	next(t, r.exits)
	until(t, "the time of its folders", func() bool {
		info, err := os.Stat(folder)
		other, e := os.Stat(files)
		return err == nil && e == nil && time.Since(info.ModTime()) < time.Hour && time.Since(other.ModTime()) < time.Hour
	})
}
