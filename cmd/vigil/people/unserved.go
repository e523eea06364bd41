package people

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"google.golang.org/protobuf/proto"

	"vigil/cmd/vigil/cli"
	"vigil/cmd/vigil/term"
	"vigil/rpc/gen/vigilv1"
)

// unservedLines is how many roles without an agent a status shows.
const unservedLines = 10

// justDied is how long an agent by hand that ended with a task is news.
const justDied = 10 * time.Minute

// unservedText says that a role has work and nobody to do it, and why, or that most of it fails.
func unservedText(u *vigilv1.UnservedRole) string {
	if u.GetWhyCode() == "half_open" {
		return "most tasks of a role fail: " + term.OneLine(term.Tidy(u.GetWhy()))
	}
	what := fmt.Sprintf("%d tasks of %s/%s wait, the first", u.GetWaiting(), u.GetRoom(), u.GetRole())
	if u.GetWaiting() == 1 {
		what = fmt.Sprintf("1 task of %s/%s waits,", u.GetRoom(), u.GetRole())
	}
	return fmt.Sprintf("%s for %s, and nobody can do it: %s", what, term.OrZero(term.Span(u.GetSince())),
		term.OneLine(term.Tidy(u.GetWhy())))
}

// endedWithTask tells that the last life was begun by hand and has just ended with a task in
// its hands, by nobody's wish.
func endedWithTask(g *vigilv1.Agent) bool {
	x := g.GetLastExit()
	return x.GetKind() == "gone" && x.GetIncarnation() == g.GetIncarnation() && g.GetParticipant() == "DISCONNECTED" &&
		g.GetDesired() == "running" && !g.GetRetired() && x.GetAgo().AsDuration() < justDied
}

// unservedRoles are the roles of a room, or of all, with waiting tasks and nobody for them; and how
// many more there are.
func unservedRoles(ctx context.Context, a *cli.App, c *cli.Conn, room string) ([]*vigilv1.UnservedRole, int, error) {
	st, err := c.Cluster.Status(ctx, &vigilv1.StatusRequest{Stale: a.Stale, Room: room})
	return st.GetUnserved(), int(st.GetUnservedMore()), err
}

// unwellJSON is the answer of a health check: agents that are not fine, and roles without any.
func unwellJSON(list []*vigilv1.Agent, roles []*vigilv1.UnservedRole, more int) ([]byte, error) {
	agents, err := marshalAll(list)
	if err != nil {
		return nil, err
	}
	unserved, err := marshalAll(roles)
	if err != nil {
		return nil, err
	}
	return json.Marshal(map[string]any{"agents": agents, "unserved": unserved, "unserved_more": more})
}

// marshalAll is a JSON array of messages; empty, not null, without any.
func marshalAll[M proto.Message](list []M) ([]json.RawMessage, error) {
	raws := make([]json.RawMessage, 0, len(list))
	for _, m := range list {
		b, err := term.Marshal(m)
		if err != nil {
			return nil, err
		}
		raws = append(raws, b)
	}
	return raws, nil
}
