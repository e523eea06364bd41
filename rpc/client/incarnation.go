package client

import (
	"fmt"
	"strconv"
	"strings"
)

// FormatIncarnation gives the form that people read: "n", or "epoch.n" after a
// backup was restored.
func FormatIncarnation(incarnation uint64) string {
	epoch, n := incarnation>>32, incarnation&(1<<32-1)
	if epoch == 0 {
		return strconv.FormatUint(n, 10)
	}
	return strconv.FormatUint(epoch, 10) + "." + strconv.FormatUint(n, 10)
}

// ParseIncarnation reads what FormatIncarnation writes, and the plain number of
// the wire.
func ParseIncarnation(text string) (uint64, error) {
	head, tail, dotted := strings.Cut(text, ".")
	if !dotted {
		if n, err := strconv.ParseUint(text, 10, 64); err == nil {
			return n, nil
		}
		return 0, fmt.Errorf("parse incarnation %q: want a number, or epoch.number", text)
	}
	epoch, err1 := strconv.ParseUint(head, 10, 32)
	n, err2 := strconv.ParseUint(tail, 10, 32)
	if err1 != nil || err2 != nil {
		return 0, fmt.Errorf("parse incarnation %q: want a number, or epoch.number", text)
	}
	return epoch<<32 | n, nil
}
