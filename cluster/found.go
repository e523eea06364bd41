package cluster

import (
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"

	"github.com/hashicorp/raft"

	"vigil/cluster/logstore"
)

// ErrHasData says that a server is not new.
var ErrHasData = errors.New("there is data already")

// Found makes new servers, none of which runs, the members of a new cluster: it writes the first entry of the
// log into the empty data of each. A cluster is founded with one server, and others are added; several at once
// are for tests, since only who sees all their data can know that none was a member before. The cluster has the
// id of the first configuration, or a random one.
// Errors: ErrHasData, and those of the package logstore.
func Found(members ...Config) error {
	var conf raft.Configuration
	id := members[0].Cluster
	if id == "" {
		var b [6]byte
		_, _ = rand.Read(b[:]) // it never fails
		id = "vigil-" + hex.EncodeToString(b[:])
	}
	for i := range members {
		members[i].setDefaults()
		if err := members[i].Validate(); err != nil {
			return err
		}
		conf.Servers = append(conf.Servers, raft.Server{ID: raft.ServerID(members[i].ID),
			Address: raft.ServerAddress(members[i].RaftAddr)})
	}
	for i := range members {
		if err := members[i].found(id, conf); err != nil {
			return fmt.Errorf("found cluster: server %s: %w", members[i].ID, err)
		}
	}
	return nil
}

func (c *Config) found(id string, conf raft.Configuration) error {
	disk := logstore.Disk{Limit: c.Timing.Disk, Fatal: func(error) {}} // each call gives its own error
	name := func() error { return nil }
	var data *logstore.Data
	var err error
	if b := c.Backend; b != nil {
		data, err = logstore.Over(b.Log, b.Stable, b.Snapshots, disk, c.Logger)
	} else {
		var dir *logstore.Dir
		if dir, err = logstore.OpenDir(c.DataDir, disk); err != nil {
			return err
		}
		defer dir.Close()
		name = func() error { return dir.SetIdentity(id, c.ID) }
		data, err = newData(dir, c)
	}
	if err != nil {
		return err
	}
	switch last, err := data.Log.LastIndex(); {
	case err != nil:
		return err
	case last > 0 || data.Index > 0:
		return ErrHasData
	}
	if err := name(); err != nil {
		return err
	}
	// A crash may have come between the term and the first entry.
	if _, err := data.Log.GetUint64([]byte("LastVoteTerm")); err != nil {
		if err := data.Log.SetUint64([]byte("CurrentTerm"), 0); err != nil {
			return err
		}
	}
	_, trans := raft.NewInmemTransport(raft.ServerAddress(c.RaftAddr))
	return raft.BootstrapCluster(c.raftConfig(nil), data.Log, data.Log, data.Snapshots, trans, conf)
}

// newData opens a directory that belongs to no other server.
func newData(dir *logstore.Dir, c *Config) (*logstore.Data, error) {
	was, server, err := dir.Identity()
	if err != nil {
		return nil, err
	}
	if server != "" && server != c.ID {
		return nil, fmt.Errorf("%w, of server %s", ErrHasData, server)
	}
	return dir.Open(was != "", c.LogStore, c.Logger)
}
