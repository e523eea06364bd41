package disk

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// Leftover is what is kept of an agent: files and folders, and when one was used last.
type Leftover struct {
	Paths []string
	Used  time.Time
}

// Leftovers finds logs, work folders and homes by the names of their agents.
func (d *Dir) Leftovers() map[string]*Leftover {
	all := map[string]*Leftover{}
	note := func(room string, e fs.DirEntry, agent, root string) {
		info, err := e.Info()
		if err != nil || agent == "" {
			return
		}
		name := room + "/" + agent
		if all[name] == nil {
			all[name] = &Leftover{}
		}
		all[name].Paths = append(all[name].Paths, filepath.Join(root, room, e.Name()))
		if info.ModTime().After(all[name].Used) {
			all[name].Used = info.ModTime()
		}
	}
	for _, root := range []string{d.Logs(), filepath.Join(d.Path, workFolder), filepath.Join(d.Path, homeFolder)} {
		rooms, _ := os.ReadDir(root) // there is none before the first start
		for _, room := range rooms {
			entries, _ := os.ReadDir(filepath.Join(root, room.Name()))
			for _, e := range entries {
				agent := e.Name()
				if root == d.Logs() { // AGENT.log, AGENT.log.1
					agent = agent[:max(0, strings.LastIndex(agent, ".log"))]
				}
				note(room.Name(), e, agent, root)
			}
		}
	}
	return all
}

// Used notes that the folders of an agent were in use until now; their own times say only when a name in
// them has changed.
func (d *Dir) Used(room, agent string) {
	now := unix.NsecToTimespec(time.Now().UnixNano())
	for _, folder := range []string{filepath.Join(d.Path, workFolder, room, agent), d.Home(room, agent)} {
		// It need not have one, and an agent may have put a link in its place.
		_ = unix.UtimesNanoAt(unix.AT_FDCWD, folder, []unix.Timespec{now, now}, unix.AT_SYMLINK_NOFOLLOW)
	}
}

// TakeAway moves files and folders out of sight, each in one step, for Clear to remove.
func (d *Dir) TakeAway(paths []string) error {
	dir := filepath.Join(d.Path, goneFolder)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	for _, path := range paths {
		into, err := os.MkdirTemp(dir, "")
		if err != nil {
			return err
		}
		err = os.Rename(path, filepath.Join(into, filepath.Base(path)))
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}

// Clear removes what was taken away, by this daemon or an earlier one.
func (d *Dir) Clear() error { return os.RemoveAll(filepath.Join(d.Path, goneFolder)) }
