package disk

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// ErrInUse says that another daemon works on the data directory.
var ErrInUse = errors.New("data directory is in use")

const (
	lockFile = "agentd.lock"
	hostFile = "host.json"
	// KeyFile holds the key of the host.
	KeyFile = "host_key"
	// telemetryKeyFile holds what the tokens of telemetry are made with.
	telemetryKeyFile = "telemetry_key"
	// AgentsFile is the socket on which shims pass on the calls of their agents. It is for shims only.
	AgentsFile = "agents"
	// TelemetryFile is the socket on which shims pass on the telemetry of their agents.
	TelemetryFile = "telemetry"
)

// Dir is a locked data directory. It is safe for concurrent use.
type Dir struct {
	Path string
	Key  string // of the host, a secret: 32 hexadecimal digits
	// TelemetryKey is what the tokens of telemetry are made with, known to nobody else: others see the key of the
	// host, which is its name.
	TelemetryKey string

	lock   *os.File
	mounts func() ([]string, error) // where something is mounted; tests set it

	mu    sync.Mutex // of noted and the file behind it
	noted hostNote
}

// hostNote is what hostFile keeps of the last registration.
type hostNote struct {
	Host uint32
	Boot string // as registered
}

// Open makes, locks and reads the directory. A new one takes over the
// key of the host in a file when one is named. Other users may pass through it to their agents'
// folders but see nothing in it.
func Open(path, keyCopy string) (*Dir, error) {
	wanted := ""
	if keyCopy != "" {
		var err error
		if wanted, err = keyIn(keyCopy); err != nil {
			return nil, fmt.Errorf("take over the key of a host: %w; it should be a copy of the "+
				"host_key of the directory that is lost", err)
		}
	}
	if err := os.MkdirAll(path, 0o711); err != nil {
		return nil, fmt.Errorf("make data directory: %w", err)
	}
	lock, err := os.OpenFile(filepath.Join(path, lockFile), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, fmt.Errorf("open lock: %w", err)
	}
	if err := lockDir(lock, path); err != nil {
		lock.Close()
		return nil, err
	}
	d := &Dir{Path: path, lock: lock, mounts: mountPoints}
	// For people only: the lock is what counts.
	if err := lock.Truncate(0); err == nil {
		_, _ = lock.WriteAt([]byte(strconv.Itoa(os.Getpid())+"\n"), 0)
	}
	if d.Key, err = readKey(path, wanted); err != nil {
		d.Close()
		return nil, err
	}
	if d.TelemetryKey, err = telemetryKey(path); err != nil {
		d.Close()
		return nil, err
	}
	return d, nil
}

// Close lets go of the lock.
func (d *Dir) Close() { d.lock.Close() }

// Logs is the folder of the output of agents.
func (d *Dir) Logs() string { return filepath.Join(d.Path, "logs") }

// Letters is the folder of results that the cluster has refused.
func (d *Dir) Letters() string { return filepath.Join(d.Path, "dead-letters") }

// Agents is the socket on which shims pass on the calls of their agents.
func (d *Dir) Agents() string { return filepath.Join(d.Path, AgentsFile) }

// Telemetry is the socket on which shims pass on the telemetry of their agents.
func (d *Dir) Telemetry() string { return filepath.Join(d.Path, TelemetryFile) }

// Lives is the folder of the journal.
func (d *Dir) Lives() string { return filepath.Join(d.Path, "lives") }

// Place tells this directory from a copy of it, on this machine and during one boot:
// device and inode of its lock.
func (d *Dir) Place() (string, error) {
	var st unix.Stat_t
	if err := unix.Fstat(int(d.lock.Fd()), &st); err != nil {
		return "", fmt.Errorf("look at lock: %w", err)
	}
	return fmt.Sprintf("%x.%x", uint32(st.Dev), st.Ino), nil
}

// Folders of agents' folders in the data directory.
const (
	workFolder = "work"
	homeFolder = "homes"
	fileFolder = "files"
	// newestFolder tells which life of each agent is the newest one here.
	newestFolder = "newest"
	goneFolder   = "gone" // what is being removed
)

// Home is the home of an agent that has an account of its own.
func (d *Dir) Home(room, agent string) string {
	return filepath.Join(d.Path, homeFolder, room, agent)
}

