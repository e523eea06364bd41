package rpc

import (
	"crypto/sha256"
	"fmt"

	"vigil/fsm"
	"vigil/fsm/noun"
	"vigil/rpc/fault"
	"vigil/rpc/gen/vigilv1"
)

func announceServerCmd(r *vigilv1.AnnounceServerRequest) (fsm.Command, error) {
	var c checks
	c.name("id", r.GetId())
	c.line("api_addr", r.GetApiAddr(), maxKVValue)
	c.line("raft_addr", r.GetRaftAddr(), maxKVValue)
	c.line("version", r.GetVersion(), maxWho)
	c.line("gossip_addr", r.GetGossipAddr(), maxKVValue)
	return fsm.PutServer{ID: r.GetId(), APIAddr: r.GetApiAddr(), RaftAddr: r.GetRaftAddr(),
		Version: r.GetVersion(), Features: r.GetFeatures(), GossipAddr: r.GetGossipAddr()}, c.err
}

func putSettingsCmd(r *vigilv1.PutSettingsRequest) (fsm.Command, error) {
	var c checks
	c.line("by", r.GetBy(), maxWho)
	if len(r.GetValues()) == 0 {
		c.fail("values are missing; name at least one setting (`vigil settings show` lists them).")
	}
	return fsm.PutSettings{Values: c.kvs("values", r.GetValues()), By: r.GetBy()}, c.err
}

func reportHashCmd(r *vigilv1.ReportHashRequest) (fsm.Command, error) {
	var c checks
	c.name("server", r.GetServer())
	if n := len(r.GetHash()); n != sha256.Size {
		c.fail("hash has %d bytes; send the %d bytes of a sha256 sum.", n, sha256.Size)
	}
	return fsm.ReportHash{Server: r.GetServer(), Index: r.GetIndex(), Hash: r.GetHash()}, c.err
}

// maxViews bounds the hosts of one report; a cluster has far fewer.
const maxViews = 10_000

func reportViewsCmd(r *vigilv1.ReportViewsRequest) (fsm.Command, error) {
	var c checks
	c.name("server", r.GetServer())
	c.atMost("views", len(r.GetViews()), maxViews)
	if c.err != nil {
		return nil, c.err
	}
	cmd := fsm.ReportViews{Server: r.GetServer(), All: r.GetAll()}
	for i, v := range r.GetViews() {
		at := fmt.Sprintf("views[%d].", i)
		if v.GetHost() == 0 {
			c.fail("%shost is missing; give the number of a registered host.", at)
		}
		cmd.Views = append(cmd.Views, noun.HostView{Server: r.GetServer(), Host: noun.HostID(v.GetHost()),
			Gossip: hearing(&c, at+"gossip", v.GetGossip()), Stream: hearing(&c, at+"stream", v.GetStream())})
	}
	return cmd, c.err
}

// hearing reads how a server hears a host; the empty word is none.
func hearing(c *checks, field, s string) noun.Hearing {
	if s == "" {
		return noun.HearNothing
	}
	for h := noun.HearNothing; h <= noun.HearLeft; h++ {
		if h.String() == s {
			return h
		}
	}
	c.fail("%s %s is unknown; write none, alive, silent or left.", field, fault.Quote(s))
	return noun.HearNothing
}
