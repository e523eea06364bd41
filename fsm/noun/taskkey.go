package noun

import (
	"fmt"
	"strings"
)

// MaxTaskKey bounds the key of a task, in bytes.
const MaxTaskKey = 128

// CheckTaskKey checks the key of a task, which may be empty.
func CheckTaskKey(key string) error {
	switch {
	case len(key) > MaxTaskKey:
		return fmt.Errorf("the key of the task has %d bytes, at most %d are allowed", len(key), MaxTaskKey)
	case strings.ContainsFunc(key, func(r rune) bool { return r <= ' ' || r > '~' }):
		return fmt.Errorf("the key of the task, %q, has white space or signs beyond ASCII", key)
	}
	return nil
}
