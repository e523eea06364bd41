//go:build linux

package incidents

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/encoding/protojson"

	"vigil/cmd/vigil/bench/ledger"
	"vigil/jepsen/stand"
	"vigil/rpc/client"
	"vigil/rpc/gen/vigilv1"
)

// I02, writer and reader of a proof split: an agent that beats through the public
// client, and one that its shim vouches for, are alive on every surface all the time:
// gRPC and HTTP of every server, the command line, events and figures. All of them
// read the one lease that beats renew.
func TestI02EverySurfaceReadsTheSameLease(t *testing.T) {
	w := fleet(t)
	w.room(role("hand", 1, "", byHand), role("work", 1, ""))
	c, err := client.Open(client.Config{Addrs: w.Addrs(), Name: "by hand"})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	worker, err := client.Join(w.ctx(), c, client.WorkerConfig{Agent: w.slot("hand")})
	if err != nil {
		t.Fatal(err)
	}
	w.task("work", "quiet=6s")
	w.eventually("it works", func() error {
		if a := w.agent("work"); a.GetParticipant() != "ACTIVE" {
			return errors.New(w.describe())
		}
		return nil
	})
	ways := w.surfaces()
	always(t, 5*time.Second, "both are alive on every surface", func() error {
		for _, slot := range []string{"hand", "work"} {
			for where, ask := range ways {
				a := ask(w.slot(slot))
				left := a.GetLeaseLeft().AsDuration()
				if a.GetParticipant() == "DISCONNECTED" || left <= 0 || left > ttl {
					return fmt.Errorf("%s says of %s: %s, its lease ends in %s", where, slot, a.GetParticipant(), left)
				}
			}
		}
		if worker.Context().Err() != nil {
			return fmt.Errorf("the worker was told that its life is over: %w", worker.Context().Err())
		}
		return nil
	})
	if e := w.events("agent.lease_ended", "agent.left", "agent.exited", "task.recovered", "order.stop"); len(e) > 0 {
		t.Errorf("somebody thought otherwise: %v", e)
	}
	for _, sv := range w.Servers {
		if text := w.figures(sv); !strings.Contains(text, "\nvigil_leases_active 2\n") {
			t.Errorf("%s does not count two leases:\n%s", sv.Name, text)
		}
	}
	if err := worker.Leave(w.ctx(), "the test is over"); err != nil {
		t.Error(err)
	}
}

// surfaces are all the ways to ask for an agent, by name.
func (w *world) surfaces() map[string]func(agent string) *vigilv1.Agent {
	w.t.Helper()
	ways := map[string]func(string) *vigilv1.Agent{}
	for _, sv := range w.Servers {
		fleet := vigilv1.NewFleetClient(w.at(sv))
		ways["gRPC of "+sv.Name] = func(agent string) *vigilv1.Agent {
			answer, err := fleet.GetAgent(w.ctx(), &vigilv1.GetAgentRequest{Agent: agent, Stale: true})
			if err != nil {
				w.t.Fatalf("%s: %v", sv.Name, err)
			}
			return answer.GetAgent()
		}
		ways["HTTP of "+sv.Name] = func(agent string) *vigilv1.Agent {
			answer := &vigilv1.GetAgentResponse{}
			if err := protojson.Unmarshal(w.get(sv, "/v1/agents/"+agent+"?stale=true"), answer); err != nil {
				w.t.Fatal(err)
			}
			return answer.GetAgent()
		}
	}
	ways["the command line"] = func(agent string) *vigilv1.Agent {
		text, code := w.vigil("agent", "show", "--json", agent)
		a := &vigilv1.Agent{}
		if err := protojson.Unmarshal([]byte(text), a); code != 0 || err != nil {
			w.t.Fatalf("agent show: code %d, %v: %s", code, err, text)
		}
		return a
	}
	return ways
}

