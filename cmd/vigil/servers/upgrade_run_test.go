package servers

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/types/known/timestamppb"

	"vigil/cmd/vigil/cli"
	"vigil/cmd/vigil/term"
	"vigil/rpc/gen/vigilv1"
)

// oneHost is a cluster of three servers and the host h1, which is what before says until the command has run, and
// then, look after look, what after says.
type oneHost struct {
	vigilv1.FleetClient
	vigilv1.ClusterClient
	ran    string            // file that the command makes
	voters []*vigilv1.Server // until the command has run; nil: three that are well
	then   []*vigilv1.Server // since it has run; nil: as before
	before *vigilv1.Host
	after  func(asked int) *vigilv1.Host
	asked  int // since the command has run
}

func (o *oneHost) hasRun() bool {
	_, err := os.Stat(o.ran)
	return err == nil
}

func (o *oneHost) servers() []*vigilv1.Server {
	switch {
	case o.then != nil && o.hasRun():
		return o.then
	case o.voters != nil:
		return o.voters
	}
	return []*vigilv1.Server{{Id: "s1", Voter: true, Leader: true, Health: "alive"},
		{Id: "s2", Voter: true, Health: "alive"}, {Id: "s3", Voter: true, Health: "alive"}}
}

func (o *oneHost) ListServers(context.Context, *vigilv1.ListServersRequest,
	...grpc.CallOption) (*vigilv1.ListServersResponse, error) {
	return &vigilv1.ListServersResponse{Servers: o.servers()}, nil
}

func (o *oneHost) Status(context.Context, *vigilv1.StatusRequest, ...grpc.CallOption) (*vigilv1.StatusResponse, error) {
	return &vigilv1.StatusResponse{Leader: "s1", Servers: o.servers()}, nil
}

func (o *oneHost) ListHosts(context.Context, *vigilv1.ListHostsRequest,
	...grpc.CallOption) (*vigilv1.ListHostsResponse, error) {
	h := o.before
	if o.hasRun() {
		h = o.after(o.asked)
		o.asked++
	}
	return &vigilv1.ListHostsResponse{Hosts: []*vigilv1.Host{h}}, nil
}

