//go:build linux

package nemesis

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"vigil/jepsen/history"
	"vigil/jepsen/stand"
	"vigil/rpc/gen/vigilv1"
)

var hostsFlag = flag.Bool("hosts", false, "strike every kind of lane host, not only a few")

// fewHosts are struck in every run of the tests.
var fewHosts = []string{"cut_both_ways", "agentd_stopped", "host_paused", "shim_paused", "power_off", "host_cloned"}

// Every kind of lane host leaves its host as it was, also when the run ends in the
// middle of it: switched on, heard, scheduled, with its agentd and no other.
func TestHostKindsLeaveTheHostAsItWas(t *testing.T) {
	words := fewHosts
	if *hostsFlag {
		words = []string{Host}
	}
	kinds, err := Select(words...)
	if err != nil {
		t.Fatal(err)
	}
	f := open(t, 3, 0)
	populate(t, f)
	for i, k := range kinds {
		for _, cutShort := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, cut short %v", k.Name, cutShort), func(t *testing.T) {
				atWork(t, f)
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				if cutShort {
					stop := time.AfterFunc(200*time.Millisecond, cancel)
					defer stop.Stop()
				}
				var h *stand.Host
				var fault *history.Fault
				err := ErrNobody
				for n := 0; n < len(f.Stand.Hosts) && errors.Is(err, ErrNobody); n++ { // all agents may be elsewhere
					h = f.Stand.Hosts[(i+n)%len(f.Stand.Hosts)]
					fault, err = f.Strike(ctx, k, h, rand.New(rand.NewPCG(*seedFlag, uint64(i))))
				}
				if errors.Is(err, ErrNobody) {
					t.Skip("there was nobody to strike")
				}
				if err != nil || fault == nil {
					t.Fatalf("%v (%+v)", err, fault)
				}
				t.Log(fault.Note)
				judgeFault(t, fault, h)
				sound(t, h)
			})
		}
	}
	atWork(t, f)
	if err := Heal(f); err != nil {
		t.Error(err)
	}
	whole(t, f)
}

// judgeFault judges what a fault says about itself.
func judgeFault(t *testing.T, fault *history.Fault, h *stand.Host) {
	t.Helper()
	phases := []string{running, "returning", "storm", "cut_off", "ordered", "accepted", "just_started",
		"between_lives", "unknown"}
	if phase, _, _ := strings.Cut(fault.Note, ":"); !slices.Contains(phases, phase) {
		t.Errorf("phase %q", phase)
	}
	if fault.Broken != "" {
		t.Error(fault.Broken)
	}
	for _, e := range fault.Effects {
		if e.From < fault.From || e.To < e.From || e.To > fault.To {
			t.Errorf("an effect is not within its fault: %+v in %+v", e, fault)
		}
		if !strings.HasSuffix(e.Machine, h.Name) {
			t.Errorf("an effect on %s of a fault on %s", e.Machine, h.Name)
		}
	}
	if len(fault.Effects) == 0 && fault.Kind != "second_daemon" {
		t.Error("it touched nothing")
	}
}

// sound demands that nothing of a fault is left on a host.
func sound(t *testing.T, h *stand.Host) {
	t.Helper()
	// One that was started this moment may be in the middle of its exec.
	for end := time.Now().Add(patience); ; time.Sleep(20 * time.Millisecond) {
		list, err := h.Processes()
		if err != nil {
			t.Fatal(err)
		}
		daemons := 0
		for _, p := range list {
			if len(p.Args) > 1 && p.Args[1] == "agentd" {
				daemons++
			}
		}
		if daemons == 1 {
			break
		}
		if time.Now().After(end) {
			t.Errorf("%d agentds run: %v", daemons, list)
			break
		}
	}
	select {
	case <-h.Process.Done():
		t.Errorf("its agentd has ended with code %d", h.Process.Code())
	default:
	}
	rules := filepath.Join(t.TempDir(), "rules")
	if err := os.WriteFile(rules, []byte("list ruleset\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	p, err := h.Machine.Start("rules", "/bin/sh", []string{"-c", "nft list ruleset >" + rules}, nil)
	if err != nil {
		t.Fatal(err)
	}
	<-p.Done()
	if text, err := os.ReadFile(rules); err != nil || strings.Contains(string(text), "drop") {
		t.Errorf("packets are still dropped: %s, %v", text, err)
	}
}

// populate declares agents.
func populate(t *testing.T, f *Field) {
	t.Helper()
	if _, err := f.Cluster.PutSettings(t.Context(), &vigilv1.PutSettingsRequest{By: "test", Values: map[string]string{
		"breaker_starts": "1000", "breaker_window": "5s", "healthy_after": "2s", "brake_agents": "0"}}); err != nil {
		t.Fatal(err)
	}
	if _, err := f.Fleet.ApplyRoom(t.Context(), &vigilv1.ApplyRoomRequest{Room: f.Room, By: "test",
		Roles: []*vigilv1.RoleSpec{{Name: "fenced", Runner: stand.Runner, Replicas: 4}}}); err != nil {
		t.Fatal(err)
	}
}

// atWork waits until all agents are.
func atWork(t *testing.T, f *Field) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*patience)
	defer cancel()
	if err := f.until(ctx, func(ctx context.Context) error {
		list, err := f.Fleet.ListAgents(ctx, &vigilv1.ListAgentsRequest{Room: f.Room})
		if err == nil && len(list.GetAgents()) != 4 {
			err = fmt.Errorf("%d agents", len(list.GetAgents()))
		}
		for _, a := range list.GetAgents() {
			if a.GetProcess() != "running" || a.GetParticipant() == "DISCONNECTED" {
				err = fmt.Errorf("%s is %s and %s: %s", a.GetName(), a.GetProcess(), a.GetParticipant(), a.GetWhy())
			}
		}
		return err
	}); err != nil {
		t.Fatalf("not everything runs: %v", err)
	}
}
