//go:build linux

package main

import (
	"fmt"
	"io"
	"os"
	"path/filepath"

	"vigil/cmd/vigil/bench/ledger"
	"vigil/jepsen/check"
	"vigil/jepsen/history"
	"vigil/jepsen/report"
)

// judge reads a record, judges it, writes the report and tells the verdict.
func judge(folder string, out io.Writer) (int, error) {
	rec, err := history.Read(folder)
	if err != nil {
		return failed, err
	}
	lives, err := ledger.Read(filepath.Join(folder, "ledger"))
	if err != nil {
		return failed, err
	}
	results := check.All(rec, lives)
	if err := report.Write(folder, rec, lives, results); err != nil {
		return failed, err
	}
	summary, err := os.ReadFile(filepath.Join(folder, "summary.txt"))
	if err != nil {
		return failed, err
	}
	fmt.Fprintf(out, "\n%s\n", summary)
	fmt.Fprintf(out, "report: %s\n", filepath.Join(folder, "report.html"))
	if worst := check.Worst(results); worst == check.Broken || worst == check.Undecided {
		return broken, nil
	}
	return kept, nil
}
