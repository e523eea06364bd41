package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"runtime"
	"strconv"
	"strings"
	"time"
)

// report is the result of one measurement, with the field names of `vigil bench --json`.
type report struct {
	name    string
	figures []figure // in the order in which they are shown
}

// figure is one figure of a report.
type figure struct {
	name  string
	value any // float64, int64 or string
}

// set adds or replaces a figure.
func (r *report) set(name string, value any) {
	switch v := value.(type) {
	case int:
		value = int64(v)
	case float64:
		value = rounded(v)
	case time.Duration:
		value = millis(v)
	}
	for i := range r.figures {
		if r.figures[i].name == name {
			r.figures[i].value = value
			return
		}
	}
	r.figures = append(r.figures, figure{name, value})
}

// take makes a measurement the report's main figures. Errors of earlier ones stay counted.
func (r *report) take(t *tally) {
	r.set("count", t.ops)
	r.set("seconds", t.seconds)
	rate := 0.0
	if t.seconds > 0 {
		rate = float64(t.ops) / t.seconds
	}
	r.set("per_second", rate)
	r.set("p50_ms", t.percentile(0.50))
	r.set("p99_ms", t.percentile(0.99))
	r.set("max_ms", t.max())
	errors := t.errors
	for _, f := range r.figures {
		if before, ok := f.value.(int64); ok && f.name == "errors" {
			errors += before
		}
	}
	r.set("errors", errors)
	if t.dropped > 0 {
		r.set("samples_dropped", t.dropped)
	}
	if t.first != nil {
		r.set("first_error", t.first.Error())
	}
}

// MarshalJSON gives one flat object.
func (r *report) MarshalJSON() ([]byte, error) {
	var b bytes.Buffer
	b.WriteString(`{"name":` + strconv.Quote(r.name))
	for _, f := range append(r.figures, figure{"machine", readMachine()}) {
		value, err := json.Marshal(f.value)
		if err != nil {
			return nil, fmt.Errorf("marshal %s: %w", f.name, err)
		}
		b.WriteString("," + strconv.Quote(f.name) + ":")
		b.Write(value)
	}
	b.WriteByte('}')
	return b.Bytes(), nil
}

// machine says where the figures come from.
type machine struct {
	Cores     int     `json:"cores"`
	MemoryMiB int64   `json:"memory_mib"`
	CPU       string  `json:"cpu"`
	Kernel    string  `json:"kernel"`
	OS        string  `json:"os"`
	Go        string  `json:"go"`
	Load      float64 `json:"load"` // average of the minute before; 0: not known
}

// readMachine tells what it finds; what the system does not say stays empty.
func readMachine() machine {
	m := machine{Cores: runtime.NumCPU(), OS: runtime.GOOS + "/" + runtime.GOARCH, Go: runtime.Version(),
		CPU: field("/proc/cpuinfo", "model name")}
	if kib, err := strconv.ParseInt(strings.TrimSuffix(field("/proc/meminfo", "MemTotal"), " kB"), 10, 64); err == nil {
		m.MemoryMiB = kib / 1024
	}
	if b, err := os.ReadFile("/proc/sys/kernel/osrelease"); err == nil {
		m.Kernel = strings.TrimSpace(string(b))
	}
	if b, err := os.ReadFile("/proc/loadavg"); err == nil {
		first, _, _ := strings.Cut(string(b), " ")
		if m.Load, err = strconv.ParseFloat(first, 64); err != nil {
			m.Load = 0
		}
	}
	return m
}

// String is one line for people.
func (m machine) String() string {
	return fmt.Sprintf("%d cores (%s), %d MiB, %s, kernel %s, %s", m.Cores, m.CPU, m.MemoryMiB, m.OS, m.Kernel, m.Go)
}

// field reads the first "name: value" of a file below /proc; empty when there is none.
func field(file, name string) string {
	f, err := os.Open(file)
	if err != nil {
		return ""
	}
	defer f.Close()
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		key, value, ok := strings.Cut(lines.Text(), ":")
		if ok && strings.TrimSpace(key) == name {
			return strings.TrimSpace(value)
		}
	}
	return ""
}
