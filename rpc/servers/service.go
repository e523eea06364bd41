package servers

import (
	"context"

	"vigil/fsm"
	"vigil/fsm/noun"
	"vigil/rpc/base"
	"vigil/rpc/door"
	"vigil/rpc/gen/vigilv1"
)

// Service serves the cluster's own calls. Its fields are set before the first call, and read only from then
// on. Safe for concurrent use.
type Service struct {
	vigilv1.UnimplementedClusterServer
	*base.Core
	Members Members // nil: this server runs alone
	Backups Backups // nil: it makes and restores none
	Health  Health  // may be nil

	ClusterID func() string // label of the cluster's gossip
	Version   string        // of the program
	// Identities tells that this server asks whoever calls who they are.
	Identities bool
	Saves      *door.Places // of backups that are being sent
	// Diagnosis tells of this server what is in no other answer; nil: nothing.
	Diagnosis func(context.Context) (*vigilv1.Diagnosis, error)
	// Watchdog gives the counts of this server's conversation watchdog.
	Watchdog func() *vigilv1.WatchdogStats
	// Notifiers counts those through which this server announces escalations while it leads; nil: nobody knows.
	Notifiers func() int
}

// GetSettings shows all settings with their meaning.
func (c *Service) GetSettings(context.Context, *vigilv1.GetSettingsRequest) (*vigilv1.Settings, error) {
	return c.settings(), nil
}

func (c *Service) settings() *vigilv1.Settings {
	return base.Read(c.Core, func(st *fsm.View) *vigilv1.Settings {
		out := &vigilv1.Settings{Values: map[string]string{}, Defaults: map[string]string{},
			Help: map[string]string{}, Rev: st.SettingsRev()}
		for _, i := range st.Settings().Info() {
			out.Values[i.Name], out.Defaults[i.Name] = i.Value, i.Default
			out.Help[i.Name] = i.Help + " (" + i.Range + ")"
		}
		return out
	})
}

// PutSettings changes settings by name, all or none.
func (c *Service) PutSettings(ctx context.Context, r *vigilv1.PutSettingsRequest) (*vigilv1.Settings, error) {
	return base.Idempotent(ctx, c.Core, r, putSettingsCmd,
		func(*noun.Outcome) *vigilv1.Settings { return c.settings() })
}

// AnnounceServer records what a server says of itself.
func (c *Service) AnnounceServer(
	ctx context.Context, r *vigilv1.AnnounceServerRequest,
) (*vigilv1.AnnounceServerResponse, error) {
	return base.Idempotent(ctx, c.Core, r, announceServerCmd, func(*noun.Outcome) *vigilv1.AnnounceServerResponse {
		return &vigilv1.AnnounceServerResponse{}
	})
}

// ReportHash records a server's hash of the state at a mark.
func (c *Service) ReportHash(
	ctx context.Context, r *vigilv1.ReportHashRequest,
) (*vigilv1.ReportHashResponse, error) {
	return base.Idempotent(ctx, c.Core, r, reportHashCmd, func(*noun.Outcome) *vigilv1.ReportHashResponse {
		return &vigilv1.ReportHashResponse{}
	})
}

// ReportViews records what a server hears of hosts.
func (c *Service) ReportViews(
	ctx context.Context, r *vigilv1.ReportViewsRequest,
) (*vigilv1.ReportViewsResponse, error) {
	return base.Idempotent(ctx, c.Core, r, reportViewsCmd, func(*noun.Outcome) *vigilv1.ReportViewsResponse {
		return &vigilv1.ReportViewsResponse{}
	})
}
