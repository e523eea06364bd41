//go:build linux

package main_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"google.golang.org/protobuf/types/known/durationpb"

	"vigil/agentd/runner"
	"vigil/rpc/client"
	"vigil/rpc/gen/vigilv1"
)

// notRaised are the alerts that no fleet of a test can raise in seconds, by why. Their unit tests are in
// configs/alerts_test.yaml.
var notRaised = map[string]string{
	"VigilSlowCommits":     "a disk would have to be slow for its commits, and its timing would end the server first",
	"VigilServerBehind":    "a server would have to live and lag by 20,000 entries",
	"VigilInternalErrors":  "a fault of ours would be needed",
	"VigilDeadLetters":     "agentd's own tests raise its figure",
	"VigilUnkillable":      "a process that outlives SIGKILL would be needed",
	"VigilNobodyLooks":     "a terminal that nobody can look at would be needed",
	"VigilWatchdogErrors":  "a leader that cannot write stops leading first",
	"VigilManyDenied":      "the fleet of this test has no identities: TestFiguresInPrometheus raises it",
	"VigilIdentityLimited": "the fleet of this test has no identities",
	"VigilRootOffline":     "an issuing key would have to be two months old",
}

// hurried has rules of alerts fire at once: how long something has to last is left out, and the one figure that
// only hours can raise counts from a second.
func hurried(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile("../../configs/alerts.yaml")
	if err != nil {
		t.Fatal(err)
	}
	rules := regexp.MustCompile(`(?m)^ +for: \w+\n`).ReplaceAllString(string(text), "")
	return strings.Replace(rules, "> 3600", "> 1", 1)
}

// everyMoment is how often figures are read and rules are looked at.
var everyMoment = map[string]string{"scrape_interval": "300ms", "evaluation_interval": "300ms", "scrape_timeout": "300ms"}

// alarms is a fleet whose every trouble Prometheus looks at.
type alarms struct {
	*testFleet
	p      *scraper
	raised map[string]bool
}

// fire waits until each of these alerts fires.
func (a *alarms) fire(names ...string) {
	a.t.Helper()
	raised := func(n string) bool { return a.raised[n] }
	for end := time.Now().Add(patience); ; time.Sleep(100 * time.Millisecond) {
		for _, n := range a.p.firing() {
			a.raised[n] = true
		}
		if names = slices.DeleteFunc(names, raised); len(names) == 0 {
			return
		}
		if time.Now().After(end) {
			a.t.Fatalf("nobody raises %v", names)
		}
	}
}

