package vouch

import (
	"context"

	"vigil/fsm"
	"vigil/fsm/noun"
	"vigil/rpc/base"
	"vigil/rpc/form"
	"vigil/rpc/gen/vigilv1"
)

// ListAudit pages through what people and API tokens have changed.
func (t *Service) ListAudit(
	_ context.Context, r *vigilv1.ListAuditRequest,
) (*vigilv1.ListAuditResponse, error) {
	var c form.Checks
	limit := c.Page(r.GetLimit(), form.DefaultPage)
	c.Line("room", r.GetRoom(), noun.MaxAuditRoom)
	c.Line("who", r.GetWho(), noun.MaxPrincipal)
	c.Line("method", r.GetMethod(), noun.MaxAuditMethod)
	if r.GetTail() && r.GetAfter() != 0 {
		c.Fail("tail and after exclude each other; give one of them.")
	}
	if c.Err != nil {
		return nil, c.Err
	}
	return base.Read(t.Core, func(st *fsm.View) *vigilv1.ListAuditResponse {
		// What is behind the end is there after a restore only: then it goes on from there.
		out := &vigilv1.ListAuditResponse{Next: st.LastAudit()}
		if r.GetTail() || r.GetAfter() >= out.GetNext() {
			return out
		}
		last := r.GetAfter()
		for a := range st.Audit(last) {
			if r.GetRoom() != "" && a.Room != r.GetRoom() || r.GetWho() != "" && a.Who != r.GetWho() ||
				r.GetMethod() != "" && a.Method != r.GetMethod() {
				continue
			}
			if len(out.Entries) == limit {
				out.More, out.Next = true, last
				break
			}
			out.Entries, last = append(out.Entries, convertAudit(a)), a.Seq
		}
		return out
	}), nil
}

func convertAudit(a *noun.Audit) *vigilv1.AuditEntry {
	return &vigilv1.AuditEntry{Seq: a.Seq, Index: a.Index, At: form.Wall(a.Wall), Who: a.Who, Method: a.Method,
		Room: a.Room, Source: a.Source, Digest: a.Digest}
}
