package serve

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"syscall"

	"github.com/goccy/go-yaml"
)

// putConf writes values into a configuration file, under the names of keys at its top, and leaves all else in
// it as it is, comments too. A file that does not exist is made, readable by its owner alone; one that does
// keeps its mode and owner. A file in which this is not possible by changing lines, such as a flow mapping, is
// left alone, with an error that says what to write there.
func putConf(name string, values map[string]any) error {
	old, err := os.ReadFile(name)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("write configuration: %w", err)
	}
	text, err := with(string(old), values)
	if err != nil {
		return fmt.Errorf("%s is left as it is: %w", name, err)
	}
	if err := replace(name, text); err != nil {
		return fmt.Errorf("write configuration: %w", err)
	}
	return nil
}

// with gives a text in which the values stand.
func with(text string, values map[string]any) (string, error) {
	lines := strings.SplitAfter(text, "\n")
	for _, key := range slices.Sorted(maps.Keys(values)) {
		if says(text, text, map[string]any{key: values[key]}) {
			continue // it does already
		}
		said, err := yaml.Marshal(map[string]any{key: values[key]})
		if err != nil {
			return "", err
		}
		at := slices.IndexFunc(lines, func(l string) bool { return strings.HasPrefix(l, key+":") })
		if at < 0 {
			last := len(lines) - 1
			if lines[last] != "" {
				lines[last] += "\n"
				last++
			}
			lines = slices.Insert(lines, last, string(said))
			continue
		}
		end := at + 1
		for end < len(lines) && (strings.HasPrefix(lines[end], " ") || strings.HasPrefix(lines[end], "- ")) {
			end++
		}
		lines = slices.Replace(lines, at, end, string(said))
	}
	changed := strings.Join(lines, "")
	if !says(changed, text, values) {
		said, err := yaml.Marshal(values)
		return "", errors.Join(err, fmt.Errorf("write into it yourself:\n%s", said))
	}
	return changed, nil
}

// says looks whether a changed text says the values, and else what it said before.
func says(changed, before string, values map[string]any) bool {
	var now, was, want map[string]any
	said, err := yaml.Marshal(values)
	if err = errors.Join(err, yaml.Unmarshal([]byte(changed), &now), yaml.Unmarshal([]byte(before), &was),
		yaml.Unmarshal(said, &want)); err != nil {
		return false
	}
	if was == nil {
		was = map[string]any{}
	}
	maps.Copy(was, want)
	return reflect.DeepEqual(now, was)
}

// replace writes a file as a whole: whoever reads it sees the old text or the new one, also after a crash.
func replace(name, text string) (err error) {
	if to, err := filepath.EvalSymlinks(name); err == nil {
		name = to
	}
	if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
		return err
	}
	f, err := os.CreateTemp(filepath.Dir(name), "."+filepath.Base(name)+"-*") // mode 600
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			_ = os.Remove(f.Name()) // it may be gone
		}
	}()
	if was, err := os.Stat(name); err == nil {
		if err := errors.Join(f.Chmod(was.Mode().Perm()), owned(f, was)); err != nil {
			return errors.Join(err, f.Close())
		}
	}
	_, err = f.WriteString(text)
	if err = errors.Join(err, f.Sync(), f.Close()); err != nil {
		return err
	}
	return os.Rename(f.Name(), name)
}

// owned gives a file the owner of another one, where this account may.
func owned(f *os.File, like fs.FileInfo) error {
	was, ok := like.Sys().(*syscall.Stat_t)
	if !ok || os.Geteuid() != 0 {
		return nil
	}
	return f.Chown(int(was.Uid), int(was.Gid))
}
