package depend

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// prefix begins the name of each file.
const prefix = "down-"

// path is the file of a role, as room/role.
func path(folder, role string) string {
	return filepath.Join(folder, prefix+strings.ReplaceAll(role, "/", "%"))
}

// TakeDown takes away what a role (room/role) depends on. words are behaviours of command ticker,
// not empty, that each task of it gets meanwhile. Whoever reads at the same time sees all of them
// or those before.
func TakeDown(folder, role, words string) error {
	file := path(folder, role)
	if err := os.WriteFile(file+"~", []byte(words), 0o644); err != nil {
		return fmt.Errorf("take down what %s depends on: %w", role, err)
	}
	if err := os.Rename(file+"~", file); err != nil {
		return fmt.Errorf("take down what %s depends on: %w", role, err)
	}
	return nil
}

// BringUp brings it back; nothing happens when it is there.
func BringUp(folder, role string) error {
	if err := os.Remove(path(folder, role)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("bring up what %s depends on: %w", role, err)
	}
	return nil
}

// BringAllUp brings back what any role depends on.
func BringAllUp(folder string) error {
	files, err := filepath.Glob(filepath.Join(folder, prefix+"*"))
	if err != nil {
		return fmt.Errorf("list what is down: %w", err)
	}
	var errs []error
	for _, file := range files {
		if err := os.Remove(file); err != nil && !errors.Is(err, fs.ErrNotExist) {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

// Words are what a task of an agent (room/role or room/role.2) gets at this moment; empty: what
// its role depends on is there.
func Words(folder, agent string) (string, error) {
	role, _, _ := strings.Cut(agent, ".")
	text, err := os.ReadFile(path(folder, role))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", fmt.Errorf("look whether what %s depends on is there: %w", role, err)
	}
	return string(text), nil
}
