package output

import (
	"errors"
	"fmt"
	"io"
	"os"
	"time"
)

// Stamp is the state of a log at one moment: whatever is written changes it, where the disk takes it. The zero value
// is that of a log that is not there.
type Stamp struct {
	info os.FileInfo
	size int64
	At   time.Time // of the last write, by the file system
}

// Same tells that nothing was written between two stamps of one log. A log that is not there tells nothing: somebody
// may have removed it, or its disk has no room for it.
func (s Stamp) Same(t Stamp) bool {
	return s.info != nil && t.info != nil && s.size == t.size && os.SameFile(s.info, t.info)
}

// Stamp looks at the current file, and opens nothing.
func (l *Log) Stamp() (Stamp, error) {
	info, err := os.Stat(l.path)
	switch {
	case errors.Is(err, os.ErrNotExist):
		return Stamp{}, nil
	case err != nil:
		return Stamp{}, fmt.Errorf("look at log: %w", err)
	}
	return Stamp{info, info.Size(), info.ModTime()}, nil
}

// Last gives the last bytes of the log, from the file before the current one too when that
// has just begun. What is rotated meanwhile may be missing.
func (l *Log) Last(bytes int64) (string, error) {
	text := ""
	for i := 0; i <= min(l.config.Keep, 1) && int64(len(text)) < bytes; i++ {
		part, err := lastOf(l.older(i), bytes-int64(len(text)))
		if err != nil {
			return "", err
		}
		text = part + text
	}
	return text, nil
}

func lastOf(path string, bytes int64) (string, error) {
	f, err := openIf(path)
	if f == nil {
		return "", err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return "", fmt.Errorf("read log: %w", err)
	}
	buf := make([]byte, min(bytes, info.Size()))
	n, err := f.ReadAt(buf, info.Size()-int64(len(buf)))
	if err != nil && !errors.Is(err, io.EOF) {
		return "", fmt.Errorf("read log: %w", err)
	}
	return string(buf[:n]), nil
}
