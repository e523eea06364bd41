package life

import (
	"slices"
	"strings"
	"time"

	"vigil/cmd/vigil/cli"
	"vigil/rpc/client"
)

// Failure is what a life says when it gives an attempt up.
type Failure struct {
	Attempt
	Reason    string `json:"reason"`
	Retryable bool   `json:"retryable,omitempty"`
	// After is when another attempt may follow, from when the failure is said; 0: by the rules of the role.
	After time.Duration `json:"after,omitempty"`
}

const (
	// maxGivenUp is how many attempts are remembered as given up. A life works on one task at a time.
	maxGivenUp = 8
	// maxReason is what the cluster takes as a reason, in bytes.
	maxReason = 1 << 10
)

// GiveUp notes that this life gives an attempt up, which no server has heard, so that who speaks about it next does not
// say that it has succeeded. It tells whether that is noted: only a managed life has others that speak for it, and what
// it has ended stays so.
func GiveUp(a *cli.App, l *Life, f Failure) (bool, error) {
	if !l.Managed || a.Getenv(client.EnvSpool) == "" || f.Task == 0 || f.Attempt.Attempt == 0 ||
		HasEnded(a, l, f.Task, f.Attempt.Attempt) {
		return false, nil
	}
	if len(f.Reason) > maxReason {
		f.Reason = strings.ToValidUTF8(f.Reason[:maxReason], "")
	}
	kept := KeptOrNew(a, l)
	err := save(a, kept, func() {
		kept.takeUp(f.Attempt)
		kept.GivenUp = append(kept.GivenUp, f)
		kept.GivenUp = kept.GivenUp[max(0, len(kept.GivenUp)-maxGivenUp):]
	})
	return err == nil, err
}

// TakeUp is Save for a life that has just got its attempt: what was noted of that one as given up is not said any more.
func TakeUp(a *cli.App, l *Life) error {
	return save(a, l, func() { l.takeUp(Attempt{l.Task, l.Attempt}) })
}

func (l *Life) takeUp(t Attempt) {
	l.GivenUp = slices.DeleteFunc(l.GivenUp, func(f Failure) bool { return f.Attempt == t })
}

// GivenUp gives the failure that is noted of the attempt, nil when none is; 0: of any at the task.
func GivenUp(a *cli.App, l *Life, task uint64, attempt uint32) *Failure {
	kept := KeptOf(a, l)
	if kept == nil {
		return nil
	}
	i := slices.IndexFunc(kept.GivenUp, func(f Failure) bool {
		return f.Task == task && (attempt == 0 || f.Attempt.Attempt == attempt)
	})
	if i < 0 {
		return nil
	}
	return &kept.GivenUp[i]
}
