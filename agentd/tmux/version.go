package tmux

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync"
	"time"
)

// versionLimit bounds the question for the version.
const versionLimit = 5 * time.Second

// Finder tells which tmux this host has. It asks the program only when its file has changed.
// The zero value is ready; it is safe for concurrent use.
type Finder struct {
	mu   sync.Mutex
	path string
	info os.FileInfo
	name string
}

// Find gives name and version, such as "tmux 3.3a". The error is ErrNoTmux. It talks to no
// server.
func (f *Finder) Find() (string, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	path, err := Find()
	if err != nil {
		f.info = nil
		return "", err
	}
	info, err := os.Stat(path)
	if err != nil {
		f.info = nil
		return "", fmt.Errorf("%w: %w", ErrNoTmux, err)
	}
	if f.info != nil && f.path == path && os.SameFile(f.info, info) && f.info.ModTime().Equal(info.ModTime()) {
		return f.name, nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), versionLimit)
	defer cancel()
	cmd := exec.CommandContext(ctx, path, "-V")
	cmd.Env, cmd.Dir, cmd.WaitDelay = []string{"PATH=" + searchPath}, "/", time.Second
	out, err := cmd.Output()
	name := strings.TrimSpace(string(out))
	if err != nil || !strings.HasPrefix(name, "tmux ") || len(name) > 64 || strings.ContainsAny(name, "\n\r") {
		return "", fmt.Errorf("%w: %s does not tell its version", ErrNoTmux, path)
	}
	f.path, f.info, f.name = path, info, name
	return name, nil
}
