package history

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// Record is all that a run recorded, in the order of its files.
type Record struct {
	Run    Run
	Ops    []Op
	Faults []Fault
	Looks  []Look
	Events []Event
}

// Read reads the record in a folder. A file that is missing counts as empty, but for
// that of the run, without which there is no record. A last line that was cut off is
// left out: its writer was killed.
func Read(folder string) (*Record, error) {
	r := &Record{}
	text, err := os.ReadFile(filepath.Join(folder, runFile))
	if err != nil {
		return nil, fmt.Errorf("read record: %w", err)
	}
	if err := json.Unmarshal(text, &r.Run); err != nil {
		return nil, fmt.Errorf("read record: %s: %w", runFile, err)
	}
	if r.Ops, err = readLines[Op](folder, opsFile); err != nil {
		return nil, err
	}
	if r.Faults, err = readLines[Fault](folder, faultsFile); err != nil {
		return nil, err
	}
	if r.Looks, err = readLines[Look](folder, looksFile); err != nil {
		return nil, err
	}
	if r.Events, err = readLines[Event](folder, eventsFile); err != nil {
		return nil, err
	}
	return r, nil
}

// readLines reads a file of JSON values.
func readLines[T any](folder, name string) (list []T, err error) {
	text, err := os.ReadFile(filepath.Join(folder, name))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read record: %w", err)
	}
	text = text[:bytes.LastIndexByte(text, '\n')+1] // what is behind the last line end was cut off
	n := 0
	for line := range bytes.Lines(text) {
		n++
		var v T
		if err := json.Unmarshal(line, &v); err != nil {
			return nil, fmt.Errorf("read record: %s, line %d: %w", name, n, err)
		}
		list = append(list, v)
	}
	return list, nil
}
