package agentd

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// leftover is what is kept of an agent: files and folders, and when one was used last.
type leftover struct {
	paths []string
	used  time.Time
}

// leftovers finds logs and work folders by the names of their agents.
func (d *dataDir) leftovers() map[string]*leftover {
	all := map[string]*leftover{}
	note := func(room string, e fs.DirEntry, agent, root string) {
		info, err := e.Info()
		if err != nil || agent == "" {
			return
		}
		name := room + "/" + agent
		if all[name] == nil {
			all[name] = &leftover{}
		}
		all[name].paths = append(all[name].paths, filepath.Join(root, room, e.Name()))
		if info.ModTime().After(all[name].used) {
			all[name].used = info.ModTime()
		}
	}
	for _, root := range []string{d.logs(), filepath.Join(d.path, "work")} {
		rooms, _ := os.ReadDir(root) // there is none before the first start
		for _, room := range rooms {
			entries, _ := os.ReadDir(filepath.Join(root, room.Name()))
			for _, e := range entries {
				agent := e.Name()
				if root == d.logs() { // AGENT.log, AGENT.log.1
					agent = agent[:max(0, strings.LastIndex(agent, ".log"))]
				}
				note(room.Name(), e, agent, root)
			}
		}
	}
	return all
}

// used notes that a work folder was in use until now; its own time says only when a name in
// it has changed.
func (d *dataDir) used(room, agent string) {
	now := unix.NsecToTimespec(time.Now().UnixNano())
	// It need not have one, and an agent may have put a link in its place.
	_ = unix.UtimesNanoAt(unix.AT_FDCWD, filepath.Join(d.path, "work", room, agent),
		[]unix.Timespec{now, now}, unix.AT_SYMLINK_NOFOLLOW)
}
