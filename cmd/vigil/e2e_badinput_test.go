//go:build linux

package main_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"vigil/rpc/gen/vigilv1"
)

// badInput is one wrong command line with what it has to say.
type badInput struct {
	name string
	args []string
	code int
	says []string // place and remedy
}

// Every wrong flag, file, name, number or state gets one sentence that names the
// place and the remedy, a documented exit code, and changes nothing.
func TestBadInputOfCommands(t *testing.T) {
	t.Parallel()
	c := newCrew(t)
	c.role("web", byHand(time.Minute, 2))
	holder := c.shell("web/a")
	task := c.task("web", "taken")
	holder.shows(regexp.MustCompile(`(?m)^claimed task`))
	held := fmt.Sprint(task)
	c.write("typo.yaml", "room: web\nroles:\n  - name: a\n    replica: 2\n")
	c.write("big.txt", strings.Repeat("x", 256<<10+1))
	c.write("empty.snap", "")
	c.write("junk.snap", "this is no snapshot\n")
	if p := c.cli("server", "snapshot", "save", c.path("whole.snap")); p.end() != 0 {
		t.Fatal(p.out.tail())
	}
	whole, err := os.ReadFile(c.path("whole.snap"))
	if err != nil {
		t.Fatal(err)
	}
	c.write("cut.snap", string(whole[:len(whole)/2]))
	whole[len(whole)/2] ^= 1
	c.write("bit.snap", string(whole))
	cases := []badInput{
		{"unknown key", []string{"apply", "-f", c.path("typo.yaml")}, 2,
			[]string{"typo.yaml:4:5:", `"replica"`, "\n    |     ^"}},
		{"no such file", []string{"apply", "-f", c.path("none.yaml")}, 2, []string{"none.yaml"}},
		{"wrong flag", []string{"task", "list", "--colour"}, 2, []string{"--colour", "vigil task list --help"}},
		{"missing argument", []string{"room", "delete"}, 2,
			[]string{"vigil room delete", "write vigil room delete ROOM"}},
		{"too many arguments", []string{"server", "add", "s9"}, 2, []string{"write vigil server add ID RAFT-ADDR"}},
		{"unknown room", []string{"room", "show", "nowhere"}, 3, []string{`"nowhere"`, "vigil room list"}},
		{"unknown room of a task", []string{"task", "create", "nowhere/a", "x"}, 3,
			[]string{`"nowhere"`, "vigil apply"}},
		{"unknown role", []string{"task", "create", "web/b", "x"}, 3, []string{`"web"`, `"b"`}},
		{"unknown agent", []string{"agent", "stop", "web/b"}, 3, []string{`"web/b"`, "vigil agent list"}},
		{"unknown task", []string{"task", "cancel", "999"}, 3, []string{"999"}},
		{"unknown host", []string{"host", "show", "moon"}, 3, []string{`"moon"`, "vigil host list"}},
		{"drain of an unknown host", []string{"host", "drain", "moon"}, 3, []string{`"moon"`, "vigil host list"}},
		{"unknown host forgotten", []string{"host", "forget", "moon"}, 3, []string{`"moon"`, "vigil host list"}},
		{"dead without a yes", []string{"host", "confirm-dead", "crew"}, 2, []string{"--yes"}},
		{"dead although it is heard", []string{"host", "confirm-dead", "crew", "--yes"}, 4, []string{"crew", "force"}},
		{"host in service forgotten", []string{"host", "forget", "crew"}, 4, []string{"crew", "ready"}},
		{"pause of an unknown room", []string{"room", "pause", "nowhere"}, 3, []string{`"nowhere"`}},
		{"pause of an unknown agent", []string{"agent", "pause", "web/b"}, 3, []string{`"web/b"`, "vigil agent list"}},
		{"pause of a room as an agent", []string{"agent", "pause", "web"}, 2, []string{"vigil room pause web"}},
		{"unpark of an unknown agent", []string{"agent", "unpark", "web/b"}, 3,
			[]string{`"web/b"`, "vigil agent list"}},
		{"task that is not quarantined", []string{"task", "unquarantine", held}, 4, []string{held, "QUARANTINED"}},
		{"brake of what", []string{"brake", "release", "now"}, 2, []string{"now"}},
		{"unknown server", []string{"server", "remove", "s9"}, 3, []string{`"s9"`, "vigil server list"}},
		{"address of a server", []string{"server", "add", "s9", "moon"}, 2, []string{`"moon"`, "host:port"}},
		{"no task's number", []string{"task", "show", "first"}, 2, []string{`"first"`, "vigil task list"}},
		{"unknown setting", []string{"settings", "set", "tll=3s"}, 2, []string{`"tll"`, "vigil settings show"}},
		{"setting out of range", []string{"settings", "set", "ttl=1ms"}, 2, []string{"ttl", "500ms"}},
		{"one wrong setting of two", []string{"settings", "set", "kill_limit=7", "ttl=soon"}, 2, []string{`"soon"`}},
		{"large task", []string{"task", "create", "web/a", "--file", c.path("big.txt")}, 2,
			[]string{"big.txt", "256 KiB", "put large content into a file"}},
		{"slot that is taken", []string{"wait-for-task", "--agent", "web/a", "--follow-pid", "1"}, 4,
			[]string{"web/a", "taken by incarnation 1"}},
		{"task that is taken", []string{"task", "start", "--agent", "web/a", "--incarnation", "1", "--task", held,
			"--attempt", "9"}, 7, []string{"attempt 9", "web/a", "drop the work"}},
		{"revision that has passed", []string{"task", "cancel", held, "--if-rev", "1"}, 4,
			[]string{"revision 1", "read it again"}},
		{"finished life", []string{"beat", "--agent", "web/a", "--incarnation", "7"}, 7, []string{"web/a", "7"}},
		{"no task in time", []string{"wait-for-task", "--agent", "web/a.2", "--timeout", "200ms"}, 6,
			[]string{"200ms"}},
		{"restore without a yes", []string{"server", "snapshot", "restore", c.path("bit.snap")}, 2, []string{"--yes"}},
	}
	for _, damaged := range []string{"empty", "junk", "cut", "bit"} {
		file := c.path(damaged + ".snap")
		cases = append(cases,
			badInput{"inspect " + damaged, []string{"server", "snapshot", "inspect", file}, 1,
				[]string{file, "damaged", "use another backup"}},
			badInput{"restore " + damaged, []string{"server", "snapshot", "restore", file, "--yes"}, 1,
				[]string{file, "damaged", "nothing was changed", "use another"}})
	}
	for _, tt := range cases {
		t.Run(tt.name, func(t *testing.T) {
			c := c.in(t)
			before := c.changes()
			c.refuses(tt)
			if after := c.changes(); tt.code != 6 && after != before {
				t.Errorf("it changed something: %s, then %s", before, after)
			}
		})
	}
	t.Run("no server", func(t *testing.T) {
		c := c.in(t)
		c.refuses(badInput{"", []string{"task", "list", "--addr", "127.0.0.1:1", "--timeout", "300ms"},
			5, []string{"127.0.0.1:1", "check that the servers run"}})
	})
}