// get reads from a server over HTTP.
func (w *world) get(sv *stand.Server, path string) []byte {
	w.t.Helper()
	request, err := http.NewRequestWithContext(w.ctx(), "GET", "http://"+sv.Addr()+path, nil)
	if err != nil {
		w.t.Fatal(err)
	}
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		w.t.Fatal(err)
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil || answer.StatusCode != http.StatusOK {
		w.t.Fatalf("%s: %s, %v: %s", request.URL, answer.Status, err, text)
	}
	return text
}

// I37, identity by process name: an agent whose runner is a script that becomes a
// program with a version for a name is the same agent all the time. A shim holds its
// process, and a restarted agentd knows it by process number, start time and the mark
// of its life.
func TestI37NamesOfProcessesSayNothing(t *testing.T) {
	w := fleet(t)
	h := w.extra("h37", 37, 8)
	program := filepath.Join(shared.folder, h.Name, "2.1.147")
	if err := os.Link(filepath.Join(shared.folder, "ticker"), program); err != nil {
		t.Fatal(err)
	}
	w.scripted(h, "wrapped", "#!/bin/sh\nexec '"+program+"' \"$@\"\n")
	if err := h.Start(); err != nil {
		t.Fatal(err)
	}
	w.room(role("work", 2, "", on(h), by("wrapped"), lasting(patience)))
	before := w.runs(2)
	if n := len(w.processes(h.Machine, program)); n != 2 {
		t.Fatalf("%d processes are called %s", n, program)
	}
	w.replace(h)()
	id := w.task("work", "")
	always(t, 4*time.Second, "both go on", func() error {
		for slot := range before {
			if lives := w.lives(slot); len(lives) != 1 || lives[0].Gone != 0 || lives[0].Term != 0 {
				return fmt.Errorf("%d lives of %s: %s", len(lives), slot, w.describe())
			}
		}
		return nil
	})
	w.taskIs(id, vigilv1.TaskState_COMPLETED)
	for slot, now := range w.runs(2) {
		if now.File != before[slot].File {
			t.Errorf("%s: life %d became life %d", slot, before[slot].Incarnation, now.Incarnation)
		}
	}
}

// I76, no incarnation in identity: the clean-up for a life that was replaced while its
// host was cut off comes late, when the next life of the same name works on the same
// task. It changes nothing about that.
func TestI76LateCleanUpTouchesNobodyElse(t *testing.T) {
	w := fleet(t)
	w.room(role("work", 1, ""))
	first := w.runs(1)["work"]
	id := w.task("work", "busy=5s")
	w.taskIs(id, vigilv1.TaskState_IN_PROGRESS)
	h := w.host(first.Host)
	folder := w.lifeFolder(h, "work")
	w.cut(h.Machine, stand.Both)
	second := w.next("work", first.Incarnation)
	var task *vigilv1.Task
	w.eventually("the next life works on it", func() (err error) {
		task, err = w.fleet.GetTask(w.ctx(), &vigilv1.GetTaskRequest{Task: id})
		if err == nil && (task.GetAttempt() != 2 || task.GetState() < vigilv1.TaskState_IN_PROGRESS) {
			err = fmt.Errorf("attempt %d, %s", task.GetAttempt(), task.GetState())
		}
		return err
	})
	w.heal(h.Machine)
	w.gone(first)
	w.cleared(folder) // its end was reported
	task = w.taskIs(id, vigilv1.TaskState_IN_PROGRESS, vigilv1.TaskState_COMPLETED)
	if task.GetState() == vigilv1.TaskState_COMPLETED {
		t.Log("the task was finished before the clean-up came")
	}
	task = w.taskIs(id, vigilv1.TaskState_COMPLETED)
	if task.GetAttempt() != 2 || task.GetHolderIncarnation() != w.incarnation(second) ||
		len(task.GetLateResults()) > 0 {
		t.Errorf("it was finished in attempt %d by life %s, late results: %v", task.GetAttempt(),
			task.GetHolderIncarnation(), task.GetLateResults())
	}
	if l := w.runs(1)["work"]; l.File != second.File {
		t.Errorf("life %d works, not %d", l.Incarnation, second.Incarnation)
	}
}

