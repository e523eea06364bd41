//go:build linux

package disk_test

import (
	"bytes"
	"fmt"
	"io/fs"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"vigil/jepsen/disk"
)

// twin says what a disk must hold, the simple way: whole copies.
type twin struct {
	root  string
	names map[string]*content // nil: a directory
	kept  map[string]*content // names that are durable
}

type content struct{ data, kept []byte }

// act does something at random to the disk and to the twin.
func (w *twin) act(r *rand.Rand) (string, error) {
	files := []string{"a", "b", "c", "d/a", "d/b", "e/a"}
	name, other := files[r.IntN(len(files))], files[r.IntN(len(files))]
	path := filepath.Join(w.root, name)
	c, dir := w.names[name], strings.Split(name, "/")[0]
	if _, there := w.names[dir]; dir != name && !there {
		w.names[dir] = nil
		return "mkdir " + dir, os.Mkdir(filepath.Join(w.root, dir), 0o700)
	}
	switch n := r.IntN(12); {
	case n < 5:
		if c == nil {
			c = &content{}
			w.names[name] = c
		}
		at, data := r.IntN(9000), bytes.Repeat([]byte{byte(1 + r.IntN(255))}, 1+r.IntN(6000))
		c.data = append(c.data, make([]byte, max(at+len(data)-len(c.data), 0))...)
		copy(c.data[at:], data)
		return "write " + name,
			change(path, func(f *os.File) error { _, err := f.WriteAt(data, int64(at)); return err })
	case c == nil:
		return "sync directory", sync(w.root, w.keep)
	case n < 7:
		size := r.IntN(12000)
		c.data = append(c.data[:min(size, len(c.data)):min(size, len(c.data))],
			make([]byte, max(size-len(c.data), 0))...)
		return "resize " + name, change(path, func(f *os.File) error { return f.Truncate(int64(size)) })
	case n < 9:
		return "sync " + name, sync(path, func() { c.kept = bytes.Clone(c.data); w.keep() })
	case n == 9:
		delete(w.names, name)
		return "remove " + name, os.Remove(path)
	case n == 10 && w.free("f") && dir != name:
		for old, c := range maps.Clone(w.names) {
			if old == dir || strings.HasPrefix(old, dir+"/") {
				delete(w.names, old)
				w.names["f"+strings.TrimPrefix(old, dir)] = c
			}
		}
		return "rename directory " + dir, os.Rename(filepath.Join(w.root, dir), filepath.Join(w.root, "f"))
	}
	if _, there := w.names[filepath.Dir(other)]; strings.Contains(other, "/") && !there || other == name {
		return "nothing", nil
	}
	delete(w.names, name)
	w.names[other] = c
	return "rename " + name + " " + other, os.Rename(path, filepath.Join(w.root, other))
}

func (w *twin) free(dir string) bool { _, there := w.names[dir]; return !there }

func (w *twin) keep() { w.kept = maps.Clone(w.names) }

// lose forgets what is not durable.
func (w *twin) lose() {
	w.names = maps.Clone(w.kept)
	for _, c := range w.names {
		if c != nil {
			c.data = bytes.Clone(c.kept)
		}
	}
}

// compare compares the disk with the twin.
func (w *twin) compare() error {
	found := map[string]bool{}
	err := filepath.WalkDir(w.root, func(path string, e fs.DirEntry, err error) error {
		if err != nil || path == w.root {
			return err
		}
		name, _ := filepath.Rel(w.root, path) // below it
		found[name] = true
		c, there := w.names[name]
		if !there || (c == nil) != e.IsDir() {
			return fmt.Errorf("%s is on the disk", name)
		}
		if c == nil {
			return nil
		}
		data, err := os.ReadFile(path)
		if err == nil && !bytes.Equal(data, c.data) {
			err = fmt.Errorf("%s: %d bytes, want %d, or they differ", name, len(data), len(c.data))
		}
		return err
	})
	for name := range w.names {
		if err == nil && !found[name] {
			err = fmt.Errorf("%s is not on the disk", name)
		}
	}
	return err
}

func change(path string, how func(*os.File) error) error {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return err
	}
	defer f.Close()
	return how(f)
}

