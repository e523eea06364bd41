//go:build linux

package main_test

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"google.golang.org/protobuf/types/known/durationpb"

	"vigil/agentd/runner"
	"vigil/rpc/gen/vigilv1"
)

// overseerScript is an overseer that people might write: it reads what its last life has
// left, and goes round. Its first life hangs after one patrol. It hands over when a file
// says so.
const overseerScript = `
trap 'echo "interrupted $VIGIL_INCARNATION" >>"$HOME/ledger"' INT
vigil mail read --json >"$HOME/mail.new" && mv "$HOME/mail.new" "$HOME/mail.$VIGIL_INCARNATION"
vigil patrol report --action health-scan --healthy 3 || exit
echo "start $VIGIL_INCARNATION" >>"$HOME/ledger"
[ "$VIGIL_INCARNATION" = 1 ] && while :; do sleep 1; done
until [ -e "$HOME/handoff" ]; do vigil patrol report --action health-scan --healthy 3 >/dev/null; sleep 0.2; done
until vigil handoff -s "Routine cycle" -m "builder 2 is slow"; do sleep 0.2; done
rm "$HOME/handoff"
sleep 3600
`

// triageScript answers a look as a file says.
const triageScript = `
cat >"$HOME/facts"
case "$(cat "$HOME/mode")" in
crash) exit 3;;
hang) exec sleep 3600;;
nonsense) echo "All is well, I think.";;
*) cat "$HOME/answer";;
esac
`

