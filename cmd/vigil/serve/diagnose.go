package serve

import (
	"bytes"
	"context"
	"fmt"
	"runtime/pprof"
	"strings"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/common/expfmt"

	"vigil/cmd/vigil/cli"
	"vigil/cmd/vigil/conf"
	"vigil/rpc/gen/vigilv1"
)

const (
	// keptLog is how much of its log a server keeps in memory for whoever looks for a fault, in bytes.
	keptLog = 512 << 10
	// mostFigures bounds the text of the figures.
	mostFigures = 4 << 20
	// cpuFor is how long the use of the processor is looked at.
	cpuFor = time.Second
)

// recentLog keeps the last lines that were written to it. It is safe for concurrent use.
type recentLog struct {
	mu   sync.Mutex
	text []byte
}

// Write never fails.
func (r *recentLog) Write(p []byte) (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.text = append(r.text, p...)
	if len(r.text) > 2*keptLog { // seldom, so that a line costs no more than its copy
		r.text = append(r.text[:0], r.text[len(r.text)-keptLog:]...)
	}
	return len(p), nil
}

// last gives whole lines, keptLog bytes at most.
func (r *recentLog) last() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	text := r.text
	if len(text) > keptLog {
		text = text[len(text)-keptLog:]
		_, text, _ = bytes.Cut(text, []byte("\n"))
	}
	return strings.ToValidUTF8(string(text), "?")
}

// diagnose tells of this server what helps whoever looks for a fault, and nothing that is secret. Profiles
// hold names of functions and numbers, no memory. One at a time: the processor has one profile.
func (s *server) diagnose(from prometheus.Gatherer) func(context.Context) (*vigilv1.Diagnosis, error) {
	alone := make(chan struct{}, 1)
	return func(ctx context.Context) (*vigilv1.Diagnosis, error) {
		select {
		case alone <- struct{}{}:
			defer func() { <-alone }()
		case <-ctx.Done():
			return nil, ctx.Err()
		}
		d := &vigilv1.Diagnosis{Server: s.conf.ID, Version: cli.Version(), Config: configOf(s.conf),
			Log: s.recent.last(), Metrics: figuresText(from), Raft: fmt.Sprintf("%+v\n", s.replica.Stats()),
			Goroutines: profile("goroutine"), Heap: profile("heap")}
		var cpu bytes.Buffer
		if err := pprof.StartCPUProfile(&cpu); err == nil { // else somebody takes one already, at debug.sock
			select {
			case <-time.After(cpuFor):
			case <-ctx.Done():
			}
			pprof.StopCPUProfile()
			d.Cpu = cpu.Bytes()
		}
		return d, ctx.Err()
	}
}

func profile(name string) []byte {
	var b bytes.Buffer
	_ = pprof.Lookup(name).WriteTo(&b, 0) // to memory, which takes all
	return b.Bytes()
}

// figuresText is what /metrics would give; what cannot be gathered is left out.
func figuresText(from prometheus.Gatherer) string {
	all, _ := from.Gather() // with an error it gives the rest
	var b bytes.Buffer
	for _, family := range all {
		if _, err := expfmt.MetricFamilyToText(&b, family); err != nil || b.Len() > mostFigures {
			break
		}
	}
	return strings.ToValidUTF8(b.String(), "?")
}

// configOf is the configuration of a server in text. What is not listed here is not told: who is notified
// may have a password in its address.
func configOf(c *conf.Server) string {
	var b strings.Builder
	for _, line := range []struct {
		key   string
		value any
	}{{"id", c.ID}, {"data_dir", c.DataDir}, {"log_store", c.LogStore}, {"addr", c.Addr},
		{"advertise_addr", c.AdvertiseAddr}, {"raft_addr", c.RaftAddr}, {"raft_bind", c.RaftBind},
		{"insecure", c.Insecure}, {"http_hosts", c.HTTPHosts}, {"http_cert", c.HTTPCert != ""},
		{"gossip.bind", c.Gossip.Bind}, {"gossip.advertise", c.Gossip.Advertise}, {"cluster", c.Cluster},
		{"found", c.Found}, {"join", c.Join}, {"log_level", c.LogLevel}, {"log_json", c.LogJSON}, {"debug", c.Debug},
		{"memory_limit", c.MemoryLimit.N}, {"notify", len(c.Notify)}} {
		fmt.Fprintf(&b, "%s: %v\n", line.key, line.value)
	}
	return b.String()
}
