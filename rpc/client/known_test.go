package client_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"vigil/rpc/client"
)

func (f *fakeCluster) name(list string) {
	f.mu.Lock()
	f.named = list
	f.mu.Unlock()
}

func (f *fakeCluster) openWith(t *testing.T, cfg client.Config) *client.Client {
	t.Helper()
	cfg.Dial = f.dial
	c, err := client.Open(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// Servers are replaced one by one; in the end none is left of those that the client was
// told of, and it goes on. The configured ones are never dropped.
func TestN25ClientFollowsTheServers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		now := []string{"a:1", "b:1", "c:1"}
		f := newFake(now...)
		f.mu.Lock()
		f.hint = false
		f.mu.Unlock()
		c := f.open(t, now...)
		defer f.stop()
		defer c.Close()
		for _, next := range []string{"d:1", "e:1", "f:1"} {
			f.start(next)
			f.name(strings.Join(append(slices.Clone(now), next), ","))
			if _, err := create(t.Context(), c, next); err != nil {
				t.Fatal(err)
			}
			f.kill(now[0])
			now = append(now[1:], next)
			f.lead(now[0])
			f.name(strings.Join(now, ","))
			if _, err := create(t.Context(), c, next); err != nil {
				t.Fatalf("without %v: %v", now, err)
			}
		}
		if got := strings.Join(c.Servers(), ","); got != "d:1,e:1,f:1,a:1,b:1,c:1" {
			t.Errorf("knows %s", got)
		}
	})
}

// What cannot be an address is not learned, and nothing makes the list long.
func TestN25WhatServersSayIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake("a:1")
		c := f.open(t, "a:1")
		defer f.stop()
		defer c.Close()
		long := strings.Repeat("x", 300) + ":1"
		for i, list := range []string{",, ,nonsense,:5,0.0.0.0:7,[::]:7," + long, strings.Repeat("b:1,", 1000), ""} {
			f.name(list)
			if _, err := create(t.Context(), c, "x"); err != nil {
				t.Fatal(err)
			}
			if got := c.Servers(); len(got) > 2 || !slices.Contains(got, "a:1") {
				t.Errorf("list %d: knows %v", i, got)
			}
		}
	})
}

// A client that was idle while every server was replaced finds the new ones in the file
// that agentd keeps, one that is opened later too.
func TestN25ClientReadsTheFile(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake("a:1", "z:1")
		file := filepath.Join(t.TempDir(), "servers")
		c := f.openWith(t, client.Config{Addrs: []string{"a:1"}, File: file})
		defer f.stop()
		defer c.Close()
		if _, err := create(t.Context(), c, "one"); err != nil {
			t.Fatal(err)
		}
		f.kill("a:1")
		f.lead("z:1")
		time.AfterFunc(30*time.Second, func() {
			if err := os.WriteFile(file, []byte("y:1\nz:1\n"), 0o600); err != nil {
				t.Error(err)
			}
		})
		if _, err := create(t.Context(), c, "two"); err != nil {
			t.Fatal(err)
		}
		late := f.openWith(t, client.Config{Addrs: []string{"a:1"}, File: file})
		defer late.Close()
		if got := late.Servers(); !slices.Equal(got, []string{"y:1", "z:1", "a:1"}) {
			t.Errorf("knows %v", got)
		}
		if _, err := create(t.Context(), late, "three"); err != nil {
			t.Fatal(err)
		}
	})
}
