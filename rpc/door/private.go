package door

import (
	"net"

	"vigil/rpc/code"
	"vigil/rpc/door/who"
)

// ownersRights are those of whoever reaches the private socket: who can read a server's keys is not kept
// out by its door, and has to get back in when no admin can log in any more.
var ownersRights = []who.Right{{Role: code.Admin, Room: who.AllRooms}}

// private is a listener whose connections are those of the owner of this server. Only gRPC is spoken there.
type private struct {
	net.Listener
	self string
}

// Accept implements net.Listener.
func (p private) Accept() (net.Conn, error) {
	c, err := p.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return &sniffedConn{Conn: c, caller: &caller{claim: who.Claim{Kind: who.Root, Name: p.self}}}, nil
}