// Each alert that a test can raise is raised by what it names, in a real fleet, by a real Prometheus.
func TestAlertsAreRaised(t *testing.T) {
	prometheus, err := exec.LookPath("prometheus")
	if err != nil {
		t.Skip("prometheus is not installed: apt-get install prometheus")
	}
	t.Parallel()
	f := newFleet(t, func(f *testFleet) {
		f.config = f.path("server.yaml")
		f.write("server.yaml", fmt.Sprintf("backup: {to: %q, every: 10s}\nnotify:\n  - {name: broken, command: {program: /bin/false}}\n",
			f.path("not-mounted")))
	})
	metrics := []string{freePort(t), freePort(t)}
	var hosts []*proc
	for i, name := range []string{"stays", "dies"} {
		f.write(name+".yaml", fmt.Sprintf("servers: [%s]\ninsecure: true\ndata_dir: %q\nname: %s\nmetrics: %s\nrunners:\n"+
			"- {name: waits-%[3]s, program: %[5]q, user: %[6]q, args: [wait-for-task]}\n"+
			"- {name: crashes-%[3]s, program: sh, user: %[6]q, args: [-c, exit 3]}\n",
			strings.Join(f.api, ", "), f.path(name), name, metrics[i], vigil(t), runner.SameUser()))
		hosts = append(hosts, spawn(t, name, "agentd", "--config", f.path(name+".yaml")))
		t.Cleanup(func() { f.clear(name, hosts[i]) })
	}
	config := map[string]any{"global": everyMoment, "scrape_configs": []any{
		map[string]any{"job_name": "vigil", "static_configs": []any{map[string]any{"targets": f.api}}},
		map[string]any{"job_name": "vigil-agentd", "static_configs": []any{map[string]any{"targets": metrics}}}}}
	a := &alarms{testFleet: f, raised: map[string]bool{}, p: startScraper(t, prometheus, config, hurried(t))}
	a.troubles()
	a.fire("VigilBackupOld", "VigilAgentsMissing", "VigilAgentsParked", "VigilWatchdogBlind", "VigilEscalations",
		"VigilNotifierFails", "VigilTaskWaitsLong", "VigilTasksOverdue", "VigilRoleHalfOpen", "VigilManyRetries",
		"VigilBudgetNearlyFull", "VigilBudgetFull")
	a.stuck()
	a.silent()
	a.fire("VigilAgentNeedsHuman", "VigilManyAgentsStuck", "VigilManyRoomsCanceled")
	for range 8 {
		if _, err := f.status.TransferLeadership(f.ctx(), &vigilv1.TransferLeadershipRequest{}); err != nil {
			t.Fatal(err)
		}
	}
	hosts[1].signal(syscall.SIGKILL)
	a.fire("VigilManyElections", "VigilHostsLost", "VigilAgentdDown", "VigilBrakeSet", "VigilInboxUrgent")
	for _, s := range f.servers[1:] {
		s.signal(syscall.SIGKILL)
	}
	a.fire("VigilServerDown", "VigilNoLeader", "VigilAgentsFrozen")
	for _, r := range a.p.list() {
		if _, not := notRaised[r.Name]; not == a.raised[r.Name] {
			t.Errorf("%s is raised here: %v, and is in the list of those that are not: %v", r.Name, a.raised[r.Name], not)
		}
	}
}

// set changes settings.
func (a *alarms) set(values map[string]string) {
	a.t.Helper()
	if _, err := a.status.PutSettings(a.ctx(), &vigilv1.PutSettingsRequest{Values: values}); err != nil {
		a.t.Fatal(err)
	}
}

// stuck has 60 agents take a task, report once that all is well, and say nothing more, in a hurried ladder.
func (a *alarms) stuck() {
	a.t.Helper()
	const many = 60
	a.set(map[string]string{"ladder_interval": "1s", "ladder_nudge": "1s", "ladder_wake": "1s", "ladder_per_pass": "1000",
		"max_rooms": "1000"})
	mute := &vigilv1.RoleSpec{Name: "mute", Replicas: many, Ttl: durationpb.New(time.Hour), Ladder: "escalate",
		Health: &vigilv1.HealthSpec{Every: durationpb.New(time.Second), Missed: 1}}
	if _, err := a.fleet.ApplyRoom(a.ctx(),
		&vigilv1.ApplyRoomRequest{Room: "stuck", Roles: []*vigilv1.RoleSpec{mute}}); err != nil {
		a.t.Fatal(err)
	}
	work := vigilv1.NewWorkClient(a.client)
	for range many {
		if _, err := a.fleet.CreateTask(a.ctx(),
			&vigilv1.CreateTaskRequest{Room: "stuck", Role: "mute", Title: "x"}); err != nil {
			a.t.Fatal(err)
		}
		joined, err := work.Join(a.ctx(), &vigilv1.JoinRequest{Speaker: &vigilv1.Speaker{Agent: "stuck/mute.*"}})
		if err != nil {
			a.t.Fatal(err)
		}
		me := &vigilv1.Speaker{Agent: joined.GetAgent(), Incarnation: joined.GetIncarnation()}
		_, err = work.Claim(a.ctx(), &vigilv1.ClaimRequest{Speaker: me, Start: true})
		if err == nil {
			_, err = work.Declare(a.ctx(), &vigilv1.DeclareRequest{Speaker: me})
		}
		if err != nil {
			a.t.Fatal(err)
		}
	}
}

