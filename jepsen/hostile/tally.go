package hostile

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"

	"vigil/jepsen/history"
	"vigil/rpc/client"
)

// Codes of answers.
const (
	done       = "ok"
	denied     = "denied"
	authDenied = "auth_denied"
	superseded = "superseded"
	invalid    = "invalid"
	notFound   = "not_found"
	tooLarge   = "too_large"
	closed     = "connection closed" // by the other end, before it has said anything
)

// unanswered are the codes that prove nothing.
var unanswered = []string{"unavailable", "timeout", "canceled", "no_leader", "not_leader",
	"agentd_away", "unknown_outcome"}

// Tally counts attempts by what was tried and how it was answered. Safe for concurrent use.
type Tally struct {
	mu   sync.Mutex
	list map[[2]string]*history.Attempts
}

// Judge counts the answer to an attempt, which must be one of the codes.
func (t *Tally) Judge(what string, err error, may ...string) {
	code := done
	if err != nil {
		code = client.Code(err)
	}
	t.note(what, code, fmt.Sprint(err), may)
}

// note counts an answer; text is what it said, for people.
func (t *Tally) note(what, code, text string, may []string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.list == nil {
		t.list = map[[2]string]*history.Attempts{}
	}
	a := t.list[[2]string{what, code}]
	if a == nil {
		a = &history.Attempts{What: what, Code: code}
		t.list[[2]string{what, code}] = a
	}
	a.Count++
	if a.Wrong == "" && !slices.Contains(may, code) && !slices.Contains(unanswered, code) {
		a.Wrong = fmt.Sprintf("answered with %s (%.200s), want %s", code, text, strings.Join(may, " or "))
	}
}

// List gives what was counted, in the order of names.
func (t *Tally) List() (list []history.Attempts) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, a := range t.list {
		list = append(list, *a)
	}
	slices.SortFunc(list, func(a, b history.Attempts) int {
		return cmp.Or(cmp.Compare(a.What, b.What), cmp.Compare(a.Code, b.Code))
	})
	return list
}

// Write gives the tally as the result of a task.
func (t *Tally) Write() (string, error) {
	text, err := json.Marshal(t.List())
	return string(text), err
}

// Read reads what Write gave.
func Read(text string) (list []history.Attempts, err error) {
	if err := json.Unmarshal([]byte(text), &list); err != nil {
		return nil, fmt.Errorf("read what an agent tried: %w", err)
	}
	return list, nil
}
