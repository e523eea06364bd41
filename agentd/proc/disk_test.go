//go:build linux

package proc

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// In mode disk the first thread waits for a disk for ever, and another one ticks.
func init() {
	if os.Getenv("TEST_PROC") == "disk" {
		runtime.LockOSThread()
		fmt.Println("up", os.Getpid())
		go func() {
			for tick := time.NewTicker(time.Millisecond); ; <-tick.C {
				fmt.Println("tick")
			}
		}()
		_ = unix.Access(os.Getenv("TEST_FILE"), unix.F_OK)
		os.Exit(0)
	}
}

// hungDisk mounts a file system on which nothing is ever answered, so that whoever asks waits
// as for a server of files that is gone: no signal wakes him. It gives a file on it.
func hungDisk(t *testing.T) (file string) {
	t.Helper()
	fd, err := unix.Open("/dev/fuse", unix.O_RDWR|unix.O_CLOEXEC, 0)
	if err != nil {
		t.Skipf("a file system of one's own is needed: %v", err)
	}
	t.Cleanup(func() { unix.Close(fd) })
	dir := t.TempDir()
	if err := unix.Mount("vigil-test", dir, "fuse", 0,
		fmt.Sprintf("fd=%d,rootmode=40000,user_id=%d,group_id=%d", fd, os.Getuid(), os.Getgid())); err != nil {
		t.Skipf("the right to mount is needed: %v", err)
	}
	asked, ended := make(chan struct{}, 1), make(chan struct{})
	go func() {
		defer close(ended)
		serveNothing(fd, asked)
	}()
	t.Cleanup(func() {
		if err := unix.Unmount(dir, unix.MNT_FORCE|unix.MNT_DETACH); err != nil {
			t.Error(err)
		}
		<-ended
	})
	file = filepath.Join(dir, "file")
	// The first one is let go, so that the kernel hears that we know no interruptions.
	tids, primed := make(chan int), make(chan error)
	go func() {
		runtime.LockOSThread()
		tids <- unix.Gettid()
		primed <- unix.Access(file, unix.F_OK)
	}()
	tid := <-tids
	<-asked
	if err := unix.Tgkill(os.Getpid(), tid, unix.SIGURG); err != nil { // nobody minds it
		t.Fatal(err)
	}
	if err := <-primed; err == nil {
		t.Fatal("the file is there")
	}
	return file
}

// serveNothing is the server's end of the file system, until that is unmounted.
func serveNothing(fd int, asked chan<- struct{}) {
	const lookup, forget, begin, interrupt = 1, 2, 26, 36
	buf := make([]byte, 128<<10)
	answer := func(unique uint64, errno unix.Errno, body ...uint32) {
		out := binary.NativeEndian.AppendUint32(nil, uint32(16+4*len(body)))
		out = binary.NativeEndian.AppendUint32(out, uint32(-int32(errno)))
		out = binary.NativeEndian.AppendUint64(out, unique)
		for _, word := range body {
			out = binary.NativeEndian.AppendUint32(out, word)
		}
		_, _ = unix.Write(fd, out)
	}
	for {
		n, err := unix.Read(fd, buf)
		if err == unix.EINTR || err == unix.ENOENT {
			continue
		}
		if err != nil || n < 40 {
			return
		}
		unique := binary.NativeEndian.Uint64(buf[8:])
		switch binary.NativeEndian.Uint32(buf[4:]) {
		case begin:
			reply := [16]uint32{7, 31}
			reply[5] = 4096 // bytes of a write
			answer(unique, 0, reply[:]...)
		case lookup:
			select {
			case asked <- struct{}{}:
			default:
			}
		case interrupt:
			answer(unique, unix.ENOSYS)
			answer(binary.NativeEndian.Uint64(buf[40:]), unix.ENOENT)
		case forget:
		default:
			answer(unique, unix.ENOSYS)
		}
	}
}

// L7, L10: a process of which a thread waits for a disk is frozen, as far as it runs: the
// others stop, and the freeze succeeds. It goes on when it is thawed.
func TestA04AThreadThatWaitsForADiskIsNoReasonToKill(t *testing.T) {
	for name, grouped := range map[string]bool{"group": true, "no group": false} {
		t.Run(name, func(t *testing.T) {
			r, w := io.Pipe()
			s := spec("disk", Mark{"disk-host", uint32(os.Getpid()), 3}, w)
			s.FreezeLimit = 2 * time.Second
			if grouped {
				s.Cgroup = group(t, Limits{})
			}
			f := forker(t)
			var tree *Tree
			t.Cleanup(func() { // once its disk is gone: nothing ends it before
				if r.Close(); tree != nil {
					tree.Stop(0)
					await(t, tree)
				}
			})
			s.Env = append(s.Env, "TEST_FILE="+hungDisk(t))
			var err error
			tree, err = f.Start(s)
			if err != nil {
				t.Fatal(err)
			}
			lines := make(chan string, 1<<20)
			go func() {
				for in := bufio.NewScanner(r); in.Scan(); {
					lines <- in.Text()
				}
			}()
			for <-lines != "tick" {
			}
			state := func(tid int) byte {
				text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/task/%d/stat", tree.PID(), tid))
				_, rest, _ := strings.Cut(string(text), ") ")
				return (rest + "-")[0]
			}
			for end := time.Now().Add(patience); state(tree.PID()) != 'D'; runtime.Gosched() {
				if time.Now().After(end) {
					t.Fatalf("its first thread is %c", state(tree.PID()))
				}
			}
			if err := tree.Freeze(); err != nil {
				t.Fatal(err)
			}
			want := "TtDZX"
			if grouped {
				want += "S" // as the kernel shows frozen threads
			}
			for _, tid := range threads(tree.PID()) {
				if is := state(tid); !strings.ContainsRune(want, rune(is)) {
					t.Errorf("thread %d is %c", tid-tree.PID(), is)
				}
			}
			if err := tree.Thaw(); err != nil {
				t.Fatal(err)
			}
			for len(lines) > 0 {
				<-lines
			}
			select {
			case <-lines:
			case <-time.After(patience):
				t.Error("it does not go on")
			}
		})
	}
}
