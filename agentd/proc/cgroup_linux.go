package proc

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// subgroup is the control group in which agentd's own processes live when its unit
// says DelegateSubgroup=agentd. Groups of agents are made beside it: the kernel
// gives no memory limit to groups below one that holds processes itself.
const subgroup = "agentd"

// Cgroup is the control group of one tree: a folder in the unified hierarchy that
// freezes and kills, and where that one has no memory and pids controllers, one in
// each old hierarchy that has. A nil Cgroup holds nothing.
type Cgroup struct {
	unified string   // folder; empty: none
	old     []string // folders in old hierarchies
	home    []string // where this process is in those hierarchies
}

// NewCgroup makes the control group called name for a tree with these limits. What
// the host does not allow is left out and told in degraded, for people; without
// any group it gives nil. Groups that were left behind under that name must be
// removed first.
func NewCgroup(name string, limits Limits) (c *Cgroup, degraded []string) {
	c = &Cgroup{}
	base, old, err := hierarchies()
	if err == nil {
		err = c.makeUnified(base, name)
	}
	if err != nil {
		degraded = append(degraded, "no control group of its own ("+err.Error()+
			"): its processes are frozen and killed one by one")
	}
	for _, l := range []struct {
		controller, file, oldFile string
		value                     uint64
	}{
		{"memory", "memory.max", "memory.limit_in_bytes", limits.Memory},
		{"pids", "pids.max", "pids.max", limits.Pids},
	} {
		if l.value == 0 {
			continue
		}
		err := c.limitUnified(l.controller, l.file, l.value)
		if err != nil && old[l.controller] != "" {
			err = c.limitOld(old[l.controller], name, l.oldFile, l.value)
		}
		if err != nil {
			degraded = append(degraded, fmt.Sprintf("the limit of %s is not enforced (%v)", l.controller, err))
		}
	}
	if c.unified == "" && len(c.old) == 0 {
		return nil, degraded
	}
	return c, degraded
}

// Folders are where the group is, for RemoveCgroup.
func (c *Cgroup) Folders() []string {
	if c == nil {
		return nil
	}
	var all []string
	if c.unified != "" {
		all = append(all, c.unified)
	}
	return append(all, c.old...)
}

// CgroupFolders are where the group called name would be.
func CgroupFolders(name string) []string {
	base, old, _ := hierarchies()
	var all []string
	for _, folder := range []string{base, old["memory"], old["pids"]} {
		if folder != "" {
			all = append(all, filepath.Join(folder, name))
		}
	}
	return all
}

// hierarchies gives the folder of this process in the unified hierarchy and in the
// old ones of memory and pids, by controller.
func hierarchies() (unified string, old map[string]string, err error) {
	own, err := os.ReadFile("/proc/self/cgroup")
	if err != nil {
		return "", nil, err
	}
	mounts, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return "", nil, err
	}
	unified, old = parseHierarchies(string(own), string(mounts))
	if unified == "" {
		return "", old, errors.New("the unified hierarchy is not mounted")
	}
	if filepath.Base(unified) == subgroup {
		unified = filepath.Dir(unified)
	}
	return unified, old, nil
}

func parseHierarchies(own, mounts string) (unified string, old map[string]string) {
	old = map[string]string{}
	for line := range strings.Lines(mounts) {
		before, after, _ := strings.Cut(strings.TrimSuffix(line, "\n"), " - ")
		f, kind := strings.Fields(before), strings.Fields(after)
		if len(f) < 5 || len(kind) < 3 {
			continue
		}
		for entry := range strings.Lines(own) {
			_, entry, _ = strings.Cut(strings.TrimSuffix(entry, "\n"), ":")
			controllers, path, _ := strings.Cut(entry, ":")
			// The mount shows the part of the hierarchy below its root. A path that begins
			// with .. is outside of what this namespace shows.
			rel, err := filepath.Rel(f[3], path)
			if err != nil || strings.HasPrefix(rel, "..") || strings.HasPrefix(path, "/..") {
				continue
			}
			folder := filepath.Join(f[4], rel)
			switch {
			case kind[0] == "cgroup2" && controllers == "":
				unified = folder
			case kind[0] == "cgroup" && (controllers == "memory" || controllers == "pids") &&
				strings.Contains(","+kind[2]+",", ","+controllers+","):
				old[controllers] = folder
			}
		}
	}
	return unified, old
}

