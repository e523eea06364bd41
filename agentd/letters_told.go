package agentd

import (
	"time"

	"vigil/agentd/results"
)

// tellLetters is the time between two registrations that tell how many letters there are.
const tellLetters = time.Minute

// lettersTold is the part that has the cluster told how many letters there are.
type lettersTold struct {
	base
	member  *membership
	letters *results.Letters
	enroll  func()

	told int64
	due  time.Duration
}

// look has the cluster told when there are more or fewer of them.
func (t *lettersTold) look(now time.Duration) time.Duration {
	kept := t.letters.Kept()
	if kept != t.told && now >= t.due && t.member.registered {
		t.told, t.due = kept, now+tellLetters
		t.enroll()
	}
	t.metrics.letters.Set(float64(kept))
	return longestNap
}