func sync(path string, then func()) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	then()
	return f.Sync()
}

// Whatever was done before: after a loss the disk holds exactly what was durable.
func TestLossLeavesExactlyWhatWasFsynced(t *testing.T) {
	d := open(t)
	for seed := range uint64(5) {
		check(t, d.Empty())
		r := rand.New(rand.NewPCG(seed, 1))
		w := &twin{root: d.Mount(), names: map[string]*content{}, kept: map[string]*content{}}
		var did []string
		for range 5 {
			for range 40 {
				what, err := w.act(r)
				did = append(did, what)
				if err != nil {
					t.Fatalf("seed %d: %v: %v", seed, did, err)
				}
			}
			if err := w.compare(); err != nil {
				t.Fatalf("seed %d: before the loss: %v\n%v", seed, err, did)
			}
			if _, err := d.Lose(disk.Loss{How: disk.All}); err != nil {
				t.Fatalf("seed %d: %v\n%v", seed, err, did)
			}
			w.lose()
			did = append(did, "LOSS")
			if err := w.compare(); err != nil {
				t.Fatalf("seed %d: %v\n%v", seed, err, did)
			}
		}
	}
}

// stripes writes three times over a durable file, each time with another letter, and
// gives the file.
func stripes(t *testing.T, d *disk.Disk) string {
	t.Helper()
	path := filepath.Join(d.Mount(), "a")
	check(t, change(path, func(f *os.File) error {
		_, err := f.Write(bytes.Repeat([]byte("0"), 8192))
		check(t, err, f.Sync())
		for i, letter := range "ABC" {
			_, err := f.WriteAt(bytes.Repeat([]byte(string(letter)), 4000), int64(i)*2000)
			check(t, err)
		}
		return nil
	}))
	return path
}

func TestLossOfSomeKeepsWholeSectors(t *testing.T) {
	d := open(t)
	seen := map[byte]bool{}
	for seed := range uint64(8) {
		check(t, d.Empty())
		path := stripes(t, d)
		lost, err := d.Lose(disk.Loss{How: disk.Some, Seed: seed})
		if check(t, err); lost.Writes != 3 {
			t.Errorf("lost %+v, want 3 writes", lost)
		}
		data, err := os.ReadFile(path)
		if check(t, err); len(data) != 8192 {
			t.Fatalf("%d bytes", len(data))
		}
		for at, b := range data {
			i := slices.Index([]byte("ABC"), b)
			if b != '0' && (i < 0 || at < i*2000 || at >= i*2000+4000) {
				t.Fatalf("seed %d: byte %d is %q", seed, at, b)
			}
			// Inside a sector and away from the edges of writes all bytes are of one age.
			if at%512 != 0 && at%2000 != 0 && data[at-1] != b {
				t.Fatalf("seed %d: byte %d is %q, the one before %q", seed, at, b, data[at-1])
			}
			seen[b] = true
		}
	}
	if len(seen) != 4 {
		t.Errorf("kept %v, want some of everything", seen)
	}
}

func TestTornWriteIsAPrefix(t *testing.T) {
	d := open(t)
	lengths := map[int]bool{}
	for seed := range uint64(8) {
		check(t, d.Empty())
		path := stripes(t, d)
		_, err := d.Lose(disk.Loss{How: disk.Torn, Seed: seed})
		check(t, err)
		data, err := os.ReadFile(path)
		check(t, err)
		n := bytes.Count(data, []byte("C"))
		want := append(append(bytes.Repeat([]byte("A"), 2000), bytes.Repeat([]byte("B"), 4000)...),
			bytes.Repeat([]byte("0"), 2192)...)
		copy(want[4000:], bytes.Repeat([]byte("C"), n))
		if n == 4000 || !bytes.Equal(data, want) {
			t.Errorf("seed %d: the last write has %d bytes, or something else is missing", seed, n)
		}
		lengths[n] = true
	}
	if len(lengths) < 2 {
		t.Errorf("torn always at %v", lengths)
	}
	if _, err := d.Lose(disk.Loss{How: "else"}); err == nil {
		t.Error("an unknown way to lose power was taken")
	}
}
