package dev

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"vigil/cmd/vigil/cli"
	"vigil/cmd/vigil/conf"
	"vigil/rpc/door"
)

func TestDevWritesFilesThatAreRead(t *testing.T) {
	dir := t.TempDir()
	place, err := openDevPlace(devOptions{dataDir: dir, hosts: 2})
	if err != nil {
		t.Fatal(err)
	}
	o := devOptions{chaos: true}
	if err := place.write("/bin/true", o.settings()); err != nil {
		t.Fatal(err)
	}
	ports := map[string]bool{}
	for _, s := range place.servers {
		conf, err := conf.ReadServer(place.path(s.ID, "server.yaml"))
		if err != nil {
			t.Fatal(err)
		}
		conf.HasIdentity("cluster")
		if err := conf.Check(); err != nil {
			t.Fatal(err)
		}
		repl, seeds := conf.ClusterConfig(), 0
		if s.ID == "s1" {
			seeds = len(o.settings())
		}
		if err := repl.Validate(); err != nil || len(repl.Seed) != seeds || (seeds == 0) != (len(conf.Join) == 1) {
			t.Fatalf("%s: %v, seeds %v", s.ID, err, repl.Seed)
		}
		ports[conf.Addr], ports[conf.RaftAddr] = true, true
		if !door.Loopback(conf.Addr) || !door.Loopback(conf.RaftAddr) {
			t.Errorf("%s can be reached from outside", s.ID)
		}
	}
	if len(ports) != 6 {
		t.Errorf("the servers share ports: %v", ports)
	}
	for _, h := range place.hosts {
		host, err := conf.ReadAgentd(h.config())
		if err != nil {
			t.Fatal(err)
		}
		host.HasIdentity()
		if err := host.Check(); err != nil || len(host.Runners) != 3 || host.Name != h.name {
			t.Fatalf("host %s: named %q, %d runners, %v", h.name, host.Name, len(host.Runners), err)
		}
		if !door.Loopback(host.Gossip.Bind) {
			t.Errorf("host %s gossips at %s", h.name, host.Gossip.Bind)
		}
	}

	if _, err := openDevPlace(devOptions{dataDir: dir, hosts: 2}); cli.ExitCode(err) != cli.ExitConflict || !runs(dir) {
		t.Errorf("two demos in one folder: %v", err)
	}
	if err := place.remove(); err != nil || runs(dir) {
		t.Errorf("the folder is still held (%v)", err)
	}
	again, err := openDevPlace(devOptions{dataDir: dir, hosts: 2})
	if err != nil || fmt.Sprint(again.servers) != fmt.Sprint(place.servers) {
		t.Errorf("the second run has the servers %v (%v), the first had %v", again.servers, err, place.servers)
	}
	if err := again.remove(); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(dir); err != nil {
		t.Errorf("a named folder was not kept: %v", err)
	}
}

func TestDevRemovesItsTemporaryFolder(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	place, err := openDevPlace(devOptions{dataDir: "", hosts: 2})
	if err != nil {
		t.Fatal(err)
	}
	if err := place.write("/bin/true", nil); err != nil {
		t.Fatal(err)
	}
	if err := place.remove(); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(place.dir); !os.IsNotExist(err) {
		t.Errorf("%s is still there", place.dir)
	}
}

func TestDevJobsNameFilesAndRoles(t *testing.T) {
	roles := map[string]bool{}
	for _, r := range devRoles().GetRoles() {
		roles[r.GetName()] = true
	}
	files := devInputs()
	for _, job := range devJobs() {
		_, file := files[job[1]]
		_, module := files[job[1]+"/go.mod"]
		if !roles[job[0]] || !file && !module {
			t.Errorf("job %v names no role or no file", job)
		}
	}
}

func TestDevAgentStaysInItsFolder(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "secret"), []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	files := filepath.Join(dir, "files")
	if err := os.MkdirAll(filepath.Join(files, "sub"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("../secret", filepath.Join(files, "link")); err != nil {
		t.Fatal(err)
	}
	root, err := os.OpenRoot(files)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	d := &devAgent{files: files, root: root}
	for _, name := range []string{"../secret", filepath.Join(dir, "secret"), "link", "", "nothing", "sub"} {
		if f, _, err := d.open(name); err == nil {
			f.Close()
			t.Errorf("%q was opened", name)
		}
	}
}

func TestDevAgentParsesWithoutGo(t *testing.T) {
	place, err := openDevPlace(devOptions{dataDir: t.TempDir(), hosts: 2})
	if err != nil {
		t.Fatal(err)
	}
	if err := place.write("/bin/true", nil); err != nil {
		t.Fatal(err)
	}
	if err := place.writeFile([]byte("package broken\n\nfunc {\n"), "input", "broken", "x.go"); err != nil {
		t.Fatal(err)
	}
	root, err := os.OpenRoot(place.path("input"))
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	d := &devAgent{files: place.path("input"), root: root}
	for module, want := range map[string]string{"clean": "nothing to complain about in the 1 files",
		"broken": "x.go:3:"} {
		if got, err := d.parse(module); err != nil || !strings.Contains(got, want) {
			t.Errorf("%s: %q, %v", module, got, err)
		}
	}
}

func TestFrequent(t *testing.T) {
	if got, want := frequent(map[string]int{"land": 2, "stone": 5, "sand": 2, "kings": 1}),
		"; most frequent: stone (5), land (2), sand (2)"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if got := frequent(nil); got != "" {
		t.Errorf("of nothing: %q", got)
	}
}

func TestDevAgentLeavesWhenIdle(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		i := newIdleness(time.Minute)
		var left time.Duration
		began := time.Now()
		go i.watch(t.Context(), func() { left = time.Since(began) })
		time.Sleep(30 * time.Second)
		free := i.busy()
		time.Sleep(time.Hour)
		synctest.Wait()
		if left != 0 {
			t.Fatalf("it left after %s in the middle of its work", left)
		}
		free()
		time.Sleep(2 * time.Minute)
		synctest.Wait()
		if want := 30*time.Second + time.Hour + time.Minute; left < want || left > want+time.Minute {
			t.Fatalf("it left after %s, want about %s", left, want)
		}
	})
}

func TestChildThatCannotBeginIsAnError(t *testing.T) {
	dir := t.TempDir()
	c := &child{name: "x", exe: "/bin/sh", args: []string{"-c", "echo because; exit 3"},
		log: filepath.Join(dir, "log"), say: t.Logf}
	err := c.run(context.Background())
	if err == nil || !strings.Contains(err.Error(), "exit code 3") || !strings.Contains(err.Error(), "because") {
		t.Fatalf("got %v", err)
	}
}

func TestOursSparesOtherProcesses(t *testing.T) {
	for _, pid := range []int{0, 1, os.Getpid()} {
		if ours(pid) {
			t.Errorf("process %d would be killed", pid)
		}
	}
}
