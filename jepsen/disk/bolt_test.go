//go:build linux

package disk_test

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/hashicorp/raft"
	raftboltdb "github.com/hashicorp/raft-boltdb/v2"

	"vigil/jepsen/disk"
)

// children are what other processes do on a disk.
var children = map[string]func(path string) error{
	// sync writes a file and makes it durable.
	"sync": func(path string) error {
		return change(path, func(f *os.File) error {
			_, err := f.WriteString("written")
			return errors.Join(err, f.Sync())
		})
	},
	"map": mapped,
	// open opens a disk and waits to be killed.
	"open": func(path string) error {
		if _, err := disk.Open(config(path)); err != nil {
			return err
		}
		fmt.Println("open")
		select {}
	},
	"log": func(path string) error { return appendLog(path, false) },
	// careless forgets fsync.
	"careless": func(path string) error { return appendLog(path, true) },
}

// mapped maps a file into memory and sees there what it writes and what is appended.
func mapped(path string) error {
	const size = 64 << 10
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return err
	}
	defer f.Close()
	if err := f.Truncate(size / 2); err != nil {
		return err
	}
	memory, err := syscall.Mmap(int(f.Fd()), 0, size, syscall.PROT_READ, syscall.MAP_SHARED)
	if err != nil {
		return err
	}
	defer syscall.Munmap(memory)
	r := rand.New(rand.NewPCG(1, 2))
	twin := make([]byte, size)
	limit := size / 2
	for i := range 400 {
		if i == 200 {
			if err := f.Truncate(size); err != nil {
				return err
			}
			limit = size
		}
		at := r.IntN(limit - 5000)
		data := bytes.Repeat([]byte{byte(1 + r.IntN(255))}, 1+r.IntN(5000))
		if _, err := f.WriteAt(data, int64(at)); err != nil {
			return err
		}
		if i%10 == 0 {
			if err := f.Sync(); err != nil {
				return err
			}
		}
		copy(twin[at:], data)
		if !bytes.Equal(memory[:limit], twin[:limit]) {
			return fmt.Errorf("after write %d memory and file differ", i)
		}
	}
	return nil
}

func TestMappedMemoryAgreesWithWrites(t *testing.T) {
	d := open(t)
	check(t, child(t, "map", filepath.Join(d.Mount(), "a")).Run())
}

// appendLog appends to a raft log for ever and says what is stored.
func appendLog(path string, careless bool) error {
	db, err := raftboltdb.New(raftboltdb.Options{Path: path, NoSync: careless})
	if err != nil {
		return err
	}
	last, err := db.LastIndex()
	if err != nil {
		return err
	}
	for i := last + 1; ; i++ {
		if err := db.StoreLogs([]*raft.Log{{Index: i, Term: 1,
			Data: []byte(strings.Repeat(strconv.FormatUint(i, 10), 100))}}); err != nil {
			return err
		}
		fmt.Println(i)
	}
}

// crash runs a log, kills it after some entries, loses power and gives the last entry
// that was said to be stored.
func crash(t *testing.T, d *disk.Disk, what string, entries int, loss disk.Loss) (acknowledged uint64) {
	t.Helper()
	c := child(t, what, filepath.Join(d.Mount(), "raft.db"))
	out, err := c.StdoutPipe()
	check(t, err, c.Start())
	lines := bufio.NewScanner(out)
	for n := 0; lines.Scan(); n++ {
		acknowledged, err = strconv.ParseUint(lines.Text(), 10, 64)
		check(t, err)
		if n == entries {
			check(t, c.Process.Kill())
		}
	}
	if err := c.Wait(); err == nil || c.ProcessState.ExitCode() != -1 {
		t.Fatalf("the log ended by itself: %v", err)
	}
	_, err = d.Lose(loss)
	check(t, err)
	return acknowledged
}

// stored gives the last entry of the log that is on the disk, all of which it reads.
func stored(t *testing.T, d *disk.Disk) uint64 {
	t.Helper()
	db, err := raftboltdb.NewBoltStore(filepath.Join(d.Mount(), "raft.db"))
	check(t, err)
	defer db.Close()
	last, err := db.LastIndex()
	check(t, err)
	for i := uint64(1); i <= last; i++ {
		var l raft.Log
		if err := db.GetLog(i, &l); err != nil ||
			!bytes.Equal(l.Data, []byte(strings.Repeat(strconv.FormatUint(i, 10), 100))) {
			t.Fatalf("entry %d: %v", i, err)
		}
	}
	return last
}

// The log of raft survives every loss of power: nothing that was stored is lost (L8).
func TestLogSurvivesLossOfPower(t *testing.T) {
	d := open(t)
	for i, how := range []string{disk.All, disk.Some, disk.Torn, disk.Some, disk.Some, disk.All} {
		acknowledged := crash(t, d, "log", 10+7*i, disk.Loss{How: how, Seed: uint64(i)})
		if last := stored(t, d); last < acknowledged {
			t.Errorf("L8: loss of %s: the log ends at %d, entry %d was stored", how, last, acknowledged)
		}
	}
}

// A log without fsync does not: the disk tells them apart.
func TestLossShowsAMissingFsync(t *testing.T) {
	var last, acknowledged uint64
	for range 10 { // the store syncs a file that it makes longer, now and then just before the crash
		d := open(t)
		crash(t, d, "log", 5, disk.Loss{How: disk.All})
		acknowledged = crash(t, d, "careless", 40, disk.Loss{How: disk.All})
		if last = stored(t, d); last < acknowledged {
			return
		}
	}
	t.Errorf("the log reaches %d: nothing was lost of %d entries that were not fsynced", last, acknowledged)
}
