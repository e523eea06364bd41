package doctor

import (
	"errors"
	"fmt"
	"io/fs"
	"math"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"vigil/cmd/vigil/conf"
	"vigil/rpc/trust"
)

// The writes whose time is measured: as many as need a second of a disk that is slow already.
const (
	syncs     = 20
	syncBytes = 4096
	syncLimit = 5 * time.Second // of all
)

// measureServer looks at the machine for the server that a file describes.
func measureServer(file string) (*Machine, error) {
	set, err := conf.ReadServer(file)
	if set == nil {
		return &Machine{Server: true, Config: file, Wrong: unread(err)}, nil
	}
	if _, e := (trust.Dir(filepath.Join(set.DataDir, "trust"))).Holder(); !errors.Is(e, fs.ErrNotExist) {
		set.HasIdentity(set.Cluster)
	}
	m := &Machine{Server: true, Config: file, Dir: set.DataDir, Wrong: unread(err)}
	wrong, _ := set.Inspect()
	m.add(wrong)
	if web, err := set.WebPair(time.Now()); err == nil && web != nil { // what is wrong with it is said above
		m.Web, m.WebUntil = set.HTTPCert, web.Leaf.NotAfter
	}
	m.Backups = set.BackupsBeside()
	m.Want = mayGrow(set.DataDir, set.Limits.SnapshotBytes.N)
	m.measure(set.Addr, set.RaftAddr, set.Gossip.Bind)
	return m, nil
}

// What a server needs at most: while a member is away the log goes back four snapshots, and on to the next one.
const (
	mostLogs      = 5         // of what one snapshot comes after
	mostSnapshots = 4         // three, and the one that is being written
	leastGrowth   = 256 << 20 // wanted in any case
)

// mayGrow is by how much the data directory of a server may grow that takes a snapshot after so many bytes of log.
func mayGrow(dir string, snapshotBytes int64) uint64 {
	var used, snapshot int64
	_ = filepath.WalkDir(dir, func(_ string, e fs.DirEntry, err error) error {
		if err != nil {
			return nil // what cannot be looked at may all come yet
		}
		info, err := e.Info()
		if err != nil || !info.Mode().IsRegular() {
			return nil
		}
		used += info.Size()
		if e.Name() == "state.bin" {
			snapshot = max(snapshot, info.Size())
		}
		return nil
	})
	return uint64(max(mostLogs*snapshotBytes+mostSnapshots*snapshot-used, leastGrowth))
}

// measureHost looks at the machine for the agentd that a file describes.
func measureHost(file string) (*Machine, error) {
	set, err := conf.ReadAgentd(file)
	if set == nil {
		return &Machine{Config: file, Wrong: unread(err)}, nil
	}
	if _, e := (trust.Dir(filepath.Join(set.DataDir, "trust"))).Holder(); !errors.Is(e, fs.ErrNotExist) {
		set.HasIdentity()
	}
	m := &Machine{Config: file, Dir: set.DataDir, Wrong: unread(err)}
	wrong, _ := set.Inspect()
	m.add(wrong)
	m.Want = uint64(set.MinFreeDisk.N)
	m.measure(set.Gossip.Bind)
	return m, nil
}

func unread(err error) (texts []string) {
	for _, one := range conf.Each(err) {
		texts = append(texts, conf.InOneLine(one))
	}
	return texts
}

func (m *Machine) add(wrong []error) {
	for _, err := range wrong {
		m.Wrong = append(m.Wrong, conf.InOneLine(err))
	}
}

