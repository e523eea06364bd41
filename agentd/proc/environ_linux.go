package proc

import (
	"bytes"
	"errors"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

const (
	// maxEnviron is how much of a process's environment is read: more than the kernel
	// gives to any program (6 MiB with its arguments).
	maxEnviron = 8 << 20
	// execTries and execPause (nanoseconds) bound how long a process in the middle of
	// an exec is waited for; it may have no processor, or load from a slow disk.
	execTries = 1000
	execPause = 100_000
	// hungLook is after how long a look at one environment is looked into, and hungMost how long it
	// may take at most.
	hungLook = 200 * time.Millisecond
	hungMost = 10 * time.Second
)

// environs reads the marks of processes for all of this program.
var environs = newReader()

// reader reads environments. The kernel gives them under a lock of the process's memory, which one that
// waits for a file server that is gone may hold for ever: whoever reads it then hangs too. So each is read by
// a goroutine that can be left behind, one for each such process at most. It is safe for
// concurrent use.
type reader struct {
	read func(pid int, buf []byte) (env, grown []byte, sure bool) // environ, unless a test sets it
	hung func(pid int) bool                                       // waits, unless a test sets it

	mu    sync.Mutex
	left  map[int]bool     // processes whose reader hangs
	known map[int]sighting // of marked processes, as last seen
}

// sighting is what was read of a process.
type sighting struct {
	born  uint64 // its start time, which tells it from a later one of its number
	marks []Mark
}

// series is a number of looks, one after the other, that share a goroutine. It ends with end.
type series struct {
	r *reader
	w *worker // nil: there is none
}

type worker struct {
	ask    chan int
	answer chan reading
}

// reading is what was read of a process.
type reading struct {
	marks []Mark
	sure  bool // not in the middle of an exec
}

func (r *reader) begin() *series { return &series{r: r} }

func (s *series) end() {
	if s.w != nil {
		close(s.w.ask)
	}
}

func newReader() *reader {
	return &reader{read: environ, hung: waits, left: map[int]bool{}, known: map[int]sighting{}}
}

// marks gives what a process carries. Of one that hangs it gives what was known before; it runs no
// instruction while it does.
func (s *series) marks(pid int) []Mark {
	r := s.r
	r.mu.Lock()
	if r.left[pid] {
		defer r.mu.Unlock()
		return r.remembered(pid)
	}
	r.mu.Unlock()
	if s.w == nil {
		s.w = &worker{ask: make(chan int), answer: make(chan reading, 1)}
		go s.w.work(r.read)
	}
	w := s.w
	w.ask <- pid
	look := time.NewTimer(hungLook)
	defer look.Stop()
	for began := time.Now(); ; {
		select {
		case seen := <-w.answer:
			return r.note(pid, seen)
		case <-look.C:
		}
		// A machine without a free processor is slow too; what is not waiting will be read.
		if time.Since(began) < hungMost && !r.hung(pid) {
			look.Reset(hungLook)
			continue
		}
		r.mu.Lock()
		r.left[pid] = true
		marks := r.remembered(pid)
		r.mu.Unlock()
		s.w = nil
		go func() { // until the process is gone or goes on
			seen := <-w.answer
			close(w.ask)
			r.mu.Lock()
			delete(r.left, pid)
			r.mu.Unlock()
			r.note(pid, seen)
		}()
		return marks
	}
}

// remembered gives what was known of a process before; r.mu is held.
func (r *reader) remembered(pid int) []Mark {
	if s, ok := r.known[pid]; ok && s.born == bornAt(pid) {
		return s.marks
	}
	return nil
}

// note remembers what was read of a process, and gives its marks: of one whose exec lasts, those that it
// had before, since nothing of a tree may be passed over (law L7).
func (r *reader) note(pid int, seen reading) []Mark {
	r.mu.Lock()
	defer r.mu.Unlock()
	marks := seen.marks
	if !seen.sure {
		return r.remembered(pid)
	}
	switch s, known := r.known[pid]; {
	case len(marks) == 0:
		delete(r.known, pid)
	case !known || !slices.Equal(s.marks, marks):
		r.known[pid] = sighting{bornAt(pid), marks}
	}
	return marks
}

// forget drops what is known of processes that are gone.
func (r *reader) forget(there map[int]bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for pid := range r.known {
		if !there[pid] {
			delete(r.known, pid)
		}
	}
}

func (w *worker) work(read func(int, []byte) (env, grown []byte, sure bool)) {
	buf := make([]byte, 16<<10)
	for pid := range w.ask {
		var (
			env  []byte
			sure bool
		)
		env, buf, sure = read(pid, buf)
		w.answer <- reading{marksOf(env), sure}
	}
}

// marksOf finds the marks in an environment.
func marksOf(env []byte) []Mark {
	if !bytes.Contains(env, []byte(EnvMark+"=")) {
		return nil
	}
	for entry := range bytes.SplitSeq(env, []byte{0}) {
		if value, ok := bytes.CutPrefix(entry, []byte(EnvMark+"=")); ok {
			return marksIn(string(value))
		}
	}
	return nil
}

// marked gives all processes that carry marks.
func marked() map[int][]Mark {
	found, there := map[int][]Mark{}, map[int]bool{}
	looks := environs.begin()
	defer looks.end()
	for _, pid := range pids() {
		there[pid] = true
		if marks := looks.marks(pid); len(marks) > 0 {
			found[pid] = marks
		}
	}
	environs.forget(there)
	return found
}

// waits tells whether a thread of a process waits for something that cannot be interrupted, a disk for
// instance.
func waits(pid int) bool {
	folder := "/proc/" + strconv.Itoa(pid) + "/task"
	tasks, _ := os.ReadDir(folder) // gone: it does not
	for _, task := range tasks {
		text, _ := os.ReadFile(folder + "/" + task.Name() + "/stat")
		if at := bytes.LastIndexByte(text, ')'); at >= 0 && bytes.HasPrefix(text[at+1:], []byte(" D")) {
			return true
		}
	}
	return false
}

// bornAt is when a process started, in clock ticks since the machine did; 0: it is gone.
func bornAt(pid int) uint64 {
	text, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return 0
	}
	f := strings.Fields(string(text[bytes.LastIndexByte(text, ')')+1:]))
	if len(f) < 20 {
		return 0
	}
	n, _ := strconv.ParseUint(f[19], 10, 64) // the kernel writes a number
	return n
}

