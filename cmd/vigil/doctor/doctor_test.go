package doctor

import (
	"errors"
	"math"
	"strings"
	"testing"
	"time"

	"vigil/rpc/form"
	"vigil/rpc/gen/vigilv1"
)

var now = time.Date(2026, 11, 26, 12, 0, 0, 0, time.UTC)

// sound is a machine on which nothing is wrong.
func sound() *Machine {
	return &Machine{Server: true, Dir: "/var/lib/vigil-server", Config: "/etc/vigil/server.yaml", Mode: 0o700,
		Free: 10 << 30, Want: 512 << 20, Inodes: 1 << 20, Syncs: []time.Duration{time.Millisecond, 3 * time.Millisecond},
		Files: 65536, Tasks: math.MaxUint64, PPM: 12, Now: now, Until: now.AddDate(0, 1, 0), Web: "/etc/web.crt",
		WebUntil: now.AddDate(0, 0, 15), MTU: map[string]int{"eth0": 1500}, Unified: true}
}

// whole is a cluster in which nothing is wrong.
func whole() *Cluster {
	servers := func() (all []*vigilv1.Server) {
		for _, id := range []string{"s1", "s2", "s3"} {
			all = append(all, &vigilv1.Server{Id: id, ApiAddr: id + ":7420", RaftAddr: id + ":7421", Voter: true,
				Leader: id == "s1", Version: "0.2", Health: "alive", GossipAddr: id + ":7422"})
		}
		return all
	}
	host := &vigilv1.Host{Name: "h1", State: "ready", Version: "0.2", Containment: "sealed", GossipAddr: "10.0.0.9:7422"}
	for _, id := range []string{"s1", "s2", "s3"} {
		host.Views = append(host.Views, &vigilv1.HostView{Server: id, Gossip: "alive", Stream: "none"})
	}
	host.Views[0].Stream = "alive"
	return &Cluster{Status: &vigilv1.StatusResponse{Leader: "s1", Servers: servers()}, Hosts: []*vigilv1.Host{host},
		Servers: map[string][]*vigilv1.Server{"s1": servers(), "s2": servers(), "s3": servers()},
		Deaf:    map[string]error{}}
}

// warns gives what servers warn of, each its own.
func warns(texts ...string) func(*Cluster) {
	return func(c *Cluster) {
		for range 2 {
			c.heed(&vigilv1.StatusResponse{Warnings: texts})
		}
	}
}

