package park

import (
	"sync"

	"vigil/fsm/noun"
)

// Quota is so many places in all, of which one role has at most so many. Safe for concurrent use.
type Quota struct {
	Most, MostOfRole int // set before use

	mu    sync.Mutex
	taken int
	roles map[noun.RoleID]int
}

// Take takes a place; false: there is none. Give must follow.
func (q *Quota) Take(role noun.RoleID) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.taken >= q.Most || q.roles[role] >= q.MostOfRole {
		return false
	}
	if q.roles == nil {
		q.roles = map[noun.RoleID]int{}
	}
	q.taken++
	q.roles[role]++
	return true
}

// Give gives a place back.
func (q *Quota) Give(role noun.RoleID) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.taken--
	if q.roles[role]--; q.roles[role] == 0 {
		delete(q.roles, role)
	}
}

// Taken is how many places are taken.
func (q *Quota) Taken() int {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.taken
}
