package disk

import (
	"cmp"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// maxMeasured bounds the files that one look into the folders of agents counts: agents fill them. What is beyond
// is not counted.
const maxMeasured = 500_000

// PieceKind says what a piece is.
type PieceKind uint8

// Kinds of pieces.
const (
	CurrentLog PieceKind = iota
	OldLog               // rotated
	Folder               // to work in, for its files, or home
	Result               // that the cluster refused
	stamp                // of the newest life
)

// Piece is a file, or a folder as a whole.
type Piece struct {
	Path  string
	Kind  PieceKind
	Bytes int64     // on the disk
	Used  time.Time // for the last time, by the clock of the disk
	// Earlier: it is known to be of a life before the newest one.
	Earlier bool
	node    uint64 // inode
}

// Leftover is what the lives of one agent have left on this host.
type Leftover struct {
	Pieces []Piece
	Used   time.Time // the newest of the pieces
	// Newest is the newest life that was begun here, and Begun when; zero: nobody knows.
	Newest Life
	Begun  time.Time
}

// Add takes a piece in.
func (l *Leftover) Add(p Piece) {
	l.Pieces = append(l.Pieces, p)
	if p.Used.After(l.Used) {
		l.Used = p.Used
	}
}

// Leftovers finds logs, folders and homes by the names of their agents, and removes the folders of rooms of which
// nothing is left. With measure it counts what is in folders, which may take seconds; it stops when stop tells so.
func (d *Dir) Leftovers(measure bool, stop func() bool) map[string]*Leftover {
	all, budget := map[string]*Leftover{}, maxMeasured
	for _, root := range []string{d.Logs(), filepath.Join(d.Path, workFolder), filepath.Join(d.Path, homeFolder),
		filepath.Join(d.Path, fileFolder), filepath.Join(d.Path, newestFolder)} {
		rooms, _ := os.ReadDir(root) // there is none before the first start
		for _, room := range rooms {
			folder := filepath.Join(root, room.Name())
			entries, err := os.ReadDir(folder)
			if err == nil && len(entries) == 0 { // of a room whose last agent is gone
				_ = unix.Rmdir(folder) // a start may have come first; a human's link is no folder, and stays
			}
			for _, e := range entries {
				agent, p := d.piece(root, room.Name(), e)
				if agent == "" || stop() {
					continue
				}
				if p.Kind == Folder && measure {
					p.Bytes = usage(p.Path, &budget, stop)
				}
				name := room.Name() + "/" + agent
				if all[name] == nil {
					all[name] = &Leftover{}
				}
				all[name].Add(p)
				if p.Kind == stamp {
					all[name].Newest, all[name].Begun = newestIn(p.Path), p.Used
				}
			}
		}
	}
	return all
}

// piece looks at one entry of a room's folder, and tells whose it is; "": nobody's.
func (d *Dir) piece(root, room string, e fs.DirEntry) (agent string, p Piece) {
	info, err := e.Info()
	if err != nil {
		return "", p
	}
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return "", p
	}
	agent = e.Name()
	p = Piece{Path: filepath.Join(root, room, agent), Kind: Folder, Bytes: st.Blocks * 512, Used: info.ModTime(),
		node: st.Ino}
	switch root {
	case d.Logs(): // AGENT.log, AGENT.log.1
		at := max(0, strings.LastIndex(agent, ".log"))
		p.Kind = OldLog
		if agent[at:] == ".log" {
			p.Kind = CurrentLog
		}
		agent = agent[:at]
	case filepath.Join(d.Path, newestFolder):
		p.Kind = stamp
	}
	return agent, p
}

// usage gives the bytes that a folder takes on its disk. It follows no link, and nothing out of the folder: agents
// may change it meanwhile.
func usage(folder string, budget *int, stop func() bool) (bytes int64) {
	root, err := os.OpenRoot(folder)
	if err != nil {
		return 0
	}
	defer root.Close()
	_ = fs.WalkDir(root.FS(), ".", func(_ string, e fs.DirEntry, err error) error {
		if *budget--; *budget < 0 || stop() {
			return fs.SkipAll
		}
		if err != nil {
			return nil // what cannot be read counts nothing
		}
		if info, err := e.Info(); err == nil {
			if st, ok := info.Sys().(*syscall.Stat_t); ok {
				bytes += st.Blocks * 512
			}
		}
		return nil
	})
	return bytes
}

