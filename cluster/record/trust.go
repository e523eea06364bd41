package record

import (
	"vigil/fsm"
	"vigil/fsm/noun"
)

// trust has the records about who is let in.
var trust = []kind{
	of(85, func(w *wire, c *fsm.FoundTrust) {
		w.str(1, &c.Cluster)
		list(w, 2, &c.Roots, func(w *wire, r *fsm.Root) { w.bytes(1, &r.Cert) })
		uns(w, 3, &c.Issues)
		w.str(4, &c.Server)
		w.str(5, &c.Serial)
		w.str(6, &c.Admin)
		w.str(7, &c.By)
	}),
	of(86, func(w *wire, c *fsm.PutToken) {
		w.bytes(1, &c.SecretHash)
		uns(w, 2, &c.Kind)
		w.str(3, &c.Name)
		list(w, 4, &c.Labels, kv)
		w.strs(5, &c.Runners)
		uns(w, 6, &c.Uses)
		sig(w, 7, &c.For)
		w.str(8, &c.By)
	}),
	of(87, func(w *wire, c *fsm.RevokeToken) {
		uns(w, 1, &c.Token)
		w.str(2, &c.By)
	}),
	of(88, func(w *wire, c *fsm.UseToken) {
		uns(w, 1, &c.Token)
		w.bytes(2, &c.SecretHash)
		uns(w, 3, &c.Kind)
		w.str(4, &c.Name)
		w.bytes(5, &c.Key)
	}),
	of(89, func(w *wire, c *fsm.NoteLeaf) {
		uns(w, 1, &c.Kind)
		w.str(2, &c.Name)
		uns(w, 3, &c.Generation)
		w.str(4, &c.Serial)
		w.str(5, &c.Was)
		w.bytes(6, &c.Key)
		sig(w, 7, &c.Until)
		w.bytes(8, &c.Root)
	}),
	of(94, func(w *wire, c *fsm.RaiseGeneration) {
		uns(w, 1, &c.Kind)
		w.str(2, &c.Name)
		w.str(3, &c.By)
	}),
	of(95, func(w *wire, c *fsm.PutUser) {
		w.str(1, &c.Name)
		list(w, 2, &c.Bindings, binding)
		w.str(3, &c.By)
	}),
	of(96, func(w *wire, c *fsm.RemoveUser) {
		w.str(1, &c.Name)
		w.str(2, &c.By)
	}),
	of(97, func(w *wire, c *fsm.PutAPIToken) {
		w.str(1, &c.Name)
		w.bytes(2, &c.Hash)
		list(w, 3, &c.Bindings, binding)
		sig(w, 4, &c.For)
		w.str(5, &c.By)
	}),
	of(98, func(w *wire, c *fsm.RevokeAPIToken) {
		uns(w, 1, &c.Token)
		w.str(2, &c.By)
	}),
	of(100, func(w *wire, c *fsm.AddGossipKey) {
		w.str(1, &c.ID)
		uns(w, 2, &c.Rev)
	}),
	of(101, func(w *wire, c *fsm.StepGossip) { uns(w, 1, &c.Rev) }),
	of(102, func(w *wire, c *fsm.AckGossip) {
		w.str(1, &c.Server)
		uns(w, 2, &c.Rev)
	}),
	of(103, func(w *wire, c *fsm.RotateGossip) { w.str(1, &c.By) }),
	of(104, func(w *wire, c *fsm.AddRoot) {
		w.bytes(1, &c.Cert)
		w.bool(2, &c.Issues)
		w.str(3, &c.By)
	}),
	of(105, func(w *wire, c *fsm.StepRoots) { uns(w, 1, &c.Rev) }),
	of(110, func(*wire, *fsm.NoteAudit) {}),
}

func auditNote(w *wire, n *fsm.AuditNote) {
	w.str(1, &n.Who)
	w.str(2, &n.Method)
	w.str(3, &n.Room)
	w.str(4, &n.Source)
	w.str(5, &n.Digest)
}

func binding(w *wire, b *noun.Binding) {
	uns(w, 1, &b.Role)
	w.str(2, &b.Room)
}
