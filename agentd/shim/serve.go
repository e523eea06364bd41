package shim

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"os/signal"
	"path/filepath"
	"runtime/debug"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"vigil/agentd/output"
)

const (
	maxSpec = 8 << 20
	maxTail = 8 << 10
	// toldTail is how much of the tail fits into a line on the socket.
	toldTail = 4 << 10

	exitHeld    = 0 // a life was held, or refused, to its end, and the record says so; or none came
	exitMisused = 2 // nothing was started and nothing recorded
	exitLost    = 1 // the life is over, but its end could not be recorded
)

// Serve is a shim: it waits at stdin, the socket that a Launcher has made, until it is handed a life; then it
// starts the agent and holds it until nothing of it is left. Where no life comes it starts nothing.
// The clock is RealClock. It changes signal handling, the current folder, the standard error and
// the children of the whole process; call it once, and exit with what it returns.
func Serve(stdin *os.File, clock Clock) int {
	// There may be one of us for every agent of the host.
	debug.SetGCPercent(20)
	terms := takeSignals()
	spec, lock, err := takeOver(stdin)
	if errors.Is(err, errUnwanted) {
		return exitHeld
	}
	if err == nil {
		err = takeFolder(spec.Folder, lock)
	}
	var d *door
	if err == nil {
		d, err = openDoor()
	}
	if err != nil {
		fmt.Fprintf(os.Stderr, "shim: %v\n", err)
		return exitMisused
	}
	defer d.close()
	exit := hold(spec, d, terms, clock)
	return record(spec, d, exit)
}

// Clock is the time that a shim goes by. Neither steps.
type Clock struct {
	Boot  func() time.Duration // runs through suspend, as fences do
	Awake func() time.Duration // stands still meanwhile, as the work of an agent does
}

// RealClock is that of the machine.
func RealClock() Clock { return Clock{BootClock, awakeClock} }

// takeSignals keeps SIGHUP, SIGINT and SIGPIPE from ending this process. They are
// caught and not ignored: a program inherits what its parent ignores.
func takeSignals() <-chan os.Signal {
	signal.Reset()
	signal.Notify(make(chan os.Signal, 1), unix.SIGHUP, unix.SIGINT, unix.SIGPIPE)
	terms := make(chan os.Signal, 1)
	signal.Notify(terms, unix.SIGTERM)
	return terms
}

func readSpec(stdin io.Reader) (*Spec, error) {
	text, err := io.ReadAll(io.LimitReader(stdin, maxSpec+1))
	if err != nil {
		return nil, fmt.Errorf("read what to start: %w", err)
	}
	if len(text) > maxSpec {
		return nil, fmt.Errorf("read what to start: more than %d bytes", maxSpec)
	}
	spec := &Spec{}
	if err := json.Unmarshal(text, spec); err != nil {
		// The error of package json may quote the text, and variables in it may be secrets.
		return nil, fmt.Errorf("read what to start: %d bytes are not one whole document; nothing was started "+
			"(this command is run by agentd, not by people)", len(text))
	}
	switch {
	case !filepath.IsAbs(spec.Folder):
		return nil, fmt.Errorf("life folder %q is not absolute", spec.Folder)
	case spec.Version != Version:
		return nil, fmt.Errorf("what to start is of version %d, this shim reads %d: program and agentd "+
			"are not of one build", spec.Version, Version)
	case spec.TTL <= 0:
		return nil, fmt.Errorf("TTL %s is not positive", spec.TTL)
	}
	return spec, nil
}

