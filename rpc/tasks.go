package rpc

import (
	"context"
	"slices"

	"vigil/fsm"
	"vigil/fsm/noun"
	"vigil/rpc/base"
	"vigil/rpc/fault"
	"vigil/rpc/form"
	"vigil/rpc/gen/vigilv1"
)

// CreateTask adds a task to a role's queue.
func (f *fleet) CreateTask(ctx context.Context, r *vigilv1.CreateTaskRequest) (*vigilv1.Task, error) {
	return base.Write(ctx, f.Core, r, createTaskCmd, taskAnswer)
}

// CancelTask ends a task by a human's word.
func (f *fleet) CancelTask(ctx context.Context, r *vigilv1.CancelTaskRequest) (*vigilv1.Task, error) {
	return base.Write(ctx, f.Core, r, cancelTaskCmd, func(st *fsm.View, out *noun.Outcome) *vigilv1.Task {
		return taskByID(st, noun.TaskID(r.GetTask()), out)
	})
}

// RetryTask puts an ended task back into its queue.
func (f *fleet) RetryTask(ctx context.Context, r *vigilv1.RetryTaskRequest) (*vigilv1.Task, error) {
	return base.Write(ctx, f.Core, r, retryTaskCmd, func(st *fsm.View, out *noun.Outcome) *vigilv1.Task {
		return taskByID(st, noun.TaskID(r.GetTask()), out)
	})
}

func taskAnswer(st *fsm.View, out *noun.Outcome) *vigilv1.Task { return taskByID(st, out.Task, out) }

// taskByID converts a task after a write; one that is gone by now (a repeated
// write may be old) is answered with its number alone.
func taskByID(st *fsm.View, id noun.TaskID, out *noun.Outcome) *vigilv1.Task {
	if t := st.Task(id); t != nil {
		return form.Summary(st, t)
	}
	return &vigilv1.Task{Id: uint64(id), Rev: out.Rev}
}

// GetTask shows one task with its text.
func (f *fleet) GetTask(_ context.Context, r *vigilv1.GetTaskRequest) (*vigilv1.Task, error) {
	var c form.Checks
	if c.Task(r.GetTask()); c.Err != nil {
		return nil, c.Err
	}
	out := base.Read(f.Core, func(st *fsm.View) *vigilv1.Task {
		if t := st.Task(noun.TaskID(r.GetTask())); t != nil {
			return form.Task(st, t, true)
		}
		return nil
	})
	if out == nil {
		return nil, noTask(r.GetTask())
	}
	return out, nil
}

func noTask(id uint64) error {
	return fault.NotFound("%s", noun.AbsentTask(noun.TaskID(id)))
}

// taskFilter says which tasks a list wants.
type taskFilter struct {
	room   noun.RoomID
	role   string
	states []vigilv1.TaskState
}

func (w *taskFilter) match(st *fsm.View, t *noun.Task) bool {
	if w.room != 0 && t.Room != w.room {
		return false
	}
	if len(w.states) > 0 && !slices.Contains(w.states, vigilv1.TaskState(t.State)) {
		return false
	}
	if w.role != "" {
		r := st.Role(t.Role)
		return r != nil && r.Spec.Name == w.role
	}
	return true
}

// ListTasks pages through tasks by number. A page is not one instant: the lock is
// given back every base.ScanStep tasks.
func (f *fleet) ListTasks(ctx context.Context, r *vigilv1.ListTasksRequest) (*vigilv1.ListTasksResponse, error) {
	var c form.Checks
	c.OptionalName("room", r.GetRoom())
	c.OptionalName("role", r.GetRole())
	limit := c.Page(r.GetLimit(), form.DefaultPage)
	if c.Err != nil {
		return nil, c.Err
	}
	want := taskFilter{role: r.GetRole(), states: r.GetStates()}
	if r.GetRoom() != "" {
		err := base.Read(f.Core, func(st *fsm.View) error {
			room := st.Room(r.GetRoom())
			if room == nil {
				return base.NoRoom(st, r.GetRoom())
			}
			want.room = room.ID
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	resp := &vigilv1.ListTasksResponse{}
	for at := noun.TaskID(r.GetAfter()); ; {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		more := false
		f.Reader.Read(func(st *fsm.View) {
			tasks := st.Tasks(at)
			if r.GetNewestFirst() {
				tasks = st.TasksBack(at)
			}
			seen := 0
			for t := range tasks {
				if more = seen == base.ScanStep || len(resp.Tasks) == limit; more {
					return
				}
				seen, at = seen+1, t.ID
				if want.match(st, t) {
					resp.Tasks = append(resp.Tasks, form.Summary(st, t))
				}
			}
		})
		if !more {
			return resp, nil
		}
		if len(resp.Tasks) == limit {
			resp.More, resp.Next = true, uint64(at)
			return resp, nil
		}
	}
}