// A host is back when its agentd has registered since the command, and where that restarts nothing, when it is heard
// for longer than a silence takes to be noticed. A version that is not the one that was to come is no upgrade.
func TestUpgradeRunGoesOnOnlyWhenTheHostIsBack(t *testing.T) {
	began := time.Unix(1_000_000, 0)
	host := func(version, state, stream string, seen time.Time) *vigilv1.Host {
		h := &vigilv1.Host{Name: "h1", Version: version, State: state, SeenAt: timestamppb.New(seen)}
		if stream != "" {
			h.Views = []*vigilv1.HostView{{Server: "s1", Stream: "silent"}, {Server: "s2", Stream: stream}}
		}
		return h
	}
	always := func(h *vigilv1.Host) func(int) *vigilv1.Host { return func(int) *vigilv1.Host { return h } }
	later := began.Add(time.Minute)
	for _, c := range []struct {
		name  string
		after func(int) *vigilv1.Host
		to    string
		said  bool
		code  int
		says  string
		looks int // at least
	}{
		{name: "restarted", after: always(host("2", "ready", "", later)), says: "h1 is back with version 2, it was 1"},
		{name: "it comes too often to be ready at once",
			after: always(host("2", "returning", "alive", later)), says: "is back"},
		{name: "it comes late", after: func(asked int) *vigilv1.Host {
			switch {
			case asked < 2*hostCalm-4:
				return host("1", "ready", "alive", began)
			case asked < 2*hostCalm+10:
				return host("1", "suspect", "silent", began)
			}
			return host("2", "ready", "alive", later)
		}, says: "is back", looks: hostCalm},
		{name: "agentd did not start", after: func(asked int) *vigilv1.Host {
			if asked < 2*hostCalm-4 {
				return host("1", "ready", "alive", began)
			}
			return host("1", "suspect", "silent", began)
		}, code: cli.ExitFailed, says: "until h1 is back"},
		{name: "nor did the server that heard it", after: always(host("1", "ready", "", began)), code: cli.ExitFailed,
			says: "no server hears the agentd of host h1"},
		{name: "started and fell silent", after: always(host("2", "suspect", "silent", later)), code: cli.ExitFailed,
			says: "host h1 is suspect"},
		{name: "nothing was to be done", after: always(host("1", "ready", "alive", began)), to: "1", said: true,
			says: "h1 is back with version 1", looks: hostCalm},
		{name: "nothing was done", after: always(host("1", "ready", "alive", began)), code: cli.ExitFailed,
			says: "runs version 1 as before, not 2", looks: hostCalm},
		{name: "restarted as it was", after: always(host("1", "ready", "alive", later)), code: cli.ExitFailed,
			says: "runs version 1 as before, not 2"},
		{name: "another version", after: always(host("3", "ready", "alive", later)), says: "is back with version 3"},
		{name: "another version than was said", after: always(host("3", "ready", "alive", later)), said: true,
			code: cli.ExitFailed, says: "is back with version 3, not 2"},
	} {
		o := &oneHost{ran: filepath.Join(t.TempDir(), "ran"), before: host("1", "ready", "alive", began), after: c.after}
		var out bytes.Buffer
		r := &rolling{App: &cli.App{Terminal: term.Terminal{In: strings.NewReader(""), Out: &out, Err: &out}},
			c: &cli.Conn{Fleet: o, Cluster: o}, name: "h1", command: []string{"touch", o.ran}, to: target{version: "2"},
			said: c.said, wait: time.Minute, look: time.Millisecond}
		if c.to != "" {
			r.to.version = c.to
		}
		if strings.Contains(c.says, "until") || strings.Contains(c.says, "hears") || strings.Contains(c.says, "suspect") {
			r.wait = 300 * time.Millisecond // nothing will come
		}
		err := r.run(t.Context())
		text := out.String()
		if err != nil {
			text += err.Error()
		}
		if cli.ExitCode(err) != c.code || !strings.Contains(text, c.says) || o.asked < c.looks {
			t.Errorf("%s: exit code %d after %d questions, %q; want %d, %q", c.name, cli.ExitCode(err), o.asked, text,
				c.code, c.says)
		}
	}
}

// As the guide has it, the program from before upgrades all machines: it reads one feature level less than servers do
// that have been upgraded. Once all have, that speaks against no server that is back, and against no host. It still
// speaks against a server that would get a version which cannot read the log.
func TestUpgradeRunByTheProgramFromBefore(t *testing.T) {
	servers := func(reads ...uint32) (all []*vigilv1.Server) {
		for i, level := range reads {
			all = append(all, &vigilv1.Server{Id: fmt.Sprint("s", i+1), Voter: true, Leader: i == 0, Health: "alive",
				Version: fmt.Sprint(level), Features: level})
		}
		return all
	}
	began := time.Unix(1_000_000, 0)
	for _, c := range []struct {
		name, machine string
		before, after []*vigilv1.Server
		code          int
		says          string
	}{
		{name: "the last server", machine: "s3", before: servers(2, 2, 1), after: servers(2, 2, 2),
			says: "s3 is back with version 2, it was 1"},
		{name: "a host afterwards", machine: "h1", before: servers(2, 2, 2),
			says: "h1 is back with version 2, it was 1"},
		{name: "a server to which there is no way back", machine: "s3", before: servers(2, 2, 2), code: cli.ExitFailed,
			says: "s3 is not touched"},
	} {
		o := &oneHost{ran: filepath.Join(t.TempDir(), "ran"), voters: c.before, then: c.after,
			before: &vigilv1.Host{Name: "h1", Version: "1", State: "ready", SeenAt: timestamppb.New(began)},
			after: func(int) *vigilv1.Host {
				return &vigilv1.Host{Name: "h1", Version: "2", State: "ready",
					SeenAt: timestamppb.New(began.Add(time.Minute))}
			}}
		var out bytes.Buffer
		r := &rolling{App: &cli.App{Terminal: term.Terminal{In: strings.NewReader(""), Out: &out, Err: &out}},
			c: &cli.Conn{Fleet: o, Cluster: o}, name: c.machine, command: []string{"touch", o.ran},
			to: target{version: "1", level: 1}, wait: time.Minute, look: time.Millisecond}
		if c.code != 0 {
			r.wait = time.Millisecond // nothing will come
		}
		err := r.run(t.Context())
		text := out.String()
		if err != nil {
			text += err.Error()
		}
		if cli.ExitCode(err) != c.code || !strings.Contains(text, c.says) || o.hasRun() != (c.code == 0) {
			t.Errorf("%s: exit code %d, the command has run: %v, %q; want %d, %q", c.name, cli.ExitCode(err), o.hasRun(),
				text, c.code, c.says)
		}
	}
}

