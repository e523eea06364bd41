package main

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc/codes"

	"vigil/cmd/vigil/cli"
	"vigil/cmd/vigil/term"
	"vigil/rpc/gen/vigilv1"
)

// page gives the numbers of a page of the many things, and the last of them where there are more.
func (s *cannedServer) page(after, limit uint32) (numbers []int, next int) {
	for i := int(after) + 1; i <= s.many && len(numbers) < int(cmp.Or(limit, 100)); i++ {
		numbers = append(numbers, i)
	}
	if last := int(after) + len(numbers); last < s.many {
		next = last
	}
	return numbers, next
}

// behind fails once when a page behind the first is asked for, where the test wants that.
func (s *cannedServer) behind(first bool) error {
	if first || !s.cut {
		return nil
	}
	s.cut = false
	return refusal(codes.NotFound, "not_found", "Gone.")
}

// numbered is the number in a name such as r0017; 0 without one.
func numbered(name string) (n uint32) {
	_, _ = fmt.Sscanf(strings.TrimLeft(name, "webr/.0"), "%d", &n)
	return n
}

func (s *cannedServer) ListRooms(_ context.Context, r *vigilv1.ListRoomsRequest) (*vigilv1.ListRoomsResponse, error) {
	if s.many == 0 {
		return &vigilv1.ListRoomsResponse{Rooms: []*vigilv1.Room{s.room}}, nil
	}
	list := &vigilv1.ListRoomsResponse{}
	numbers, next := s.page(numbered(r.GetAfter()), r.GetLimit())
	for _, i := range numbers {
		list.Rooms = append(list.Rooms, &vigilv1.Room{Name: fmt.Sprintf("r%04d", i),
			Roles: []*vigilv1.Role{{Spec: &vigilv1.RoleSpec{Name: "a"}}}})
	}
	if list.More = next > 0; list.More {
		list.Next = fmt.Sprintf("r%04d", next)
	}
	return list, nil
}

func (s *cannedServer) ListAgents(
	_ context.Context, r *vigilv1.ListAgentsRequest,
) (*vigilv1.ListAgentsResponse, error) {
	if s.many == 0 {
		return &vigilv1.ListAgentsResponse{Agents: []*vigilv1.Agent{s.agent.GetAgent()}}, nil
	}
	list := &vigilv1.ListAgentsResponse{}
	numbers, next := s.page(numbered(r.GetAfter()), r.GetLimit())
	for _, i := range numbers {
		list.Agents = append(list.Agents, &vigilv1.Agent{Name: fmt.Sprintf("web/r.%d", i)})
	}
	if list.More = next > 0; list.More {
		list.Next = fmt.Sprintf("web/r.%d", next)
	}
	return list, s.behind(r.GetAfter() == "")
}

func (s *cannedServer) ListEscalations(
	_ context.Context, r *vigilv1.ListEscalationsRequest,
) (*vigilv1.ListEscalationsResponse, error) {
	list := &vigilv1.ListEscalationsResponse{}
	numbers, next := s.page(uint32(r.GetAfter()), r.GetLimit())
	for _, i := range numbers {
		list.Escalations = append(list.Escalations, &vigilv1.Escalation{Id: uint64(i)})
	}
	list.More, list.Next = next > 0, uint64(next)
	return list, s.behind(r.GetAfter() == 0)
}

func (s *cannedServer) ListTasks(_ context.Context, r *vigilv1.ListTasksRequest) (*vigilv1.ListTasksResponse, error) {
	if s.many == 0 {
		return &vigilv1.ListTasksResponse{Tasks: []*vigilv1.Task{s.task}}, nil
	}
	list := &vigilv1.ListTasksResponse{}
	numbers, next := s.page(uint32(r.GetAfter()), r.GetLimit())
	for _, i := range numbers {
		list.Tasks = append(list.Tasks, &vigilv1.Task{Id: uint64(i), State: vigilv1.TaskState_PENDING})
	}
	list.More, list.Next = next > 0, uint64(next)
	return list, nil
}

// All rooms are listed, however many there are, and completed.
func TestAllRoomsAreListed(t *testing.T) {
	t.Parallel()
	for _, many := range []int{101, 1101} {
		s := newCanned(t)
		s.many = many
		env := map[string]string{"VIGIL_ADDR": s.addr}
		code, out, errs := terminalRun{env: env}.do(t, "room", "list")
		if last := fmt.Sprintf("\nr%04d ", many); code != 0 || strings.Count(out, "\nr") != many ||
			!strings.Contains(out, last) {
			t.Errorf("of %d rooms %d are listed: %d, %s", many, strings.Count(out, "\nr"), code, errs)
		}
		a := &cli.App{Terminal: term.Terminal{Now: time.Now}, Getenv: func(k string) string { return env[k] }}
		c, err := a.Dial()
		if err != nil {
			t.Fatal(err)
		}
		rooms, roles := cli.RoomNames(t.Context(), c, ""), cli.RoleNames(t.Context(), c, "")
		c.Close()
		if len(rooms) != many || len(roles) != many || roles[many-1] != rooms[many-1]+"/a" {
			t.Errorf("of %d rooms and roles %d and %d are completed", many, len(rooms), len(roles))
		}
	}
}
