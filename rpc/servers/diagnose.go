package servers

import (
	"context"

	"vigil/rpc/code"
	"vigil/rpc/fault"
	"vigil/rpc/gen/vigilv1"
)

// Diagnose tells what this very server can say of itself, also while no leader is known.
func (c *Service) Diagnose(ctx context.Context, _ *vigilv1.DiagnoseRequest) (*vigilv1.Diagnosis, error) {
	if c.Diagnosis == nil {
		return nil, fault.New(code.Unimplemented, "This server tells nothing of itself.")
	}
	return c.Diagnosis(ctx)
}
