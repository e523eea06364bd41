package door

import "testing"

// A server that never answers is not one of which nothing is known: else a leader whose
// API is out of reach since all servers were started would stay, and end every lease.
func TestL10NeverReachedIsLost(t *testing.T) {
	r := newReach("s1", nil, nil)
	if at := r.last("s2"); !at.IsZero() {
		t.Errorf("before it was tried: %v", at)
	}
	r.begin("s2")
	r.end("s2", false)
	if at := r.last("s2"); !at.Equal(r.born) {
		t.Errorf("after it did not answer: %v, want %v", at, r.born)
	}
	r.begin("s2")
	r.end("s2", true)
	at := r.last("s2")
	if at.Before(r.born) || at.Equal(r.born) {
		t.Errorf("after it answered: %v", at)
	}
	r.begin("s2")
	r.end("s2", false)
	if got := r.last("s2"); !got.Equal(at) {
		t.Errorf("after it answered no more: %v, want %v", got, at)
	}
}
