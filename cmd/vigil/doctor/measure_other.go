//go:build !linux

package doctor

import "vigil/cmd/vigil/cli"

// measureAll tells where servers and hosts are looked at.
func measureAll(server, host string) ([]*Machine, []string, error) {
	if server != "" || host != "" {
		return nil, nil, cli.Usagef("servers and hosts run Linux: run vigil doctor there to look at the machine; " +
			"without --server-config and --agentd-config it looks at the cluster from here")
	}
	return nil, nil, nil
}
