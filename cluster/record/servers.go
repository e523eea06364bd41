package record

import (
	"vigil/fsm"
	"vigil/fsm/noun"
)

// servers has the records about servers, sessions and settings.
var servers = []kind{
	of(10, func(w *wire, c *fsm.LeaderEstablished) {
		w.str(1, &c.Server)
		w.str(2, &c.APIAddr)
	}),
	of(11, func(w *wire, c *fsm.PutServer) {
		w.str(1, &c.ID)
		w.str(2, &c.APIAddr)
		w.str(3, &c.RaftAddr)
		w.str(4, &c.Version)
		uns(w, 5, &c.Features)
		w.str(6, &c.GossipAddr)
		w.str(7, &c.Zone)
	}),
	of(12, func(w *wire, c *fsm.DropServer) { w.str(1, &c.ID) }),
	of(13, func(w *wire, c *fsm.OpenSession) { w.str(1, &c.Client) }),
	of(14, func(*wire, *fsm.CloseSession) {}),
	of(15, func(w *wire, c *fsm.PutSettings) {
		list(w, 1, &c.Values, kv)
		w.str(2, &c.By)
	}),
	of(16, func(w *wire, c *fsm.Mark) { w.strs(1, &c.Voters) }),
	of(17, func(w *wire, c *fsm.ReportHash) {
		w.str(1, &c.Server)
		uns(w, 2, &c.Index)
		w.bytes(3, &c.Hash)
	}),
	of(18, func(w *wire, c *fsm.RaiseEpoch) { sig(w, 1, &c.Hold) }),
	of(19, func(w *wire, c *fsm.LeaderUnreached) {
		w.str(1, &c.Server)
		w.str(2, &c.To)
		sig(w, 3, &c.Silent)
	}),
	of(111, func(w *wire, c *fsm.SetStandby) {
		w.str(1, &c.ID)
		w.bool(2, &c.Standby)
		w.str(3, &c.Why)
	}),
	of(113, func(w *wire, c *fsm.RefuseEntry) {
		w.str(1, &c.Sum)
		w.str(2, &c.What)
		list(w, 3, &c.Writes, numberedWrite)
	}),
	of(114, func(w *wire, c *fsm.AgreeOnRefused) {
		uns(w, 1, &c.UpTo)
		list(w, 2, &c.Refused, refusal)
	}),
	of(74, func(w *wire, c *fsm.RaiseLevel) { uns(w, 1, &c.Level) }),
}

func numberedWrite(w *wire, n *fsm.NumberedWrite) {
	uns(w, 1, &n.Session)
	uns(w, 2, &n.Seq)
}

func refusal(w *wire, r *noun.Refusal) {
	uns(w, 1, &r.Index)
	w.str(2, &r.Sum)
}