// MakeHome makes the home of an agent. One that belongs to another account is refused: the agent would find
// what another has put there.
func (d *Dir) MakeHome(room, agent string, owner uint32) error {
	folder := d.Home(room, agent)
	err := inRoom(filepath.Dir(folder), 0o711, func() error { return os.Mkdir(folder, 0o700) })
	if err != nil && !errors.Is(err, os.ErrExist) {
		return fmt.Errorf("make home: %w", err)
	}
	info, err := os.Lstat(folder)
	if err != nil {
		return fmt.Errorf("make home: %w", err)
	}
	st, ok := info.Sys().(*syscall.Stat_t)
	switch {
	case ok && info.IsDir() && st.Uid == owner:
		return nil
	case !ok || !info.IsDir() || st.Uid != uint32(os.Geteuid()): // a crash came before it was given away
		return fmt.Errorf("home %s is not a folder of account %d, which this agent has: remove it", folder, owner)
	}
	if err := os.Lchown(folder, int(owner), int(owner)); err != nil {
		return fmt.Errorf("make home: %w", err)
	}
	return nil
}

// WorkDir makes the folder in which an agent starts when its runner names none.
func (d *Dir) WorkDir(room, agent string, owner *uint32) (string, error) {
	return d.own(filepath.Join(d.Path, workFolder, room, agent), owner)
}

// Files is the folder of an agent for what it keeps from life to life outside of the one where it starts, which
// may be that of others, too.
func (d *Dir) Files(room, agent string) string {
	return filepath.Join(d.Path, fileFolder, room, agent)
}

// MakeFiles makes that folder.
func (d *Dir) MakeFiles(room, agent string, owner *uint32) error {
	_, err := d.own(d.Files(room, agent), owner)
	return err
}

// own makes a folder that only an account can look into; nil: this process's.
func (d *Dir) own(folder string, owner *uint32) (string, error) {
	err := inRoom(filepath.Dir(folder), 0o711, func() error { return os.Mkdir(folder, 0o700) })
	if err != nil && !errors.Is(err, os.ErrExist) {
		return "", fmt.Errorf("make folder: %w", err)
	}
	if owner != nil {
		// Lchown: the agent of an earlier life may have put a link in its place.
		if err := os.Lchown(folder, int(*owner), -1); err != nil {
			return "", fmt.Errorf("make folder: %w", err)
		}
	}
	return folder, nil
}

// inRoom makes the folder of a room, and put makes what an agent has in it: once more where Leftovers has removed the
// folder in between, which was empty.
func inRoom(folder string, mode os.FileMode, put func() error) (err error) {
	for range 2 {
		if err = os.MkdirAll(folder, mode); err == nil {
			err = put()
		}
		if !errors.Is(err, os.ErrNotExist) {
			break
		}
	}
	return err
}

// Registered gives the number that the host has got under this boot id, 0 when it is
// not known.
func (d *Dir) Registered(boot string) uint32 {
	d.mu.Lock()
	defer d.mu.Unlock()
	text, err := os.ReadFile(filepath.Join(d.Path, hostFile))
	if err != nil || json.Unmarshal(text, &d.noted) != nil || d.noted.Boot != boot {
		d.noted = hostNote{}
	}
	return d.noted.Host
}

// Note keeps the host's number for registered.
func (d *Dir) Note(host uint32, boot string) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	n := hostNote{host, boot}
	if n == d.noted {
		return nil
	}
	text, err := json.Marshal(n)
	if err == nil {
		err = Write(d.Path, filepath.Join(d.Path, hostFile), string(text)+"\n")
	}
	if err == nil {
		d.noted = n
	}
	return err
}

// lockLimit is how long a lock is waited for that nobody alive holds: a daemon that was
// killed while it started a program leaves it to a child for the moment before that becomes
// the program.
const lockLimit = 10 * time.Second

func lockDir(lock *os.File, path string) error {
	for end := time.Now().Add(lockLimit); ; {
		err := unix.Flock(int(lock.Fd()), unix.LOCK_EX|unix.LOCK_NB)
		switch {
		case err == nil:
			return nil
		case !errors.Is(err, unix.EWOULDBLOCK):
			return fmt.Errorf("lock data directory %s: %w", path, err)
		}
		if who := holder(lock); who != "" || time.Now().After(end) {
			return fmt.Errorf("%w: %s is locked by another agentd%s; stop it or name another directory",
				ErrInUse, path, who)
		}
	}
}

// holder names the process that has the lock, for people; "" when it does not say.
func holder(lock *os.File) string {
	buf := make([]byte, 32)
	// One that has just locked it has not written its number yet, and the file still
	// holds that of the one before, or nothing.
	for range 50 {
		n, _ := lock.ReadAt(buf, 0)
		if pid, err := strconv.Atoi(strings.TrimSpace(string(buf[:n]))); err == nil && pid > 0 &&
			!errors.Is(unix.Kill(pid, 0), unix.ESRCH) {
			return fmt.Sprintf(" (pid %d)", pid)
		}
		time.Sleep(10 * time.Millisecond)
	}
	return ""
}
