package door

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"time"
)

// tlsHandshake is the first byte that a client of TLS sends, and no client of HTTP does.
const tlsHandshake = 0x16

// Limits of a connection in clear to a port that speaks TLS.
const (
	clearLimit = 2 * time.Second
	clearHead  = 8 << 10  // bytes before the end of its header
	clearRest  = 64 << 10 // bytes behind it that are thrown away
)

// errInClear ends a connection in clear to a port that speaks TLS.
var errInClear = errors.New("in clear")

const clearText = "This port speaks TLS: write https:// and show a certificate or an API token. " +
	"The commands of vigil do so by themselves: " +
	"log in with `vigil login TOKEN`, or select a context with `vigil context use`.\n"

// shake makes TLS out of a connection until then. Whoever speaks in clear is told so.
func (s *splitter) shake(conn *sniffedConn, until time.Time) error {
	first := make([]byte, 1)
	if _, err := io.ReadFull(conn.Conn, first); err != nil {
		return err
	}
	if first[0] != tlsHandshake {
		answerClear(conn.Conn, first)
		return errInClear
	}
	conn.Conn = &sniffedConn{Conn: conn.Conn, head: first}
	return s.tls.shake(conn, until, s.grpc.done)
}

// answerClear answers HTTP in clear. A client of gRPC finds this instead of what it expects, before it has
// sent any call; ours takes the words from it (rpc/link). What is no HTTP gets no answer.
func answerClear(c net.Conn, first []byte) {
	if err := c.SetDeadline(time.Now().Add(clearLimit)); err != nil || first[0] < 'A' || first[0] > 'Z' {
		return // methods are capital letters
	}
	head := make([]byte, len(first), clearHead)
	copy(head, first)
	for !bytes.Contains(head, []byte("\r\n\r\n")) {
		if len(head) == cap(head) {
			return
		}
		n, err := c.Read(head[len(head):cap(head)])
		if head = head[:len(head)+n]; err != nil {
			return
		}
	}
	_, err := fmt.Fprintf(c, "HTTP/1.1 400 Bad Request\r\nContent-Type: text/plain; charset=utf-8\r\n"+
		"Connection: close\r\nContent-Length: %d\r\n\r\n%s", len(clearText), clearText)
	if half, ok := c.(interface{ CloseWrite() error }); err == nil && ok && half.CloseWrite() == nil {
		// A connection that is closed before all was read is reset, and the answer may be lost with it.
		_, _ = io.CopyN(io.Discard, c, clearRest)
	}
}