// environ reads what a process was started with, into buf when it fits. It is
// empty for zombies, kernel threads and processes of others.
//
// A process in the middle of an exec has no environment for a moment, and one that is
// asked meanwhile seems to carry no mark. So an empty answer is believed only when
// there is a reason for it (L7: nothing of the tree may be passed over); without one it
// is not sure.
func environ(pid int, buf []byte) (env, grown []byte, sure bool) {
	folder := "/proc/" + strconv.Itoa(pid)
	for try := 0; ; try++ {
		var read bool
		env, buf, read = readEnviron(folder, buf)
		if !read || len(env) > 0 {
			return env, buf, true
		}
		switch whyEmpty(pid) {
		case isEmpty:
			return env, buf, true
		case leaderEnded:
			if env, buf = threadEnviron(folder, buf); len(env) > 0 {
				return env, buf, true
			}
		}
		if try == execTries {
			return env, buf, false
		}
		if try > 0 {
			_ = unix.Nanosleep(&unix.Timespec{Nsec: execPause}, nil) // cut short is fine
		}
	}
}

// readEnviron reads one environment as it is; read tells whether that was allowed.
func readEnviron(folder string, buf []byte) (env, grown []byte, read bool) {
	fd, err := unix.Open(folder+"/environ", unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, buf, false
	}
	defer unix.Close(fd)
	n := 0
	for {
		m, err := unix.Read(fd, buf[n:])
		if errors.Is(err, unix.EINTR) {
			continue
		}
		if err != nil || m == 0 {
			return buf[:n], buf, err == nil
		}
		if n += m; n == len(buf) {
			if n >= maxEnviron {
				return buf, buf, true
			}
			buf = append(buf, make([]byte, len(buf))...)
		}
	}
}

// threadEnviron reads the environment of a process whose first thread has ended.
func threadEnviron(folder string, buf []byte) (env, grown []byte) {
	tasks, _ := os.ReadDir(folder + "/task") // gone: nothing to read
	for _, task := range tasks {
		if env, buf, _ = readEnviron(folder+"/task/"+task.Name(), buf); len(env) > 0 {
			break
		}
	}
	return env, buf
}

// emptiness is why an environment was read as empty.
type emptiness uint8

const (
	isEmpty     emptiness = iota // it is, or the process runs no instruction any more
	executes                     // it was in the middle of an exec, and may be still
	leaderEnded                  // the first thread has ended, others go on
)

func whyEmpty(pid int) emptiness {
	// Numbers of fields as in proc(5), less the three up to the state.
	const flagsAt, threadsAt, envStartAt, envEndAt = 9 - 3, 20 - 3, 50 - 3, 51 - 3
	const exiting, kernelThread = 0x4, 0x200000
	text, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return isEmpty
	}
	f := strings.Fields(string(text[bytes.LastIndexByte(text, ')')+1:]))
	if len(f) <= envEndAt {
		return isEmpty
	}
	number := func(i int) uint64 {
		n, _ := strconv.ParseUint(f[i], 10, 64)
		return n
	}
	flags := number(flagsAt)
	switch {
	case flags&kernelThread != 0:
		return isEmpty
	case flags&exiting != 0 || strings.Contains("ZXx", f[0]):
		if number(threadsAt) > 1 {
			return leaderEnded
		}
		return isEmpty
	case number(envEndAt) == 0, number(envEndAt) > number(envStartAt):
		return executes
	}
	return isEmpty
}
