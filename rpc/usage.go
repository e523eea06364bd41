package rpc

import (
	"context"
	"fmt"

	"vigil/fsm"
	"vigil/fsm/core"
	"vigil/fsm/noun"
	"vigil/rpc/base"
	"vigil/rpc/fault"
	"vigil/rpc/form"
	"vigil/rpc/gen/vigilv1"
)

const (
	// maxUsage is how many rows one answer about usage has.
	maxUsage = 10_000
	// maxLives is how many lives a host tells the usage of in one beat.
	maxLives = 1024
	// maxUntold is how many budgets that cannot bite an answer names.
	maxUntold = 10
)

// usageLines checks what a host tells of the usage of its lives. It is left out until all servers can read it.
func (w *work) usageLines(r *vigilv1.BeatRequest) ([]fsm.Used, error) {
	switch n := len(r.GetUsage()); {
	case n == 0:
		return nil, nil
	case n > maxLives:
		return nil, fault.Invalid("usage has %d entries; at most %d are allowed.", n, maxLives)
	case r.GetHost() == 0:
		return nil, fault.Invalid("usage is told by hosts; leave it out.")
	}
	if base.Read(w.Core, func(st *fsm.View) bool { return st.Level() < core.LevelRetry }) {
		return nil, nil
	}
	var lines []fsm.Used
	for i, u := range r.GetUsage() {
		t := u.GetTotal()
		kinds := [noun.ToolKinds]uint64{}
		if len(t.GetKinds()) > len(kinds) {
			return nil, fault.Invalid("usage[%d].total.kinds has %d entries; at most %d are allowed.", i,
				len(t.GetKinds()), len(kinds))
		}
		copy(kinds[:], t.GetKinds())
		lines = append(lines, fsm.Used{Agent: noun.AgentID(u.GetAgent()), Inc: noun.Incarnation(u.GetIncarnation()),
			Run: u.GetRun(), Input: t.GetInputTokens(), Output: t.GetOutputTokens(), Cache: t.GetCacheTokens(),
			MicroUSD: t.GetMicroUsd(), Other: kinds[0], Shell: kinds[1], Read: kinds[2], Edit: kinds[3],
			Search: kinds[4], Web: kinds[5], Delegated: kinds[6], MCP: kinds[7]})
	}
	return lines, nil
}

// GetUsage tells what was used within 24 hours, and how budgets stand.
func (f *fleet) GetUsage(_ context.Context, r *vigilv1.GetUsageRequest) (*vigilv1.GetUsageResponse, error) {
	var c form.Checks
	c.OptionalName("room", r.GetRoom())
	c.OptionalName("role", r.GetRole())
	if r.GetRole() != "" && r.GetRoom() == "" {
		c.Fail("role is given without a room: name its room, too.")
	}
	if c.Err != nil {
		return nil, c.Err
	}
	out := &vigilv1.GetUsageResponse{}
	var err error
	f.Reader.Read(func(st *fsm.View) { err = addUsage(st, r, out) })
	if err != nil {
		return nil, err
	}
	return out, nil
}

// addUsage fills in the rows that are asked for.
func addUsage(st *fsm.View, r *vigilv1.GetUsageRequest, out *vigilv1.GetUsageResponse) error {
	add := func(u *vigilv1.UsageState) bool {
		if u != nil {
			out.Usage = append(out.Usage, u)
		}
		return len(out.Usage) < maxUsage
	}
	if r.GetRoom() == "" {
		for rm := range st.Rooms("") {
			out.Warnings = addUntold(st, rm.Roles, out.Warnings)
			if !add(form.RoomUsage(st, rm)) {
				break
			}
		}
		out.Warnings = fewUntold(out.Warnings)
		return nil
	}
	rm := st.Room(r.GetRoom())
	if rm == nil {
		return base.NoRoom(st, r.GetRoom())
	}
	if r.GetRole() == "" {
		out.Warnings = fewUntold(addUntold(st, rm.Roles, nil))
		add(form.RoomUsage(st, rm))
		for _, id := range rm.Roles {
			add(form.RoleUsage(st, st.Role(id)))
		}
		return nil
	}
	role := st.RoleByName(r.GetRoom(), r.GetRole())
	if role == nil {
		return fault.NotFound("There is no role %s in room %s.", fault.Quote(r.GetRole()), fault.Quote(r.GetRoom()))
	}
	out.Warnings = form.UntoldBudgets(st, role)
	add(form.RoleUsage(st, role))
	for _, id := range role.Agents {
		if !add(form.AgentUsage(st, st.Agent(id))) {
			break
		}
	}
	return nil
}

func addUntold(st *fsm.View, roles []noun.RoleID, list []string) []string {
	for _, id := range roles {
		list = append(list, form.UntoldBudgets(st, st.Role(id))...)
	}
	return list
}

// fewUntold bounds what is said of budgets that cannot bite.
func fewUntold(list []string) []string {
	if more := len(list) - maxUntold; more > 0 {
		return append(list[:maxUntold:maxUntold], fmt.Sprintf("%d more budgets cannot bite; ask for one room.", more))
	}
	return list
}

func liftBudgetCmd(r *vigilv1.LiftBudgetRequest) (fsm.Command, error) {
	var c form.Checks
	c.Name("room", r.GetRoom())
	c.OptionalName("role", r.GetRole())
	c.Line("by", r.GetBy(), form.MaxWho)
	return fsm.LiftBudget{Room: r.GetRoom(), Role: r.GetRole(), By: r.GetBy()}, c.Err
}

// LiftBudget lets a room, or a role with its agents, go on beyond its budget.
func (f *fleet) LiftBudget(ctx context.Context, r *vigilv1.LiftBudgetRequest) (*vigilv1.LiftBudgetResponse, error) {
	return base.Write(ctx, f.Core, r, liftBudgetCmd, func(st *fsm.View, _ *noun.Outcome) *vigilv1.LiftBudgetResponse {
		if role := st.RoleByName(r.GetRoom(), r.GetRole()); role != nil {
			return &vigilv1.LiftBudgetResponse{Usage: form.RoleUsage(st, role)}
		}
		if rm := st.Room(r.GetRoom()); rm != nil {
			return &vigilv1.LiftBudgetResponse{Usage: form.RoomUsage(st, rm)}
		}
		return &vigilv1.LiftBudgetResponse{}
	})
}
