//go:build linux

package hostfaults

import (
	"flag"
	"os"
	"testing"
	"time"

	"vigil/jepsen/stand"
)

var (
	faultsFlag = flag.Int("faults", 15, "number of faults")
	ttlFlag    = flag.Duration("ttl", 3*time.Second, "lease and fence of agents and hosts")
	seedFlag   = flag.Uint64("seed", 1, "what the choice of faults follows from")
	outFlag    = flag.String("out", "", "folder for the result, and for ledger and logs when a law was broken (default: none)")
	vigilFlag  = flag.String("vigil", "", "program under test (default: it is built)")
)

// tooSlow says why this program is not fit for a stand; empty: it is.
var tooSlow string

// The whole test runs in a network namespace of its own.
func TestMain(m *testing.M) {
	flag.Parse()
	os.Exit(stand.Inside(skipped(), m.Run))
}

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

// L7, L6, L4, L8 and L10 on real machines: whatever happens to hosts, an agent
// lives once, and it lives again soon.
func TestHostFaults(t *testing.T) {
	if why := skipped(); why != "" {
		t.Skip(why)
	}
	folder, err := os.MkdirTemp("", "vigil-stand-")
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if t.Failed() {
			t.Logf("ledger and logs are in %s", folder)
			return
		}
		if err := os.RemoveAll(folder); err != nil {
			t.Error(err)
		}
	}()
	config, err := stand.Build(folder, *vigilFlag)
	if err != nil {
		t.Fatal(err)
	}
	c := Config{Faults: *faultsFlag, Round: 30, Seed: *seedFlag, TTL: *ttlFlag, Fenced: 9, Fast: 2,
		Bound: 45 * time.Second, Say: t.Logf}
	config.Folder, config.Servers, config.Hosts = folder, 3, 3
	s, err := stand.Open(config)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}()
	result, err := Run(t.Context(), s, c)
	if err != nil {
		t.Fatal(err)
	}
	if *outFlag != "" {
		if err := result.Write(*outFlag); err != nil {
			t.Error(err)
		}
	}
	t.Log(result.Summary())
	t.Logf("kinds %v, phases %v, events %v", result.Kinds, result.Phases, result.Events)
	for _, line := range result.Evidence {
		t.Log(line)
	}
	if n := result.Broken(); n > 0 {
		t.Errorf("%d promises were broken", n)
	}
	if result.Freezes == 0 || result.Events["host.suspect"] == 0 || result.Completed == 0 {
		t.Error("no fault was felt, or nothing was done: such a run proves nothing")
	}
}