// A machine that is a server and a host of one name is back as both. A host that was away before the command keeps no
// server waiting.
func TestUpgradeRunWaitsForServerAndHostOfOneName(t *testing.T) {
	voters := func(version string) []*vigilv1.Server {
		return []*vigilv1.Server{{Id: "s1", Voter: true, Leader: true, Health: "alive"},
			{Id: "s2", Voter: true, Health: "alive"}, {Id: "m1", Voter: true, Health: "alive", Version: version}}
	}
	began := time.Unix(1_000_000, 0)
	host := func(state, stream string, seen time.Time) *vigilv1.Host {
		return &vigilv1.Host{Name: "m1", State: state, SeenAt: timestamppb.New(seen),
			Views: []*vigilv1.HostView{{Server: "s1", Stream: stream}}}
	}
	ready := host("ready", "alive", began)
	for _, c := range []struct {
		name          string
		before, after *vigilv1.Host
		code          int
		says          string
		looks         int // at least
	}{
		{name: "both are back", before: ready, after: host("ready", "alive", began.Add(time.Minute)), says: "m1 is back"},
		{name: "agentd stays away", before: ready, after: host("suspect", "silent", began), code: cli.ExitFailed,
			says: "host m1 is suspect"},
		{name: "agentd stays away, and nobody has noticed", before: ready, after: host("ready", "silent", began),
			code: cli.ExitFailed, says: "no server hears the agentd of host m1"},
		{name: "agentd is heard on", before: ready, after: ready, says: "m1 is back", looks: hostCalm},
		{name: "agentd was away", before: host("lost", "silent", began), after: host("lost", "silent", began),
			says: "m1 is back"},
	} {
		o := &oneHost{ran: filepath.Join(t.TempDir(), "ran"), voters: voters("1"), then: voters("2"), before: c.before,
			after: func(int) *vigilv1.Host { return c.after }}
		var out bytes.Buffer
		r := &rolling{App: &cli.App{Terminal: term.Terminal{In: strings.NewReader(""), Out: &out, Err: &out}},
			c: &cli.Conn{Fleet: o, Cluster: o}, name: "m1", command: []string{"touch", o.ran}, to: target{version: "2"},
			wait: time.Minute, look: time.Millisecond}
		if c.code != 0 {
			r.wait = 300 * time.Millisecond // nothing will come
		}
		err := r.run(t.Context())
		text := out.String()
		if err != nil {
			text += err.Error()
		}
		if cli.ExitCode(err) != c.code || !strings.Contains(text, c.says) || o.asked < c.looks {
			t.Errorf("%s: exit code %d after %d questions, %q; want %d, %q", c.name, cli.ExitCode(err), o.asked, text,
				c.code, c.says)
		}
	}
}
