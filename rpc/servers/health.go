package servers

import (
	"context"

	"vigil/fsm"
	"vigil/rpc/base"
	"vigil/rpc/gen/vigilv1"
)

// GetHealth tells how this server is; it needs no leader.
func (c *Service) GetHealth(context.Context, *vigilv1.GetHealthRequest) (*vigilv1.GetHealthResponse, error) {
	l := c.Reader.Leader()
	out := &vigilv1.GetHealthResponse{Status: "healthy", Server: c.Self, Leader: l.Self,
		Watchdog: &vigilv1.HealthWatchdog{Stats: c.Watchdog()}}
	out.Watchdog.Enabled = base.Read(c.Core, func(st *fsm.View) bool { return st.Settings().Watchdog.Enabled })
	if l.ID == "" {
		out.Status = "no leader is known"
	}
	if c.Health != nil {
		if err := c.Health.Ready(); err != nil {
			out.Status = err.Error()
		}
	}
	return out, nil
}