// silent has 30 rooms with work that nobody will ever do, in front of a hurried watchdog.
func (a *alarms) silent() {
	a.t.Helper()
	for i := range 30 {
		room := fmt.Sprintf("silent%d", i)
		if _, err := a.fleet.ApplyRoom(a.ctx(), &vigilv1.ApplyRoomRequest{Room: room,
			Roles: []*vigilv1.RoleSpec{{Name: "none"}}}); err != nil {
			a.t.Fatal(err)
		}
		if _, err := a.fleet.CreateTask(a.ctx(),
			&vigilv1.CreateTaskRequest{Room: room, Role: "none", Title: "x"}); err != nil {
			a.t.Fatal(err)
		}
	}
	for _, room := range []string{"web", "stuck"} { // those are about something else
		if _, err := a.fleet.SetRoomWatch(a.ctx(), &vigilv1.SetRoomWatchRequest{Room: room,
			Watch: &vigilv1.RoomWatch{Disabled: true}}); err != nil {
			a.t.Fatal(err)
		}
	}
	a.set(map[string]string{"watchdog_enabled": "true", "watchdog_start_delay": "0s", "watchdog_interval": "1s",
		"watchdog_threshold": "1s", "watchdog_min_age": "0s", "watchdog_grace": "1s", "watchdog_untaken": "cancel",
		"watchdog_max_cancellations": "1000"})
}

// troubles has something go wrong with agents, tasks and what is bounded.
func (a *alarms) troubles() {
	t := a.t
	t.Helper()
	if _, err := a.status.PutSettings(a.ctx(), &vigilv1.PutSettingsRequest{Values: map[string]string{
		"watchdog_enabled": "false", "breaker_starts": "1", "retry_first": "0s", "escalation_retry": "100ms",
		"max_rooms": "1", "brake_agents": "1", "brake_share": "1"}}); err != nil {
		t.Fatal(err)
	}
	second := durationpb.New(time.Second)
	role := func(name, runner string) *vigilv1.RoleSpec {
		return &vigilv1.RoleSpec{Name: name, Runner: runner, Replicas: 1, Ttl: durationpb.New(2 * time.Second),
			StopGrace: durationpb.New(300 * time.Millisecond)}
	}
	if _, err := a.fleet.ApplyRoom(a.ctx(), &vigilv1.ApplyRoomRequest{Room: "web", Roles: []*vigilv1.RoleSpec{
		role("waits", "waits-stays"), role("crashes", "crashes-stays"), role("nowhere", "unknown"), role("clumsy", ""),
		role("fails", ""), role("slow", ""), role("doomed", "waits-dies")}}); err != nil {
		t.Fatal(err)
	}
	if _, err := a.fleet.ApplyRoom(a.ctx(), &vigilv1.ApplyRoomRequest{Room: "more"}); err == nil {
		t.Error("there is room for one more room")
	}
	for role, n := range map[string]int{"clumsy": 60, "fails": 12, "slow": 1, "nowhere": 1} {
		for range n {
			if _, err := a.fleet.CreateTask(a.ctx(), &vigilv1.CreateTaskRequest{Room: "web", Role: role, Title: "x",
				Expect: second}); err != nil {
				t.Fatal(err)
			}
		}
	}
	ctx, stop := context.WithCancel(t.Context())
	var workers sync.WaitGroup
	t.Cleanup(func() { stop(); workers.Wait() })
	work := func(role string, do func(ctx context.Context, job *client.Job) error) {
		workers.Go(func() {
			_ = client.Work(ctx, a.client, client.WorkerConfig{Agent: "web/" + role}, // it ends with its servers
				func(ctx context.Context, job *client.Job) (string, error) { return "", do(ctx, job) })
		})
	}
	calls := 0
	work("clumsy", func(_ context.Context, job *client.Job) error { // as many fail as do not: the role stays open
		if calls++; calls%2 == 0 && job.Attempt == 1 {
			return client.ErrRetry
		}
		return nil
	})
	work("fails", func(context.Context, *client.Job) error { return fmt.Errorf("no luck: %w", client.ErrRetry) })
	work("slow", func(ctx context.Context, _ *client.Job) error {
		<-ctx.Done()
		return errors.New("stopped")
	})
}