// takeFolder goes to the life folder after making sure that its lock is ours: lock, an open descriptor.
func takeFolder(folder string, lock int) error {
	if err := os.Chdir(folder); err != nil {
		return fmt.Errorf("go to life folder: %w", err)
	}
	unix.CloseOnExec(lock)
	var mine, real unix.Stat_t
	if err := unix.Fstat(lock, &mine); err != nil {
		return fmt.Errorf("descriptor %d is not the lock: %w", lock, err)
	}
	if err := unix.Stat(LockFile, &real); err != nil {
		return fmt.Errorf("look at lock: %w", err)
	}
	if mine.Dev != real.Dev || mine.Ino != real.Ino {
		return fmt.Errorf("descriptor %d is not the lock of %s", lock, folder)
	}
	if held, err := locked("."); err != nil || !held {
		return errors.Join(errors.New("the lock is not held"), err)
	}
	return nil
}

// hold starts the agent and watches it to its end. It always gives the words for
// the record.
func hold(spec *Spec, d *door, terms <-chan os.Signal, clock Clock) Exit {
	refuse := func(reason string, ordered bool) Exit {
		exit := Exit{Code: -1, NotStarted: true, Ordered: ordered, Reason: reason}
		say(ready{Exit: &exit})
		return exit
	}
	if err := becomeShim(); err != nil {
		return refuse("the shim cannot take in orphans: "+err.Error(), false)
	}
	now := clock.Boot()
	g := &guard{spec: spec, door: d, ready: time.Now(), clock: clock.Boot, awake: clock.Awake,
		tail:  &output.Tail{Max: maxTail},
		watch: deadman{ttl: spec.TTL, sent: min(spec.Acknowledged, now)}, lonely: now}
	if g.watch.silent(clock.Boot()) {
		return refuse(errLate.Error(), true)
	}
	logs := output.NewDir(output.Config{Dir: spec.LogFolder, MaxBytes: spec.LogBytes, Keep: spec.LogKeep})
	// Nobody closes them: that would wait for a disk that hangs, and we end soon after.
	var err error
	if g.log, err = logs.Log(spec.Agent); err != nil {
		return refuse(err.Error(), false)
	}
	g.notes = takeNotes(g.log.Note)
	defer g.notes.close()
	g.notes.Note(fmt.Sprintf("incarnation %d starts with runner %s", spec.Mark.Incarnation, spec.Runner))
	if err := g.openDoor(); err != nil {
		g.notes.Note("could not be started: " + err.Error())
		return refuse(err.Error(), false)
	}
	defer g.closeDoor()
	inZone(spec.Usage, spec.Env) // before the start: the watch waits for no disk
	forks, stop := context.WithCancel(context.Background())
	defer stop()
	outlive := stepBack()
	if err := g.start(forks); err != nil {
		g.notes.Note("could not be started: " + err.Error())
		return refuse(err.Error(), errors.Is(err, errLate))
	}
	outlive()
	// What the start needed and the watch does not. The rest of this process's life
	// is one loop that allocates next to nothing.
	spec.Env, spec.Args = nil, nil
	go func() {
		<-g.said // nobody waits for memory
		debug.FreeOSMemory()
	}()
	exit := g.hold(terms)
	<-g.said // the daemon must have heard that it was started
	return exit
}

// say answers the daemon that started this shim, if it is still there.
func say(word ready) {
	if text, err := json.Marshal(word); err == nil {
		_, _ = os.Stdout.Write(append(text, '\n'))
	}
}

// record puts the end on disk; what cannot be put there is told to the daemon. The lock is
// given back by the end of this process.
func record(spec *Spec, d *door, exit Exit) int {
	Forget(spec.Folder)
	var err error
	for try := range 5 {
		if try > 0 {
			time.Sleep(time.Second) // a full disk may be seen to
		}
		if err = writeRecord(spec.Folder, ExitFile, exit, true); err == nil {
			return exitHeld
		}
		if try == 0 {
			told := exit
			told.Tail = strings.ToValidUTF8(told.Tail[max(0, len(told.Tail)-toldTail):], "")
			d.tell(func(s *status) { s.Exit = &told })
		}
	}
	fmt.Fprintf(os.Stderr, "shim: %v\n", err)
	return exitLost
}

// far is later than any deadline here.
const far = time.Duration(math.MaxInt64)
