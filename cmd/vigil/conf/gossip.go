//go:build unix

package conf

import (
	"net"

	"github.com/hashicorp/go-hclog"
	"github.com/spf13/pflag"

	"vigil/cluster/gossip"
	"vigil/cmd/vigil/cli"
	"vigil/rpc/door"
)

// gossipOff is what to say for no gossip at all.
const gossipOff = "off"

// Gossip is the part of the configuration of a server or a host that is about
// gossip; configs/server.yaml explains every key.
type Gossip struct {
	Bind      string `yaml:"bind"`
	Advertise string `yaml:"advertise"`
	KeyFile   string `yaml:"key_file"`
	Insecure  bool   `yaml:"insecure"`

	keyed bool // keys come by themselves
}

// flags adds the flags that win over the file.
func (f *Gossip) flags(fl *pflag.FlagSet) {
	fl.StringVar(&f.Bind, "gossip", "", "gossip here, host:port, or off (default: on loopback when all else is)")
	fl.StringVar(&f.Advertise, "gossip-advertise", "", "where others reach --gossip (default: the same)")
	fl.StringVar(&f.KeyFile, "gossip-key-file", "", "key that encrypts gossip; vigil keygen makes one")
}

// override takes over what the command line said.
func (f *Gossip) override(flags *Gossip, said func(string) bool) {
	if said("gossip") {
		f.Bind = flags.Bind
	}
	if said("gossip-advertise") {
		f.Advertise = flags.Advertise
	}
	if said("gossip-key-file") {
		f.KeyFile = flags.KeyFile
	}
}

// settle fills in the default and refuses what others could abuse. local tells that
// nothing else of this program can be reached from other machines, or reaches them; identified
// that it has an identity, and gets its keys from the cluster.
func (f *Gossip) settle(local, identified bool) error {
	if f.Bind == "" {
		if f.Bind = gossipOff; local {
			f.Bind = "127.0.0.1:0"
		}
	}
	if f.Bind == gossipOff {
		return nil
	}
	host, _, err := net.SplitHostPort(f.Bind)
	if err != nil {
		return cli.Usagef("gossip.bind %q: give host:port, for instance 127.0.0.1:7422, or %s", f.Bind, gossipOff)
	}
	if ip := net.ParseIP(host); (host == "" || ip != nil && ip.IsUnspecified()) && f.Advertise == "" {
		return cli.Usagef("gossip.bind %q listens everywhere: "+
			"say with gossip.advertise (--gossip-advertise) where others reach it", f.Bind)
	}
	if f.Advertise != "" {
		if host, _, err := net.SplitHostPort(f.Advertise); err != nil || host == "" {
			return cli.Usagef("gossip.advertise %q: give host:port; port 0 is the one of gossip.bind", f.Advertise)
		}
	}
	if f.keyed = identified; identified && (f.KeyFile != "" || f.Insecure) {
		return cli.Usagef("gossip.key_file and gossip.insecure are for clusters without identities: the keys come by " +
			"themselves here; take them out (--gossip-key-file too)")
	}
	if f.KeyFile == "" && !f.Insecure && !identified && !door.Loopback(f.Bind) {
		return cli.Usagef("gossip.bind %q can be reached by other machines, and what they say would be believed: "+
			"give gossip.key_file (--gossip-key-file), which vigil keygen makes, or set gossip.insecure", f.Bind)
	}
	return nil
}

// Off tells that there is to be no gossip.
func (f *Gossip) Off() bool { return f.Bind == gossipOff }

// Open opens the member of a server or host; nil when gossip is off. A mistake in the configuration is an error with
// the exit code of wrong usage; any other may be over at the next attempt.
func (f *Gossip) Open(kind gossip.Kind, id, boot string, log hclog.Logger) (*gossip.Gossip, error) {
	if f.Off() {
		return nil, nil
	}
	conf := gossip.Config{Kind: kind, ID: id, Boot: boot, Bind: f.Bind, Advertise: f.Advertise, Keyed: f.keyed,
		Logger: log}
	if f.KeyFile != "" {
		var err error
		if conf.Key, err = gossip.ReadKey(f.KeyFile); err != nil {
			return nil, unreadable("%w", err)
		}
	}
	return gossip.Open(conf)
}
