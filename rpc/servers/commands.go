package servers

import (
	"crypto/sha256"
	"fmt"

	"vigil/fsm"
	"vigil/fsm/noun"
	"vigil/rpc/fault"
	"vigil/rpc/form"
	"vigil/rpc/gen/vigilv1"
)

func announceServerCmd(r *vigilv1.AnnounceServerRequest) (fsm.Command, error) {
	var c form.Checks
	c.Name("id", r.GetId())
	c.Line("api_addr", r.GetApiAddr(), form.MaxKVValue)
	c.Line("raft_addr", r.GetRaftAddr(), form.MaxKVValue)
	c.Line("version", r.GetVersion(), form.MaxWho)
	c.Line("gossip_addr", r.GetGossipAddr(), form.MaxKVValue)
	c.Line("zone", r.GetZone(), form.MaxWho)
	return fsm.PutServer{ID: r.GetId(), APIAddr: r.GetApiAddr(), RaftAddr: r.GetRaftAddr(),
		Version: r.GetVersion(), Features: r.GetFeatures(), GossipAddr: r.GetGossipAddr(), Zone: r.GetZone()}, c.Err
}

func putSettingsCmd(r *vigilv1.PutSettingsRequest) (fsm.Command, error) {
	var c form.Checks
	c.Line("by", r.GetBy(), form.MaxWho)
	if len(r.GetValues()) == 0 {
		c.Fail("values are missing; name at least one setting (`vigil settings show` lists them).")
	}
	return fsm.PutSettings{Values: c.KVs("values", r.GetValues()), By: r.GetBy()}, c.Err
}

func reportHashCmd(r *vigilv1.ReportHashRequest) (fsm.Command, error) {
	var c form.Checks
	c.Name("server", r.GetServer())
	if n := len(r.GetHash()); n != sha256.Size {
		c.Fail("hash has %d bytes; send the %d bytes of a sha256 sum.", n, sha256.Size)
	}
	return fsm.ReportHash{Server: r.GetServer(), Index: r.GetIndex(), Hash: r.GetHash()}, c.Err
}

// maxViews bounds the hosts of one report; a cluster has far fewer.
const maxViews = 10_000

func reportViewsCmd(r *vigilv1.ReportViewsRequest) (fsm.Command, error) {
	var c form.Checks
	c.Name("server", r.GetServer())
	c.AtMost("views", len(r.GetViews()), maxViews)
	if c.Err != nil {
		return nil, c.Err
	}
	cmd := fsm.ReportViews{Server: r.GetServer(), All: r.GetAll()}
	for i, v := range r.GetViews() {
		at := fmt.Sprintf("views[%d].", i)
		if v.GetHost() == 0 {
			c.Fail("%shost is missing; give the number of a registered host.", at)
		}
		cmd.Views = append(cmd.Views, noun.HostView{Server: r.GetServer(), Host: noun.HostID(v.GetHost()),
			Gossip: hearing(&c, at+"gossip", v.GetGossip()), Stream: hearing(&c, at+"stream", v.GetStream())})
	}
	return cmd, c.Err
}

// hearing reads how a server hears a host; the empty word is none.
func hearing(c *form.Checks, field, s string) noun.Hearing {
	if s == "" {
		return noun.HearNothing
	}
	for h := noun.HearNothing; h <= noun.HearLeft; h++ {
		if h.String() == s {
			return h
		}
	}
	c.Fail("%s %s is unknown; write none, alive, silent or left.", field, fault.Quote(s))
	return noun.HearNothing
}
