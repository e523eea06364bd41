package disk

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
)

// unmounted gives an error that names the mount where one of points is at a path or below it: what is removed there
// would be somebody else's. The device of a file does not tell, since a folder of the same disk may be mounted.
func unmounted(points []string, path string) error {
	// The kernel's list holds no links. The last part may be a link, which goes by itself.
	parent, err := filepath.EvalSymlinks(filepath.Dir(path))
	if err == nil {
		parent, err = filepath.Abs(parent)
	}
	if err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			return nil // nothing is there
		}
		return err
	}
	whole := filepath.Join(parent, filepath.Base(path))
	for _, point := range points {
		if point == whole || strings.HasPrefix(point, whole+"/") {
			return fmt.Errorf("%s stays: something is mounted at %s: unmount it", path, point)
		}
	}
	return nil
}

// mountPoints lists what this process sees mounted.
func mountPoints() ([]string, error) {
	text, err := os.ReadFile("/proc/self/mountinfo")
	if errors.Is(err, fs.ErrNotExist) && runtime.GOOS != "linux" {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("list mounts: %w", err)
	}
	return parseMountPoints(string(text)), nil
}

// parseMountPoints reads the form of proc(5): the fifth field, in which octal digits stand for what would end it.
func parseMountPoints(text string) (points []string) {
	for line := range strings.Lines(text) {
		if f := strings.Fields(line); len(f) > 4 {
			points = append(points, unescaped(f[4]))
		}
	}
	return points
}

func unescaped(field string) string {
	var b strings.Builder
	for {
		before, after, found := strings.Cut(field, `\`)
		b.WriteString(before)
		if !found {
			return b.String()
		}
		if n, err := strconv.ParseUint(after[:min(3, len(after))], 8, 8); err == nil && len(after) >= 3 {
			b.WriteByte(byte(n))
			field = after[3:]
			continue
		}
		b.WriteByte('\\')
		field = after
	}
}
