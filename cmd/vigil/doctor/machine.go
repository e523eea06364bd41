package doctor

import (
	"fmt"
	"io/fs"
	"slices"
	"time"
)

// Machine is what was measured here for one daemon, a server or agentd.
type Machine struct {
	Server  bool   // agentd otherwise
	Dir     string // its data directory
	Config  string // its file
	Wrong   []string
	Running bool // its data directory is in use

	Missing bool        // Dir is not there
	Mode    fs.FileMode // of Dir
	Owner   int         // uid of Dir
	Open    []string    // files of its identity that others may read
	Kind    string      // of the file system below Dir: tmpfs, nfs, ...; empty: one that keeps what it was told
	Free    uint64      // bytes below Dir that its owner may use
	Want    uint64      // bytes that should be free at least
	Inodes  uint64      // free ones; ^0 where the file system does not count them
	Syncs   []time.Duration
	SyncErr error

	Files   uint64  // open files that a process may have
	Tasks   uint64  // processes and threads that may still be started here; ^0: no limit
	PPM     float64 // how much the kernel is told to run the clock faster (+) or slower than the machine's own
	Astray  bool    // no time service keeps the clock
	Now     time.Time
	Until   time.Time // from then on the certificate cannot even be renewed; zero: there is none
	Dated   time.Time // from then on browsers and tools refuse the certificate of a server; zero: there is none
	MTU     map[string]int
	Unified bool // control groups of version 2 are there

	Web      string    // file of the operator's own certificate; empty: there is none that counts
	WebUntil time.Time // its end
	Backups  string    // where backups go when that is on the disk of Dir; empty: elsewhere, or nowhere
}

// What is asked of a machine.
const (
	slowSync    = 50 * time.Millisecond // a commit waits for two disks
	brokenSync  = time.Second           // elections follow
	fewInodes   = 10_000
	leastFiles  = 4096
	leastTasks  = 1024
	mostPPM     = 1000 // 0.1 %: fences end at other times on other hosts
	leastMTU    = 1280
	certWarning = 3 * 24 * time.Hour
	webWarning  = 14 * 24 * time.Hour // people renew it
)

// judgeMachine says what is wrong with a machine.
func judgeMachine(m *Machine) (l list) {
	for _, wrong := range m.Wrong {
		l.mend("config", wrong, "correct "+m.Config)
	}
	if m.Dir == "" { // nothing could be read, so nothing was measured
		return l
	}
	if m.Missing {
		l.mend("dir", "the data directory "+m.Dir+" is not there",
			"make it with `vigil server init`, `vigil server join TOKEN` or `vigil agentd join TOKEN`, or correct data_dir")
		return l
	}
	l.judgeDir(m)
	l.judgeDisk(m)
	l.judgeLimits(m)
	l.judgeClock(m)
	if left := m.Until.Sub(m.Now); !m.Until.IsZero() && left <= 0 {
		l.mend("certificate", "the certificate in "+m.Dir+" ended on "+m.Until.UTC().Format(time.DateTime),
			"move its folder trust away, make a token (`vigil token create --role server` or host, with --name of this "+
				"machine), and join anew with it; all other data stays. Put trust/root.key back if it was there")
	} else if !m.Until.IsZero() && left < certWarning {
		l.note("certificate",
			fmt.Sprintf("the certificate in %s ends in %s and was not renewed", m.Dir, left.Round(time.Minute)),
			"start the daemon where it reaches the leader; `vigil tls status` tells who renews")
	}
	if m.Server && !m.Dated.IsZero() && m.Dated.Sub(m.Now) < webWarning {
		l.note("certificate", fmt.Sprintf("browsers and tools refuse the certificate of this server from %s on; all "+
			"programs of vigil go on", m.Dated.UTC().Format(time.DateTime)),
			"put trust/root.key back for a minute where the cluster was founded: each server gets another issuing key, and "+
				"its next certificate, within 12 hours, has later dates")
	}
	if left := m.WebUntil.Sub(m.Now); m.Web != "" && left < webWarning {
		l.note("certificate", fmt.Sprintf("the certificate in %s (http_cert) ends in %s; browsers and tools refuse it then",
			m.Web, left.Round(time.Minute)),
			"renew it, and put it and its key into the files: they are read again by themselves")
	}
	return l
}

// judgeClosed names what may be wrong here unseen: an account that may not look has found nothing wrong.
func (l *list) judgeClosed(dirs []string) {
	for _, dir := range dirs {
		l.note("dir", "this account may not look into "+dir+", so what is set up there was not looked at",
			"sudo vigil doctor --local")
	}
}

