//go:build manuals

package main

import (
	"fmt"
	"os"
	"strconv"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/cobra/doc"
)

// addManuals adds the command that writes a manual page for each command into a folder. Only the
// build that makes packages has it; SOURCE_DATE_EPOCH is the date of the pages.
func addManuals(root *cobra.Command) {
	root.AddCommand(&cobra.Command{
		Use:    "manuals DIR",
		Short:  "Write the manual pages of all commands",
		Hidden: true,
		Args:   cobra.ExactArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			seconds, err := strconv.ParseInt(os.Getenv("SOURCE_DATE_EPOCH"), 10, 64)
			if err != nil {
				return fmt.Errorf("SOURCE_DATE_EPOCH: %w: give it the seconds of the pages' date", err)
			}
			if err := os.MkdirAll(args[0], 0o755); err != nil {
				return err
			}
			date := time.Unix(seconds, 0).UTC()
			root.DisableAutoGenTag = true
			return doc.GenManTree(root, &doc.GenManHeader{Section: "1", Source: "vigil", Manual: "vigil", Date: &date},
				args[0])
		},
	})
}
