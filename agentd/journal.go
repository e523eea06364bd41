package agentd

import (
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

// point is called at every step between the acceptance of an order and the record
// of its end. Tests make the process die there.
var point = func(string) {}

// journal is the folder of lives on disk. Each has a folder of its own from before
// its fork until the cluster has heard of its end, so that a crash of this daemon
// at any instruction neither starts a life twice nor forgets one. It holds no
// state: its methods may be called from any goroutine.
type journal struct{ dir string }

// intent is what is on disk before a life is forked: enough to adopt it and to
// report its end, nothing secret.
type intent struct {
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
}

func (i intent) who() beaten { return beaten{i.Agent, i.Incarnation} }

// beaten is one life that a beat speaks for.
type beaten struct {
	agent uint32
	inc   uint64
}

func (w beaten) String() string {
	return strconv.FormatUint(uint64(w.agent), 10) + "-" + strconv.FormatUint(w.inc, 10)
}

// errJournaled says that this life was begun before; it must not be again.
var errJournaled = errors.New("this life was begun before")

// folder is where a life's files are.
func (j journal) folder(w beaten) string { return filepath.Join(j.dir, w.String()) }

// begin writes down durably that a life is about to be forked, and gives its
// folder with the lock that its shim must hold. It returns errJournaled when the
// life has a folder already; after any error nothing of a new one is left. The secrets, by names of files, are
// for the life's account only and stay until it has ended.
func (j journal) begin(i intent, owner *shim.Credential, secrets map[string][]byte) (folder string,
	lock *os.File, err error) {
	// Others may pass through it to the spool, but see nothing in it.
	if err := os.MkdirAll(j.dir, 0o711); err != nil {
		return "", nil, fmt.Errorf("write journal: %w", err)
	}
	folder = j.folder(i.who())
	if err := os.Mkdir(folder, 0o711); err != nil {
		if errors.Is(err, os.ErrExist) {
			return "", nil, errJournaled
		}
		return "", nil, fmt.Errorf("write journal: %w", err)
	}
	defer func() {
		if err != nil {
			err = fmt.Errorf("write journal: %w", err)
			if lock != nil {
				lock.Close()
			}
			j.remove(folder)
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
	point("locked")
	text, err := json.Marshal(i)
	if err == nil {
		err = writeDurably(folder, filepath.Join(folder, shim.IntentFile), string(text)+"\n")
	}
	if err == nil {
		err = syncDir(j.dir)
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

// remove takes a life's folder away: all of it or, after a crash, nothing that
// could be taken for a life.
func (j journal) remove(folder string) error {
	gone := filepath.Join(j.dir, ".gone-"+filepath.Base(folder))
	if err := os.Rename(folder, gone); err != nil && !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("clear journal: %w", err)
	}
	if err := os.RemoveAll(gone); err != nil {
		return fmt.Errorf("clear journal: %w", err)
	}
	return nil
}

// found is a life folder of an earlier daemon.
type found struct {
	folder string
	intent intent
	exit   *shim.Exit // nil: there is no record of its end
	held   bool       // its shim runs
	fault  error      // the intent cannot be read
}

// list reads what an earlier daemon has left, in the order of agents, and clears
// away what never became a life. An exit record is looked for after the lock, so
// that a life which ends meanwhile is not missed.
func (j journal) list() ([]found, error) {
	entries, err := os.ReadDir(j.dir)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read journal: %w", err)
	}
	var all []found
	for _, e := range entries {
		folder := filepath.Join(j.dir, e.Name())
		who, ok := parseWho(e.Name())
		if !ok {
			if strings.HasPrefix(e.Name(), ".gone-") {
				_ = os.RemoveAll(folder) // what remains is tried again by the next daemon
			}
			continue
		}
		f := found{folder: folder, held: held(filepath.Join(folder, shim.LockFile))}
		f.intent, f.fault = readIntent(folder)
		if errors.Is(f.fault, os.ErrNotExist) && !f.held { // nothing was forked
			if err := j.remove(folder); err != nil {
				return nil, err
			}
			continue
		}
		if f.fault != nil {
			f.intent = intent{Agent: who.agent, Incarnation: who.inc}
		}
		f.exit = readExit(folder)
		all = append(all, f)
	}
	slices.SortFunc(all, func(a, b found) int {
		if a.intent.Agent != b.intent.Agent {
			return int(int64(a.intent.Agent) - int64(b.intent.Agent))
		}
		return int(int64(a.intent.Incarnation - b.intent.Incarnation))
	})
	return all, nil
}

func parseWho(name string) (beaten, bool) {
	left, right, ok := strings.Cut(name, "-")
	agent, err1 := strconv.ParseUint(left, 10, 32)
	inc, err2 := strconv.ParseUint(right, 10, 64)
	w := beaten{uint32(agent), inc}
	return w, ok && err1 == nil && err2 == nil && w.String() == name
}

func readIntent(folder string) (i intent, err error) {
	path := filepath.Join(folder, shim.IntentFile)
	text, err := os.ReadFile(path)
	if err != nil {
		return i, err
	}
	if err := json.Unmarshal(text, &i); err != nil {
		return i, fmt.Errorf("read %s: %w", path, err)
	}
	if i.who().String() != filepath.Base(folder) {
		return i, fmt.Errorf("read %s: it belongs to another life", path)
	}
	return i, nil
}

// readExit gives the record of a life's end, nil when there is none. The shim
// writes it in one step, so one that cannot be read is none.
func readExit(folder string) *shim.Exit {
	text, err := os.ReadFile(filepath.Join(folder, shim.ExitFile))
	if err != nil {
		return nil
	}
	exit := &shim.Exit{}
	if json.Unmarshal(text, exit) != nil {
		return nil
	}
	return exit
}

// held tells whether somebody holds a lock.
func held(path string) bool {
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return false
	}
	defer f.Close()
	return errors.Is(unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB), unix.EWOULDBLOCK)
}

// mark is what the processes of a life carry.
func (i intent) mark(host string) proc.Mark {
	return proc.Mark{Host: host, Agent: i.Agent, Incarnation: i.Incarnation}
}
