package runner

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"syscall"

	"golang.org/x/sys/unix"
)

// Bounds of credentials, each of which is read again for every life.
const (
	MaxCredentials = 32
	MaxCredential  = 64 << 10 // bytes
)

// checkCredentials looks at the files without keeping what is in them.
func (c *checker) checkCredentials() {
	if n := len(c.runner.Credentials); n > MaxCredentials {
		c.fault(fmt.Sprintf("%d files are more than %d", n, MaxCredentials), "leave some out", "credentials")
		return
	}
	for _, name := range slices.Sorted(maps.Keys(c.runner.Credentials)) {
		if problem, remedy := checkEnvName(name); problem != "" {
			c.fault(problem, remedy, "credentials", name)
		}
		if _, twice := c.runner.Env[name]; twice {
			c.fault(name+" stands in env too", "remove it from one of the two", "credentials", name)
		}
		if _, err := ReadCredential(c.runner.Credentials[name]); err != nil {
			problem, remedy := err.Error(), "correct the path, or make it readable for agentd"
			if bad, ok := errors.AsType[*badCredential](err); ok {
				problem, remedy = bad.problem, bad.remedy
			}
			c.fault(problem, remedy, "credentials", name)
		}
	}
}

// badCredential is a file that must not be used as it is.
type badCredential struct{ problem, remedy string }

func (b *badCredential) Error() string { return b.problem + "; " + b.remedy }

// ReadCredential reads a file with a secret. It refuses files that others could have read or
// written; the error holds nothing of what is in it.
func ReadCredential(path string) ([]byte, error) {
	if !filepath.IsAbs(path) {
		return nil, &badCredential{fmt.Sprintf("%q depends on the current folder", path), "give an absolute path"}
	}
	f, err := os.OpenFile(path, os.O_RDONLY|unix.O_NONBLOCK, 0) // a pipe must not make this wait
	if errors.Is(err, fs.ErrNotExist) {
		return nil, &badCredential{path + " does not exist", "make the file, or correct the path"}
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if bad := exposedCredential(path, info); bad != nil {
		return nil, bad
	}
	text, err := io.ReadAll(io.LimitReader(f, MaxCredential+1))
	switch {
	case err != nil:
		return nil, err
	case len(text) > MaxCredential:
		return nil, &badCredential{fmt.Sprintf("%s has more than %d bytes", path, MaxCredential), "name a file with a secret"}
	case len(text) == 0:
		return nil, &badCredential{path + " is empty", "put the secret into it"}
	}
	return text, nil
}

// exposedCredential says who else could read or change a file; nil: nobody.
func exposedCredential(path string, info fs.FileInfo) error {
	mode := info.Mode().Perm()
	st, ok := info.Sys().(*syscall.Stat_t)
	switch {
	case !info.Mode().IsRegular():
		return &badCredential{path + " is not a file", "name a file"}
	case ok && st.Uid != 0 && int(st.Uid) != os.Geteuid():
		return &badCredential{fmt.Sprintf("%s belongs to account %d", path, st.Uid),
			"chown it to root or to the account of agentd"}
	case mode&0o007 != 0:
		return &badCredential{fmt.Sprintf("%s has mode %#o: anybody on this host can use it", path, mode),
			"chmod 600 " + path}
	case mode&0o020 != 0:
		return &badCredential{fmt.Sprintf("%s has mode %#o: its group can change it", path, mode),
			"chmod 600 " + path}
	}
	return nil
}