// Used notes that the folders of an agent were in use until now; their own times say only when a name in
// them has changed.
func (d *Dir) Used(room, agent string) {
	now := unix.NsecToTimespec(time.Now().UnixNano())
	for _, folder := range []string{filepath.Join(d.Path, workFolder, room, agent), d.Files(room, agent),
		d.Home(room, agent)} {
		// It need not have one, and an agent may have put a link in its place.
		_ = unix.UtimesNanoAt(unix.AT_FDCWD, folder, []unix.Timespec{now, now}, unix.AT_SYMLINK_NOFOLLOW)
	}
}

// Begins notes which life of an agent is the newest one here, and that it begins now: what was written before is of
// earlier ones. On a full disk nothing is noted, and more counts as the newest one's.
func (d *Dir) Begins(room, agent string, who Life) {
	folder := filepath.Join(d.Path, newestFolder, room)
	_ = inRoom(folder, 0o700, func() error {
		// Not durable: after a crash of the machine it may be empty, and says that nobody knows.
		return os.WriteFile(filepath.Join(folder, agent), []byte(who.String()+"\n"), 0o600)
	})
}

// newestIn reads what Begins has written.
func newestIn(path string) Life {
	text, err := os.ReadFile(path)
	who, ok := parseWho(strings.TrimSpace(string(text)))
	if err != nil || !ok {
		return Life{}
	}
	return who
}

// TakeAway moves pieces out of sight, each in one step, for Clear to remove. Where a full disk leaves no room for
// the move it removes them in their place. All stay, with an error, where something is mounted in one of them.
func (d *Dir) TakeAway(pieces []Piece) error {
	points, err := d.mounts()
	if err != nil {
		return err
	}
	for _, p := range pieces {
		if err := unmounted(points, p.Path); err != nil {
			return err
		}
	}
	dir := filepath.Join(d.Path, goneFolder)
	full := func(err error) bool { return errors.Is(err, unix.ENOSPC) || errors.Is(err, unix.EDQUOT) }
	if err := os.MkdirAll(dir, 0o700); err != nil && !full(err) {
		return err
	}
	for _, p := range pieces {
		if p.Kind == Result { // is not this folder's: Letters.Drop
			continue
		}
		into := filepath.Join(dir, rand.Text())
		err := os.Rename(p.Path, into)
		switch {
		case err == nil && p.Kind == OldLog:
			err = giveBack(p, into)
		case err != nil && (full(err) || missing(dir)):
			err = os.RemoveAll(p.Path)
		}
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}

func missing(path string) bool {
	_, err := os.Lstat(path)
	return errors.Is(err, fs.ErrNotExist)
}

// giveBack puts a rotated log back that is not the one that was meant: a shim has rotated at that moment, and a
// younger one had got its name.
func giveBack(p Piece, taken string) error {
	var st unix.Stat_t
	if err := unix.Lstat(taken, &st); err != nil {
		return err
	}
	if st.Ino == p.node {
		return nil
	}
	err := os.Link(taken, p.Path) // which replaces nothing
	if err == nil {
		err = os.Remove(taken)
	}
	return cmp.Or(err, fmt.Errorf("%s was rotated meanwhile", p.Path))
}

// Clear removes what was taken away, by this daemon or an earlier one, but for that in which something is mounted.
func (d *Dir) Clear() error {
	dir := filepath.Join(d.Path, goneFolder)
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	points, unknown := d.mounts()
	if err = cmp.Or(err, unknown); err != nil {
		return err
	}
	for _, e := range entries {
		path := filepath.Join(dir, e.Name())
		stays := unmounted(points, path)
		if stays == nil {
			stays = os.RemoveAll(path)
		}
		err = errors.Join(err, stays)
	}
	return cmp.Or(err, os.Remove(dir))
}
