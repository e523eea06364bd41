package cli

import (
	"errors"
	"fmt"
	"net"
	"strconv"
	"strings"

	"vigil/rpc/client"
)

// DefaultAddr is where a server listens unless told otherwise.
const DefaultAddr = "127.0.0.1:7420"

// source is what has named the servers to ask.
type source struct {
	from     string // "--addr", "VIGIL_SOCKET", "VIGIL_ADDR", "context NAME"; "": nothing has
	addrs    []string
	identity string // folder with who asks; "": nobody
}

// Named are the servers that --addr or VIGIL_ADDR names, or the default. Daemons use it: what a
// person has selected does not decide which cluster a machine belongs to.
func (a *App) Named() ([]string, error) {
	s, err := a.named()
	if err == nil && len(s.addrs) == 0 {
		s.addrs = []string{DefaultAddr}
	}
	return s.addrs, err
}

func (a *App) named() (s source, err error) {
	if len(a.Addrs) > 0 {
		s = source{from: "--addr", addrs: a.Addrs}
	} else if a.Context == "" { // a flag wins over the environment
		s = source{from: "VIGIL_ADDR", addrs: strings.Split(a.Getenv("VIGIL_ADDR"), ",")}
	}
	s.addrs, err = CleanAddresses(s.addrs)
	if err != nil {
		return source{}, Usagef("%s: %w", s.from, err)
	}
	if len(s.addrs) == 0 {
		s.from = ""
	}
	return s, nil
}

// source finds the servers to ask: --addr, --context, VIGIL_SOCKET, VIGIL_ADDR, VIGIL_CONTEXT, the selected
// context, the default, in this order.
func (a *App) source() (source, error) {
	if len(a.Addrs) > 0 && a.Context != "" {
		return source{}, Usagef("give --addr or --context, not both")
	}
	if path := a.socket(); path != "" {
		return source{from: client.EnvSocket, addrs: []string{"unix:" + path}}, nil
	}
	s, err := a.named()
	if err != nil || len(s.addrs) > 0 {
		s.identity = a.identityFor(s.addrs)
		return s, err
	}
	name, chosen, err := a.chosenContext()
	switch {
	case err != nil:
		return source{}, err
	case name == "":
		s = source{addrs: []string{DefaultAddr}}
		s.identity = a.identityFor(s.addrs)
		return s, nil
	}
	s = source{from: "context " + name, identity: chosen.Identity}
	if s.addrs, err = CleanAddresses(chosen.Servers); err == nil && len(s.addrs) == 0 {
		err = errors.New("it names no server")
	}
	if err != nil {
		return source{}, Usagef("context %s in %s: %w; `vigil context set %s HOST:PORT` mends it", name,
			a.ContextsFile(), err, name)
	}
	return s, nil
}

// socket is that of the life whose environment this is, by which its agent says and asks everything; "" where
// there is none, and where the command line names servers.
func (a *App) socket() string {
	if len(a.Addrs) > 0 || a.Context != "" {
		return ""
	}
	return a.Getenv(client.EnvSocket)
}

// Addresses are the servers to ask.
func (a *App) Addresses() ([]string, error) {
	s, err := a.source()
	return s.addrs, err
}

// Chosen is which servers are asked, for people.
type Chosen struct {
	Servers  []string
	Identity string // folder with who asks; "": nobody
	From     string // what has named them
}

// Chosen tells which servers are asked, by whom, and why.
func (a *App) Chosen() (Chosen, error) {
	s, err := a.source()
	if s.from == "" {
		s.from = "nothing else was said"
	}
	return Chosen{s.addrs, s.identity, s.from}, err
}

// ServersFile is the file in which an agent finds the servers of now; none when the command
// line names some.
func (a *App) ServersFile() string {
	if len(a.Addrs) > 0 || a.Context != "" || a.socket() != "" {
		return ""
	}
	return a.Getenv(client.EnvFile)
}

// CleanAddresses takes addresses as people write them, host:port or http://host:port, and gives
// host:port.
func CleanAddresses(list []string) (clean []string, err error) {
	for _, text := range list {
		addr := strings.TrimSpace(text)
		if addr == "" {
			continue
		}
		if strings.HasPrefix(addr, "unix:/") { // the socket of a life
			clean = append(clean, addr)
			continue
		}
		addr = strings.TrimSuffix(strings.TrimPrefix(strings.TrimPrefix(addr, "http://"), "https://"), "/")
		host, port, err := net.SplitHostPort(addr)
		if err != nil || port == "" || strings.ContainsAny(addr, "/ ") {
			return nil, fmt.Errorf("address %q: write host:port, for instance %s", text, likely(addr, host))
		}
		if n, err := strconv.ParseUint(port, 10, 16); err != nil || n == 0 {
			return nil, fmt.Errorf("address %q: %q is not a port: give a number from 1 to 65535", text, port)
		}
		clean = append(clean, addr)
	}
	return clean, nil
}

// likely guesses what somebody wanted to write who has left out the port.
func likely(addr, host string) string {
	if host == "" && !strings.ContainsAny(addr, ":/ ") {
		return addr + ":7420"
	}
	return DefaultAddr
}

// remedy says what may be done when no server was found.
func (s source) remedy() string {
	switch {
	case s.from == "":
		return "start a fleet to try things with `vigil dev`, or say where your servers are: --addr HOST:PORT, " +
			"or for good `vigil context set NAME HOST:PORT`"
	case strings.HasPrefix(s.from, "context "):
		return "these are the servers of " + s.from + "; `vigil context list` shows other clusters"
	}
	return "they are from " + s.from
}
