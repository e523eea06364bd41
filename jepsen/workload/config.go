package workload

import (
	"crypto/tls"
	"errors"
	"fmt"
	"slices"
	"time"

	"vigil/jepsen/history"
)

// Config says where the cluster is and how it is asked. Addrs and Record are required.
type Config struct {
	// Addrs are the API addresses of the servers.
	Addrs []string
	// TLS is who asks, an admin, and how servers prove that they are servers; nil: all speak in clear.
	TLS *tls.Config
	// Servers are their names as Op.Via has them, one for each address; nil: s1, s2, ...
	Servers []string
	// Record gets everything.
	Record *history.Recorder
	// Runner is the runner with which hosts start tickers; empty: there are no hosts.
	Runner string
	// Agents is how many agents of hosts work in workload lifecycle, every fifth of them
	// under policy fast. 0: 3.
	Agents int
	// TTL of leases and fences. 0: 2 s.
	TTL time.Duration
	// Seed of what is random.
	Seed uint64
	// Rate is how many calls a second each workload begins, about. 0: 25.
	Rate float64
	// Timeout of a call, with its repetitions. 0: 5 s.
	Timeout time.Duration
	// SDK has workers in other languages beside those in Go in workload sdk; nil: there are none.
	SDK *SDK
	// Say gets a line now and then, for people; nil: nobody hears it.
	Say func(format string, args ...any)
}

func (c Config) withDefaults() (Config, error) {
	if len(c.Addrs) == 0 {
		return c, errors.New("open workloads: no address: name the servers")
	}
	if c.Record == nil {
		return c, errors.New("open workloads: no recorder")
	}
	if c.Servers == nil {
		for i := range c.Addrs {
			c.Servers = append(c.Servers, fmt.Sprintf("s%d", i+1))
		}
	}
	if len(c.Servers) != len(c.Addrs) {
		return c, fmt.Errorf("open workloads: %d names for %d addresses", len(c.Servers), len(c.Addrs))
	}
	if c.Agents == 0 {
		c.Agents = lifecycleAgents
	}
	if c.TTL == 0 {
		c.TTL = 2 * time.Second
	}
	if c.Rate == 0 {
		c.Rate = 25
	}
	if c.Timeout == 0 {
		c.Timeout = 5 * time.Second
	}
	if c.TTL < 0 || c.Rate < 0 || c.Timeout < 0 || c.Agents < 0 {
		return c, fmt.Errorf("open workloads: TTL %s, rate %g, timeout %s and %d agents may not be negative",
			c.TTL, c.Rate, c.Timeout, c.Agents)
	}
	if c.SDK != nil && len(c.SDK.Access) == 0 {
		return c, errors.New("open workloads: workers in other languages have no access: say how they find the cluster")
	}
	if c.Say == nil {
		c.Say = func(string, ...any) {}
	}
	return c, nil
}

// kind is what is known of a workload before it is opened.
type kind struct {
	name  string
	hosts bool     // it needs agents of hosts
	rooms []string // with agents of hosts, which are looked at
	make  func(*Set) load
}

// kinds are all workloads.
func kinds() []kind {
	return []kind{
		{name: "register", make: newRegister},
		{name: "claim", make: newClaim},
		{name: "lifecycle", rooms: []string{lifecycleRoom}, make: newLifecycle},
		{name: "sdk", rooms: []string{sdkRoom}, make: newSDK},
		{name: "dedup", hosts: true, rooms: []string{dedupRoom}, make: newDedup},
		{name: "intent", hosts: true, rooms: []string{intentRoom, intentWhole}, make: newIntent},
		{name: "outage", hosts: true, rooms: []string{outageRoom}, make: newOutage},
		{name: "watch", make: newWatch},
		{name: "requests", make: newRequests},
		{name: "reads", make: newReads},
		{name: "mail", make: newMail},
		{name: "rooms", make: newRooms},
		{name: "flood", make: newFlood},
	}
}

// Names are the names of all workloads.
func Names() []string {
	var list []string
	for _, k := range kinds() {
		list = append(list, k.name)
	}
	return list
}

// Hosted are the names of those that need agents of hosts.
func Hosted() []string {
	var list []string
	for _, k := range kinds() {
		if k.hosts {
			list = append(list, k.name)
		}
	}
	return list
}

// choose finds the workloads with the names; each counts once.
func choose(names []string, runner string) ([]kind, error) {
	var chosen []kind
	for _, k := range kinds() {
		if !slices.Contains(names, k.name) {
			continue
		}
		if k.hosts && runner == "" {
			return nil, fmt.Errorf("open workloads: %s needs hosts that start agents: name the runner", k.name)
		}
		chosen = append(chosen, k)
	}
	for _, name := range names {
		if !slices.Contains(Names(), name) {
			return nil, fmt.Errorf("open workloads: there is no %q; there are %v", name, Names())
		}
	}
	if len(chosen) == 0 {
		return nil, fmt.Errorf("open workloads: none is named; there are %v", Names())
	}
	return chosen, nil
}