// changes sums up what a command could have changed.
func (c *crew) changes() string {
	c.t.Helper()
	st, err := c.status.Status(c.ctx(), &vigilv1.StatusRequest{})
	if err != nil {
		c.t.Fatal(err)
	}
	set, err := c.status.GetSettings(c.ctx(), &vigilv1.GetSettingsRequest{})
	if err != nil {
		c.t.Fatal(err)
	}
	events, err := c.fleet.WatchEvents(c.ctx(), &vigilv1.WatchEventsRequest{Room: "web", NoFollow: true})
	last := uint64(0)
	for err == nil {
		var e *vigilv1.Event
		if e, err = events.Recv(); err == nil {
			last = e.GetSeq()
		}
	}
	if !errors.Is(err, io.EOF) {
		c.t.Fatal(err)
	}
	return fmt.Sprintf("event %d, epoch %d, settings %d, %d servers", last, st.GetEpoch(), set.GetRev(),
		len(st.GetServers()))
}

// refuses runs a command that has to be refused.
func (c *crew) refuses(tt badInput) {
	c.t.Helper()
	var out, errs bytes.Buffer
	cmd := exec.Command(vigil(c.t), tt.args...)
	cmd.Env = append(environ(c.t), "VIGIL_ADDR="+strings.Join(c.api, ","))
	cmd.Stdout, cmd.Stderr = &out, &errs
	_ = cmd.Run() // its exit code is looked at
	text := errs.String()
	if got := cmd.ProcessState.ExitCode(); got != tt.code || out.Len() > 0 {
		c.t.Errorf("exit code %d, want %d; it said %q and printed %q", got, tt.code, text, out.String())
	}
	for _, want := range tt.says {
		if !strings.Contains(text, want) {
			c.t.Errorf("it said %q, want %q in it", text, want)
		}
	}
	if !strings.HasPrefix(text, "vigil: ") || strings.Count(text, "\n") != 1 && !strings.Contains(text, "|") {
		c.t.Errorf("it said %q, want one sentence", text)
	}
}

