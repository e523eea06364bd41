package report

import (
	"bufio"
	_ "embed"
	"errors"
	"fmt"
	"html/template"
	"io"
	"os"
	"path/filepath"

	"vigil/cmd/vigil/bench/ledger"
	"vigil/jepsen/check"
	"vigil/jepsen/history"
)

var (
	//go:embed page.html
	pageText string
	//go:embed style.css
	styleText string
	//go:embed script.js
	scriptText string
)

var page = template.Must(template.New("page").Parse(pageText))

// timelines is the folder of the pages of searched histories.
const timelines = "timelines"

// Write writes report.html, summary.txt, verdict.json and timelines/ into the folder of
// a run. Files of an earlier report are replaced. lives and results are as ledger.Read
// and check.All give them.
func Write(folder string, rec *history.Record, lives []*ledger.Life, results []check.Result) error {
	if err := drawTimelines(folder, results); err != nil {
		return err
	}
	v := newView(folder, rec, lives, results)
	return errors.Join(
		create(folder, "report.html", func(w io.Writer) error { return page.Execute(w, v) }),
		create(folder, "summary.txt", v.summary),
		create(folder, "verdict.json", v.verdict),
	)
}

// drawTimelines writes the pages that the searches offer.
func drawTimelines(folder string, results []check.Result) error {
	for _, r := range results {
		for _, line := range r.Timelines {
			if err := os.MkdirAll(filepath.Join(folder, timelines), 0o755); err != nil {
				return fmt.Errorf("make folder of timelines: %w", err)
			}
			if err := create(folder, timelineFile(line.Name), line.Write); err != nil {
				return err
			}
		}
	}
	return nil
}

func timelineFile(name string) string { return timelines + "/" + name + ".html" }

// create writes one file of the folder.
func create(folder, name string, write func(io.Writer) error) (err error) {
	f, err := os.Create(filepath.Join(folder, filepath.FromSlash(name)))
	if err != nil {
		return fmt.Errorf("write report: %w", err)
	}
	defer func() {
		if err = errors.Join(err, f.Close()); err != nil {
			err = fmt.Errorf("write report: %s: %w", name, err)
		}
	}()
	w := bufio.NewWriter(f)
	if err := write(w); err != nil {
		return err
	}
	return w.Flush()
}
