package agentd

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"vigil/agentd/disk"
	"vigil/rpc/client"
)

// EnvServers names the file in which an agent finds where the servers are now: its
// environment says where they were when it was started.
const EnvServers = client.EnvFile

// lookForServers is the time between two looks at what the client has learned, and between
// two tries to write it down.
const lookForServers = time.Second

// maxServers is how many the cluster takes from a host.
const maxServers = 32

// ServersFile is where the daemon of a data directory keeps the addresses of the servers,
// one a line: for its agents, and for itself when it is started again after all those that
// its configuration names have gone.
func ServersFile(dataDir string) string { return filepath.Join(dataDir, "servers") }

// servers is the part that follows where the servers are.
type servers struct {
	base
	enroll func() // has the cluster told

	due      time.Duration
	known    []string
	written  []string // as in the file
	underway bool
}

// told is what the cluster is told of them.
func (s *servers) told() []string { return s.known[:min(len(s.known), maxServers)] }

// look follows what the client learns: into the log, the file and the host's
// registration. It says when to look again.
func (s *servers) look(now time.Duration) time.Duration {
	if now < s.due {
		return s.due - now
	}
	s.due = now + lookForServers
	if known := s.config.Servers(); !slices.Equal(known, s.known) {
		if s.known != nil {
			s.log.Info("the servers of the cluster have changed", "known", known, "before", s.known)
			s.enroll() // so that status can warn of a host that knows too few
		}
		s.known = known
	}
	if !s.underway && !slices.Equal(s.written, s.known) {
		s.write()
	}
	return lookForServers
}

// write keeps the file up to date; what fails is tried again with the next look.
func (s *servers) write() {
	list := s.known
	s.underway = true
	s.spawn(func() {
		path := ServersFile(s.data.Path)
		err := disk.Write(s.data.Path, path, strings.Join(list, "\n")+"\n")
		if err == nil {
			err = os.Chmod(path, 0o644) // agents have accounts of their own, and nothing in it is secret
		}
		s.send(func() {
			s.underway = false
			if err != nil {
				s.log.Warn("where the servers are cannot be written down: agents that run do not learn it",
					"error", err)
				return
			}
			s.written = list
		})
	})
}
