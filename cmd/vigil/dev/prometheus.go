package dev

import (
	"fmt"

	"vigil/rpc/freeport"
)

// openFigures gives each host an address at which it tells its figures, and writes the configuration with
// which Prometheus reads them and those of the servers.
func (p *devPlace) openFigures() error {
	addrs, err := freeport.Addrs(len(p.hosts))
	if err != nil {
		return fmt.Errorf("find free ports: %w", err)
	}
	for i := range p.hosts {
		p.hosts[i].figures = addrs[i]
	}
	identity := string(p.identity())
	return p.put(map[string]any{
		"global": map[string]any{"scrape_interval": "5s", "evaluation_interval": "5s"},
		"scrape_configs": []any{
			map[string]any{"job_name": "vigil", "scheme": "https",
				"tls_config": map[string]string{"ca_file": identity + "/roots.crt",
					"cert_file": identity + "/leaf.crt", "key_file": identity + "/leaf.key"},
				"static_configs": []any{map[string]any{"targets": p.apiAddrs()}}},
			map[string]any{"job_name": "vigil-agentd",
				"static_configs": []any{map[string]any{"targets": addrs}}},
		},
	}, "prometheus.yaml")
}
