package rooms

import (
	"context"
	"fmt"
	"time"

	"vigil/cmd/vigil/cli"
	"vigil/cmd/vigil/term"
	"vigil/rpc/gen/vigilv1"
)

// applyLook is how often rooms are looked at whose agents are still to be created or changed.
const applyLook = 200 * time.Millisecond

// await waits until all agents of the rooms are as they are declared; a large room takes many entries of the log.
func (x *applier) await(ctx context.Context, c *cli.Conn, list *vigilv1.ListRoomsResponse) error {
	defer x.ProgressPart("")
	for i, was := range list.GetRooms() {
		x.ProgressPart("room %d of %d: ", i+1, len(list.GetRooms()))
		for left := uint32(1); left > 0; {
			room, err := c.Fleet.GetRoom(ctx, &vigilv1.GetRoomRequest{Room: was.GetName()})
			if err != nil {
				return fmt.Errorf("wait for room %s: %w", was.GetName(), err)
			}
			list.Rooms[i], left = room, room.GetUnfinished()
			x.Progress("%s: %s still to be created or changed", room.GetName(),
				term.Plural(left, "agent is", "agents are"))
			if left == 0 {
				break
			}
			select {
			case <-ctx.Done():
				return fmt.Errorf("room %s: %s still to be created or changed: %w", room.GetName(),
					term.Plural(left, "agent is", "agents are"), context.Cause(ctx))
			case <-time.After(applyLook):
			}
		}
	}
	x.ProgressEnd()
	if x.JSON {
		return nil
	}
	return x.Printf("all agents of %s are as they are declared\n", term.Plural(len(list.GetRooms()), "room"))
}
