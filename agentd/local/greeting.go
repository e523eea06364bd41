package local

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"time"
)

const (
	// maxGreeting bounds the line that a shim begins with.
	maxGreeting = 256
	// greetLimit bounds the greeting: agentd may have to wait until it has heard that a
	// life has begun, and one that is stopped or overloaded does not answer at all.
	greetLimit = 5 * time.Second
	taken      = '+' // the answer to a greeting
)

// Life is one incarnation of an agent of this host.
type Life struct {
	Agent       uint32
	Incarnation uint64
}

// greet tells agentd on a new connection for which life it is, and waits until agentd has
// taken it.
func greet(conn net.Conn, who Life) error {
	text, err := json.Marshal(who)
	if err != nil {
		return err
	}
	if err := conn.SetDeadline(time.Now().Add(greetLimit)); err != nil {
		return err
	}
	if _, err := conn.Write(append(text, '\n')); err != nil {
		return fmt.Errorf("greet agentd: %w", err)
	}
	answer := make([]byte, 1)
	if _, err := conn.Read(answer); err != nil || answer[0] != taken {
		return errors.Join(errors.New("agentd does not take this life"), err)
	}
	return conn.SetDeadline(time.Time{})
}

// hearGreeting reads the greeting of a shim. What follows it is read from the conn that
// comes back.
func hearGreeting(conn net.Conn) (Life, net.Conn, error) {
	var who Life
	read := bufio.NewReaderSize(conn, maxGreeting)
	line, err := read.ReadSlice('\n')
	if err == nil {
		err = json.Unmarshal(line, &who)
	}
	if err != nil {
		return who, nil, fmt.Errorf("read greeting of a shim: %w", err)
	}
	return who, begun{conn, read}, nil
}

// begun is a connection of which some was read.
type begun struct {
	net.Conn
	read *bufio.Reader
}

func (c begun) Read(p []byte) (int, error) { return c.read.Read(p) }
