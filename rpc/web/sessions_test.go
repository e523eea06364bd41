package web

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"
)

// Links and sessions end by themselves, and nobody has more than a few of either, nor takes those of others.
func TestSignInsEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := NewSessions()
		old := s.Code("anna", nil)
		time.Sleep(codeLife + time.Second)
		if _, _, ok := s.SignIn(old); ok {
			t.Error("an old link signs in")
		}
		first, half, ok := s.SignIn(s.Code("anna", 7))
		if x := s.find(first, half); !ok || x == nil || x.As != 7 {
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
		bert, hers, _ := s.SignIn(s.Code("bert", nil))
		var cookies, halves []string
		for range maxSessions + 1 {
			time.Sleep(time.Second)
			c, h, _ := s.SignIn(s.Code("anna", nil))
			cookies, halves = append(cookies, c), append(halves, h)
		}
		if x.ctx.Err() == nil || s.find(cookies[0], halves[0]) != nil || s.find(cookies[1], halves[1]) == nil ||
			s.find(bert, hers) == nil {
			t.Errorf("%d browsers are signed in", len(s.owners["anna"].open))
		}
		for range 3 * maxCodes {
			s.Code("anna", nil)
		}
		if o := s.owners["anna"]; len(o.codes) > maxCodes || len(o.open) > maxSessions {
			t.Errorf("%d links and %d sessions are kept", len(o.codes), len(o.open))
		}
		for i := range 2 * maxOwners {
			s.Code(fmt.Sprint(i), nil)
		}
		if len(s.owners) > maxOwners {
			t.Errorf("%d owners", len(s.owners))
		}
		time.Sleep(2 * sessionLife)
		if s.Code("carl", nil); len(s.owners) != 1 {
			t.Errorf("%d owners are kept for ever", len(s.owners))
		}
	})
}
