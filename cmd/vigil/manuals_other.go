//go:build !manuals

package main

import "github.com/spf13/cobra"

// addManuals adds nothing: only the build that makes packages writes manual pages.
func addManuals(*cobra.Command) {}
