package rpc

import (
	"vigil/rpc/base"
	"vigil/rpc/door"
	"vigil/rpc/gen/vigilv1"
	"vigil/rpc/hosts"
)

// fleet serves what people and their tools ask for.
type fleet struct {
	vigilv1.UnsafeFleetServer // it has no methods: a call that nobody serves does not compile
	*base.Core
	*hosts.Desk
	watches *door.Places // of events, on this server
	// watchdog gives the counts of this server's conversation watchdog.
	watchdog func() *vigilv1.WatchdogStats
}
