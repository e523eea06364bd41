package cli

import (
	"context"

	"vigil/rpc/gen/vigilv1"
)

// Rooms lists all rooms, page by page; stale: as the answering server knows them. With an error come those of the
// pages before it.
func (c *Conn) Rooms(ctx context.Context, stale bool) (all []*vigilv1.Room, err error) {
	for request := (&vigilv1.ListRoomsRequest{Stale: stale, Limit: 1000}); ; {
		page, err := c.Fleet.ListRooms(ctx, request)
		if err != nil {
			return all, err
		}
		all = append(all, page.GetRooms()...)
		if request.After = page.GetNext(); request.After == "" {
			return all, nil
		}
	}
}
