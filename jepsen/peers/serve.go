package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"os"
	"os/signal"
	"strings"
	"syscall"

	natsserver "github.com/nats-io/nats-server/v2/server"
	"go.etcd.io/etcd/server/v3/embed"
)

// serve is one server of a stand until the process is told to end. file has its settings.
func serve(file string) error {
	text, err := os.ReadFile(file)
	if err != nil {
		return fmt.Errorf("read settings: %w", err)
	}
	var m member
	if err := json.Unmarshal(text, &m); err != nil {
		return fmt.Errorf("read settings %s: %w", file, err)
	}
	switch m.Kind {
	case etcd:
		return serveEtcd(&m)
	case nats:
		return serveNATS(&m)
	}
	return fmt.Errorf("settings %s: there is no system %q", file, m.Kind)
}

// serveEtcd is an etcd with the settings of the etcd program, which are those of embed.NewConfig.
func serveEtcd(m *member) error {
	cfg := embed.NewConfig()
	cfg.Name, cfg.Dir, cfg.LogLevel = m.Name, m.Dir, "warn"
	at := func(addr string) []url.URL {
		u, err := url.Parse(m.scheme("http", "https") + addr)
		if err != nil {
			panic(err) // addresses come from freePorts
		}
		return []url.URL{*u}
	}
	cfg.ListenClientUrls, cfg.AdvertiseClientUrls = at(m.Client), at(m.Client)
	cfg.ListenPeerUrls, cfg.AdvertisePeerUrls = at(m.Peer), at(m.Peer)
	var all []string
	for _, a := range m.All {
		all = append(all, a.Name+"="+m.scheme("http", "https")+a.Peer)
	}
	cfg.InitialCluster = strings.Join(all, ",")
	if m.Keys != nil {
		cfg.ClientTLSInfo.CertFile, cfg.ClientTLSInfo.KeyFile = m.Keys.Cert, m.Keys.Key
		cfg.ClientTLSInfo.TrustedCAFile, cfg.ClientTLSInfo.ClientCertAuth = m.Keys.Root, true
		cfg.PeerTLSInfo = cfg.ClientTLSInfo
	}
	e, err := embed.StartEtcd(cfg)
	if err != nil {
		return fmt.Errorf("start etcd: %w", err)
	}
	defer e.Close()
	told := make(chan os.Signal, 1)
	signal.Notify(told, syscall.SIGTERM, os.Interrupt)
	select {
	case <-told:
		return nil
	case err := <-e.Err():
		return fmt.Errorf("etcd ended: %w", err)
	case <-e.Server.StopNotify():
		return errors.New("etcd ended")
	}
}

// natsConfig is the configuration file of one nats-server.
func natsConfig(m *member) string {
	keys := ""
	if m.Keys != nil {
		keys = fmt.Sprintf("tls { cert_file: %q, key_file: %q, ca_file: %q, verify: true }\n",
			m.Keys.Cert, m.Keys.Key, m.Keys.Root)
	}
	var routes []string
	for _, a := range m.All {
		routes = append(routes, fmt.Sprintf("%q", m.scheme("nats", "tls")+a.Peer))
	}
	return fmt.Sprintf("server_name: %s\nlisten: %q\n%sjetstream { store_dir: %q, sync_interval: always }\n"+
		"cluster { name: peers, listen: %q, routes: [%s]\n%s}\n",
		m.Name, m.Client, keys, m.Dir, m.Peer, strings.Join(routes, ", "), keys)
}

// serveNATS is a nats-server with a configuration file; it ends by the signals that the nats-server
// program ends by.
func serveNATS(m *member) error {
	file := m.Dir + ".conf"
	if err := os.WriteFile(file, []byte(natsConfig(m)), 0o600); err != nil {
		return fmt.Errorf("write configuration: %w", err)
	}
	o, err := natsserver.ProcessConfigFile(file)
	if err != nil {
		return fmt.Errorf("read configuration: %w", err)
	}
	s, err := natsserver.NewServer(o)
	if err != nil {
		return fmt.Errorf("start nats-server: %w", err)
	}
	s.ConfigureLogger()
	if err := natsserver.Run(s); err != nil {
		return fmt.Errorf("start nats-server: %w", err)
	}
	s.WaitForShutdown()
	return nil
}
