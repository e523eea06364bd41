package web

import (
	"cmp"
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
	sessionLife = 12 * time.Hour   // since a browser asked last, unless Sessions says else
	maxSessions = 32               // browsers of one owner; the one that asked longest ago is signed out for the next
	maxCodes    = 8                // links of one owner
	maxOwners   = 512              // who may have any at a time
)

// Sessions knows the browsers that have signed in, by the owner in whose name they ask. Secrets are kept as
// hashes. It may be used by any number of goroutines.
type Sessions struct {
	// Life is for how long a browser stays signed in after it asked last; 0: 12 hours. Set it before use.
	Life time.Duration

	mu     sync.Mutex
	owners map[string]*owned
}

// owned is what one owner has.
type owned struct {
	codes map[hash]code
	open  map[hash]*Session // by the cookie
}

type hash = [sha256.Size]byte

type code struct {
	until time.Time
	as    any
}

// Session is one browser. It has two secrets: the cookie, which every port of a machine gets to see, and the
// half, which only the page of one origin holds.
type Session struct {
	// As is what Code was given.
	As   any
	half hash
	used time.Time
	ctx  context.Context // ends with it
	end  context.CancelFunc
}

// NewSessions gives the sessions of one server: none.
func NewSessions() *Sessions { return &Sessions{owners: map[string]*owned{}} }

// secret makes 256 bits that nobody guesses.
func secret() string {
	b := make([]byte, 32)
	_, _ = rand.Read(b) // never fails
	return base64.RawURLEncoding.EncodeToString(b)
}

// Code makes a code that signs one browser in, in the name of an owner; "" when too many owners have some.
func (s *Sessions) Code(owner string, as any) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := time.Now()
	s.tidy(now)
	o := s.owners[owner]
	if o == nil {
		if len(s.owners) >= maxOwners {
			return ""
		}
		o = &owned{codes: map[hash]code{}, open: map[hash]*Session{}}
		s.owners[owner] = o
	}
	for len(o.codes) >= maxCodes {
		var first hash
		for h, c := range o.codes {
			if was, ok := o.codes[first]; !ok || c.until.Before(was.until) {
				first = h
			}
		}
		delete(o.codes, first)
	}
	text := secret()
	o.codes[sha256.Sum256([]byte(text))] = code{now.Add(codeLife), as}
	return text
}

// SignIn trades a code for a session; ok is false for one that is wrong, used or too old.
func (s *Sessions) SignIn(text string) (cookie, half string, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now, h := time.Now(), hash(sha256.Sum256([]byte(text)))
	s.tidy(now)
	for _, o := range s.owners {
		c, known := o.codes[h]
		if !known {
			continue
		}
		delete(o.codes, h)
		for len(o.open) >= maxSessions {
			o.endOldest()
		}
		cookie, half = secret(), secret()
		ctx, end := context.WithCancel(context.Background())
		o.open[sha256.Sum256([]byte(cookie))] = &Session{As: c.as, half: sha256.Sum256([]byte(half)), used: now,
			ctx: ctx, end: end}
		return cookie, half, true
	}
	return "", "", false
}

func (s *Sessions) life() time.Duration { return cmp.Or(s.Life, sessionLife) }

// tidy drops what has ended by itself.
func (s *Sessions) tidy(now time.Time) {
	for name, o := range s.owners {
		for h, c := range o.codes {
			if now.After(c.until) {
				delete(o.codes, h)
			}
		}
		for h, x := range o.open {
			if now.Sub(x.used) > s.life() {
				x.end()
				delete(o.open, h)
			}
		}
		if len(o.codes)+len(o.open) == 0 {
			delete(s.owners, name)
		}
	}
}

func (o *owned) endOldest() {
	var oldest hash
	for h, x := range o.open {
		if was := o.open[oldest]; was == nil || x.used.Before(was.used) {
			oldest = h
		}
	}
	o.open[oldest].end()
	delete(o.open, oldest)
}

// find gives the session of a browser that shows both secrets; nil: none.
func (s *Sessions) find(cookie, half string) *Session {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := time.Now()
	for _, o := range s.owners {
		x := o.open[sha256.Sum256([]byte(cookie))]
		// Hashes of secrets with 256 bits: how long a comparison takes tells nothing.
		if x != nil && x.half == sha256.Sum256([]byte(half)) && now.Sub(x.used) <= s.life() {
			x.used = now
			return x
		}
	}
	return nil
}

// signOut ends a session with all that goes on in it.
func (s *Sessions) signOut(cookie string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, o := range s.owners {
		if x := o.open[sha256.Sum256([]byte(cookie))]; x != nil {
			x.end()
			delete(o.open, sha256.Sum256([]byte(cookie)))
		}
	}
}
