package disk

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

// A log that a shim has rotated since it was listed is another file of the same name: it is put back, unless one
// more has its name by now, which nothing may replace.
func TestRotatedLogIsPutBack(t *testing.T) {
	for _, x := range []struct {
		name       string
		meant, new bool // the file that was meant was taken; there is a newer one
		back, keep string
	}{
		{"the one that was meant", true, false, "", "taken"},
		{"another one", false, false, "taken", ""},
		{"another one, and a newer one is there", false, true, "newer", "taken"},
	} {
		t.Run(x.name, func(t *testing.T) {
			dir := t.TempDir()
			at, taken := filepath.Join(dir, "log.1"), filepath.Join(dir, "gone")
			write := func(path, text string) {
				if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			write(taken, "taken")
			info, err := os.Stat(taken)
			if err != nil {
				t.Fatal(err)
			}
			p := Piece{Path: at, node: info.Sys().(*syscall.Stat_t).Ino}
			if !x.meant {
				p.node++
			}
			if x.new {
				write(at, "newer")
			}
			if err := giveBack(p, taken); (err == nil) != x.meant {
				t.Errorf("put back: %v", err)
			}
			for path, want := range map[string]string{at: x.back, taken: x.keep} {
				if got, _ := os.ReadFile(path); string(got) != want { // or it is not there
					t.Errorf("%s holds %q, not %q", filepath.Base(path), got, want)
				}
			}
		})
	}
}

// A look at what is left may remove the folder of a room just as an agent of it starts: the start makes it again. What
// a human has put in its place stays.
func TestStartMakesTheRoomAgain(t *testing.T) {
	d, err := Open(t.TempDir(), "")
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	on := func() bool { return false }
	room := filepath.Join(d.Path, workFolder, "demo")
	looks := 0
	err = inRoom(room, 0o711, func() error {
		if looks++; looks == 1 {
			d.Leftovers(false, on)
		}
		return os.Mkdir(filepath.Join(room, "a"), 0o700)
	})
	if err != nil || looks != 2 {
		t.Errorf("made in %d tries: %v", looks, err)
	}
	elsewhere, link := t.TempDir(), filepath.Join(d.Path, workFolder, "other")
	if err := os.Symlink(elsewhere, link); err != nil {
		t.Fatal(err)
	}
	d.Leftovers(false, on)
	if missing(link) || missing(elsewhere) || missing(filepath.Join(room, "a")) {
		t.Error("what is no empty folder of a room was removed")
	}
}
