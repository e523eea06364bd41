package logstore

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/hashicorp/raft"
)

// unfinishedIn lists what is unfinished in a data directory.
func unfinishedIn(t *testing.T, dir string) []string {
	t.Helper()
	drafts, err := matching(filepath.Join(dir, "snapshots"), draftPattern)
	spools, more := matching(dir, SpoolPattern)
	if err := errors.Join(err, more); err != nil {
		t.Fatal(err)
	}
	return append(drafts, spools...)
}

// What a process that was killed has left in the middle of a snapshot or of a restore is deleted at the next start;
// everything else stays.
func TestWhatACrashLeftUnfinishedIsDeleted(t *testing.T) {
	d := newDiskLog(t, 1, distinct(1, 9, 1)...)
	whole := d.snapshot(7, 1)
	draft := filepath.Join(d.dir, "snapshots", "1-8-1700000000000.tmp")
	spool := filepath.Join(d.dir, "restore-123.tmp")
	kept := filepath.Join(d.dir, "restore-notes.txt")
	if err := errors.Join(os.Mkdir(draft, 0o700),
		os.WriteFile(filepath.Join(draft, "state.bin"), make([]byte, 1<<20), 0o600),
		os.WriteFile(spool, make([]byte, 1<<20), 0o600), os.WriteFile(kept, nil, 0o600)); err != nil {
		t.Fatal(err)
	}
	r, err := d.open()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if left := unfinishedIn(t, d.dir); len(left) != 0 {
		t.Errorf("left: %v", left)
	}
	if r.Index != 7 {
		t.Errorf("the snapshot reaches entry %d, not 7", r.Index)
	}
	for _, path := range []string{whole, kept} {
		if _, err := os.Stat(path); err != nil {
			t.Error(err)
		}
	}
}

// limitFiles keeps every file of this process from growing beyond so many bytes, as a full disk would.
func limitFiles(t *testing.T, bytes uint64) {
	t.Helper()
	var l syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_FSIZE, &l); err != nil {
		t.Fatal(err)
	}
	l.Cur = min(bytes, l.Max)
	if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &l); err != nil {
		t.Fatal(err)
	}
}

// A snapshot that cannot be written leaves nothing, at whichever step the disk refuses: else each attempt takes more
// of a disk that is full. One that is written beside it meanwhile is not touched.
func TestSnapshotThatCannotBeWrittenLeavesNothing(t *testing.T) {
	const inside = "VIGIL_TEST_LIMITED"
	if os.Getenv(inside) == "" { // the limit is one of the whole process
		self, err := os.Executable()
		if err != nil {
			t.Fatal(err)
		}
		cmd := exec.Command(self, "-test.run=^TestSnapshotThatCannotBeWrittenLeavesNothing$")
		cmd.Env = append(os.Environ(), inside+"=1")
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		return
	}
	signal.Ignore(syscall.SIGXFSZ) // the write fails
	const none = 1 << 40
	d := newDiskLog(t, 1)
	d.young = true
	r, err := d.open()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	_, trans := raft.NewInmemTransport("")
	create := func(index uint64) (raft.SnapshotSink, error) {
		return r.Snapshots.Create(1, index, 1, raft.Configuration{}, 1, trans)
	}
	beside, err := create(1)
	if err != nil {
		t.Fatal(err)
	}
	write := func(n, limit uint64, what string) raft.SnapshotSink {
		t.Helper()
		sink, err := create(2)
		if err != nil {
			t.Fatal(err)
		}
		limitFiles(t, limit)
		_, err = sink.Write(bytes.Repeat([]byte("x"), int(n)))
		if fails := n > 4096; (err != nil) != fails {
			t.Errorf("%s: write: %v", what, err)
		}
		return sink
	}
	check := func(what string) {
		t.Helper()
		limitFiles(t, none)
		if left := unfinishedIn(t, d.dir); len(left) != 1 || filepath.Base(left[0]) != beside.ID()+".tmp" {
			t.Errorf("%s: left: %v", what, left)
		}
	}

	if err := write(1<<20, 64<<10, "in the middle").Cancel(); err != nil {
		t.Errorf("in the middle: cancel: %v", err)
	}
	check("in the middle")
	if err := write(100, 0, "at the end of the state").Close(); !errors.Is(err, syscall.EFBIG) {
		t.Errorf("at the end of the state: close: %v", err)
	}
	check("at the end of the state")
	if err := write(10, 20, "at the description").Close(); !errors.Is(err, syscall.EFBIG) {
		t.Errorf("at the description: close: %v", err)
	}
	check("at the description")
	limitFiles(t, 0)
	if _, err := create(3); !errors.Is(err, syscall.EFBIG) {
		t.Errorf("at the beginning: %v", err)
	}
	check("at the beginning")

	if _, err := beside.Write([]byte("state")); err != nil {
		t.Error(err)
	}
	if err := beside.Close(); err != nil {
		t.Error(err)
	}
	if left := unfinishedIn(t, d.dir); len(left) != 0 {
		t.Errorf("left in the end: %v", left)
	}
	if metas, err := r.Snapshots.List(); err != nil || len(metas) != 1 || metas[0].ID != beside.ID() {
		t.Errorf("the snapshot that was written beside: %v, %v", metas, err)
	}
}
