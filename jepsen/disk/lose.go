//go:build linux

package disk

import (
	"cmp"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
)

// sector is what a disk writes whole or not at all.
const sector = 512

// lose forgets what is not durable, as the loss says. What is left is durable.
func (s *store) lose(how Loss) (Lost, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	r := rand.New(rand.NewPCG(how.Seed, 0))
	lost := s.unsynced()
	var files []*unsynced // in an order that is always the same
	for _, u := range s.writes {
		if len(u.list) > 0 {
			files = append(files, u)
		}
	}
	slices.SortFunc(files, func(a, b *unsynced) int { return cmp.Compare(a.list[0].seq, b.list[0].seq) })
	names := 0 // how many changes of names are kept
	switch how.How {
	case All:
	case Some:
		names = r.IntN(len(s.names) + 1)
	case Torn:
		names = len(s.names)
	default:
		return Lost{}, fmt.Errorf("lose power: %q is no way to: %s, %s or %s", how.How, All, Some, Torn)
	}
	for _, u := range files {
		if err := u.undo(); err != nil {
			return lost, err
		}
	}
	for i := len(s.names) - 1; i >= names; i-- {
		if err := s.names[i].undo(); err != nil {
			return lost, fmt.Errorf("undo a change of names: %w", err)
		}
	}
	s.names = s.names[:names]
	last := uint64(0)
	for _, u := range files {
		last = max(last, u.list[len(u.list)-1].seq)
	}
	for _, u := range files {
		for _, w := range u.list {
			if err := w.redo(u.file, how.How, w.seq == last, r); err != nil {
				return lost, err
			}
		}
	}
	return lost, s.settle()
}

// settle makes what is there durable and every file a new one.
func (s *store) settle() error {
	for _, u := range s.writes {
		_ = u.file.Close()
	}
	clear(s.writes)
	s.epoch++
	return s.keepNames()
}

// undo takes a file back to its last fsync.
func (u *unsynced) undo() error {
	for _, w := range slices.Backward(u.list) {
		if err := u.file.Truncate(w.size); err != nil {
			return err
		}
		if _, err := u.file.WriteAt(w.old, w.at); err != nil {
			return err
		}
	}
	return nil
}

// redo does again what a loss keeps of a write.
func (w *write) redo(f *os.File, how string, last bool, r *rand.Rand) error {
	switch {
	case how == All:
		return nil
	case w.data == nil:
		if how == Torn && last || how == Some && r.IntN(2) == 0 {
			return nil
		}
		return f.Truncate(w.at)
	case how == Torn:
		data := w.data
		if last {
			data = data[:r.IntN(len(data))]
		}
		_, err := f.WriteAt(data, w.at)
		return err
	}
	for at := w.at; at < w.at+int64(len(w.data)); {
		end := min((at/sector+1)*sector, w.at+int64(len(w.data)))
		if r.IntN(2) == 0 {
			if _, err := f.WriteAt(w.data[at-w.at:end-w.at], at); err != nil {
				return err
			}
		}
		at = end
	}
	return nil
}

// flip turns one bit over, durably.
func (s *store) flip(spot Spot) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	f, err := os.OpenFile(s.path(spot.Path), os.O_RDWR, 0)
	if err != nil {
		return err
	}
	defer f.Close()
	var b [1]byte
	if _, err := f.ReadAt(b[:], spot.At); err != nil {
		return fmt.Errorf("read byte %d of %s: %w", spot.At, spot.Path, err)
	}
	b[0] ^= 1 << spot.Bit
	if _, err := f.WriteAt(b[:], spot.At); err != nil {
		return err
	}
	s.epoch++
	return nil
}

// empty removes everything, durably.
func (s *store) empty() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	list, err := os.ReadDir(s.root)
	if err != nil {
		return err
	}
	errs := []error{s.settle()}
	for _, e := range list {
		errs = append(errs, os.RemoveAll(s.path(e.Name())))
	}
	return errors.Join(errs...)
}
