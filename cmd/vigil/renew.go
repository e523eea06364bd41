package main

import (
	"context"

	"vigil/cmd/vigil/join"
	"vigil/rpc/client"
	"vigil/rpc/trust"
)

// renewPerson is how commands of people renew certificates.
func renewPerson(ctx context.Context, c *client.Client, h *trust.Holder, dir trust.Dir) error {
	return join.Renew(ctx, c, h, nil, dir)
}
