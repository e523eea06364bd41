//go:build linux

package disk_test

import (
	"bufio"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"vigil/jepsen/disk"
)

func TestGoodDiskPassesEverythingOn(t *testing.T) {
	d := open(t)
	at := func(name string) string { return filepath.Join(d.Mount(), name) }
	check(t, os.WriteFile(at("a"), []byte("hello"), 0o640), os.MkdirAll(at("d/e"), 0o750),
		os.Rename(at("a"), at("d/e/b")))
	if data, err := os.ReadFile(at("d/e/b")); err != nil || string(data) != "hello" {
		t.Errorf("read %q, %v", data, err)
	}
	info, err := os.Stat(at("d/e/b"))
	if err != nil || info.Mode() != 0o640 || info.Size() != 5 {
		t.Errorf("stat: %v, %v", info, err)
	}
	if err := syscall.Rmdir(at("d")); !errors.Is(err, syscall.ENOTEMPTY) {
		t.Errorf("remove a directory that is not empty: %v", err)
	}
	if list, err := os.ReadDir(at("d/e")); err != nil || len(list) != 1 || list[0].Name() != "b" {
		t.Errorf("list: %v, %v", list, err)
	}
	// A file that is open outlives its name.
	f, err := os.OpenFile(at("d/e/b"), os.O_RDWR|os.O_APPEND, 0)
	check(t, err)
	check(t, os.RemoveAll(at("d")))
	if _, err := os.Stat(at("d")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("removed directory: %v", err)
	}
	_, err = f.WriteString(" world")
	check(t, err)
	if info, err := f.Stat(); err != nil || info.Size() != 11 {
		t.Errorf("file without a name: %v, %v", info, err)
	}
	check(t, f.Sync(), f.Close())
	// What is written over is cut off first; what is renamed over is gone.
	check(t, os.WriteFile(at("x"), []byte("long long"), 0o600), os.WriteFile(at("x"), []byte("short"), 0o600))
	check(t, os.WriteFile(at("y"), []byte("other"), 0o600), os.Rename(at("x"), at("y")))
	if data, err := os.ReadFile(at("y")); err != nil || string(data) != "short" {
		t.Errorf("read %q, %v", data, err)
	}
}

// What is in the store is on the disk when it is mounted again.
func TestDiskKeepsItsData(t *testing.T) {
	d := open(t)
	check(t, os.WriteFile(filepath.Join(d.Mount(), "a"), []byte("kept"), 0o600))
	check(t, d.Close())
	if list, err := os.ReadDir(d.Mount()); err != nil || len(list) != 0 {
		t.Errorf("the mount is still there: %v, %v", list, err)
	}
	if data, err := os.ReadFile(filepath.Join(d.Store(), "a")); err != nil || string(data) != "kept" {
		t.Errorf("store: %q, %v", data, err)
	}
	if err := d.Set(disk.Faults{}); !errors.Is(err, os.ErrClosed) {
		t.Errorf("closed disk: %v", err)
	}
}

// A driver that is killed leaves neither a mount nor a process that serves it.
func TestKilledDriverLeavesNoMount(t *testing.T) {
	if why := disk.Missing(); why != "" {
		t.Skip(why)
	}
	dir := t.TempDir()
	c := child(t, "open", dir)
	out, err := c.StdoutPipe()
	check(t, err, c.Start())
	if line, err := bufio.NewReader(out).ReadString('\n'); err != nil || line != "open\n" {
		t.Fatalf("driver says %q, %v", line, err)
	}
	mounted := func() bool {
		text, err := os.ReadFile("/proc/self/mountinfo")
		check(t, err)
		return strings.Contains(string(text), config(dir).Mount)
	}
	if !mounted() {
		t.Fatal("nothing is mounted")
	}
	check(t, c.Process.Kill())
	_ = c.Wait() // it was killed
	for end := time.Now().Add(time.Minute); mounted(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("the mount is left")
		}
	}
}

func TestDiskRefusesWrites(t *testing.T) {
	d := open(t)
	at := func(name string) string { return filepath.Join(d.Mount(), name) }
	check(t, os.WriteFile(at("a"), []byte("hello"), 0o600))
	f, err := os.OpenFile(at("a"), os.O_RDWR, 0)
	check(t, err)
	defer f.Close()
	for _, errno := range []syscall.Errno{syscall.ENOSPC, syscall.EIO} {
		set(t, d, disk.Faults{Refuse: errno})
		_, write := f.WriteAt([]byte("x"), 0)
		for verb, err := range map[string]error{
			"write": write, "grow": f.Truncate(100), "make file": os.WriteFile(at("b"), nil, 0o600),
			"make directory": os.Mkdir(at("d"), 0o700),
		} {
			if !errors.Is(err, errno) {
				t.Errorf("%s: %v, want %v", verb, err, errno)
			}
		}
		check(t, f.Sync())
		if data, err := os.ReadFile(at("a")); err != nil || string(data) != "hello" {
			t.Errorf("read %q, %v", data, err)
		}
		set(t, d, disk.Faults{RefuseSync: errno})
		_, err := f.WriteAt([]byte("h"), 0)
		check(t, err)
		if err := f.Sync(); !errors.Is(err, errno) {
			t.Errorf("fsync: %v, want %v", err, errno)
		}
		st, err := d.Stats()
		if check(t, err); st.Refused == 0 || st.Unsynced.Writes == 0 {
			t.Errorf("stats: %+v", st)
		}
		set(t, d, disk.Faults{})
		check(t, f.Sync())
	}
	set(t, d, disk.Faults{})
	check(t, os.WriteFile(at("b"), []byte("again"), 0o600))
}

