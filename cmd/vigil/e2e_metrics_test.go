//go:build linux

package main_test

import (
	"bytes"
	"io"
	"net/http"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil/promlint"

	"vigil/rpc/gen/vigilv1"
)

// figureLines is how many lines the figures of a server without rooms may take; a leader has some more about
// each of the others.
const figureLines = 650

// N13: a server to which nothing has happened gives few figures, those of the libraries among
// them, and all of them by the conventions of Prometheus.
func TestN13FiguresOfAnEmptyServer(t *testing.T) {
	t.Parallel()
	f := newFleet(t)
	if _, err := f.status.Status(f.ctx(), &vigilv1.StatusRequest{}); err != nil {
		t.Fatal(err)
	}
	for _, addr := range f.api {
		resp, err := http.Get("http://" + addr + "/metrics")
		for end := time.Now().Add(patience); err != nil && time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
			resp, err = http.Get("http://" + addr + "/metrics") // it may not listen yet
		}
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(resp.Body)
		_ = resp.Body.Close()
		if err != nil || resp.StatusCode != http.StatusOK {
			t.Fatalf("%s: %v", resp.Status, err)
		}
		if n := bytes.Count(text, []byte("\n")); n >= figureLines || n < 100 {
			t.Errorf("%s gives %d lines of figures, want fewer than %d", addr, n, figureLines)
		}
		problems, err := promlint.New(bytes.NewReader(text)).Lint()
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range problems {
			t.Errorf("%s: %s", p.Metric, p.Text)
		}
	}
}
