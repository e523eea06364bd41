package backup

import (
	"context"
	"errors"
	"slices"
)

// sized is a target where a backup that is deleted makes room for the next one.
type sized interface {
	// Size is what a backup takes, in bytes; 0 where nobody can tell.
	Size(n Name) uint64
}

// roomy is the target of a Keeper that makes room where a backup does not fit otherwise.
type roomy struct {
	Target
	keeper *Keeper
	list   []Name
	newest Name // good; zero: there is none
	gone   map[Name]bool
}

// Create begins one. Where the disk is too full for it those go first that it outdates, and not more than that.
func (r roomy) Create(ctx context.Context, about int64) (Draft, error) {
	draft, err := r.Target.Create(ctx, about)
	if full := (*FullError)(nil); errors.As(err, &full) && r.clear(ctx, full.Lack) {
		return r.Target.Create(ctx, about)
	}
	return draft, err
}

// clear deletes what the next backup outdates, the oldest first, until so many bytes are free. Where all of it is
// not enough nothing is deleted; the newest good one stays in any case.
func (r roomy) clear(ctx context.Context, lack uint64) bool {
	k := r.keeper
	target, ok := r.Target.(sized)
	if !ok || r.newest == (Name{}) {
		return false
	}
	old := k.retention(max(k.Keep-1, 1)).outdated(r.list, r.newest, k.Wall(), k.bad)
	slices.Reverse(old)
	old = old[:min(len(old), deletes)]
	n, frees := 0, uint64(0)
	for ; n < len(old) && frees < lack; n++ {
		frees += target.Size(old[n])
	}
	if frees < lack {
		return false
	}
	for _, o := range old[:n] {
		if k.drop(ctx, o) != nil {
			return false
		}
		r.gone[o] = true
	}
	return true
}