func TestFsyncIsHeldUntilReleased(t *testing.T) {
	d := open(t)
	f, err := os.Create(filepath.Join(d.Mount(), "a"))
	check(t, err)
	defer f.Close()
	set(t, d, disk.Faults{Stall: disk.Forever})
	_, err = f.WriteString("written")
	check(t, err)
	done := make(chan error, 1)
	go func() { done <- f.Sync() }()
	await(t, d, "held fsync", func(st disk.Stats) bool { return st.Waiting == 1 })
	if st, err := d.Stats(); err != nil || st.Unsynced.Writes != 1 {
		t.Errorf("a held fsync makes nothing durable: %+v, %v", st, err)
	}
	select {
	case err := <-done:
		t.Errorf("fsync returned: %v", err)
	default:
	}
	set(t, d, disk.Faults{})
	select {
	case err := <-done:
		check(t, err)
	case <-time.After(time.Minute):
		t.Fatal("fsync does not return after the release")
	}
	if st, err := d.Stats(); err != nil || st.Unsynced != (disk.Lost{}) {
		t.Errorf("after fsync: %+v, %v", st, err)
	}
}

func TestStallAndSlowDiskTakeTheirTime(t *testing.T) {
	d := open(t)
	f, err := os.Create(filepath.Join(d.Mount(), "a"))
	check(t, err)
	defer f.Close()
	const late = 60 * time.Millisecond
	took := func(what string, op func() error) {
		began := time.Now()
		check(t, op())
		if took := time.Since(began); took < late {
			t.Errorf("%s took %v, want at least %v", what, took, late)
		}
	}
	write := func() error { _, err := f.WriteAt([]byte("x"), 0); return err }
	set(t, d, disk.Faults{Stall: late})
	check(t, write())
	took("fsync", f.Sync)
	set(t, d, disk.Faults{Slow: late})
	took("write", write)
	took("slow fsync", f.Sync)
}

// A process that is killed while its fsync is held is gone at once, as are its locks.
func TestKilledProcessLeavesAHeldFsync(t *testing.T) {
	d := open(t)
	path := filepath.Join(d.Mount(), "a")
	set(t, d, disk.Faults{Stall: disk.Forever})
	c := child(t, "sync", path)
	check(t, c.Start())
	await(t, d, "held fsync", func(st disk.Stats) bool { return st.Waiting == 1 })
	check(t, c.Process.Kill())
	ended := make(chan error, 1)
	go func() { ended <- c.Wait() }()
	select {
	case <-ended:
	case <-time.After(time.Minute):
		set(t, d, disk.Faults{}) // so that it ends
		t.Fatal("a killed process does not end")
	}
	await(t, d, "end of the held fsync", func(st disk.Stats) bool { return st.Waiting == 0 })
	lost, err := d.Lose(disk.Loss{How: disk.All})
	if check(t, err); lost.Writes != 1 || lost.Names != 1 {
		t.Errorf("lost %+v, want the write and the name of a file that was never durable", lost)
	}
}

func TestFlipTurnsOneBit(t *testing.T) {
	d := open(t)
	path := filepath.Join(d.Mount(), "a")
	check(t, os.WriteFile(path, []byte("abc"), 0o600))
	if _, err := os.ReadFile(path); err != nil { // is in the page cache now
		t.Fatal(err)
	}
	check(t, d.Flip(disk.Spot{Path: "a", At: 1, Bit: 1}))
	if data, err := os.ReadFile(path); err != nil || string(data) != "a`c" {
		t.Errorf("read %q, %v", data, err)
	}
	if err := d.Flip(disk.Spot{Path: "a", At: 3}); err == nil {
		t.Error("flipped a bit beyond the end")
	}
	check(t, d.Empty())
	if list, err := os.ReadDir(d.Mount()); err != nil || len(list) != 0 {
		t.Errorf("emptied disk: %v, %v", list, err)
	}
	check(t, os.WriteFile(path, []byte("new"), 0o600))
}
