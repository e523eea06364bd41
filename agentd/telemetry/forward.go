package telemetry

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"
)

const (
	// forwardLimit bounds one delivery.
	forwardLimit = 10 * time.Second
	// maxWaiting and maxWaitingBytes bound what waits to be forwarded.
	maxWaiting      = 256
	maxWaitingBytes = 16 << 20
)

// CheckForward tells what is wrong with the address of a collector.
func CheckForward(address string) error {
	u, err := url.Parse(address)
	switch {
	case err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "":
		return errors.New("want an address such as http://127.0.0.1:4318, to which /v1/metrics is appended")
	case u.User != nil || u.RawQuery != "" || u.Fragment != "":
		return errors.New("want an address without user, query and fragment")
	}
	return nil
}

// Forwarder passes messages on to a collector, in order, each once. What cannot be delivered is dropped: a
// collector that is away must not hold up agents.
type Forwarder struct {
	base   string
	client *http.Client
	drop   func(error) // hears of each message that is dropped

	mu      sync.Mutex
	waiting []message
	bytes   int
	wake    chan struct{}
}

type message struct {
	path, kind string
	body       []byte
}

// NewForwarder makes a forwarder to an address that CheckForward has found right. Run runs it.
func NewForwarder(address string, drop func(error)) *Forwarder {
	return &Forwarder{base: strings.TrimSuffix(address, "/"), drop: drop, wake: make(chan struct{}, 1),
		client: &http.Client{Timeout: forwardLimit, CheckRedirect: func(*http.Request, []*http.Request) error {
			return http.ErrUseLastResponse
		}}}
}

// Forward takes a message, or drops it when too much waits. It never blocks.
func (f *Forwarder) Forward(path, kind string, body []byte) {
	f.mu.Lock()
	full := len(f.waiting) >= maxWaiting || f.bytes+len(body) > maxWaitingBytes
	if !full {
		f.waiting, f.bytes = append(f.waiting, message{path, kind, body}), f.bytes+len(body)
	}
	f.mu.Unlock()
	if full {
		f.drop(errors.New("too much waits to be forwarded"))
		return
	}
	select {
	case f.wake <- struct{}{}:
	default:
	}
}

// Run delivers until ctx ends.
func (f *Forwarder) Run(ctx context.Context) {
	defer f.client.CloseIdleConnections()
	for {
		m, any := f.first()
		if !any {
			select {
			case <-f.wake:
				continue
			case <-ctx.Done():
				return
			}
		}
		if err := f.deliver(ctx, m); err != nil {
			if ctx.Err() != nil {
				return
			}
			f.drop(err)
		}
	}
}

func (f *Forwarder) first() (m message, any bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(f.waiting) == 0 {
		return m, false
	}
	m = f.waiting[0]
	f.waiting, f.bytes = f.waiting[1:], f.bytes-len(m.body)
	return m, true
}

func (f *Forwarder) deliver(ctx context.Context, m message) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, f.base+m.path, bytes.NewReader(m.body))
	if err != nil {
		return err
	}
	req.Header.Set("Content-Type", m.kind)
	res, err := f.client.Do(req)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	_, _ = io.Copy(io.Discard, io.LimitReader(res.Body, MaxBody)) // for the next one on this connection
	if res.StatusCode/100 != 2 {
		return fmt.Errorf("the collector answered %s", res.Status)
	}
	return nil
}
