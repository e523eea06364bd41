//go:build unix

package results

import (
	"cmp"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"vigil/agentd/disk"
)

// Bounds of the dead letters: agents write what may become one.
const (
	maxLetters      = 512
	maxLettersAgent = 16 // of one agent, so that none pushes out those of others
	maxLetterBytes  = 64 << 20
)

// Letter is a file NAME.json in the folder dead-letters of the data directory: a result
// that the cluster has refused for a reason that is not about the task, kept for people. A result that could not be
// read is there too, as its agent wrote it.
type Letter struct {
	Agent       string    `json:"agent"`
	Incarnation uint64    `json:"incarnation"`
	Task        uint64    `json:"task"`
	Attempt     uint32    `json:"attempt"`
	Result      string    `json:"result"`
	Refused     string    `json:"refused"` // why
	At          time.Time `json:"at"`
}

// Letters is the folder of results that were refused. It is safe for concurrent use.
type Letters struct {
	Dir   string
	kept  atomic.Int64
	mu    sync.Mutex // of the folder
	bytes int64      // bound of all of them; 0: maxLetterBytes
}

// Keep writes a letter for a file of a spool, with why it was refused, and drops the oldest ones of its agent, or of
// all, that are too many. One that is written twice is kept once. Where a full disk leaves
// no room the file itself is moved.
func (d *Letters) Keep(s Spool, from string, c *Completion, why string) error {
	text, err := json.Marshal(Letter{Agent: c.Agent, Incarnation: c.Incarnation, Task: c.Task, Attempt: c.Attempt,
		Result: c.Result, Refused: why, At: time.Now().UTC()})
	if err != nil {
		return err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	path := filepath.Join(d.Dir, fmt.Sprintf("%s-%d-%d.json", s.Intent.Who(), c.Task, c.Attempt))
	if err := disk.Write(d.Dir, path, string(text)+"\n"); err != nil {
		if moved := os.Rename(from, path); moved != nil {
			return errors.Join(err, moved)
		}
	}
	return d.trim(s.Intent.Agent)
}

// SetAside moves a file of a spool that cannot be read, unread, to the letters. What the agent has not made itself, or
// is too large, is none.
func (d *Letters) SetAside(s Spool, from string) error {
	info, err := os.Lstat(from)
	if err != nil {
		return err
	}
	if !s.owns(info) || info.Size() > MaxBytes {
		return unfit{errors.New("it is not a file of the agent's own, or too large")}
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if err := os.MkdirAll(d.Dir, 0o700); err != nil {
		return fmt.Errorf("make folder: %w", err)
	}
	name := sha256.Sum256([]byte(filepath.Base(from))) // the agent's own may be long
	to := filepath.Join(d.Dir, fmt.Sprintf("%s-unread-%x.json", s.Intent.Who(), name[:8]))
	if err := os.Rename(from, to); err != nil {
		return err
	}
	return d.trim(s.Intent.Agent)
}

// Open makes the folder, while there is room for it, and looks into it.
func (d *Letters) Open() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if err := os.MkdirAll(d.Dir, 0o700); err != nil {
		return fmt.Errorf("make folder: %w", err)
	}
	return d.trim(0)
}

// letterFile is one file of the folder.
type letterFile struct {
	path string
	size int64
	at   time.Time
}

// trim drops the oldest letters beyond the bounds. The caller holds mu.
func (d *Letters) trim(agent uint32) error {
	entries, err := os.ReadDir(d.Dir)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	var all, own []letterFile
	total := int64(0)
	for _, e := range entries {
		info, err := e.Info()
		if err != nil || !strings.HasSuffix(e.Name(), ".json") {
			continue
		}
		f := letterFile{filepath.Join(d.Dir, e.Name()), info.Size(), info.ModTime()}
		all, total = append(all, f), total+f.size
		if strings.HasPrefix(e.Name(), fmt.Sprintf("%d-", agent)) {
			own = append(own, f)
		}
	}
	var gone error
	drop := func(f letterFile) {
		gone = errors.Join(gone, os.Remove(f.path))
		total -= f.size
		all = slices.DeleteFunc(all, func(x letterFile) bool { return x.path == f.path })
	}
	byAge := func(a, b letterFile) int { return cmp.Or(a.at.Compare(b.at), strings.Compare(a.path, b.path)) }
	slices.SortFunc(all, byAge)
	slices.SortFunc(own, byAge)
	for ; len(own) > maxLettersAgent; own = own[1:] {
		drop(own[0])
	}
	for len(all) > 1 && (len(all) > maxLetters || total > cmp.Or(d.bytes, maxLetterBytes)) {
		drop(all[0])
	}
	d.kept.Store(int64(len(all)))
	return gone
}

// Pieces gives the letters by the lives that they are of.
func (d *Letters) Pieces() map[disk.Life][]disk.Piece {
	d.mu.Lock()
	defer d.mu.Unlock()
	all := map[disk.Life][]disk.Piece{}
	entries, _ := os.ReadDir(d.Dir) // there may be none yet
	for _, e := range entries {
		var who disk.Life
		info, err := e.Info()
		if n, _ := fmt.Sscanf(e.Name(), "%d-%d-", &who.Agent, &who.Incarnation); n != 2 || err != nil {
			continue
		}
		all[who] = append(all[who], disk.Piece{Path: filepath.Join(d.Dir, e.Name()), Kind: disk.Result, Bytes: info.Size(),
			Used: info.ModTime()})
	}
	return all
}

// Drop removes those of the pieces that are letters.
func (d *Letters) Drop(pieces []disk.Piece) (err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, p := range pieces {
		if p.Kind != disk.Result {
			continue
		}
		switch gone := os.Remove(p.Path); {
		case gone == nil:
			d.kept.Add(-1)
		case !errors.Is(gone, os.ErrNotExist):
			err = errors.Join(err, gone)
		}
	}
	return err
}

// Kept is how many there are.
func (d *Letters) Kept() int64 { return d.kept.Load() }

// Warning is what people are told with the host; empty: there is nothing.
func (d *Letters) Warning() string {
	n := d.Kept()
	if n == 0 {
		return ""
	}
	return fmt.Sprintf("results that the cluster refused: %d are kept in %s; look at them and remove them", n, d.Dir)
}