// measure fills in what is asked of every machine; addrs are those that the daemon uses.
func (m *Machine) measure(addrs ...string) {
	m.Now = time.Now()
	m.Files, m.Tasks, m.Inodes, m.Free, m.Unified = math.MaxUint64, math.MaxUint64, math.MaxUint64, math.MaxUint64, true
	info, err := os.Stat(m.Dir)
	if errors.Is(err, fs.ErrNotExist) {
		m.Missing = true
		return
	}
	if err != nil {
		m.SyncErr = err
		return
	}
	m.Mode = info.Mode()
	if st, ok := info.Sys().(*syscall.Stat_t); ok {
		m.Owner = int(st.Uid)
	}
	m.measureTrust()
	m.measureDisk()
	m.measureLimits()
	m.measureClock()
	m.MTU = mtus(addrs)
}

// measureTrust looks at the identity: when it ends, and who may read its keys.
func (m *Machine) measureTrust() {
	dir := filepath.Join(m.Dir, "trust")
	if ends, err := trust.Dir(dir).LeafEnds(); err == nil {
		m.Until = ends
	}
	if leaf, err := trust.Dir(dir).Get(trust.LeafFiles); err == nil && m.Server {
		m.Dated = leaf.Chain[0].NotAfter
	}
	keys, _ := filepath.Glob(filepath.Join(dir, "*.key")) // the pattern is sound
	for _, key := range append(keys, filepath.Join(m.Dir, "host_key")) {
		if info, err := os.Stat(key); err == nil && info.Mode().Perm()&0o077 != 0 {
			m.Open = append(m.Open, key)
		}
	}
}

// kinds are the file systems that data must not be on, by the number that statfs(2) gives.
var kinds = map[int64]string{unix.TMPFS_MAGIC: "tmpfs", unix.RAMFS_MAGIC: "ramfs", unix.NFS_SUPER_MAGIC: "nfs",
	unix.SMB_SUPER_MAGIC: "cifs", unix.CIFS_SUPER_MAGIC: "cifs", unix.SMB2_SUPER_MAGIC: "smb2",
	unix.V9FS_MAGIC: "9p", unix.FUSE_SUPER_MAGIC: "fuse"}

func (m *Machine) measureDisk() {
	var st unix.Statfs_t
	if err := unix.Statfs(m.Dir, &st); err == nil {
		m.Kind, m.Free = kinds[int64(st.Type)], st.Bavail*uint64(st.Bsize)
		if st.Files > 0 { // some file systems make inodes as they need them
			m.Inodes = st.Ffree
		}
	}
	m.Syncs, m.SyncErr = timeSyncs(m.Dir)
}

// timeSyncs writes to a file without a name, which is gone whatever becomes of this process.
func timeSyncs(dir string) (times []time.Duration, err error) {
	fd, err := unix.Open(dir, unix.O_TMPFILE|unix.O_RDWR|unix.O_CLOEXEC, 0o600)
	var f *os.File
	switch {
	case err == nil:
		f = os.NewFile(uintptr(fd), filepath.Join(dir, "doctor"))
	case errors.Is(err, unix.EOPNOTSUPP), errors.Is(err, unix.EISDIR):
		if f, err = os.CreateTemp(dir, ".doctor-"); err == nil {
			defer os.Remove(f.Name())
		}
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	text := make([]byte, syncBytes)
	for begun := time.Now(); len(times) < syncs && time.Since(begun) < syncLimit; {
		one := time.Now()
		if _, err := f.Write(text); err != nil {
			return times, err
		}
		if err := unix.Fdatasync(int(f.Fd())); err != nil {
			return times, err
		}
		times = append(times, time.Since(one))
	}
	return times, nil
}

func (m *Machine) measureLimits() {
	var most unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &most); err == nil {
		m.Files = most.Max // daemons raise the other one themselves
	}
	m.Tasks = min(tasksLeft("/proc/loadavg", "/proc/sys/kernel/pid_max"), groupLeft("/proc/self/cgroup", "/sys/fs/cgroup"))
	_, err := os.Stat("/sys/fs/cgroup/cgroup.controllers")
	m.Unified = err == nil
}

