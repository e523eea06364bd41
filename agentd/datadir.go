package agentd

import (
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
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
	keyFile  = "host_key"
	hostFile = "host.json"
	// agentsFile is for shims only.
	agentsFile = "agents"
)

// dataDir is a locked data directory.
type dataDir struct {
	path string
	lock *os.File
	key  string // of the host, a secret: 32 hexadecimal digits

	mu    sync.Mutex // of noted and the file behind it
	noted hostNote
}

// hostNote is what hostFile keeps of the last registration.
type hostNote struct {
	Host uint32
	Boot string // as registered
}

// openDataDir makes, locks and reads the directory. A new one takes over the
// key of the host in a file when one is named. Other users may pass through it to their agents'
// folders but see nothing in it.
func openDataDir(path, keyCopy string) (*dataDir, error) {
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
	d := &dataDir{path: path, lock: lock}
	// For people only: the lock is what counts.
	if err := lock.Truncate(0); err == nil {
		_, _ = lock.WriteAt([]byte(strconv.Itoa(os.Getpid())+"\n"), 0)
	}
	if d.key, err = readKey(path, wanted); err != nil {
		d.close()
		return nil, err
	}
	return d, nil
}

func (d *dataDir) close() { d.lock.Close() }

func (d *dataDir) logs() string { return filepath.Join(d.path, "logs") }

func (d *dataDir) letters() string { return filepath.Join(d.path, "dead-letters") }

// agents is the socket on which shims pass on the calls of their agents.
func (d *dataDir) agents() string { return filepath.Join(d.path, agentsFile) }

func (d *dataDir) lives() string { return filepath.Join(d.path, "lives") }

// place tells this directory from a copy of it, on this machine and during one boot:
// device and inode of its lock.
func (d *dataDir) place() (string, error) {
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
	goneFolder = "gone" // what is being removed
)

// home is the home of an agent that has an account of its own.
func (d *dataDir) home(room, agent string) string {
	return filepath.Join(d.path, homeFolder, room, agent)
}

// makeHome makes the home of an agent. One that belongs to another account is refused: the agent would find
// what another has put there.
func (d *dataDir) makeHome(room, agent string, owner uint32) error {
	folder := d.home(room, agent)
	err := os.MkdirAll(filepath.Dir(folder), 0o711)
	if err == nil {
		err = os.Mkdir(folder, 0o700)
	}
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

// workDir makes the folder in which an agent starts when its runner names none.
func (d *dataDir) workDir(room, agent string, owner *uint32) (string, error) {
	folder := filepath.Join(d.path, workFolder, room)
	if err := os.MkdirAll(folder, 0o711); err != nil {
		return "", fmt.Errorf("make folder: %w", err)
	}
	folder = filepath.Join(folder, agent)
	if err := os.Mkdir(folder, 0o700); err != nil && !errors.Is(err, os.ErrExist) {
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

// registered gives the number that the host has got under this boot id, 0 when it is
// not known.
func (d *dataDir) registered(boot string) uint32 {
	d.mu.Lock()
	defer d.mu.Unlock()
	text, err := os.ReadFile(filepath.Join(d.path, hostFile))
	if err != nil || json.Unmarshal(text, &d.noted) != nil || d.noted.Boot != boot {
		d.noted = hostNote{}
	}
	return d.noted.Host
}

// note keeps the host's number for registered.
func (d *dataDir) note(host uint32, boot string) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	n := hostNote{host, boot}
	if n == d.noted {
		return nil
	}
	text, err := json.Marshal(n)
	if err == nil {
		err = writeDurably(d.path, filepath.Join(d.path, hostFile), string(text)+"\n")
	}
	if err == nil {
		d.noted = n
	}
	return err
}

// lockLimit is how long a lock is waited for that nobody alive holds: a daemon that was
// killed while it started a program leaves it to a child for the moment before that becomes
// the program.
const lockLimit = 3 * time.Second

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

var keyPattern = regexp.MustCompile(`^[0-9a-f]{32}$`)

// readKey gives the host's key. The first time it makes one, or takes over the wanted one; later no
// other one is taken.
func readKey(dir, wanted string) (string, error) {
	path := filepath.Join(dir, keyFile)
	key, err := keyIn(path)
	switch {
	case errors.Is(err, os.ErrNotExist):
		return makeKey(dir, path, wanted)
	case err != nil:
		return "", fmt.Errorf("read host key: %w; restore it, "+
			"or remove it to join as a new host once the fences of the old one have ended", err)
	case wanted != "" && key != wanted:
		return "", fmt.Errorf("read host key: %s belongs to another host than the copy: name the data "+
			"directory of that host, or a new one", path)
	}
	return key, nil
}

// HostKey gives the key of the host whose data directory path is, or will be: a new one gets its
// key here. It is the host's name in certificates.
func HostKey(path string) (string, error) {
	d, err := openDataDir(path, "")
	if err != nil {
		return "", err
	}
	defer d.close()
	return d.key, nil
}

func keyIn(path string) (string, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return "", err
	}
	key := strings.TrimSpace(string(text))
	if !keyPattern.MatchString(key) {
		return "", fmt.Errorf("%s does not hold 32 hexadecimal digits", path)
	}
	return key, nil
}

func makeKey(dir, path, key string) (string, error) {
	if key == "" {
		raw := make([]byte, 16)
		rand.Read(raw) // never fails
		key = hex.EncodeToString(raw)
	}
	if err := writeDurably(dir, path, key+"\n"); err != nil {
		return "", fmt.Errorf("make host key: %w", err)
	}
	return key, nil
}

// writeDurably writes a small file so that a crash leaves all of it or nothing.
func writeDurably(dir, path, text string) error {
	f, err := os.OpenFile(path+".new", os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	_, err = f.WriteString(text)
	if err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return err
	}
	if err := os.Rename(path+".new", path); err != nil {
		return err
	}
	return syncDir(dir)
}

// syncDir makes the names in a folder durable.
func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer d.Close()
	return d.Sync()
}

// readBoot gives the kernel's boot id, 36 characters.
func readBoot() (string, error) {
	text, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return "", fmt.Errorf("read boot id: %w", err)
	}
	return strings.TrimSpace(string(text)), nil
}
