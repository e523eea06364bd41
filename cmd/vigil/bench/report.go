package bench

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"
)

// Report is the result of one benchmark.
type Report struct {
	Name      string
	Count     int64   // what was measured, in units of the benchmark
	Seconds   float64 // that it took
	PerSecond float64
	P50, P99  time.Duration
	Max       time.Duration
	Errors    int64
	// Figures of its own, in the order in which they are shown.
	Figures []Figure
	Machine Machine
	// FirstError is one of the errors, for people.
	FirstError string
}

// Figure is one figure of a benchmark's own.
type Figure struct {
	Name  string
	Value any // float64, int64, string or bool
}

func newReport(name string) *Report { return &Report{Name: name, Machine: readMachine()} }

// set adds or replaces a figure.
func (r *Report) set(name string, value any) {
	switch v := value.(type) {
	case int:
		value = int64(v)
	case float64:
		value = rounded(v)
	case time.Duration:
		value = millis(v)
	}
	for i := range r.Figures {
		if r.Figures[i].Name == name {
			r.Figures[i].Value = value
			return
		}
	}
	r.Figures = append(r.Figures, Figure{name, value})
}

// figure gives a number that was set before; 0 when there is none.
func (r *Report) figure(name string) float64 {
	for _, f := range r.Figures {
		if f.Name == name {
			switch v := f.Value.(type) {
			case int64:
				return float64(v)
			case float64:
				return v
			}
		}
	}
	return 0
}

// take makes a measurement the report's main figures.
func (r *Report) take(t *tally) {
	r.Count, r.Seconds = t.ops, t.seconds
	if t.seconds > 0 {
		r.PerSecond = float64(t.ops) / t.seconds
	}
	r.times(&t.samples)
	r.fail(t.errors, t.first)
}

// times sets the percentiles.
func (r *Report) times(s *samples) {
	r.P50, r.P99, r.Max = s.percentile(0.50), s.percentile(0.99), s.max()
	if s.dropped > 0 {
		r.set("samples_dropped", s.dropped)
	}
}

func (r *Report) fail(n int64, first error) {
	r.Errors += n
	if first != nil && r.FirstError == "" {
		r.FirstError = first.Error()
	}
}

// fields lists everything in order.
func (r *Report) fields() []Figure {
	list := []Figure{
		{"name", r.Name}, {"count", r.Count}, {"seconds", rounded(r.Seconds)}, {"per_second", rounded(r.PerSecond)},
		{"p50_ms", millis(r.P50)}, {"p99_ms", millis(r.P99)}, {"max_ms", millis(r.Max)}, {"errors", r.Errors},
	}
	list = append(list, r.Figures...)
	if r.FirstError != "" {
		list = append(list, Figure{"first_error", r.FirstError})
	}
	return append(list, Figure{"machine", r.Machine})
}

// MarshalJSON gives one flat object.
func (r *Report) MarshalJSON() ([]byte, error) {
	var b bytes.Buffer
	b.WriteByte('{')
	for i, f := range r.fields() {
		value, err := json.Marshal(f.Value)
		if err != nil {
			return nil, fmt.Errorf("marshal %s: %w", f.Name, err)
		}
		if i > 0 {
			b.WriteByte(',')
		}
		b.WriteString(strconv.Quote(f.Name) + ":")
		b.Write(value)
	}
	b.WriteByte('}')
	return b.Bytes(), nil
}

// Print writes a small table for people.
func (r *Report) Print(w io.Writer) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for _, f := range r.fields() {
		text := ""
		switch v := f.Value.(type) {
		case float64:
			text = number(v)
		case int64:
			text = thousands(strconv.FormatInt(v, 10))
		case Machine:
			text = v.String()
		default:
			text = fmt.Sprint(v)
		}
		fmt.Fprintf(t, "%s\t%s\n", strings.ReplaceAll(f.Name, "_", " "), text)
	}
	return t.Flush()
}

// number prints as many digits as mean something.
func number(v float64) string {
	digits := 0
	switch {
	case v < 0.1:
		digits = 3
	case v < 10:
		digits = 2
	case v < 1000:
		digits = 1
	}
	return thousands(strconv.FormatFloat(v, 'f', digits, 64))
}

// thousands groups the digits before the point.
func thousands(text string) string {
	whole, frac, point := strings.Cut(text, ".")
	sign := ""
	if strings.HasPrefix(whole, "-") {
		sign, whole = "-", whole[1:]
	}
	for i := len(whole) - 3; i > 0; i -= 3 {
		whole = whole[:i] + "," + whole[i:]
	}
	if point {
		whole += "." + frac
	}
	return sign + whole
}
