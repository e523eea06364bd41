package serve

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

// The file in a data directory that says which calls were refused, and its size in bytes from which a
// new one is begun. The one before it is kept, with denialsOld behind its name.
const (
	denialsFile = "denials.jsonl"
	denialsOld  = ".1"
	denialsMost = 8 << 20
)

// denialsLog is a file of lines that is bounded. It is written to by one goroutine at a time.
type denialsLog struct {
	name string
	most int64
	file *os.File // nil: it could not be opened again; the next write tries once more
	size int64
}

// openDenials opens the file of a data directory, to go on behind what is there.
func openDenials(data string) (*denialsLog, error) {
	l := &denialsLog{name: filepath.Join(data, denialsFile), most: denialsMost}
	if err := l.open(); err != nil {
		return nil, fmt.Errorf("open the list of refused calls: %w; "+
			"remove the file, or give this program the right to write it", err)
	}
	return l, nil
}

func (l *denialsLog) open() error {
	file, err := os.OpenFile(l.name, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	info, err := file.Stat()
	if err == nil {
		err = file.Chmod(0o600) // it may be there with other rights
	}
	if err != nil {
		return errors.Join(err, file.Close())
	}
	l.file, l.size = file, info.Size()
	return nil
}

// Write implements io.Writer: p is one line.
func (l *denialsLog) Write(p []byte) (int, error) {
	if l.file != nil && l.size > 0 && l.size+int64(len(p)) > l.most {
		err := errors.Join(l.Close(), os.Rename(l.name, l.name+denialsOld))
		if err != nil {
			return 0, err
		}
	}
	if l.file == nil {
		if err := l.open(); err != nil {
			return 0, err
		}
	}
	n, err := l.file.Write(p)
	l.size += int64(n)
	return n, err
}

// Close closes the file; a later write opens it again.
func (l *denialsLog) Close() error {
	if l.file == nil {
		return nil
	}
	err := l.file.Close()
	l.file = nil
	return err
}
