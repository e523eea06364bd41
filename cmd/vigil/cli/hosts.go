package cli

import (
	"context"

	"vigil/rpc/gen/vigilv1"
)

// Hosts lists all hosts, page by page; stale: as the answering server knows them.
func (c *Conn) Hosts(ctx context.Context, stale bool) (all []*vigilv1.Host, err error) {
	for request := (&vigilv1.ListHostsRequest{Stale: stale}); ; {
		page, err := c.Fleet.ListHosts(ctx, request)
		if err != nil {
			return nil, err
		}
		all = append(all, page.GetHosts()...)
		if request.After = page.GetNext(); !page.GetMore() {
			return all, nil
		}
	}
}
