package serve

import (
	"fmt"
	"net"
	"path/filepath"
	"slices"

	"vigil/cmd/vigil/cli"
	"vigil/cmd/vigil/conf"
	"vigil/cmd/vigil/join"
	"vigil/rpc/door"
)

// Where the units of the package have what they start.
const (
	unitConf   = "/etc/vigil/server.yaml"
	unitData   = "/var/lib/vigil-server"
	agentdConf = "/etc/vigil/agentd.yaml"
	agentdData = "/var/lib/vigil-agentd"
)

// ofUnit tells whether a file and a data directory are those of the unit.
func ofUnit(file, data, itsFile, itsData string) bool {
	whole, err := filepath.Abs(file)
	return err == nil && whole == itsFile && filepath.Clean(data) == itsData
}

// howToStart are the commands that start the server of a configuration. The unit runs it under an account of its
// own, which could not open what root has made, nor what root makes by starting the server by hand.
func howToStart(file, data string) string {
	if ofUnit(file, data, unitConf, unitData) {
		return "  chown -R vigil: " + unitData + "\n  systemctl enable --now vigil-server"
	}
	return "  vigil server --config " + file
}

// howAgentdStarts is the same of a host.
func howAgentdStarts(file, data string) string {
	if ofUnit(file, data, agentdConf, agentdData) {
		return "  systemctl enable --now vigil-agentd"
	}
	return "  vigil agentd --config " + file
}

// howOthersJoin says how the second and third server join the first one. Commands are copied as they are, so they
// name addresses: without them a server would take those of the loopback interface. The token is the last word.
func howOthersJoin(file string, first *conf.Server, token join.Token) string {
	if door.Loopback(first.AdvertiseAddr) || door.Loopback(first.RaftAddr) {
		return fmt.Sprintf("This server has loopback addresses, so only servers on this machine can join; for others "+
			"found it anew, with --addr and --raft-addr.\nWithin %s, with an id, a directory and ports of their own:\n"+
			"  vigil server join --id ID --data-dir DIR --addr 127.0.0.1:PORT --raft-addr 127.0.0.1:PORT %s",
			words(serverTokenLife), token)
	}
	where := ""
	if ofUnit(file, first.DataDir, unitConf, unitData) {
		where = "--config " + unitConf + " --data-dir " + unitData + " "
	}
	return fmt.Sprintf("Let two more servers join, within %s, each on its own machine, with its address for HERE:\n"+
		"  vigil server join %s--addr HERE:%s --raft-addr HERE:%s %s", words(serverTokenLife), where,
		port(first.AdvertiseAddr), port(first.RaftAddr), token)
}

func port(addr string) string {
	_, port, _ := net.SplitHostPort(addr) // it was checked
	return port
}

// reachable refuses loopback addresses in a cluster whose servers are elsewhere. They would be written into the
// configuration, the others would dial themselves, and raft_addr cannot simply be changed later.
func reachable(set *conf.Server, token join.Token) error {
	there := slices.IndexFunc(token.Addrs, func(addr string) bool { return !door.Loopback(addr) })
	if there < 0 {
		return nil
	}
	for _, own := range []struct{ what, addr string }{
		{"clients and hosts", set.AdvertiseAddr}, {"the other servers", set.RaftAddr},
	} {
		if door.Loopback(own.addr) {
			return cli.Usagef("%s would be told to reach this server at %s, which is each machine's own, and the cluster is "+
				"at %s: give an address of this machine for HERE: vigil server join --addr HERE:7420 --raft-addr HERE:7421 "+
				"TOKEN (the token was not used, nothing was changed)", own.what, own.addr, token.Addrs[there])
		}
	}
	return nil
}
