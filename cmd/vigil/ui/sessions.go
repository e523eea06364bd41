package ui

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"sync"
	"time"
)

// Bounds of sign-ins.
const (
	codeLife    = 15 * time.Minute // of a link that nobody has opened
	sessionLife = 12 * time.Hour   // since a browser asked last
	maxSessions = 32               // browsers at a time; the one that asked longest ago is signed out for the next
	maxCodes    = 8                // links at a time
)

// sessions knows the browsers that have signed in. Secrets are kept as hashes. It may be used by any number
// of goroutines.
type sessions struct {
	mu    sync.Mutex
	codes map[[sha256.Size]byte]time.Time // by hash: until when
	open  map[[sha256.Size]byte]*session  // by the hash of the cookie
}

// session is one browser. It has two secrets: the cookie, which every port of this machine gets to see, and
// the half, which only the page of this one holds.
type session struct {
	half [sha256.Size]byte
	used time.Time
	ctx  context.Context // ends with it
	end  context.CancelFunc
}

func newSessions() *sessions {
	return &sessions{codes: map[[sha256.Size]byte]time.Time{}, open: map[[sha256.Size]byte]*session{}}
}

// secret makes 256 bits that nobody guesses.
func secret() string {
	b := make([]byte, 32)
	_, _ = rand.Read(b) // never fails
	return base64.RawURLEncoding.EncodeToString(b)
}

// code makes a code that signs one browser in.
func (s *sessions) code() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := time.Now()
	var first [sha256.Size]byte
	for c, until := range s.codes {
		if now.After(until) {
			delete(s.codes, c)
		} else if was, ok := s.codes[first]; !ok || until.Before(was) {
			first = c
		}
	}
	if len(s.codes) >= maxCodes {
		delete(s.codes, first)
	}
	code := secret()
	s.codes[sha256.Sum256([]byte(code))] = now.Add(codeLife)
	return code
}

// signIn trades a code for a session; ok is false for one that is wrong, used or too old.
func (s *sessions) signIn(code string) (cookie, half string, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	hash := sha256.Sum256([]byte(code))
	until, known := s.codes[hash]
	delete(s.codes, hash)
	now := time.Now()
	if !known || now.After(until) {
		return "", "", false
	}
	s.sweep(now)
	cookie, half = secret(), secret()
	ctx, end := context.WithCancel(context.Background())
	s.open[sha256.Sum256([]byte(cookie))] = &session{half: sha256.Sum256([]byte(half)), used: now, ctx: ctx, end: end}
	return cookie, half, true
}

// sweep ends sessions that nobody has used for long, and makes room for one more.
func (s *sessions) sweep(now time.Time) {
	for len(s.open) > 0 {
		var oldest [sha256.Size]byte
		for c, x := range s.open {
			if o := s.open[oldest]; o == nil || x.used.Before(o.used) {
				oldest = c
			}
		}
		if o := s.open[oldest]; now.Sub(o.used) <= sessionLife && len(s.open) < maxSessions {
			return
		}
		s.open[oldest].end()
		delete(s.open, oldest)
	}
}

// find gives the session of a browser that shows both secrets; nil: none.
func (s *sessions) find(cookie, half string) *session {
	s.mu.Lock()
	defer s.mu.Unlock()
	x := s.open[sha256.Sum256([]byte(cookie))]
	now := time.Now()
	// Hashes of secrets with 256 bits: how long a comparison takes tells nothing.
	if x == nil || x.half != sha256.Sum256([]byte(half)) || now.Sub(x.used) > sessionLife {
		return nil
	}
	x.used = now
	return x
}

// signOut ends a session with all that goes on in it.
func (s *sessions) signOut(cookie string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	hash := sha256.Sum256([]byte(cookie))
	if x := s.open[hash]; x != nil {
		x.end()
		delete(s.open, hash)
	}
}
