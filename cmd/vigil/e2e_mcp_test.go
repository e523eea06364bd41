//go:build linux

package main_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"vigil/rpc/gen/vigilv1"
)

// installLimit is how long npm may take; a registry that is slower is as good as none.
const installLimit = 3 * time.Minute

// npmOnly skips a test that takes packages from npm where it is not wanted, or lacks a program.
func npmOnly(t *testing.T, programs ...string) {
	t.Helper()
	if os.Getenv("VIGIL_NPM") == "" {
		t.Skip("takes packages from the npm registry: set VIGIL_NPM=1 to run it")
	}
	for _, program := range append(programs, "node", "npm") {
		if _, err := exec.LookPath(program); err != nil {
			t.Skipf("needs %s: %v", program, err)
		}
	}
}

// npmInstall installs in a folder what its lock file says. Without a registry the test is skipped; packages that are
// not what the lock file says fail it.
func npmInstall(t *testing.T, dir string, flags ...string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), installLimit)
	defer cancel()
	cmd := exec.CommandContext(ctx, "npm", append([]string{"ci", "--ignore-scripts", "--no-audit", "--no-fund",
		"--fetch-retries=1", "--fetch-timeout=30000"}, flags...)...)
	cmd.Dir, cmd.WaitDelay = dir, 5*time.Second
	out, err := cmd.CombinedOutput()
	for _, wrong := range []string{"EUSAGE", "EINTEGRITY", "EJSONPARSE"} {
		if err != nil && bytes.Contains(out, []byte(wrong)) {
			t.Fatalf("npm ci: %v: %s", err, out)
		}
	}
	if err != nil {
		t.Skipf("npm cannot install the packages: %v: %s", errors.Join(err, ctx.Err()), out)
	}
}

// npmClient installs the client of testdata/mcp and gives its folder.
func npmClient(t *testing.T) string {
	t.Helper()
	npmOnly(t)
	dir := t.TempDir()
	for _, name := range []string{"package.json", "package-lock.json", "client.mjs"} {
		text, err := os.ReadFile(filepath.Join("testdata", "mcp", name))
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	npmInstall(t, dir)
	return dir
}

// `vigil mcp` understands a client that was written by others: it lists the tools, waits
// for a task, works at it, sends mail, is told of a mistake, and leaves.
func TestMCPWithTheClientFromNPM(t *testing.T) {
	dir := npmClient(t)
	f := newFleet(t)
	room := &vigilv1.ApplyRoomRequest{Room: "web", By: "test",
		Roles: []*vigilv1.RoleSpec{{Name: "builder", Replicas: 1}, {Name: "reviewer", Replicas: 1}}}
	if _, err := f.fleet.ApplyRoom(f.ctx(), room); err != nil {
		t.Fatal(err)
	}
	task := f.create("web/builder")
	cmd := exec.Command("node", "client.mjs")
	cmd.Dir = dir
	cmd.Env = append(environ(t), "VIGIL_PROGRAM="+vigil(t), "VIGIL_ADDR="+strings.Join(f.api, ","),
		"XDG_RUNTIME_DIR="+t.TempDir(),
		"AGENT=web/builder", "COLLEAGUE=web/reviewer")
	var stdout lockedBuffer
	cmd.Stdout = &stdout
	if code := launch(t, "client.mjs", cmd).end(); code != 0 {
		t.Fatalf("the client ended with %d", code)
	}
	var saw struct {
		Server, Life string
		Tools        []string
		Task         uint64
		Mails        []uint64
	}
	if err := json.Unmarshal([]byte(stdout.String()), &saw); err != nil {
		t.Fatalf("%v: %s", err, stdout.tail())
	}
	if saw.Server != "vigil" || saw.Task != task || len(saw.Mails) != 1 ||
		!slices.Contains(saw.Tools, "handoff_task") || !slices.Contains(saw.Tools, "ack_mail") {
		t.Errorf("it saw %+v", saw)
	}
	got, err := f.fleet.GetTask(f.ctx(), &vigilv1.GetTaskRequest{Task: task})
	if err != nil || got.GetState() != vigilv1.TaskState_COMPLETED || got.GetResult() != "heard: poem.txt" ||
		got.GetHolderIncarnation() != saw.Life {
		t.Errorf("the task is %v (%v)", got, err)
	}
	mail, err := vigilv1.NewMailboxClient(f.client).GetMail(f.ctx(), &vigilv1.GetMailRequest{Mail: saw.Mails[0]})
	if want := "web/builder web/reviewer done soon see the task queued"; err != nil ||
		fmt.Sprint(mail.GetFrom(), " ", mail.GetTo(), " ", mail.GetSubject(), " ", mail.GetBody(), " ",
			mail.GetState()) != want {
		t.Errorf("the mail is %v (%v)", mail, err)
	}
	for end := time.Now().Add(patience); f.agent("web/builder").GetParticipant() !=
		"DISCONNECTED"; time.Sleep(20 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("it is still in the room: %v", f.agent("web/builder"))
		}
	}
}
