package agentd

import (
	"errors"
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

// leftovers finds logs, work folders and homes by the names of their agents.
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
	for _, root := range []string{d.logs(), filepath.Join(d.path, workFolder), filepath.Join(d.path, homeFolder)} {
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

// used notes that the folders of an agent were in use until now; their own times say only when a name in
// them has changed.
func (d *dataDir) used(room, agent string) {
	now := unix.NsecToTimespec(time.Now().UnixNano())
	for _, folder := range []string{filepath.Join(d.path, workFolder, room, agent), d.home(room, agent)} {
		// It need not have one, and an agent may have put a link in its place.
		_ = unix.UtimesNanoAt(unix.AT_FDCWD, folder, []unix.Timespec{now, now}, unix.AT_SYMLINK_NOFOLLOW)
	}
}

// takeAway moves files and folders out of sight, each in one step, for clear to remove.
func (d *dataDir) takeAway(paths []string) error {
	dir := filepath.Join(d.path, goneFolder)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	for _, path := range paths {
		into, err := os.MkdirTemp(dir, "")
		if err != nil {
			return err
		}
		if err := os.Rename(path, filepath.Join(into, filepath.Base(path))); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}

// clear removes what was taken away, by this daemon or an earlier one.
func (d *dataDir) clear() error { return os.RemoveAll(filepath.Join(d.path, goneFolder)) }
