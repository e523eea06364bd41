package disk

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"vigil/agentd/proc"
	"vigil/agentd/shim"
)

// Journal is the folder of lives on disk. Each has a folder of its own from before
// its fork until the cluster has heard of its end, so that a crash of this daemon
// at any instruction neither starts a life twice nor forgets one. It holds no
// state: its methods may be called from any goroutine.
type Journal struct {
	Dir string
	// Locked, if any, is called when the lock of a new life is held, before its intent is there. Tests let
	// the process die in it.
	Locked func()
}

// Intent is what is on disk before a life is forked: enough to adopt it and to
// report its end, nothing secret.
type Intent struct {
	Version     int
	Boot        string // as registered
	Agent       uint32
	AgentName   string
	Incarnation uint64
	Runner      string
	Proof       string
	TTL         time.Duration
	StopGrace   time.Duration // as ordered; 0: the daemon's
	Longest     time.Duration // the runner's limit of the grace; 0: none
	SpoolOwner  int           // uid
	Traced      *Traced       `json:",omitempty"` // nil: nobody traces the start
}

// Traced is what spans of the start are made of, once the life is over.
type Traced struct {
	Traceparent              string    // of the task that waited for it
	Ordered, Accepted, Begun time.Time // by the wall clock
}

// Who is the life that the intent is of.
func (i Intent) Who() Life { return Life{i.Agent, i.Incarnation} }

// Life names one life, in the journal and in beats.
type Life struct {
	Agent       uint32
	Incarnation uint64
}

// String is AGENT-INCARNATION, as the folder of the life is called.
func (w Life) String() string {
	return strconv.FormatUint(uint64(w.Agent), 10) + "-" + strconv.FormatUint(w.Incarnation, 10)
}

// ErrJournaled says that this life was begun before; it must not be again.
var ErrJournaled = errors.New("this life was begun before")

// Folder is where a life's files are.
func (j Journal) Folder(w Life) string { return filepath.Join(j.Dir, w.String()) }

// Begin writes down durably that a life is about to be forked, and gives its
// folder with the lock that its shim must hold. It returns ErrJournaled when the
// life has a folder already; after any error nothing of a new one is left. The secrets, by names of files, are
// for the life's account only and stay until it has ended.
func (j Journal) Begin(i Intent, owner *shim.Credential, secrets map[string][]byte) (folder string,
	lock *os.File, err error) {
	// Others may pass through it to the spool, but see nothing in it.
	if err := os.MkdirAll(j.Dir, 0o711); err != nil {
		return "", nil, fmt.Errorf("write journal: %w", err)
	}
	folder = j.Folder(i.Who())
	if err := os.Mkdir(folder, 0o711); err != nil {
		if errors.Is(err, os.ErrExist) {
			return "", nil, ErrJournaled
		}
		return "", nil, fmt.Errorf("write journal: %w", err)
	}
	named := make(chan error, 1)
	go func() { named <- syncDir(j.Dir) }() // beside the rest: neither is worth anything without the other
	defer func() {
		if err = cmp.Or(err, <-named); err != nil {
			err = fmt.Errorf("write journal: %w", err)
			if lock != nil {
				lock.Close()
			}
			j.Remove(folder)
		}
	}()
	spool := filepath.Join(folder, shim.SpoolFolder)
	if err = os.Mkdir(spool, 0o700); err != nil {
		return "", nil, err
	}
	if owner != nil {
		if err = os.Chown(spool, int(owner.UID), int(owner.GID)); err != nil {
			return "", nil, err
		}
	}
	if err = handOver(filepath.Join(folder, shim.SecretsFolder), owner, secrets); err != nil {
		return "", nil, err
	}
	if lock, err = os.OpenFile(filepath.Join(folder, shim.LockFile), os.O_RDWR|os.O_CREATE|os.O_EXCL,
		0o600); err != nil {
		return "", nil, err
	}
	if err = unix.Flock(int(lock.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
		return "", nil, err
	}
	if err = shim.Reserve(folder); err != nil {
		return "", nil, err
	}
	if j.Locked != nil {
		j.Locked()
	}
	text, err := json.Marshal(i)
	if err == nil {
		err = Write(folder, filepath.Join(folder, shim.IntentFile), string(text)+"\n")
	}
	return folder, lock, err
}

// handOver puts secrets into a new folder, in files that only an account can read; nil: this process's. The folder
// stays ours, so that the agent can put nothing into it that would be long to remove.
func handOver(folder string, owner *shim.Credential, secrets map[string][]byte) error {
	if err := os.Mkdir(folder, 0o711); err != nil {
		return err
	}
	for name, text := range secrets {
		f, err := os.OpenFile(filepath.Join(folder, name), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
		if err != nil {
			return err
		}
		_, err = f.Write(text)
		if owner != nil {
			err = errors.Join(err, f.Chown(int(owner.UID), int(owner.GID)))
		}
		if err = errors.Join(err, f.Close()); err != nil {
			return err
		}
	}
	return nil
}

// Remove takes a life's folder away: all of it or, after a crash, nothing that
// could be taken for a life.
func (j Journal) Remove(folder string) error {
	gone := filepath.Join(j.Dir, ".gone-"+filepath.Base(folder))
	if err := os.Rename(folder, gone); err != nil && !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("clear journal: %w", err)
	}
	if err := os.RemoveAll(gone); err != nil {
		return fmt.Errorf("clear journal: %w", err)
	}
	return nil
}

// Found is a life folder of an earlier daemon.
type Found struct {
	Folder string
	Intent Intent
	Exit   *shim.Exit // nil: there is no record of its end
	Held   bool       // its shim runs, or may
	Unsure error      // why nobody can tell whether its shim runs; nil: Held tells
	Fault  error      // the intent is damaged or missing
	Unread error      // the intent cannot be read for a reason that may pass: look again
}

// List reads what an earlier daemon has left, in the order of agents, and clears
// away what never became a life. An exit record is looked for after the lock, so
// that a life which ends meanwhile is not missed.
func (j Journal) List() ([]Found, error) {
	entries, err := os.ReadDir(j.Dir)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read journal: %w", err)
	}
	var all []Found
	for _, e := range entries {
		folder := filepath.Join(j.Dir, e.Name())
		who, ok := parseWho(e.Name())
		if !ok {
			if strings.HasPrefix(e.Name(), ".gone-") {
				_ = os.RemoveAll(folder) // what remains is tried again by the next daemon
			}
			continue
		}
		f := j.Look(who)
		if errors.Is(f.Fault, os.ErrNotExist) && !f.Held { // nothing was forked
			if err := j.Remove(folder); err != nil {
				return nil, err
			}
			continue
		}
		all = append(all, f)
	}
	slices.SortFunc(all, func(a, b Found) int {
		if a.Intent.Agent != b.Intent.Agent {
			return int(int64(a.Intent.Agent) - int64(b.Intent.Agent))
		}
		return int(int64(a.Intent.Incarnation - b.Intent.Incarnation))
	})
	return all, nil
}