// A server or a host that cannot run says why and where, in its last line.
func TestBadInputOfDaemons(t *testing.T) {
	t.Parallel()
	f := &testFleet{t: t, dir: t.TempDir()}
	raft := freePort(t)
	first := f.alone("first", raft)
	first.shows(regexp.MustCompile(`stint open`))
	f.write("server.yaml", "id: a\ndatadir: x\n")
	f.write("agentd.yaml", "servers: [\"127.0.0.1:1\"]\nrunners:\n  - name: x\n    prog: sh\n")
	refuses := func(name string, code int, says []string, args ...string) {
		t.Helper()
		p := spawn(t, name, args...)
		got := p.end()
		last := p.out.String()
		for _, want := range says {
			if got != code || !strings.Contains(last, want) {
				t.Errorf("%s: exit code %d, want %d and %q: %s", name, got, code, want, last)
			}
		}
	}
	server := func(id, dir, raft string, more ...string) []string {
		return append([]string{"server", "--insecure", "--id", id, "--data-dir", f.path(dir), "--addr", freePort(t),
			"--raft-addr", raft}, more...)
	}
	refuses("unknown key of a server", 2, []string{"server.yaml:2:1:", `"datadir"`, "| ^"},
		"server", "--config", f.path("server.yaml"))
	refuses("unknown key of a host", 2, []string{"agentd.yaml:4:5:", `"prog"`, "^"},
		"agentd", "--config", f.path("agentd.yaml"))
	refuses("data in use", 1, []string{f.path("first"), "in use", "name another directory"},
		server("a", "first", freePort(t))...)

	t.Run("a peer that speaks another version is turned away", func(t *testing.T) {
		conn, err := net.Dial("tcp", raft)
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		if _, err := fmt.Fprint(conn, "vigil-raft/999 other\n"); err != nil {
			t.Fatal(err)
		}
		first.shows(regexp.MustCompile(`(?i)turned away.*|does not speak vigil-raft/1`))
	})

	first.signal(syscall.SIGTERM)
	if code := first.end(); code != 0 {
		t.Fatalf("the server ended with %d", code)
	}
	refuses("data of another cluster", 1,
		[]string{f.path("first"), "another cluster", `"other"`, "name another directory"},
		server("a", "first", raft, "--cluster", "other")...)
	refuses("another raft address", 1, []string{raft, "vigil server recover"},
		server("a", "first", freePort(t))...)
	again := f.alone("first", raft) // nothing was changed
	again.shows(regexp.MustCompile(`stint open`))
}

