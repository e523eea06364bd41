// Package rooms is `vigil apply` and `vigil room`: rooms become what files declare, and are shown, paused and
// deleted. What would do harm is planned by the servers, shown, and asked for before it is done.
package rooms
