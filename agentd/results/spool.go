//go:build unix

package results

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"vigil/agentd/disk"
	"vigil/agentd/shim"
)

const (
	// MaxBytes bounds one file: a result of 256 KiB, every byte of it escaped.
	MaxBytes = 2 << 20
	// MaxFiles bounds the files that one look delivers for a life.
	MaxFiles = 100
	// maxListed is how many files of a folder are looked at for them.
	maxListed = 10_000
)

// Spool is the folder of what the agent of one life could not deliver.
type Spool struct {
	Folder string // of the life
	Intent disk.Intent
}

// List gives the paths of what is ready, in order, MaxFiles at most. Files that passed tells to pass over
// are left out. An error leaves open what there is.
func (s Spool) List(passed func(path string) bool) ([]string, error) {
	folder, err := os.Open(s.path())
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer folder.Close()
	// The folder is the agent's: of millions of files only so many are looked at, the rest when these are gone.
	entries, err := folder.Readdirnames(maxListed)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	var names []string
	for _, name := range entries {
		path := filepath.Join(s.path(), name)
		if strings.HasSuffix(name, ".json") && !strings.HasPrefix(name, ".") && !passed(path) {
			names = append(names, path)
		}
	}
	slices.Sort(names)
	return names[:min(len(names), MaxFiles)], nil
}

// path is where the files are.
func (s Spool) path() string { return filepath.Join(s.Folder, shim.SpoolFolder) }

// Holds tells whether a path that List gave is of this spool.
func (s Spool) Holds(path string) bool { return filepath.Dir(path) == s.path() }

// unfit is what is wrong with a file that was looked at.
type unfit struct{ error }

func (u unfit) Unwrap() error { return u.error }

// Unfit tells whether an error of Read says that a file is no completion of the life, or is gone. After any other,
// such as one of a disk or of a machine that has no memory, nobody knows what it holds: it must not be thrown away.
func Unfit(err error) bool { return errors.As(err, new(unfit)) }

// Read reads one file. The folder belongs to the agent, which may be anybody: what
// is in it must not make this daemon read or wait for anything else.
func (s Spool) Read(path string) (c Completion, err error) {
	f, err := os.OpenFile(path, os.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK, 0)
	for _, e := range []error{unix.ELOOP, unix.ENXIO, unix.ENODEV, unix.ENOENT} { // a link, no file, or gone
		if errors.Is(err, e) {
			return c, unfit{err}
		}
	}
	if err != nil {
		return c, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return c, err
	}
	if !s.owns(info) {
		return c, unfit{errors.New("it is not a file of the agent's own")}
	}
	text, err := io.ReadAll(io.LimitReader(f, MaxBytes+1))
	switch {
	case err != nil:
		return c, err
	case len(text) > MaxBytes:
		return c, unfit{fmt.Errorf("it has more than %d bytes", MaxBytes)}
	}
	err = json.Unmarshal(text, &c)
	if err == nil && (c.Agent != s.Intent.AgentName || c.Incarnation != s.Intent.Incarnation) {
		err = fmt.Errorf("it speaks for incarnation %d of %s", c.Incarnation, c.Agent)
	}
	if err != nil {
		err = unfit{err}
	}
	return c, err
}

// owns tells whether the agent itself has made a file.
func (s Spool) owns(info fs.FileInfo) bool {
	st, ok := info.Sys().(*syscall.Stat_t)
	return info.Mode().IsRegular() && ok && int(st.Uid) == s.Intent.SpoolOwner
}