func (l *list) judgeDir(m *Machine) {
	allowed := fs.FileMode(0o711) // agents pass through agentd's to their own
	if m.Server {
		allowed = 0o700
	}
	if extra := m.Mode.Perm() &^ allowed; extra != 0 {
		l.mend("dir", fmt.Sprintf("others may look into %s (mode %04o)", m.Dir, m.Mode.Perm()),
			fmt.Sprintf("chmod %04o %s", allowed, m.Dir))
	}
	for _, file := range m.Open {
		l.mend("dir", "others may read "+file+", which is secret", "chmod 600 "+file+
			", and if anybody may have read it, revoke it: `vigil identity revoke`")
	}
	switch m.Kind {
	case "tmpfs", "ramfs":
		l.mend("disk", m.Dir+" is in memory ("+m.Kind+"): the next boot loses it", "name a data_dir on a disk")
	case "nfs", "cifs", "smb2", "9p", "fuse":
		l.mend("disk", m.Dir+" is on "+m.Kind+", which may not keep locks and writes as a disk does",
			"name a data_dir on a disk of this machine")
	}
}

func (l *list) judgeDisk(m *Machine) {
	if m.Free < m.Want {
		l.mend("disk", fmt.Sprintf("%d MiB are free for %s, %d MiB are wanted", m.Free>>20, m.Dir, m.Want>>20),
			"free some space, or move the directory to a larger disk (docs/operations.md, a full disk)")
	}
	if m.Backups != "" {
		l.note("disk", fmt.Sprintf("backups go to %s, on the disk of the data directory: a disk that is lost takes both, "+
			"and a full one stops both", m.Backups), "let backup.to name a directory on another machine or disk, or S3")
	}
	if m.Inodes < fewInodes {
		l.mend("disk", fmt.Sprintf("only %d files can be made on the disk of %s", m.Inodes, m.Dir),
			"remove what has many small files there, or make the file system anew with more inodes")
	}
	if m.SyncErr != nil {
		l.mend("disk", "a write to "+m.Dir+" failed: "+m.SyncErr.Error(),
			"run this as the account of the daemon or as root, and see that the disk is not mounted read-only")
	}
	if len(m.Syncs) == 0 {
		return
	}
	sorted := slices.Sorted(slices.Values(m.Syncs))
	middle, worst := sorted[len(sorted)/2], sorted[len(sorted)-1]
	if worst >= brokenSync {
		l.mend("disk", fmt.Sprintf("a write took %v to be durable in %s", worst.Round(time.Millisecond), m.Dir),
			"find out what else uses this disk (iostat, dmesg), or use another")
	} else if m.Server && middle > slowSync {
		l.note("disk", fmt.Sprintf("a write takes %v to be durable in %s, and every commit waits for that",
			middle.Round(time.Millisecond), m.Dir), "give data_dir a disk of its own, best an SSD")
	}
}

func (l *list) judgeLimits(m *Machine) {
	if m.Files < leastFiles {
		l.mend("limits", fmt.Sprintf("a process may have %d files open; each connection is one", m.Files),
			"raise it: ulimit -n 65536, or LimitNOFILE= in the unit")
	}
	if m.Tasks < leastTasks {
		l.mend("limits", fmt.Sprintf("only %d more processes can be started here", m.Tasks),
			"raise TasksMax= of the unit, ulimit -u or the sysctl kernel.pid_max, or end what runs wild")
	}
	if !m.Server && !m.Unified {
		l.note("limits", "there are no control groups of version 2: memory and processes of agents are not bounded",
			"boot with systemd.unified_cgroup_hierarchy=1")
	}
	for _, name := range sortedKeys(m.MTU) {
		if mtu := m.MTU[name]; mtu < leastMTU {
			l.mend("network", fmt.Sprintf("packets on %s may have %d bytes: gossip of vigil needs %d", name, mtu, leastMTU),
				fmt.Sprintf("ip link set %s mtu 1500, or what the tunnel below it carries", name))
		}
	}
}

func (l *list) judgeClock(m *Machine) {
	if m.PPM > mostPPM || m.PPM < -mostPPM {
		l.mend("clock", fmt.Sprintf("the clock is driven %+.0f parts in a million off the machine's own rate", m.PPM),
			"see what drives it (chronyc tracking, timedatectl), step it once and let the rate settle")
	}
	if m.Astray {
		l.note("clock", "no time service keeps the clock: times in logs of other machines will not fit",
			"run systemd-timesyncd or chrony")
	}
}
