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
	"sync"
	"testing"
	"time"

	"vigil/jepsen/history"
	"vigil/jepsen/stand"
	"vigil/rpc/client"
	"vigil/rpc/gen/vigilv1"
)

// patience is how long anything may take on a machine that is busy with other tests.
const patience = 60 * time.Second

var (
	allFlag   = flag.Bool("all", false, "strike every kind, not only a few")
	kindsFlag = flag.String("kinds", "", "kinds to strike, as Select takes them, with commas")
	seedFlag  = flag.Uint64("seed", 1, "what the faults follow from")
	vigilFlag = flag.String("vigil", "", "program under test (default: it is built)")
	olderFlag = flag.String("older", "", "program of an older build of vigil, to be upgraded (default: the same build)")
)

// few are the kinds that are struck in every run of the tests: one of each group.
var few = []string{"leader_killed", "leader_paused", "halves_with_hosts", "leader_log_mute",
	"answers_lost", "leader_slow", "server_replaced", "all_killed"}

// tooSlow says why this program is not fit for a stand; empty: it is.
var tooSlow string

func TestMain(m *testing.M) {
	flag.Parse()
	os.Exit(stand.Inside(skipped(), func() int {
		code := m.Run()
		if err := os.RemoveAll(bin); err != nil {
			fmt.Fprintln(os.Stderr, err)
			code = 1
		}
		return code
	}))
}

// bin is where programs has put them.
var bin string

// programs builds what all stands here run.
var programs = sync.OnceValues(func() (c stand.Config, err error) {
	if bin, err = os.MkdirTemp("", "vigil-nemesis-"); err != nil {
		return c, err
	}
	return stand.Build(bin, *vigilFlag)
})

// skipped says why nothing can be tried here; empty: it can.
func skipped() string {
	if testing.Short() {
		return "starts machines"
	}
	if tooSlow != "" {
		return tooSlow
	}
	return stand.Missing()
}

