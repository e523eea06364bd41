package servers

import (
	"fmt"
	"strings"
	"time"

	"vigil/rpc/gen/vigilv1"
)

// leaderlessText says for which servers one waits that knows no leader.
func leaderlessText(servers []*vigilv1.Server) string {
	var voters int
	var silent []string
	for _, s := range servers {
		if !s.GetVoter() {
			continue
		}
		voters++
		if s.GetSilent() != nil {
			where := s.GetApiAddr()
			if where == "" {
				where = s.GetRaftAddr()
			}
			silent = append(silent, fmt.Sprintf("%s (%s), not heard for %s", s.GetId(), where,
				s.GetSilent().AsDuration().Round(time.Second)))
		}
	}
	need := voters/2 + 1
	switch {
	case voters == 0:
		return "this server belongs to no cluster yet"
	case voters-len(silent) >= need:
		return "an election goes on; when it lasts, servers do not reach each other's port of the log"
	}
	return fmt.Sprintf("%d of the %d servers with a vote must be up, and %d is heard here: waits for %s",
		need, voters, voters-len(silent), strings.Join(silent, ", and "))
}
