package core

import "vigil/fsm/noun"

// indexKey notes the key of a task, if it has one.
func (s *State) indexKey(t *noun.Task) {
	if t.Key != "" {
		s.taskByKey[taskKey{t.Room, t.Key}] = t.ID
	}
}

// found answers with the task that was created with the key before, unless it says something else. Its text may
// have been dropped since, and when it was put off until is over: neither tells the two apart.
func (c CreateTask) found(r *noun.Role, t *noun.Task) noun.Outcome {
	differs := ""
	switch {
	case t.Role != r.ID:
		differs = "role"
	case t.Title != c.Title:
		differs = "title"
	case t.Text != c.Text && !t.TextGone:
		differs = "text"
	case t.Priority != c.Priority:
		differs = "priority"
	case t.Planned().Expect != c.Expect:
		differs = "expected time"
	default:
		return noun.Outcome{Room: r.Room, Role: r.ID, Task: t.ID, Rev: t.Rev}
	}
	return Refuse(noun.Conflict, "task %d has the key %q in room %q already, and another %s: choose another key for "+
		"another task", t.ID, c.Key, c.Room, differs)
}
