package main

import (
	"runtime/debug"
	"strings"

	"vigil/rpc/client"
	"vigil/rpc/gen/vigilv1"
)

// defaultAddr is where a server listens unless told otherwise.
const defaultAddr = "127.0.0.1:7420"

// addresses are the servers to ask.
func (a *app) addresses() []string {
	addrs := a.addrs
	if len(addrs) == 0 {
		addrs = strings.Split(a.getenv("VIGIL_ADDR"), ",")
	}
	var clean []string
	for _, addr := range addrs {
		if addr = strings.TrimSpace(addr); addr != "" {
			clean = append(clean, addr)
		}
	}
	if len(clean) == 0 {
		return []string{defaultAddr}
	}
	return clean
}

// serversFile is the file in which an agent finds the servers of now; none when the command
// line names some.
func (a *app) serversFile() string {
	if len(a.addrs) > 0 {
		return ""
	}
	return a.getenv(client.EnvFile)
}

// conn is a client with a stub for every service.
type conn struct {
	*client.Client
	fleet   vigilv1.FleetClient
	work    vigilv1.WorkClient
	cluster vigilv1.ClusterClient
	mail    vigilv1.MailboxClient
}

// dial opens a client; the caller closes it.
func (a *app) dial() (*conn, error) {
	c, err := client.Open(client.Config{Addrs: a.addresses(), File: a.serversFile(), Name: "vigil " + version()})
	if err != nil {
		return nil, wrongUsage(err)
	}
	return newConn(c), nil
}

func newConn(c *client.Client) *conn {
	return &conn{c, vigilv1.NewFleetClient(c), vigilv1.NewWorkClient(c), vigilv1.NewClusterClient(c), vigilv1.NewMailboxClient(c)}
}

// version is the module's version, or the commit that it was built from.
func version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "unknown"
	}
	if v := info.Main.Version; v != "" && v != "(devel)" {
		return v
	}
	commit, dirty := "", ""
	for _, s := range info.Settings {
		switch {
		case s.Key == "vcs.revision" && len(s.Value) >= 12:
			commit = "-" + s.Value[:12]
		case s.Key == "vcs.modified" && s.Value == "true":
			dirty = "-dirty"
		}
	}
	return "devel" + commit + dirty
}
