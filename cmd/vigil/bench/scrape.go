package bench

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"math"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// figures are a server's own metrics, by name; those with several label sets are
// summed up, and found under name{labels} one by one.
type figures map[string]float64

// scrape reads the metrics of a server.
func (sv *server) scrape(ctx context.Context) (figures, error) {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, sv.web+"/metrics", nil)
	if err != nil {
		return nil, fmt.Errorf("read metrics of %s: %w", sv.id, err)
	}
	resp, err := sv.http.Do(req)
	if err != nil {
		return nil, fmt.Errorf("read metrics of %s: %w", sv.id, err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("read metrics of %s: %s", sv.id, resp.Status)
	}
	return parseFigures(resp.Body)
}

// parseFigures reads the Prometheus text format, as far as we write it.
func parseFigures(r io.Reader) (figures, error) {
	all := figures{}
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		line := lines.Text()
		if line == "" || line[0] == '#' {
			continue
		}
		at := strings.LastIndexByte(line, ' ')
		if at < 0 {
			return nil, fmt.Errorf("read metrics: line %q has no value", line)
		}
		value, err := strconv.ParseFloat(line[at+1:], 64)
		if err != nil {
			return nil, fmt.Errorf("read metrics: line %q: %w", line, err)
		}
		name := line[:at]
		if bare, _, labels := strings.Cut(name, "{"); labels {
			all[name] = value
			name = bare
		}
		all[name] += value
	}
	return all, lines.Err()
}

// worst gives the largest observation between two readings of a histogram as far
// as it is known: the mean when there was one, else the upper bound of the highest
// bucket that was hit; with it, how many there were.
func worst(before, after figures, name string) (seconds float64, n int) {
	n = int(after[name+"_count"] - before[name+"_count"])
	if n <= 0 {
		return 0, 0
	}
	mean := (after[name+"_sum"] - before[name+"_sum"]) / float64(n)
	if n == 1 {
		return mean, n
	}
	bound := 0.0
	for key, v := range after {
		text, ok := strings.CutPrefix(key, name+`_bucket{le="`)
		if !ok {
			continue
		}
		le, err := strconv.ParseFloat(strings.TrimSuffix(text, `"}`), 64)
		if err != nil || math.IsInf(le, 0) || v-before[key] < float64(n) {
			continue // not all of them are below this bound
		}
		if bound == 0 || le < bound {
			bound = le
		}
	}
	return max(bound, mean), n
}

// since gives by how much a counter has grown, summed over labels.
func since(before, after figures, name string) float64 { return after[name] - before[name] }