// Look reads what is in the folder of one life. What cannot be read for a reason that may pass (no file descriptor, no
// memory, a disk that fails for a moment) proves no end.
func (j Journal) Look(who Life) Found {
	f := Found{Folder: j.Folder(who)}
	f.Held, f.Unsure = held(filepath.Join(f.Folder, shim.LockFile))
	var err error
	if f.Intent, err = ReadIntent(f.Folder); err != nil {
		f.Intent = Intent{Agent: who.Agent, Incarnation: who.Incarnation}
		if errors.As(err, new(*os.PathError)) && !errors.Is(err, os.ErrNotExist) {
			f.Unread = err
		} else {
			f.Fault = err
		}
	}
	f.Exit = ReadExit(f.Folder)
	return f
}

func parseWho(name string) (Life, bool) {
	left, right, ok := strings.Cut(name, "-")
	agent, err1 := strconv.ParseUint(left, 10, 32)
	inc, err2 := strconv.ParseUint(right, 10, 64)
	w := Life{uint32(agent), inc}
	return w, ok && err1 == nil && err2 == nil && w.String() == name
}

// ReadIntent reads what Begin has written into the folder of a life. The error names the file.
func ReadIntent(folder string) (i Intent, err error) {
	path := filepath.Join(folder, shim.IntentFile)
	text, err := os.ReadFile(path)
	if err != nil {
		return i, err
	}
	if err := json.Unmarshal(text, &i); err != nil {
		return i, fmt.Errorf("read %s: %w", path, err)
	}
	if i.Who().String() != filepath.Base(folder) {
		return i, fmt.Errorf("read %s: it belongs to another life", path)
	}
	return i, nil
}

// ReadExit gives the record of a life's end, nil when there is none. The shim
// writes it in one step, so one that cannot be read is none.
func ReadExit(folder string) *shim.Exit {
	exit, err := shim.End(folder)
	if err != nil {
		return nil
	}
	return &exit
}

// held tells whether somebody holds a lock. With an error it is not known, and counts as held: what runs would be
// killed otherwise.
func held(path string) (bool, error) {
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if errors.Is(err, os.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return true, err
	}
	defer f.Close()
	switch err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB); {
	case err == nil:
		return false, nil
	case errors.Is(err, unix.EWOULDBLOCK):
		return true, nil
	default:
		return true, fmt.Errorf("try lock %s: %w", path, err)
	}
}

// Mark is what the processes of a life carry.
func (i Intent) Mark(host string) proc.Mark {
	return proc.Mark{Host: host, Agent: i.Agent, Incarnation: i.Incarnation}
}
