package ui

import (
	"testing"
	"testing/synctest"
	"time"
)

// Links and sessions end by themselves, and there are never more than a few of either.
func TestSignInsEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSessions()
		old := s.code()
		time.Sleep(codeLife + time.Second)
		if _, _, ok := s.signIn(old); ok {
			t.Error("an old link signs in")
		}
		first, half, ok := s.signIn(s.code())
		if !ok || s.find(first, half) == nil {
			t.Fatal("a link does not sign in")
		}
		time.Sleep(sessionLife - time.Second)
		x := s.find(first, half)
		if x == nil {
			t.Fatal("a session ends early")
		}
		time.Sleep(sessionLife + time.Second)
		if s.find(first, half) != nil {
			t.Error("a session that nobody uses goes on")
		}
		var cookies, halves []string
		for range maxSessions + 1 {
			time.Sleep(time.Second)
			c, h, _ := s.signIn(s.code())
			cookies, halves = append(cookies, c), append(halves, h)
		}
		if x.ctx.Err() == nil || s.find(cookies[0], halves[0]) != nil || s.find(cookies[1], halves[1]) == nil {
			t.Errorf("%d browsers are signed in", len(s.open))
		}
		for range 3 * maxCodes {
			s.code()
		}
		if len(s.codes) > maxCodes || len(s.open) > maxSessions {
			t.Errorf("%d links and %d sessions are kept", len(s.codes), len(s.open))
		}
	})
}
