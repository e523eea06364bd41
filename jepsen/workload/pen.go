package workload

import (
	"context"
	"fmt"

	"vigil/rpc/gen/vigilv1"
)

// pen numbers writes by hand, so that one may be repeated under its number by
// whomever. One goroutine uses it, and asks for the next number when the last write
// is over.
type pen struct {
	s       *Set
	session uint64 // 0: there is none
	seq     uint64
}

// next gives the id of a new write.
func (p *pen) next(ctx context.Context) (*vigilv1.WriteId, error) {
	if p.session == 0 {
		ctx, cancel := context.WithTimeout(ctx, p.s.cfg.Timeout)
		defer cancel()
		answer, err := p.s.whole.work.OpenSession(ctx, &vigilv1.OpenSessionRequest{Client: by})
		if err != nil {
			return nil, fmt.Errorf("open session: %w", err)
		}
		p.session, p.seq = answer.GetSession(), 0
	}
	p.seq++
	return &vigilv1.WriteId{Session: p.session, Seq: p.seq}, nil
}

// lose forgets the session, which the cluster does not know any more.
func (p *pen) lose() { p.session = 0 }

// written is a write id as histories have it.
func written(id *vigilv1.WriteId) string {
	return fmt.Sprintf("%d/%d", id.GetSession(), id.GetSeq())
}
