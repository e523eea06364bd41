//go:build linux

package main_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// newKind is a row of `vigil new`: what a worker needs here, and what it makes of a task.
type newKind struct {
	name, needs, result string
	flags               []string
}

// What `vigil new` writes is ready: the host takes its runner, the room is applied, and its agent does a task.
func TestNewWorkersAreReady(t *testing.T) {
	t.Parallel()
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	kinds := []newKind{
		{"python", "python3", `{"ok": true, "text": "two words"}`, nil},
		{"typescript", "node", `{"ok":true,"text":"two words"}`, nil},
		{"go", "go", "done: two words", []string{"--source", root}},
		{"shell", "sh", "2", nil},
	}
	f, dir := newFleet(t, alone), t.TempDir()
	run := func(in, program string, args ...string) string {
		t.Helper()
		cmd := exec.Command(program, args...)
		cmd.Dir = in
		cmd.Env = append(os.Environ(), "VIGIL_ADDR="+strings.Join(f.api, ","), "HOME="+dir, "XDG_CONFIG_HOME="+dir,
			"GOCACHE="+goEnv(t, "GOCACHE"), "GOMODCACHE="+goEnv(t, "GOMODCACHE"), "GOPROXY="+goEnv(t, "GOPROXY"))
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("%s %s: %v\n%s", program, strings.Join(args, " "), err, out)
		}
		return string(out)
	}
	runners := filepath.Join(dir, "runners.d")
	if err := os.Mkdir(runners, 0o700); err != nil {
		t.Fatal(err)
	}
	var there []newKind
	for _, k := range kinds {
		if _, err := exec.LookPath(k.needs); err != nil {
			t.Logf("the worker in %s is left out: no %s", k.name, k.needs)
			continue
		}
		there = append(there, k)
		name := "my-" + k.name
		said := run(dir, vigil(t), append([]string{"new", k.name, name}, k.flags...)...)
		readme := readFile(t, filepath.Join(dir, name, "README.md"))
		if _, steps, _ := strings.Cut(readme, "\n\n"); strings.Count(steps, "\n") != 4 || !strings.Contains(said, steps) {
			t.Errorf("the README has not four lines, or they are not printed:\n%s\n%s", readme, said)
		}
		if k.name == "go" {
			run(filepath.Join(dir, name), "go", "build", "-o", "worker", ".")
		}
		runner := name + ".yaml"
		if err := os.Rename(filepath.Join(dir, name, "runners.d", runner), filepath.Join(runners, runner)); err != nil {
			t.Fatal(err)
		}
		run(filepath.Join(dir, name), vigil(t), "apply", "-f", "room.yaml")
	}
	f.write("mine.yaml", fmt.Sprintf("servers: [%s]\ninsecure: true\ndata_dir: %q\nname: mine\non_stop: end\n"+
		"runners_dir: %q\n", strings.Join(f.api, ", "), f.path("mine"), runners))
	run(dir, vigil(t), "agentd", "--config", f.path("mine.yaml"), "--check")
	agentd := spawn(t, "mine", "agentd", "--config", f.path("mine.yaml"))
	t.Cleanup(func() { f.clear("mine", agentd) })
	for _, k := range there {
		out := run(dir, vigil(t), "task", "create", "my-"+k.name+"/worker", "Count", "--text", "two words", "--wait",
			"--timeout", patience.Round(time.Second).String())
		if !strings.Contains(out, "is COMPLETED\n"+k.result+"\n") && !strings.Contains(out, k.result+"\n") {
			t.Errorf("%s: the task ended as %s", k.name, out)
		}
	}
}

func goEnv(t *testing.T, name string) string {
	t.Helper()
	out, err := exec.Command("go", "env", name).Output()
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(string(out))
}

func readFile(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// What cannot be a worker is refused, and nothing that is there is touched.
func TestNewRefuses(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "there"), 0o700); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		args, says string
		code       int
	}{
		{"python there", "is there already", 4},
		{"perl mine", "is no kind of worker", 2},
		{"python My_Room", "cannot name a room", 2},
		{"python ../mine", "cannot name a room", 2},
		{"go mine", "--source", 2},
		{"go mine --source .", "does not hold vigil's sources", 2},
		{"shell mine --source .", "for workers in go", 2},
	} {
		cmd := exec.Command(vigil(t), append([]string{"new"}, strings.Fields(c.args)...)...)
		cmd.Dir = dir
		out, _ := cmd.CombinedOutput() // its code is looked at
		if code := cmd.ProcessState.ExitCode(); code != c.code || !strings.Contains(string(out), c.says) {
			t.Errorf("new %s: code %d, %s", c.args, code, out)
		}
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) != 1 {
		t.Errorf("left: %v, %v", left, err)
	}
}