// I101, kill by pattern: processes with the name, the arguments and even the names in
// the environment of an agent, that agentd has not started, survive every clean-up: a
// stop, the death of a shim, the death of agentd, and the end of the room. What belongs
// to a life carries the mark of its host and life.
func TestI101DecoysSurvive(t *testing.T) {
	w := fleet(t)
	h := w.Hosts[0]
	w.room(role("work", 2, "fork", on(h)))
	before := w.runs(2)
	var decoys []*stand.Process
	for i, env := range [][]string{
		nil,
		{"VIGIL_AGENT=" + w.slot("work"), "VIGIL_INCARNATION=" + fmt.Sprint(before["work"].Incarnation)},
		{"VIGIL_MARK=" + strings.Repeat("0", 32) + "-1.2:" + fmt.Sprint(w.agent("work").GetId(), ":",
			before["work"].Incarnation)},
	} {
		p, err := h.Machine.Start(fmt.Sprint("decoy", i), filepath.Join(shared.folder, "ticker"),
			[]string{"child", w.slot("work"), "true"}, env)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if err := p.Kill(); err != nil {
				t.Error(err)
			}
		})
		decoys = append(decoys, p)
	}
	survive := func(what string) {
		t.Helper()
		for i, p := range decoys {
			select {
			case <-p.Done():
				t.Errorf("decoy %d did not survive %s", i, what)
			default:
			}
		}
	}
	w.wants("work", "stopped")
	w.gone(before["work"])
	w.idle("work")
	survive("a stop")
	w.kill(h.Machine, w.resident(h, "work.2").Shim)
	w.gone(before["work.2"])
	second := w.next("work.2", before["work.2"].Incarnation)
	survive("the death of a shim")
	start := w.killHost(h)
	w.kill(h.Machine, w.resident(h, "work.2").Shim)
	w.gone(second)
	start()
	w.next("work.2", second.Incarnation)
	survive("the death of agentd and a shim")
	w.clear()
	survive("the end of the room")
	w.eventually("only the decoys are left", func() error {
		left := w.processes(h.Machine, w.slot("work"))
		if len(left) == len(decoys) {
			return nil
		}
		return fmt.Errorf("%v", left)
	})
}

// I103, identity of another agent: an agent that was started with the name and life of
// another one, but not with its token, is refused, which is shown at that agent. Its
// beats do not keep the other one alive, which hangs and loses its lease.
func TestI103WrongIdentityIsRefused(t *testing.T) {
	w := fleet(t)
	w.room(role("b", 1, "silent", func(r *vigilv1.RoleSpec) { r.Proof = "agent" }))
	b := w.runs(1)["b"]
	id := w.agent("b").GetId()
	lost := client.WorkerConfig{Agent: w.slot("b"), Incarnation: b.Incarnation, Token: strings.Repeat("0", 64)}
	if _, err := client.Join(w.ctx(), shared.conn, lost); !errors.Is(err, client.ErrDenied) {
		t.Errorf("join: %v", err)
	}
	w.sees("agent.identity_refused", "b", 0)
	if text, code := w.vigil("agent", "explain", w.slot("b")); code != 0 ||
		!strings.Contains(text, "with a token that is not its own") {
		t.Errorf("code %d, it is not shown:\n%s", code, text)
	}
	w.task("b", "")
	w.eventually("the lease of b ends", func() error {
		for _, token := range []string{lost.Token, ""} {
			answer, err := w.work.Beat(w.ctx(),
				&vigilv1.BeatRequest{Agents: []uint32{id}, Incarnations: []uint64{b.Incarnation},
					Kinds: []uint32{client.BeatLease}, Tokens: []string{token}})
			if answer.GetRenewed() > 0 {
				t.Fatalf("a beat with token %q renewed %d leases", token, answer.GetRenewed())
			}
			if err != nil { // there was no leader just now
				return err
			}
		}
		if len(w.events("agent.lease_ended")) == 0 {
			return errors.New(w.describe())
		}
		return nil
	})
}

