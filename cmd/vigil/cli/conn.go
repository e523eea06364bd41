package cli

import (
	"runtime/debug"
	"strings"

	"vigil/rpc/client"
	"vigil/rpc/gen/vigilv1"
)

// DefaultAddr is where a server listens unless told otherwise.
const DefaultAddr = "127.0.0.1:7420"

// Addresses are the servers to ask.
func (a *App) Addresses() []string {
	addrs := a.Addrs
	if len(addrs) == 0 {
		addrs = strings.Split(a.Getenv("VIGIL_ADDR"), ",")
	}
	var clean []string
	for _, addr := range addrs {
		if addr = strings.TrimSpace(addr); addr != "" {
			clean = append(clean, addr)
		}
	}
	if len(clean) == 0 {
		return []string{DefaultAddr}
	}
	return clean
}

// ServersFile is the file in which an agent finds the servers of now; none when the command
// line names some.
func (a *App) ServersFile() string {
	if len(a.Addrs) > 0 {
		return ""
	}
	return a.Getenv(client.EnvFile)
}

// Conn is a client with a stub for every service.
type Conn struct {
	*client.Client
	Fleet   vigilv1.FleetClient
	Work    vigilv1.WorkClient
	Cluster vigilv1.ClusterClient
	Mail    vigilv1.MailboxClient
}

// Dial opens a client; the caller closes it.
func (a *App) Dial() (*Conn, error) {
	c, err := client.Open(client.Config{Addrs: a.Addresses(), File: a.ServersFile(), Name: "vigil " + Version()})
	if err != nil {
		return nil, WrongUsage(err)
	}
	return NewConn(c), nil
}

// NewConn makes the stubs of a client.
func NewConn(c *client.Client) *Conn {
	return &Conn{c, vigilv1.NewFleetClient(c), vigilv1.NewWorkClient(c), vigilv1.NewClusterClient(c), vigilv1.NewMailboxClient(c)}
}

// Version is the module's version, or the commit that it was built from.
func Version() string {
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