// open opens a stand of servers and two hosts that is at work.
func open(t *testing.T, servers, spares int, change ...func(*stand.Config)) *Field {
	t.Helper()
	if why := skipped(); why != "" {
		t.Skip(why)
	}
	folder, err := os.MkdirTemp("", "vigil-nemesis-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("logs are in %s", folder)
			return
		}
		if err := os.RemoveAll(folder); err != nil {
			t.Error(err)
		}
	})
	c, err := programs()
	if err != nil {
		t.Fatal(err)
	}
	older := *olderFlag
	if older == "" {
		older = filepath.Join(folder, "older")
		if err := os.Symlink(c.Vigil, older); err != nil {
			t.Fatal(err)
		}
	}
	c.Folder, c.Servers, c.Spares, c.Hosts, c.ServerProgram = folder, servers, spares, 2, older
	c.Settings = map[string]string{"ttl": "2s", "host_ttl": "2s", "stop_grace": "500ms"}
	c.Limits = map[string]string{"snapshot_entries": "200", "trailing_logs": "100"}
	for _, do := range change {
		do(&c)
	}
	s, err := stand.Open(c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	conn, err := client.Open(client.Config{Addrs: s.Addrs(), Name: "nemesis", RetryFor: patience, TLS: s.TLS()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	f := &Field{Stand: s, Fleet: vigilv1.NewFleetClient(conn), Cluster: vigilv1.NewClusterClient(conn),
		Trust: vigilv1.NewTrustClient(conn), Room: "room", Older: older,
		TTL: time.Second, Say: t.Logf}
	whole(t, f)
	return f
}

// whole waits until the cluster writes again, and all servers and hosts are at work.
func whole(t *testing.T, f *Field) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	began := time.Now()
	err := f.until(ctx, func(ctx context.Context) error {
		_, err := f.Cluster.PutSettings(ctx, &vigilv1.PutSettingsRequest{By: "test",
			Values: map[string]string{"flap_limit": "0"}})
		return err
	})
	if err != nil {
		t.Fatalf("nothing can be written after %s: %v", time.Since(began), err)
	}
	wrote := time.Since(began)
	err = f.until(ctx, func(ctx context.Context) error {
		for _, sv := range f.Stand.Servers {
			m, err := f.member(ctx, sv)
			if err != nil {
				return err
			}
			st, err := f.Ask(ctx, sv)
			if err != nil {
				return fmt.Errorf("%s: %w", sv.Name, err)
			}
			if !m.GetVoter() || st.GetLeader() == "" {
				return fmt.Errorf("%s is not at work: voter %v, follows %q", sv.Name, m.GetVoter(), st.GetLeader())
			}
		}
		list, err := f.Cluster.ListServers(ctx, &vigilv1.ListServersRequest{})
		if err == nil && len(list.GetServers()) != len(f.Stand.Servers) {
			err = fmt.Errorf("the members are %v", list.GetServers())
		}
		for _, h := range f.Stand.Hosts {
			host, e := f.Fleet.GetHost(ctx, &vigilv1.GetHostRequest{Host: h.Name})
			if e == nil && host.GetState() != "ready" {
				e = fmt.Errorf("host %s is %s", h.Name, host.GetState())
			}
			if err == nil {
				err = e
			}
		}
		return err
	})
	if err != nil {
		t.Fatalf("not whole: %v", err)
	}
	t.Logf("wrote after %s, whole after %s", round(wrote), round(time.Since(began)))
}

// Every kind of fault about servers is undone by itself, also when the run ends in
// the middle of it: the cluster is whole again.
func TestKindsOnAStand(t *testing.T) {
	words := few
	if *allFlag {
		words = []string{Servers, Alone}
	}
	if *kindsFlag != "" {
		words = strings.Split(*kindsFlag, ",")
	}
	kinds, err := Select(words...)
	if err != nil {
		t.Fatal(err)
	}
	sizes := [][2]int{{3, 3}}
	if *allFlag {
		sizes = append(sizes, [2]int{5, 0})
	}
	for _, size := range sizes {
		t.Run(fmt.Sprintf("%d servers", size[0]), func(t *testing.T) {
			f := open(t, size[0], size[1])
			if !*allFlag {
				f.TTL /= 2 // faults of half the length
			}
			r := rand.New(rand.NewPCG(*seedFlag, 0))
			for _, k := range kinds {
				t.Run(k.Name, func(t *testing.T) { struck(t, f, k, r) })
				t.Run(k.Name+", cut short", func(t *testing.T) { cutShort(t, f, k, r) })
			}
			t.Run("in lanes", func(t *testing.T) { lanesStrike(t, f) })
		})
	}
}

// struck strikes one kind, and judges what it says about itself.
func struck(t *testing.T, f *Field, k *Kind, r *rand.Rand) {
	if k.Needs != nil && k.Needs(f) != "" {
		t.Skip(k.Needs(f))
	}
	began := time.Now()
	fault, err := f.Strike(t.Context(), k, nil, r)
	if err != nil {
		t.Fatalf("%v (%+v)", err, fault)
	}
	t.Logf("%s, %s", round(time.Since(began)), fault.Note)
	if len(fault.Effects) == 0 && k.Takes {
		t.Error("it touched nothing")
	}
	for _, e := range fault.Effects {
		if e.From < fault.From || e.To < e.From || e.To > fault.To {
			t.Errorf("an effect is not within its fault: %+v in %+v", e, fault)
		}
	}
	whole(t, f)
}

// cutShort ends a strike in the middle.
func cutShort(t *testing.T, f *Field, k *Kind, r *rand.Rand) {
	if k.Needs != nil && k.Needs(f) != "" {
		t.Skip(k.Needs(f))
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Duration(50+r.IntN(250))*time.Millisecond)
	defer cancel()
	fault, err := f.Strike(ctx, k, nil, r)
	if err != nil && !errors.Is(err, ErrNobody) {
		t.Fatalf("%v (%+v)", err, fault)
	}
	whole(t, f)
}

// lanesStrike lets lanes strike side by side until they are told to stop: they leave
// nothing behind.
func lanesStrike(t *testing.T, f *Field) {
	kinds, err := Select(Servers)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 4*time.Second)
	defer cancel()
	ended, _ := ctx.Deadline()
	var faults []history.Fault
	c := Config{Field: f, Kinds: kinds, Seed: *seedFlag, GapTo: 200 * time.Millisecond}
	c.Record = func(h history.Fault) { faults = append(faults, h) }
	if err := Run(ctx, c); err != nil {
		t.Fatal(err)
	}
	t.Logf("healed %s after the end", round(time.Since(ended)))
	for _, h := range faults {
		t.Logf("%s: %s", h.Kind, h.Note)
	}
	if len(faults) == 0 {
		t.Error("no fault was let loose")
	}
	whole(t, f)
	if slices.ContainsFunc(f.Stand.Servers, func(sv *stand.Server) bool { return sv.Program != "" }) {
		t.Error("a server still runs the older build")
	}
}
