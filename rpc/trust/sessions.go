package trust

import (
	"crypto/tls"
	"time"
)

// settle is longer than a handshake takes. What one gives that may have begun before the certificate was
// replaced is not kept.
const settle = time.Minute

// sessions are what the connections of a holder are resumed from. Whoever resumes a session shows the
// certificate by which it began, and no newer one; so none outlives its certificate. It is safe for
// concurrent use.
type sessions struct {
	holder *Holder
	cache  tls.ClientSessionCache
}

// Get implements tls.ClientSessionCache.
func (s *sessions) Get(server string) (*tls.ClientSessionState, bool) {
	serial, _ := s.holder.held()
	return s.cache.Get(serial + " " + server)
}

// Put implements tls.ClientSessionCache.
func (s *sessions) Put(server string, state *tls.ClientSessionState) {
	serial, replaced := s.holder.held()
	if state != nil && !replaced.IsZero() && time.Since(replaced) < settle {
		return
	}
	s.cache.Put(serial+" "+server, state)
}