// Each of these set-ups is broken in one way: that is found, nothing else is, and the remedy is named.
func TestDoctorFindsWhatIsBroken(t *testing.T) {
	for _, tt := range []struct {
		name          string
		machine       func(*Machine)
		cluster       func(*Cluster)
		mend          bool
		about, remedy string
	}{
		{name: "a key in the configuration that nobody knows", mend: true, about: "config", remedy: "/etc/vigil/server.yaml",
			machine: func(m *Machine) { m.Wrong = []string{"server.yaml:3:1: unknown field"} }},
		{name: "no data directory", mend: true, about: "dir", remedy: "vigil server init",
			machine: func(m *Machine) { m.Missing = true }},
		{name: "a data directory that all may read", mend: true, about: "dir", remedy: "chmod 0700 /var/lib/vigil-server",
			machine: func(m *Machine) { m.Mode = 0o755 }},
		{name: "a host's data directory that all may write", mend: true, about: "dir", remedy: "chmod 0711",
			machine: func(m *Machine) { m.Server, m.Mode = false, 0o777 }},
		{name: "a key that others may read", mend: true, about: "dir", remedy: "chmod 600 /k",
			machine: func(m *Machine) { m.Open = []string{"/k"} }},
		{name: "data in memory", mend: true, about: "disk", remedy: "on a disk",
			machine: func(m *Machine) { m.Kind = "tmpfs" }},
		{name: "data on a network", mend: true, about: "disk", remedy: "disk of this machine",
			machine: func(m *Machine) { m.Kind = "nfs" }},
		{name: "a full disk", mend: true, about: "disk", remedy: "free some space",
			machine: func(m *Machine) { m.Free = 1 << 20 }},
		{name: "backups on the disk of the log", about: "disk", remedy: "backup.to",
			machine: func(m *Machine) { m.Backups = "/var/backups/vigil" }},
		{name: "no inodes", mend: true, about: "disk", remedy: "inodes",
			machine: func(m *Machine) { m.Inodes = 12 }},
		{name: "a disk that is read-only", mend: true, about: "disk", remedy: "read-only",
			machine: func(m *Machine) { m.SyncErr = errors.New("read-only file system") }},
		{name: "a disk that hangs", mend: true, about: "disk", remedy: "iostat",
			machine: func(m *Machine) { m.Syncs = []time.Duration{time.Millisecond, 2 * time.Second} }},
		{name: "a slow disk", about: "disk", remedy: "SSD",
			machine: func(m *Machine) { m.Syncs = []time.Duration{90 * time.Millisecond} }},
		{name: "few open files", mend: true, about: "limits", remedy: "LimitNOFILE",
			machine: func(m *Machine) { m.Files = 1024 }},
		{name: "few processes", mend: true, about: "limits", remedy: "TasksMax",
			machine: func(m *Machine) { m.Tasks = 40 }},
		{name: "a host without control groups", about: "limits", remedy: "unified_cgroup_hierarchy",
			machine: func(m *Machine) { m.Server, m.Unified = false, false }},
		{name: "a tunnel with small packets", mend: true, about: "network", remedy: "ip link set wg0 mtu",
			machine: func(m *Machine) { m.MTU["wg0"] = 576 }},
		{name: "a clock that runs fast", mend: true, about: "clock", remedy: "chronyc",
			machine: func(m *Machine) { m.PPM = 5000 }},
		{name: "a clock that nobody keeps", about: "clock", remedy: "timesyncd",
			machine: func(m *Machine) { m.Astray = true }},
		{name: "a certificate that has ended", mend: true, about: "certificate", remedy: "vigil token create",
			machine: func(m *Machine) { m.Until = now.Add(-time.Hour) }},
		{name: "a certificate that ends soon", about: "certificate", remedy: "vigil tls status",
			machine: func(m *Machine) { m.Until = now.Add(time.Hour) }},
		{name: "a certificate of a server whose dates are over", about: "certificate", remedy: "put trust/root.key back",
			machine: func(m *Machine) { m.Dated = now.Add(-time.Hour) }},
		{name: "a certificate of the operator's that ends soon", about: "certificate", remedy: "renew it",
			machine: func(m *Machine) { m.Web, m.WebUntil = "/etc/web.crt", now.AddDate(0, 0, 13) }},
		{name: "nobody answers", mend: true, about: "cluster", remedy: "systemctl status vigil-server",
			cluster: func(c *Cluster) { *c = Cluster{Err: errors.New("refused")} }},
		{name: "a server that has much to learn", about: "cluster", remedy: "stop no other server",
			cluster: warns("server s2 is 80000 log entries behind")},
		{name: "a host that knows one server", about: "cluster", remedy: "under servers",
			cluster: warns("Host h1 knows 1 of 3 servers: without those it finds no other. Name them under servers.")},
		{name: "no leader", mend: true, about: "cluster", remedy: "vigil server recover",
			cluster: func(c *Cluster) { c.Status.Leader = "" }},
		{name: "one server is another state", mend: true, about: "cluster", remedy: "vigil server remove s2",
			cluster: func(c *Cluster) { c.Status.Servers[1].Diverged = true }},
		{name: "two servers", about: "cluster", remedy: "until three vote",
			cluster: func(c *Cluster) { c.Status.Servers = c.Status.Servers[:2] }},
		{name: "four servers", about: "cluster", remedy: "add one or remove one",
			cluster: func(c *Cluster) {
				c.Status.Servers = append(c.Status.Servers, &vigilv1.Server{Id: "s4", Voter: true, Version: "0.2"})
			}},
		{name: "a server that we do not reach", mend: true, about: "network", remedy: "advertise_addr",
			cluster: func(c *Cluster) { c.Deaf["s3"] = errors.New("refused") }},
		{name: "two servers that do not hear each other", mend: true, about: "network", remedy: "s2:7421",
			cluster: func(c *Cluster) { c.Servers["s3"][1].Health = "dead" }},
		{name: "an old server", about: "versions", remedy: "finish the upgrade",
			cluster: func(c *Cluster) { c.Status.Servers[2].Version = "0.1" }},
		{name: "an old host", about: "versions", remedy: "finish the upgrade",
			cluster: func(c *Cluster) { c.Hosts[0].Version = "0.1" }},
		{name: "UDP that a firewall drops", mend: true, about: "network", remedy: "10.0.0.9:7422 for UDP",
			cluster: func(c *Cluster) { c.Hosts[0].Views[0].Gossip = "silent" }},
		{name: "hosts that gossip with no server", about: "network", remedy: "gossip.bind in server.yaml",
			cluster: func(c *Cluster) {
				for _, s := range c.Status.Servers {
					s.GossipAddr = ""
				}
				for _, v := range c.Hosts[0].Views {
					v.Gossip = "none"
				}
			}},
		{name: "TCP that a firewall drops", mend: true, about: "network", remedy: "TCP",
			cluster: func(c *Cluster) { c.Hosts[0].Views[0].Stream = "silent" }},
		{name: "a lost host", mend: true, about: "hosts", remedy: "vigil host confirm-dead h1",
			cluster: func(c *Cluster) { c.Hosts[0].State = "lost" }},
		{name: "a host without memory", mend: true, about: "hosts", remedy: "vigil host drain h1",
			cluster: func(c *Cluster) { c.Hosts[0].Pressure = "is short of memory" }},
		{name: "a host that holds nothing together", about: "hosts", remedy: "Delegate=yes",
			cluster: func(c *Cluster) { c.Hosts[0].Containment = "weak" }},
		{name: "a host with a broken runner", about: "hosts", remedy: "vigil host show h1",
			cluster: func(c *Cluster) { c.Hosts[0].Warnings = []string{"runner claude: no such program"} }},
		{name: "a pager whose secret is missing", about: "cluster", remedy: "the same notify:",
			cluster: warns("Else.", form.Unannounced+" by server s1: no file.")},
		{name: "backups that fail", mend: true, about: "cluster", remedy: "vigil server --check",
			cluster: warns(form.BackupsFail + " s1: there has been no good one for 14h0m0s. It is tried again by itself.")},
		{name: "the brake", about: "cluster", remedy: "vigil brake release",
			cluster: func(c *Cluster) { c.Status.Brake = "set: 9 of 10 hosts were lost" }},
		{name: "a pause that was forgotten", about: "cluster", remedy: "vigil resume",
			cluster: func(c *Cluster) { c.Status.Paused, c.Status.PauseBy = true, "anna" }},
	} {
		t.Run(tt.name, func(t *testing.T) {
			m, c := sound(), whole()
			if tt.machine != nil {
				tt.machine(m)
			}
			if tt.cluster != nil {
				tt.cluster(c)
			}
			got := append(judgeMachine(m), judgeCluster(c)...)
			if len(got) != 1 || got[0].Mend != tt.mend || got[0].About != tt.about ||
				!strings.Contains(got[0].Remedy, tt.remedy) {
				t.Errorf("found %+v, want one about %s (mend: %t) whose remedy has %q", got, tt.about, tt.mend, tt.remedy)
			}
		})
	}
	if got := append(judgeMachine(sound()), judgeCluster(whole())...); len(got) > 0 {
		t.Errorf("nothing is broken, and this was found: %+v", got)
	}
}
