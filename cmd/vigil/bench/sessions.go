package bench

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"sync"
	"sync/atomic"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"

	"vigil/rpc/gen/vigilv1"
)

// SessionsCommand is the hidden command that is the hosts of one address of `vigil bench reconnect`.
const SessionsCommand = "bench-sessions"

// loadNice is the priority of a load that stands for other machines: the higher, the less it takes from the
// servers, which share the processors of this one.
const loadNice = 10

// sessionJob is what such a process is to do. It comes by its standard input, since it holds keys.
type sessionJob struct {
	Source  string   // its own address
	Servers []string // addresses; connections are spread over them
	Hosts   []sessionHost
	Count   int           // connections
	Limit   time.Duration // until all are there
}

// sessionHost is a host and its identity.
type sessionHost struct {
	Host  uint32
	Boot  string
	Chain [][]byte // in DER, the root last
	Key   []byte   // in SEC 1
}

// sessionWord is what it says when its connections are there.
type sessionWord struct {
	Took    []time.Duration // of each one that is
	Missing int             // connections that are not
	Retries int
	First   string // error of one that is missing
}

// sessionLoad is such a process, as who has started it sees it.
type sessionLoad struct {
	cmd *exec.Cmd
	to  io.WriteCloser
	in  *json.Decoder
}

// startSessions starts one; its connections are there when hear returns.
func startSessions(program string, job sessionJob) (*sessionLoad, error) {
	l := &sessionLoad{cmd: exec.Command(program, SessionsCommand)}
	l.cmd.Stderr, l.cmd.SysProcAttr = os.Stderr, ownGroup()
	to, err := l.cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := l.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	l.to, l.in = to, json.NewDecoder(out)
	if err := l.cmd.Start(); err != nil {
		return nil, err
	}
	if err := stepBack(l.cmd.Process.Pid); err != nil {
		l.end()
		return nil, err
	}
	if err := json.NewEncoder(to).Encode(job); err != nil {
		l.end()
		return nil, err
	}
	return l, nil
}

// hear waits for its word.
func (l *sessionLoad) hear() (w sessionWord, err error) {
	if err = l.in.Decode(&w); err != nil {
		err = fmt.Errorf("hosts of the benchmark have ended: %w", err)
	}
	return w, err
}

// cut has it close all connections and open them again. One that has ended is found by hear.
func (l *sessionLoad) cut() { _, _ = fmt.Fprintln(l.to, `"cut"`) }

func (l *sessionLoad) end() {
	_ = l.to.Close()            // it ends by itself then, ...
	_ = l.cmd.Process.Kill()    // ... and has nothing to finish
	_, _ = l.cmd.Process.Wait() // it was killed
}

// RunSessions is the process: it reads its job from in, opens the connections and says so to out, and for
// each further word closes them and opens them again, until in ends.
func RunSessions(ctx context.Context, in io.Reader, out io.Writer) error {
	words := json.NewDecoder(in)
	var job sessionJob
	if err := words.Decode(&job); err != nil {
		return fmt.Errorf("read what to do: %w", err)
	}
	ip := net.ParseIP(job.Source)
	if ip == nil || len(job.Servers) == 0 || len(job.Hosts) == 0 {
		return fmt.Errorf("%w: no source address, no servers or no hosts", ErrOptions)
	}
	var shows []*tls.Config
	for i := range job.Hosts {
		cfg, err := job.Hosts[i].config()
		if err != nil {
			return fmt.Errorf("read the identity of host %d: %w", i, err)
		}
		shows = append(shows, cfg)
	}
	all := make([]*hostSession, job.Count)
	for i := range all {
		h := i % len(job.Hosts)
		all[i] = &hostSession{server: job.Servers[i%len(job.Servers)], source: ip, shows: shows[h],
			beat: &vigilv1.BeatRequest{Host: job.Hosts[h].Host, Boot: job.Hosts[h].Boot}}
	}
	say := json.NewEncoder(out)
	for {
		if err := say.Encode(openSessions(ctx, all, job.Limit)); err != nil {
			return err
		}
		var word string
		if err := words.Decode(&word); err != nil || ctx.Err() != nil {
			return ctx.Err() // nobody waits for more
		}
	}
}

// openSessions opens all of them at once.
func openSessions(ctx context.Context, all []*hostSession, limit time.Duration) (w sessionWord) {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	for _, s := range all {
		s.close()
	}
	var mu sync.Mutex
	var retries atomic.Int64
	var done sync.WaitGroup
	began := time.Now()
	for _, s := range all {
		done.Go(func() {
			err := s.open(ctx, &retries)
			took := time.Since(began)
			mu.Lock()
			defer mu.Unlock()
			if err == nil {
				w.Took = append(w.Took, took)
				return
			}
			if w.Missing++; w.First == "" {
				w.First = err.Error()
			}
		})
	}
	done.Wait()
	w.Retries = int(retries.Load())
	return w
}

// hostSession is one connection of a host.
type hostSession struct {
	server string
	source net.IP
	shows  *tls.Config
	beat   *vigilv1.BeatRequest
	conn   *grpc.ClientConn // nil: none
}

// open connects, and beats until that is answered.
func (s *hostSession) open(ctx context.Context, retries *atomic.Int64) (err error) {
	d := net.Dialer{LocalAddr: &net.TCPAddr{IP: s.source}}
	s.conn, err = grpc.NewClient("passthrough:///"+s.server, grpc.WithNoProxy(),
		grpc.WithTransportCredentials(credentials.NewTLS(s.shows)), grpc.WithReadBufferSize(4<<10),
		grpc.WithConnectParams(grpc.ConnectParams{MinConnectTimeout: 20 * time.Second, Backoff: quickBackoff()}),
		grpc.WithContextDialer(func(ctx context.Context, addr string) (net.Conn, error) {
			return d.DialContext(ctx, "tcp", addr)
		}))
	if err != nil {
		return err
	}
	for {
		_, err = vigilv1.NewWorkClient(s.conn).Beat(ctx, s.beat, grpc.WaitForReady(true))
		if err == nil || ctx.Err() != nil {
			return err
		}
		retries.Add(1)
		pause(ctx, errorPause)
	}
}

func (s *hostSession) close() {
	if s.conn != nil {
		_ = s.conn.Close() // it is cut on purpose
		s.conn = nil
	}
}