func (c *Cgroup) makeUnified(base, name string) error {
	if base == "" {
		return errors.New("the unified hierarchy is not mounted")
	}
	folder := filepath.Join(base, name)
	if RemoveCgroup(folder) {
		return fmt.Errorf("%s holds processes that do not die", folder)
	}
	if err := os.Mkdir(folder, 0o755); err != nil {
		return err
	}
	// Without the file that kills it would be half a tool.
	if _, err := os.Stat(filepath.Join(folder, "cgroup.kill")); err != nil {
		_ = os.Remove(folder)
		return errors.New("the kernel has no cgroup.kill")
	}
	c.unified = folder
	return nil
}

func (c *Cgroup) limitUnified(controller, file string, value uint64) error {
	if c.unified == "" {
		return errors.New("no control group")
	}
	base := filepath.Dir(c.unified)
	has, err := os.ReadFile(filepath.Join(base, "cgroup.controllers"))
	if err != nil {
		return err
	}
	if !strings.Contains(" "+strings.TrimSpace(string(has))+" ", " "+controller+" ") {
		return fmt.Errorf("%s has no controller for it", base)
	}
	if _, err := os.Stat(filepath.Join(c.unified, file)); err != nil {
		if err := writeFile(filepath.Join(base, "cgroup.subtree_control"), "+"+controller); err != nil {
			return fmt.Errorf("%w; a unit of systemd needs Delegate=yes and DelegateSubgroup=%s", err, subgroup)
		}
	}
	return writeFile(filepath.Join(c.unified, file), strconv.FormatUint(value, 10))
}

func (c *Cgroup) limitOld(base, name, file string, value uint64) error {
	folder := filepath.Join(base, name)
	if err := os.Mkdir(folder, 0o755); err != nil && !errors.Is(err, os.ErrExist) {
		return err
	}
	if err := writeFile(filepath.Join(folder, file), strconv.FormatUint(value, 10)); err != nil {
		_ = os.Remove(folder)
		return err
	}
	c.old, c.home = append(c.old, folder), append(c.home, base)
	return nil
}

// writeFile writes to a file of the kernel, which must be there.
func writeFile(path, text string) error {
	f, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	_, err = f.WriteString(text)
	return errors.Join(err, f.Close())
}

// enter makes what this thread forks next begin its life in the group; leave ends
// that. In old hierarchies a single thread can be moved, and a child begins where
// its thread is.
func (c *Cgroup) enter(attr *syscall.SysProcAttr) (leave func(), err error) {
	if c == nil {
		return func() {}, nil
	}
	fd := -1
	me := strconv.Itoa(unix.Gettid())
	leave = func() {
		for _, folder := range c.home {
			_ = writeFile(filepath.Join(folder, "tasks"), me)
		}
		if fd >= 0 {
			unix.Close(fd)
		}
	}
	if c.unified != "" {
		if fd, err = unix.Open(c.unified, unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0); err != nil {
			return leave, fmt.Errorf("open control group: %w", err)
		}
		attr.UseCgroupFD, attr.CgroupFD = true, fd
	}
	for _, folder := range c.old {
		if err := writeFile(filepath.Join(folder, "tasks"), me); err != nil {
			return leave, fmt.Errorf("enter control group: %w", err)
		}
	}
	return leave, nil
}

// unifies tells whether there is a group that freezes and kills.
func (c *Cgroup) unifies() bool { return c != nil && c.unified != "" }