// overseerFleet is a fleet with a host that has runners for an overseer and for triage.
func overseerFleet(t *testing.T, kind string) *crew {
	setenv(t, "PATH", filepath.Dir(vigil(t))+":"+os.Getenv("PATH"))
	setenv(t, "HOME", t.TempDir())
	f := newFleet(t)
	home := getenv(t, "HOME")
	for name, text := range map[string]string{"overseer.sh": overseerScript, "triage.sh": triageScript,
		"ledger": "", "mode": "good\n"} {
		if err := os.WriteFile(filepath.Join(home, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	f.write("h2/runners.d/deacon.yaml",
		fmt.Sprintf("name: deacon\nkind: %s\nprogram: %q\nuser: %q\nargs: [run, --, sh, %q]\n", kind, vigil(t),
			runner.SameUser(), filepath.Join(home, "overseer.sh")))
	f.write("h2/runners.d/boot.yaml",
		fmt.Sprintf("name: boot\nprogram: %q\nuser: %q\nargs: [triage, exec, --, sh, %q]\n", vigil(t),
			runner.SameUser(), filepath.Join(home, "triage.sh")))
	data, err := os.MkdirTemp("", "h2-") // the path of a terminal's socket must be short
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(data) })
	if err := os.Symlink(data, f.path("h2data")); err != nil {
		t.Fatal(err)
	}
	f.write("h2/agentd.yaml", fmt.Sprintf("servers: [%s]\ninsecure: true\ndata_dir: %q\nname: h2\n",
		strings.Join(f.api, ", "), data))
	agentd := spawn(t, "h2", "agentd", "--config", f.path("h2/agentd.yaml"))
	t.Cleanup(func() { f.clear("h2data", agentd) })
	return &crew{testFleet: f, ttl: patience} // what is found here is found by other means than a lease
}

// overseer declares the overseer ops/deacon, with triage by the role boot.
func (c *crew) overseer(triage string) {
	c.t.Helper()
	short := func(name, runner string) *vigilv1.RoleSpec {
		return &vigilv1.RoleSpec{Name: name, Runner: runner, Replicas: 1, Ttl: durationpb.New(c.ttl),
			StopGrace: durationpb.New(300 * time.Millisecond)}
	}
	deacon, boot := short("deacon", "deacon"), short("boot", "boot")
	deacon.Overseer, boot.Start = &vigilv1.OverseerSpec{Triage: triage, HandoffAfter: 2}, "on_demand"
	if _, err := c.fleet.ApplyRoom(c.ctx(),
		&vigilv1.ApplyRoomRequest{Room: "ops", By: "test", Roles: []*vigilv1.RoleSpec{deacon, boot}}); err != nil {
		c.t.Fatalf("apply room: %v", err)
	}
}

func (c *crew) overseers() vigilv1.OverseersClient { return vigilv1.NewOverseersClient(c.client) }

// wrote waits until the overseer has written a line.
func (c *crew) wrote(line string) {
	c.t.Helper()
	for end := time.Now().Add(patience); ; time.Sleep(20 * time.Millisecond) {
		text, _ := os.ReadFile(filepath.Join(getenv(c.t, "HOME"), "ledger")) // it may not be there yet
		if strings.Contains(string(text), line+"\n") {
			return
		}
		if time.Now().After(end) {
			c.t.Fatalf("no %q in the ledger: %q", line, text)
		}
	}
}

// An overseer that hangs is woken in its terminal, interrupted and restarted; its next life
// hands over, and the life after that gets the summary before any other mail.
func TestOverseerThatHangs(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("tmux"); err != nil {
		t.Skip("there is no tmux")
	}
	c := overseerFleet(t, "tmux")
	c.says("settings set overseer_interval=1s overseer_fresh=1s overseer_stale=3s "+
		"ladder_interval=1s ladder_wake=2s ladder_interrupt=30s ladder_cooldown=0s", "overseer_stale")
	c.overseer("")
	first := c.joined("ops/deacon", "")
	c.wrote("start 1")
	e := c.await("a WAKE", func(e *vigilv1.Event) bool {
		return e.GetKind() == "agent.triage" && strings.HasPrefix(e.GetText(), "WAKE by mechanical")
	})
	if !strings.Contains(e.GetText(), "its session lives") || e.GetIncarnation() != first.GetIncarnation() {
		t.Errorf("woken: %q", e.GetText())
	}
	for end := time.Now().Add(patience); ; time.Sleep(20 * time.Millisecond) {
		screen, err := c.fleet.LookAtAgent(c.ctx(), &vigilv1.LookAtAgentRequest{Agent: "ops/deacon", Lines: 100})
		if err == nil && strings.Contains(screen.GetText(), "How are you getting on?") {
			break
		}
		if time.Now().After(end) {
			t.Fatalf("nothing was typed: screen %q (%v)", screen.GetText(), err)
		}
	}
	c.sees("agent.interrupted", "ops/deacon", 0)
	c.wrote("interrupted 1")
	c.says("agent explain ops/deacon", "stalled", "very stale", "WAKE by mechanical")
	c.says("settings set ladder_interrupt=1s", "1s")
	c.sees("agent.restarted_stuck", "ops/deacon", 0)
	c.wrote("start 2")
	c.says("patrol status ops/deacon", "alive, life 2", "health-scan")

	c.says("mail send ops/deacon --priority urgent -s Urgent at-once", "")
	if err := os.WriteFile(filepath.Join(getenv(t, "HOME"), "handoff"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	c.sees("agent.handed_over", "ops/deacon", 0)
	c.wrote("start 3")
	text, err := os.ReadFile(filepath.Join(getenv(t, "HOME"), "mail.3"))
	if err != nil {
		t.Fatal(err)
	}
	var got struct {
		Mails []struct{ Kind, Subject, Body, Priority string }
	}
	if err := json.Unmarshal(text, &got); err != nil || len(got.Mails) < 2 {
		t.Fatalf("the third life read %s (%v)", text, err)
	}
	if m := got.Mails[0]; m.Kind != "handover" || m.Subject != "Routine cycle" || m.Body != "builder 2 is slow" ||
		got.Mails[1].Priority != "urgent" {
		t.Errorf("the third life read %+v", got.Mails)
	}
	if x := c.agent("ops/deacon").GetLastExit(); x.GetKind() != "ordered" ||
		!strings.Contains(x.GetReason(), "hands over") {
		t.Errorf("the second life ended: %v", x)
	}
}

// marker begins a look that nobody answers and takes the leader away: the next one keeps to the
// marker, and ends the look in its time.
func (c *crew) marker(t *testing.T) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(getenv(t, "HOME"), "mode"), []byte("hang\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	var task uint64
	// triage may wait for its back-off
	for end := time.Now().Add(patience); task == 0; time.Sleep(50 * time.Millisecond) {
		o, err := c.overseers().LookAtOverseer(c.ctx(), &vigilv1.LookAtOverseerRequest{Agent: "ops/deacon", By: "test"})
		if err != nil || time.Now().After(end) {
			t.Fatalf("no look is open: %v (%v)", o, err)
		}
		task = o.GetLookTask()
	}
	was := c.leader()
	c.servers[was].signal(syscall.SIGKILL)
	c.servers[was].end()
	p := c.cli("triage", "run", "ops/deacon")
	if code := p.end(); code != 4 || !strings.Contains(p.out.String(), fmt.Sprintf("task %d waits for triage", task)) {
		t.Errorf("a second look at the same time ends with %d: %s", code, p.out.tail())
	}
	c.servers[was] = c.startServer(was)
	c.says("settings set triage_limit=2s", "2s")
	for end := time.Now().Add(patience); ; time.Sleep(50 * time.Millisecond) {
		o, err := c.overseers().GetOverseer(c.ctx(), &vigilv1.GetOverseerRequest{Agent: "ops/deacon"})
		if err == nil && o.GetLookTask() == 0 && strings.Contains(o.GetDegraded(), "not answered within 2s") {
			break
		}
		if time.Now().After(end) {
			t.Fatalf("the look does not end: %v (%v)", o, err)
		}
	}
	c.says("settings set triage_limit=30s", "30s")
}

// A triage runner is started for one look and answers it; when it crashes, hangs or answers
// nonsense, the mechanical rule decides, and when it lies, facts do.
func TestTriageRunner(t *testing.T) {
	t.Parallel()
	c := overseerFleet(t, "exec")
	c.says("settings set overseer_interval=1h overseer_fresh=1h overseer_stale=2h triage_limit=30s", "triage_limit")
	c.overseer("boot")
	c.joined("ops/deacon", "")
	c.wrote("start 1")
	home := getenv(t, "HOME")
	look := func(mode, answer string, want ...string) {
		t.Helper()
		for name, text := range map[string]string{"mode": mode, "answer": answer} {
			if err := os.WriteFile(filepath.Join(home, name), []byte(text+"\n"), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		for end := time.Now().Add(patience); ; time.Sleep(50 * time.Millisecond) {
			p := c.cli("triage", "run", "ops/deacon", "--wait", "--timeout", patience.String())
			if code := p.end(); code != 0 {
				t.Fatalf("triage run ended with %d: %s", code, p.out.tail())
			}
			missing := ""
			for _, w := range want {
				if !strings.Contains(p.out.String(), w) {
					missing = w
				}
			}
			if missing == "" {
				return
			}
			// After a crash or a time-out the triage agent waits for its back-off.
			if !strings.Contains(p.out.String(), "back_off") && !strings.Contains(p.out.String(), "stopping") ||
				time.Now().After(end) {
				t.Fatalf("%s: triage run printed %s\nwithout %q", mode, p.out.String(), missing)
			}
		}
	}
	look("good", `{"decision":"NOTHING","reason":"it composes a report"}`, "NOTHING", "triage", "it composes a report")
	facts, err := os.ReadFile(filepath.Join(home, "facts"))
	if err != nil || !strings.Contains(string(facts), `"overseer":"ops/deacon"`) || !json.Valid(facts) {
		t.Errorf("triage got %q (%v)", facts, err)
	}
	look("good", "```json\n{\"decision\":\"WAKE\",\"reason\":\"it hangs at a prompt\"}\n```",
		"WAKE", "it hangs at a prompt", "woken by mail")
	look("nonsense", "", "NOTHING", "mechanical", "degraded", "triage has failed")
	c.says("settings set triage_limit=2s", "2s")
	look("hang", "", "NOTHING", "mechanical", "degraded", "not answered within 2s")
	c.says("settings set triage_limit=30s", "30s")
	c.marker(t)
	look("crash", "", "NOTHING", "mechanical", "degraded", "triage has failed")
	c.says("triage status", "ops/deacon", "NOTHING", "mechanical", "next look in")
	c.says("agent stop ops/deacon --wait", "")
	look("good", `{"decision":"NOTHING","reason":"nothing to see here"}`,
		"START", "mechanical", "triage has said NOTHING", "stopped by")
	c.says("triage status ops/deacon --json", `"decision":"START"`, `"decided_by":"mechanical"`,
		`"session":"dead"`)
}
