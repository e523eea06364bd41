package serve

import (
	"fmt"
	"time"

	"vigil/cmd/vigil/conf"
	"vigil/rpc/form"
)

// notifyAgain is the time between two looks at what notifiers lack.
const notifyAgain = time.Minute

// lackOf is under which name it is noted that a notifier lacks something.
func lackOf(notifier string) string { return "notifier " + notifier }

// noteLacks says what the notifiers of this server lack, in the log and in its status. A pager that cannot be used
// takes neither a vote nor the duties away from the cluster.
func (s *server) noteLacks(lacks []conf.Lack) {
	now := map[string]string{}
	for _, l := range lacks {
		now[lackOf(l.Notifier)] = fmt.Sprintf("%s by server %s: %s: correct that, it is looked at again each minute.",
			form.Unannounced, s.conf.ID, conf.InOneLine(l.Err))
	}
	s.lacks.only(now)
}

// lookAtLacks looks whether those that lacked something still do. Others have been opened, and go on as they are.
func (s *server) lookAtLacks(runs *conf.Server) {
	if len(s.lacks.list()) == 0 {
		return
	}
	_, lacks := runs.Notifiers(s.replica)
	still := lacks[:0]
	for _, l := range lacks {
		if s.lacks.has(lackOf(l.Notifier)) {
			still = append(still, l)
		}
	}
	s.noteLacks(still)
}