// holds tells whether pid is in the unified group now.
func (c *Cgroup) holds(pid int) bool {
	text, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/cgroup")
	return err == nil && bytes.Contains(text, []byte("/"+filepath.Base(c.unified)))
}

// freeze sets the state of the unified group and waits until the kernel says that
// it is so; limit bounds that. A group that is not frozen by then only because threads
// wait for a disk counts as frozen.
func (c *Cgroup) freeze(frozen bool, limit time.Duration) error {
	want := "0"
	if frozen {
		want = "1"
	}
	if err := writeFile(filepath.Join(c.unified, "cgroup.freeze"), want); err != nil {
		return fmt.Errorf("freeze control group: %w", err)
	}
	begin := time.Now()
	for d := 100 * time.Microsecond; c.event("frozen") != want; d = min(2*d, 20*time.Millisecond) {
		if time.Since(begin) > limit {
			if frozen && c.waits() {
				return nil
			}
			return fmt.Errorf("freeze control group: a process does not stop within %s", limit)
		}
		pause(nil, d)
	}
	return nil
}

// event reads one value of cgroup.events; empty when the group is gone.
func (c *Cgroup) event(name string) string {
	f, err := os.Open(filepath.Join(c.unified, "cgroup.events"))
	if err != nil {
		return ""
	}
	defer f.Close()
	for lines := bufio.NewScanner(f); lines.Scan(); {
		if key, value, _ := strings.Cut(lines.Text(), " "); key == name {
			return value
		}
	}
	return ""
}

// kill sends SIGKILL to all in the unified group and tells whether any is left.
func (c *Cgroup) kill() (left bool) {
	if !c.unifies() || c.event("populated") != "1" {
		return false
	}
	_ = writeFile(filepath.Join(c.unified, "cgroup.kill"), "1")
	return c.event("populated") == "1"
}

// OutOfMemory tells whether the kernel has killed something in the group because memory was short, at any time and
// wherever that was; own, that the group itself had come to its limit, at any time too.
func (c *Cgroup) OutOfMemory() (killed, own bool) {
	for _, folder := range c.Folders() {
		for _, file := range []string{"memory.events", "memory.oom_control"} {
			killed = killed || counts(folder, file, "oom_kill")
		}
		// The old hierarchy counts no more than that the limit was met.
		own = own || counts(folder, "memory.events", "oom") || counts(folder, "memory.failcnt", "")
	}
	return killed, own
}

// counts tells whether a file of the kernel counts more than 0 under a name; an empty one: the file is the number.
func counts(folder, file, name string) bool {
	text, err := os.ReadFile(filepath.Join(folder, file))
	if err != nil {
		return false
	}
	for line := range strings.Lines(string(text)) {
		n := strings.TrimSpace(line)
		if name != "" {
			var is bool
			if n, is = strings.CutPrefix(n, name+" "); !is {
				continue
			}
		}
		return n != "0"
	}
	return false
}

// Remove removes the group, which must be empty.
func (c *Cgroup) Remove() error {
	var all error
	for _, folder := range c.Folders() {
		all = errors.Join(all, removeTree(folder))
	}
	return all
}

// RemoveCgroup kills everything in a group that somebody else made, by its folder,
// and removes it. It tells whether something is left; call it again then.
func RemoveCgroup(folder string) (left bool) {
	if _, err := os.Stat(filepath.Join(folder, "cgroup.kill")); err == nil {
		if (&Cgroup{unified: folder}).kill() {
			return true
		}
	}
	return removeTree(folder) != nil
}

// removeTree removes a group and those that were made below it.
func removeTree(folder string) error {
	entries, err := os.ReadDir(folder)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	for _, e := range entries {
		if e.IsDir() {
			err = errors.Join(err, removeTree(filepath.Join(folder, e.Name())))
		}
	}
	if removed := unix.Rmdir(folder); removed != nil && !errors.Is(removed, unix.ENOENT) {
		err = errors.Join(err, fmt.Errorf("remove control group %s: %w", folder, removed))
	}
	return err
}
