package client

import (
	"io"
	"net"
	"os"
	"slices"
	"strings"
	"time"
)

const (
	// maxServers bounds the addresses that a client learns; a cluster has three to seven.
	maxServers = 16
	// maxAddr bounds one of them, in bytes.
	maxAddr = 255
	// rereadEvery is how often the file is read at most.
	rereadEvery = time.Second
)

// learn takes over what a server says of all of them. It is called for every answer, so the
// usual case is a comparison.
func (s *servers) learn(list string) {
	if s.cfg.local() {
		return
	}
	if told := s.told.Load(); told != nil && *told == list {
		return
	}
	s.told.Store(&list)
	s.know(strings.Split(list, ","))
}

// know replaces what was learned before. The configured addresses stay in any case, behind
// those that the cluster has now.
func (s *servers) know(learned []string) {
	learned = slices.DeleteFunc(learned, func(addr string) bool { return !dialable(addr) })
	if len(learned) == 0 {
		return
	}
	learned = learned[:min(len(learned), maxServers)]
	there, away := []string{}, []string{}
	for _, addr := range s.cfg.Addrs {
		if slices.Contains(learned, addr) {
			there = append(there, addr)
		} else {
			away = append(away, addr)
		}
	}
	for _, addr := range learned {
		if !slices.Contains(there, addr) {
			there = append(there, addr)
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.addrs = append(there, away...)
}

// reread looks for addresses in the file, unless that was done just now.
func (s *servers) reread() {
	if s.cfg.File == "" {
		return
	}
	s.mu.Lock()
	now := time.Now()
	early := !s.readAt.IsZero() && now.Sub(s.readAt) < rereadEvery
	if !early {
		s.readAt = now
	}
	s.mu.Unlock()
	if early {
		return
	}
	f, err := os.Open(s.cfg.File)
	if err != nil {
		return
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, maxServers*(maxAddr+1)))
	if err == nil {
		s.mu.Lock()
		known := slices.DeleteFunc(slices.Clone(s.addrs), func(addr string) bool {
			return slices.Contains(s.cfg.Addrs, addr)
		})
		s.mu.Unlock()
		s.know(append(strings.Fields(string(text)), known...))
	}
}

// dialable tells whether addr can be a server's.
func dialable(addr string) bool {
	host, port, err := net.SplitHostPort(addr)
	return err == nil && port != "" && host != "" && len(addr) <= maxAddr && !net.ParseIP(host).IsUnspecified()
}
