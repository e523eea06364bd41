package serve

import (
	"context"
	"fmt"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"vigil/cluster/backup"
	"vigil/cmd/vigil/cli"
	"vigil/fsm"
	"vigil/rpc/gen/vigilv1"
)

// Waiting for a state that is as new as the question.
const (
	copyLimit = 30 * time.Second
	copyLook  = 50 * time.Millisecond
)

// openBackups opens what makes backups by itself, if the configuration says where they go.
func (s *server) openBackups(registry prometheus.Registerer) error {
	if s.conf.BackupPlace().To == "" {
		return nil
	}
	to, err := s.conf.BackupPlace().Open(s.conf.ID, s.conf.DataDir)
	if err != nil {
		return cli.WrongUsage(err)
	}
	conf := s.conf.BackupTimes()
	conf.Server, conf.Target, conf.Recipients, conf.Source = s.conf.ID, to, s.conf.BackupRecipients, backupSource{s}
	conf.Logger, conf.Registerer = s.log.Named("backup"), registry
	s.backups, err = backup.Open(conf)
	return err
}

// keepBackups makes backups until ctx ends.
func (s *server) keepBackups(ctx context.Context) {
	if keys, err := s.conf.BackupRecipients(); err != nil {
		s.log.Error("no backups are made before this is mended; it is tried again by itself", "error", err)
	} else if len(keys) == 0 {
		s.log.Warn("backups are in clear: texts of tasks, mail and results are in them; backup.recipients encrypts them")
	}
	s.backups.Run(ctx)
}

// backupSource gives backups what they need of this server.
type backupSource struct{ *server }

func (b backupSource) Cluster() string { return b.replica.Cluster() }

func (b backupSource) Members() (list []backup.Member) {
	for _, m := range b.replica.Servers() {
		list = append(list, backup.Member{ID: m.ID, Voter: m.Voter, Leader: m.Leader, Diverged: m.Diverged})
	}
	return list
}

// Copy asks the leader how far it is, and waits until this server is as far.
func (b backupSource) Copy(ctx context.Context) (*fsm.Image, error) {
	ctx, cancel := context.WithTimeout(ctx, copyLimit)
	defer cancel()
	now, err := vigilv1.NewClusterClient(b.client).Status(ctx, &vigilv1.StatusRequest{})
	if err != nil {
		return nil, fmt.Errorf("ask the leader how far it is: %w", err)
	}
	look := time.NewTicker(copyLook)
	defer look.Stop()
	for {
		var reached uint64
		b.replica.Read(func(v *fsm.View) { reached = v.LastIndex() })
		if reached >= now.GetIndex() { // a copy holds up what is applied, so only one is made
			return b.replica.Copy(), nil
		}
		select {
		case <-ctx.Done():
			return nil, fmt.Errorf("wait for log index %d: %w", now.GetIndex(), ctx.Err())
		case <-look.C:
		}
	}
}