// alone starts a cluster of one server.
func (f *testFleet) alone(dir, raft string, more ...string) *proc {
	f.t.Helper()
	f.api = []string{freePort(f.t)}
	return spawn(f.t, dir, append([]string{"server", "--insecure", "--id", "a", "--data-dir", f.path(dir), "--addr",
		f.api[0], "--raft-addr", raft, "--found"}, more...)...)
}

// smallDisk mounts a disk of that size at a folder of the fleet, and gives what makes it larger.
func (f *testFleet) smallDisk(folder, size string) (grow func(size string)) {
	f.t.Helper()
	f.write(folder+"/.keep", "")
	if err := syscall.Mount("tmpfs", f.path(folder), "tmpfs", 0, "size="+size); err != nil {
		f.t.Skipf("no small disk can be made here: %v", err)
	}
	f.t.Cleanup(func() { _ = syscall.Unmount(f.path(folder), syscall.MNT_DETACH) })
	return func(size string) {
		if err := syscall.Mount("tmpfs", f.path(folder), "tmpfs", syscall.MS_REMOUNT, "size="+size); err != nil {
			f.t.Fatal(err)
		}
	}
}

// A write-ahead log takes the space of its first segment when it is made: a server for which there is too little
// says so before it takes part, and starts once there is more.
func TestDiskThatIsTooSmallForALog(t *testing.T) {
	t.Parallel()
	f := &testFleet{t: t, dir: t.TempDir()}
	grow := f.smallDisk("disk", "800k")
	raft := freePort(t)
	p := f.alone("disk/data", raft, "--log-store", "wal")
	if code := p.end(); code != 1 || !strings.Contains(p.out.String(), "no space left on device: free some space") {
		t.Errorf("the server ended with %d: %s", code, p.out.tail())
	}
	grow("80m")
	f.alone("disk/data", raft, "--log-store", "wal").shows(regexp.MustCompile(`stint open`))
}

// L8: a server whose disk is full ends, says so, and has what it has acknowledged.
func TestDiskThatIsFull(t *testing.T) {
	t.Parallel()
	f := &testFleet{t: t, dir: t.TempDir()}
	grow := f.smallDisk("disk", "800k")
	raft := freePort(t)
	p := f.alone("disk/data", raft, "--log-store", "bolt") // it fills a disk this small write by write
	p.shows(regexp.MustCompile(`stint open`))
	f.write("room.yaml", "room: web\nroles: [{name: a}]\n")
	f.write("text", strings.Repeat("x", 100<<10))
	addr := []string{"--addr", f.api[0], "--timeout", "2s"}
	if apply := spawn(t, "apply", append(addr, "apply", "-f", f.path("room.yaml"))...); apply.end() != 0 {
		t.Fatal(apply.out.tail())
	}
	kept, code := 0, 0
	for ; code == 0 && kept < 20; kept++ {
		code = spawn(t, "create", append(addr, "task", "create", "web/a", "--file", f.path("text"))...).end()
	}
	kept--
	if code != 5 {
		t.Fatalf("creating a task on a full disk ended with %d", code)
	}
	if code := p.end(); code != 1 || !strings.Contains(p.out.String(), "no space left on device: free some space") {
		t.Errorf("the server ended with %d: %s", code, p.out.tail())
	}
	grow("16m")
	f.alone("disk/data", raft).shows(regexp.MustCompile(`stint open`))
	list := spawn(t, "list", "--addr", f.api[0], "task", "list", "--json")
	if code := list.end(); code != 0 || strings.Count(list.out.String(), `"state":"PENDING"`)+
		strings.Count(list.out.String(), `"state":"QUEUED"`) < kept {
		t.Errorf("L8: %d tasks were acknowledged; exit code %d: %s", kept, code, list.out.tail())
	}
}
