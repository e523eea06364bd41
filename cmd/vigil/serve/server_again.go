package serve

import (
	"context"
	"errors"
	"time"

	"github.com/hashicorp/go-hclog"

	"vigil/cmd/vigil/conf"
)

// followHangups reads the configuration again on each SIGHUP, until ctx ends. Read is nil without a file. It also looks
// again, each minute, at what notifiers lack.
func (s *server) followHangups(ctx context.Context, hangups <-chan struct{}, read func() (*conf.Server, error)) {
	runs, minute := s.conf, time.NewTicker(notifyAgain)
	defer minute.Stop()
	for {
		select {
		case <-hangups:
		case <-minute.C:
			s.lookAtLacks(runs)
			continue
		case <-ctx.Done():
			return
		}
		if read == nil {
			s.log.Info("SIGHUP: this server has no configuration file, nothing was read again; " +
				"restart it with other flags, or change what the cluster shares with vigil settings set")
			continue
		}
		next, err := read()
		if err == nil {
			err = s.again(runs, next)
		}
		if err != nil {
			s.log.Error("SIGHUP: the configuration stays as it was: what was read again cannot be used",
				"error", conf.InOneLine(err))
			s.lookAtLacks(runs)
			continue
		}
		taken := *runs
		taken.LogLevel, taken.Notify = next.LogLevel, next.Notify
		runs = &taken
	}
}

// again takes what can be taken of a configuration, all of it or nothing, and says what cannot.
func (s *server) again(runs, next *conf.Server) error {
	now, restart, founded := runs.Again(next)
	if err := next.Check(); err != nil {
		return err
	}
	notifiers, lacks := next.Notifiers(s.replica)
	var wrong []error
	for _, l := range lacks {
		if !s.lacks.has(lackOf(l.Notifier)) { // else it would be no better without what else has changed
			wrong = append(wrong, l.Err)
		}
	}
	if len(wrong) > 0 {
		return errors.Join(wrong...)
	}
	added, removed, err := s.duty.SetNotifiers(notifiers)
	if err != nil {
		return err
	}
	s.noteLacks(lacks)
	s.log.SetLevel(hclog.LevelFromString(next.LogLevel))
	s.log.Info("log level and notifiers were read again", "changed", now, "notifiers_added", added,
		"notifiers_gone", removed)
	for _, key := range restart {
		s.log.Warn("SIGHUP: " + key + ": needs a restart")
	}
	for _, key := range founded {
		s.log.Warn("SIGHUP: " + key +
			": is read only when a cluster is founded; vigil settings set changes what the cluster shares")
	}
	return nil
}

// readAgain reads the configuration as at the start.
func readAgain(file string, getenv func(string) string, flags *conf.Server,
	said func(string) bool) (*conf.Server, error) {
	next, err := conf.ReadServer(file)
	if err == nil {
		err = next.WatchdogEnv(getenv)
	}
	if err != nil {
		return nil, err
	}
	next.Override(flags, said)
	return next, nil
}
