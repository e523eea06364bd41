package rpc

import (
	"vigil/rpc/base"
	"vigil/rpc/door"
	"vigil/rpc/gen/vigilv1"
)

// fleet serves what people and their tools ask for.
type fleet struct {
	vigilv1.UnimplementedFleetServer
	*base.Core
	watches *door.Places // of events, on this server
	logs    *logRelay
	// watchdog gives the counts of this server's conversation watchdog.
	watchdog func() *vigilv1.WatchdogStats

	nudges nudges
}
