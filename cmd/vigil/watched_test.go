package main

import (
	"strings"
	"testing"

	"vigil/cmd/vigil/cli"
)

// What says how something is can be watched.
func TestWatchedCommandsExist(t *testing.T) {
	root := newRootCmd(&cli.App{})
	for _, path := range watched {
		cmd, rest, err := root.Find(strings.Fields(path))
		if err != nil || len(rest) > 0 || cmd.Flags().Lookup("watch") == nil {
			t.Errorf("vigil %s cannot be watched: %v, %v", path, rest, err)
		}
	}
}
