package agentd

import (
	"testing"
	"time"

	"vigil/rpc/gen/vigilv1"
)

// N22: a beat that failed is followed by the next one after a second, or a tenth of the shortest
// TTL: a fence of 2 s is not lost to one failure.
func TestN22AFailedBeatIsFollowedInTimeForShortTTLs(t *testing.T) {
	a, err := Open(Config{DataDir: t.TempDir(), Name: "h1", Conn: newFake(t, time.Minute).conn,
		Addrs: []string{"127.0.0.1:7420"}, Seams: Seams{Boot: "boot-1"}, Shim: shimCommand()})
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	k := a.keeper(t.Context(), nil)
	for _, tt := range []struct{ ttl, want time.Duration }{
		{time.Minute, time.Second}, {4 * time.Second, 400 * time.Millisecond},
		{2 * time.Second, 200 * time.Millisecond},
	} {
		k.lives.all[1] = &life{agent: 1, phase: running, ttl: tt.ttl, order: &vigilv1.Order{}}
		k.beats.member.ttl = time.Minute
		k.beats.acknowledged(time.Hour, nil, nil, no("unavailable"))
		if got := k.beats.due - time.Hour; got != tt.want {
			t.Errorf("TTL %s: the next beat follows after %s, want %s", tt.ttl, got, tt.want)
		}
	}
	clear(k.lives.all)
}

// N22: how long an agent has heard nothing is said as it was, also when the word that it froze comes
// after the next acknowledgement.
func TestN22TheSilenceBeforeAFreezeIsTold(t *testing.T) {
	l := &life{ttl: 4 * time.Second}
	tell := func(now time.Duration, want string) {
		t.Helper()
		if got := l.silent(now); got != want {
			t.Errorf("at %s: silent %q, want %q", now, got, want)
		}
	}
	tell(time.Second, "since before this agentd began")
	l.acknowledge(10 * time.Second)
	tell(10056*time.Millisecond, "until just now")
	tell(13*time.Second, "3s")
	l.acknowledge(13500 * time.Millisecond)
	tell(13556*time.Millisecond, "3.5s")
	l.acknowledge(13400 * time.Millisecond) // an older one that comes late
	tell(13556*time.Millisecond, "3.5s")
	tell(17*time.Second, "3.5s")
}
