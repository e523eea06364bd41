//go:build linux

package nemesis

import (
	"context"
	"errors"
	"flag"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"vigil/jepsen/disk"
	"vigil/jepsen/stand"
)

var disksFlag = flag.Bool("disks", false, "strike every kind of fault of disks and clocks, not only a few")

// fewOfDisks are the kinds that are struck in every run of the tests.
var fewOfDisks = []string{"leader_tail_torn", "all_unsynced_lost"}

// Every kind of fault of disks and clocks is undone by itself: the cluster is whole
// again. A server with damaged data refuses to go on.
func TestDisksAndClocksOnAStand(t *testing.T) {
	if why := disk.Missing(); why != "" {
		t.Skip(why)
	}
	words := fewOfDisks
	if *disksFlag {
		words = []string{Disks, Clocks, "all_unsynced_lost"}
	}
	if *disksFlag && *kindsFlag != "" {
		words = strings.Split(*kindsFlag, ",")
	}
	kinds, err := Select(words...)
	if err != nil {
		t.Fatal(err)
	}
	f := open(t, 3, 0, func(c *stand.Config) {
		c.Disks, c.Clocks = true, *disksFlag
		c.Limits = map[string]string{"snapshot_entries": "40", "trailing_logs": "20"}
		if !c.Clocks {
			return
		}
		c.Vigil = filepath.Join(c.Folder, "stepped")
		c.ServerProgram = c.Vigil
		if err := stand.BuildStepped(c.Vigil); err != nil {
			t.Fatal(err)
		}
	})
	if *disksFlag {
		t.Run("emptied founder", func(t *testing.T) { emptiedServerIsRefused(t, f) })
	}
	r := rand.New(rand.NewPCG(*seedFlag, 0))
	for _, k := range kinds {
		t.Run(k.Name, func(t *testing.T) { struck(t, f, k, r) })
	}
	if err := Heal(f); err != nil {
		t.Error(err)
	}
	whole(t, f)
	for _, sv := range f.Stand.Servers {
		if st, err := sv.Disk().Stats(); err != nil || st.Syncs == 0 {
			t.Errorf("%s does not use its disk: %+v, %v", sv.Name, st, err)
		}
	}
}

// emptiedServerIsRefused: a founder that has lost its data must not begin anew, with a
// vote that it has forgotten (law L8).
func emptiedServerIsRefused(t *testing.T, f *Field) {
	sv := f.Stand.Servers[0]
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	err := f.until(ctx, func(ctx context.Context) error {
		m, err := f.member(ctx, sv)
		if err == nil && m.GetVersion() == "" {
			err = errors.New("it has not announced itself")
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	// Others hear of what it has announced with the next entry.
	f.follows(ctx, f.Stand.Servers...)
	if err := sv.Kill(); err != nil {
		t.Fatal(err)
	}
	if err := sv.Disk().Empty(); err != nil {
		t.Fatal(err)
	}
	if err := sv.Start(); err != nil {
		t.Fatal(err)
	}
	select {
	case <-sv.Process.Done():
	case <-time.After(patience):
	}
	if sv.Up() || sv.Process.Code() == 0 {
		t.Errorf("L8: %s began anew although its data is gone", sv.Name)
	}
	if err := f.rejoin(sv); err != nil {
		t.Fatal(err)
	}
	whole(t, f)
}