// I105, unstable identity: 25 agents of a host whose agentd is installed anew are bound to it again
// by themselves while its data directory is kept. When that is lost, `vigil agentd --host-key-file`
// with a copy of its host_key lets the machine go on as the host that it was; a directory of
// another host is not renamed that way.
func TestI105HostKeepsItsIdentity(t *testing.T) {
	w := fleet(t)
	const agents = 25
	h := w.extra("h105", 105, 64)
	if err := h.Start(); err != nil {
		t.Fatal(err)
	}
	w.room(role("work", agents, "", on(h), lasting(8*time.Second))) // so many starts at once take a machine's time
	before := w.runs(agents)
	was := w.hostState(h)
	w.replace(h)()
	for slot, now := range w.runs(agents) {
		if now.File != before[slot].File {
			t.Errorf("%s was not taken over: life %d became life %d", slot, before[slot].Incarnation, now.Incarnation)
		}
	}

	config := filepath.Join(shared.folder, h.Name, "agentd.yaml")
	if err := errors.Join(h.KillAll(), os.Rename(h.Data, h.Data+".lost")); err != nil {
		t.Fatal(err)
	}
	fresh, err := h.Machine.Start("adopter", w.Program(),
		[]string{"agentd", "--config", config, "--data-dir", h.Data, "--host-key-file",
			filepath.Join(h.Data+".lost", "host_key")}, nil)
	if err != nil {
		t.Fatal(err)
	}
	after := w.runsAfter(before)
	if now := w.hostState(h); now.GetId() != was.GetId() || now.GetRunning() != agents {
		t.Errorf("host %d became host %d with %d agents", was.GetId(), now.GetId(), now.GetRunning())
	}
	for slot, l := range after {
		if l.Host != h.Name {
			t.Errorf("%s went to %s", slot, l.Host)
		}
	}
	w.onlyHost(h.Name)
	if err := fresh.Kill(); err != nil {
		t.Fatal(err)
	}
	other := filepath.Join(shared.folder, h.Name, "other_key")
	if err := os.WriteFile(other, []byte(strings.Repeat("0", 32)+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	wrong, err := h.Machine.Start("renamed", w.Program(),
		[]string{"agentd", "--config", config, "--data-dir", h.Data, "--host-key-file", other}, nil)
	if err != nil {
		t.Fatal(err)
	}
	w.eventually("a directory of another host is refused", func() error {
		select {
		case <-wrong.Done():
			return nil
		default:
			return errors.New("it still runs")
		}
	})
	if text := w.log(h.Name, "renamed"); wrong.Code() <= 0 || !strings.Contains(text, "belongs to another host") {
		t.Errorf("code %d: %s", wrong.Code(), text)
	}
}

// runsAfter waits until all agents run in a later life than before.
func (w *world) runsAfter(before map[string]*ledger.Life) map[string]*ledger.Life {
	w.t.Helper()
	after := map[string]*ledger.Life{}
	for slot, l := range before {
		after[slot] = w.next(slot, l.Incarnation)
	}
	return after
}

// onlyHost fails when a name stands for more than one host.
func (w *world) onlyHost(name string) {
	w.t.Helper()
	list, err := w.fleet.ListHosts(w.ctx(), &vigilv1.ListHostsRequest{})
	if err != nil {
		w.t.Fatal(err)
	}
	same := slices.DeleteFunc(list.GetHosts(), func(h *vigilv1.Host) bool { return h.GetName() != name })
	if len(same) != 1 {
		text, _ := json.Marshal(same) // for people
		w.t.Errorf("%d hosts are called %s: %s", len(same), name, text)
	}
}
