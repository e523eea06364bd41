package disk

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// mounted opens a data directory by a link, in which work/demo/a and gone/x hold a file each, and has something
// be mounted at a path in it.
func mounted(t *testing.T, at string) *Dir {
	t.Helper()
	real, link := filepath.Join(t.TempDir(), "real"), filepath.Join(t.TempDir(), "link")
	for _, file := range []string{"work/demo/a/cache/file", "homes/demo/a/file", "gone/x/cache/file", "gone/y/file"} {
		path := filepath.Join(real, file)
		if err := os.MkdirAll(filepath.Dir(path), 0o711); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte("kept"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink(real, link); err != nil {
		t.Fatal(err)
	}
	d, err := Open(link, "")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(d.Close)
	d.mounts = func() ([]string, error) { return []string{"/", real, filepath.Join(real, at)}, nil }
	return d
}

func (d *Dir) holds(path string) bool { return !missing(filepath.Join(d.Path, path)) }

// What is mounted in a folder of an agent is somebody else's: nothing of the agent is taken away, and the mount is
// named.
func TestNothingIsTakenAwayWhereSomethingIsMounted(t *testing.T) {
	for at, stays := range map[string]bool{
		"work/demo/a":           true,
		"work/demo/a/cache":     true,
		"work/demo/a/with room": true,
		"work/demo/ab":          false,
		"work/demo":             false, // the agent's folder is in the mount, not around it
	} {
		d := mounted(t, at)
		err := d.TakeAway([]Piece{{Path: filepath.Join(d.Path, "homes/demo/a"), Kind: Folder},
			{Path: filepath.Join(d.Path, "work/demo/a"), Kind: Folder}})
		if stays && (err == nil || !strings.Contains(err.Error(), "mounted at ") || !strings.Contains(err.Error(), at)) ||
			!stays && err != nil {
			t.Errorf("with a mount at %s: %v", at, err)
		}
		if d.holds("work/demo/a/cache/file") != stays || d.holds("homes/demo/a/file") != stays {
			t.Errorf("with a mount at %s the folders stay: work %v, home %v, want %v", at,
				d.holds("work/demo/a/cache/file"), d.holds("homes/demo/a/file"), stays)
		}
	}
}

// An earlier agentd may have taken a folder away together with what is mounted in it: that stays, and the rest goes.
func TestClearLeavesWhatIsMounted(t *testing.T) {
	d := mounted(t, "gone/x/cache")
	if err := d.Clear(); err == nil || !strings.Contains(err.Error(), "gone/x/cache") {
		t.Errorf("cleared: %v", err)
	}
	if !d.holds("gone/x/cache/file") || d.holds("gone/y") {
		t.Errorf("the mount stays: %v, the rest: %v", d.holds("gone/x/cache/file"), d.holds("gone/y"))
	}
	d.mounts = func() ([]string, error) { return []string{"/"}, nil }
	if err := d.Clear(); err != nil || d.holds("gone") {
		t.Errorf("after it was unmounted: %v, still there: %v", err, d.holds("gone"))
	}
	if err := d.Clear(); err != nil {
		t.Errorf("with nothing to clear: %v", err)
	}
}

// Without the list of mounts nothing is removed.
func TestNothingIsRemovedWhileMountsAreUnknown(t *testing.T) {
	d := mounted(t, "elsewhere")
	d.mounts = func() ([]string, error) { return nil, os.ErrPermission }
	err := d.TakeAway([]Piece{{Path: filepath.Join(d.Path, "work/demo/a"), Kind: Folder}})
	if err == nil || !d.holds("work/demo/a/cache/file") {
		t.Errorf("taken away: %v", err)
	}
	if err := d.Clear(); err == nil || !d.holds("gone/y/file") {
		t.Errorf("cleared: %v", err)
	}
}

// The kernel writes spaces and the like of a path as octal digits.
func TestMountPointsAreRead(t *testing.T) {
	got := parseMountPoints(`22 1 0:20 / / rw,relatime shared:1 - ext4 /dev/vda rw
29 22 0:25 / /mnt/with\040room\134\011and\043 rw - tmpfs a\040b rw
30 22 0:26 /sub /odd\9\04 rw master:3 shared:4 - ext4 /dev/vda rw
short line
`)
	if want := []string{"/", "/mnt/with room\\\tand#", `/odd\9\04`}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	all, err := mountPoints()
	if err != nil || !slices.Contains(all, "/") {
		t.Errorf("of this process: %q, %v", all, err)
	}
}