// tasksLeft is how many the kernel has numbers for.
func tasksLeft(load, most string) uint64 {
	all, e1 := readNumber(most)
	text, e2 := os.ReadFile(load)
	fields := strings.Fields(string(text))
	if e1 != nil || e2 != nil || len(fields) < 4 {
		return math.MaxUint64
	}
	_, there, _ := strings.Cut(fields[3], "/")
	n, err := strconv.ParseUint(there, 10, 64)
	if err != nil {
		return math.MaxUint64
	}
	return all - min(all, n)
}

// groupLeft is how many this control group, and those above it, still allow. The root of those that it sees is the
// own group of a container, and has a bound; the root of a machine has none.
func groupLeft(own, root string) uint64 {
	left := uint64(math.MaxUint64)
	text, err := os.ReadFile(own)
	if err != nil {
		return left
	}
	_, path, _ := strings.Cut(strings.TrimSpace(string(text)), "0::")
	for dir := filepath.Join(root, path); strings.HasPrefix(dir, root); dir = filepath.Dir(dir) {
		most, e1 := readNumber(filepath.Join(dir, "pids.max")) // "max" is no number: no limit
		there, e2 := readNumber(filepath.Join(dir, "pids.current"))
		if e1 == nil && e2 == nil {
			left = min(left, most-min(most, there))
		}
	}
	return left
}

func readNumber(file string) (uint64, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return 0, err
	}
	return strconv.ParseUint(strings.TrimSpace(string(text)), 10, 64)
}

// measureClock asks the kernel how it runs the clock; nothing is set.
func (m *Machine) measureClock() {
	var t unix.Timex
	state, err := unix.Adjtimex(&t)
	if err != nil {
		return
	}
	// freq is in 2^-16 parts in a million; tick in microseconds for each of 100 a second.
	m.PPM = float64(t.Freq)/65536 + (float64(t.Tick)-10_000)*100
	m.Astray = state == unix.TIME_ERROR
}

// mtus are the sizes of packets on the interfaces that have one of the addresses.
func mtus(addrs []string) map[string]int {
	found := map[string]int{}
	all, err := net.Interfaces()
	if err != nil {
		return found
	}
	for _, i := range all {
		own, _ := i.Addrs() // those that went meanwhile have none
		for _, a := range own {
			ip, _, err := net.ParseCIDR(a.String())
			for _, addr := range addrs {
				host, _, e := net.SplitHostPort(addr)
				if err == nil && e == nil && (host == ip.String() || host == "0.0.0.0" || host == "::") {
					found[i.Name] = i.MTU
				}
			}
		}
	}
	return found
}

// packaged are the daemons that packages set up.
var packaged = []place{{true, "/etc/vigil/server.yaml", "/var/lib/vigil-server"},
	{false, "/etc/vigil/agentd.yaml", "/var/lib/vigil-agentd"}}

// place is where a daemon may have been set up.
type place struct {
	server     bool
	file, data string
}

// found are the daemons of this machine at places, where nobody names any, and the data directories that this account
// may not look into.
func found(places []place) (server, host string, closed []string) {
	for _, one := range places {
		_, err := os.Stat(filepath.Join(one.data, "trust"))
		switch {
		case errors.Is(err, fs.ErrPermission):
			closed = append(closed, one.data)
		case err == nil && one.server:
			server = one.file
		case err == nil:
			host = one.file
		}
	}
	return server, host, closed
}

// measureAll looks at this machine for the daemons whose files are named; with none, for those that packages set up.
// Closed are the data directories of packages that this account may not look into.
func measureAll(server, host string) (all []*Machine, closed []string, err error) {
	if server == "" && host == "" {
		server, host, closed = found(packaged)
	}
	for _, one := range []struct {
		file    string
		measure func(string) (*Machine, error)
	}{{server, measureServer}, {host, measureHost}} {
		if one.file == "" {
			continue
		}
		m, err := one.measure(one.file)
		if err != nil {
			return nil, nil, fmt.Errorf("look at %s: %w", one.file, err)
		}
		all = append(all, m)
	}
	return all, closed, nil
}
