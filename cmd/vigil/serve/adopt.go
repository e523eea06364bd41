package serve

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"vigil/cluster"
	"vigil/cluster/logstore"
	"vigil/cmd/vigil/cli"
	"vigil/cmd/vigil/serve/disk"
)

// adoptable refuses a data directory that does not fit what is to be done: one with data when a cluster is
// founded from nothing, and one without a lone server's data when it is to be adopted.
func (f *Founding) adoptable() error {
	dir := f.Conf.DataDir
	used := logstore.Used(dir)
	switch {
	case used && !f.Adopt:
		return cli.ExitWith(cli.ExitConflict, fmt.Errorf("%s holds the data of a server without identities: "+
			"`vigil server init --adopt` gives it some, or name another --data-dir", dir))
	case !f.Adopt:
		return nil
	case !used:
		return cli.Usagef("%s holds no data of a server: leave --adopt away to found a new cluster there, or name the "+
			"directory with --data-dir", dir)
	}
	is, err := cluster.Recover(dir, cluster.Recovering{})
	switch {
	case errors.Is(err, logstore.ErrInUse):
		return cli.ExitWith(cli.ExitConflict, fmt.Errorf("adopt %s: %w", dir, err))
	case err != nil:
		return fmt.Errorf("adopt %s: %w", dir, err)
	case is.State.ClusterUUID() != "":
		return cli.ExitWith(cli.ExitConflict, fmt.Errorf("%s holds data of cluster %s, which has identities, and those of "+
			"this server are lost: remove it from the cluster, and have it join again in an empty directory",
			dir, is.State.ClusterUUID()))
	case len(is.Lost) > 0:
		return cli.ExitWith(cli.ExitConflict, fmt.Errorf("%s is one of several servers, with %s: start them, remove those "+
			"with `vigil server remove`, so that nothing is lost, stop this one, and try again", dir, disk.LostNames(is)))
	case is.Server != f.Conf.ID:
		return cli.ExitWith(cli.ExitConflict, fmt.Errorf("%s is of server %q, not of %q: give --id %[2]s",
			dir, is.Server, f.Conf.ID))
	}
	return nil
}

// adopt makes the data that of the only server of the new cluster, at its new address. Nothing is started
// for a TTL, as after any other recovery.
func (f *Founding) adopt() error {
	holder, err := trustDir(f.Conf.DataDir).Holder()
	if err != nil {
		return err
	}
	_, err = cluster.Recover(f.Conf.DataDir, cluster.Recovering{Do: true, RaftAddr: f.Conf.RaftAddr,
		Cluster: holder.Roots().Cluster})
	return err
}

// undoing gives what removes what founding makes in the data directory. Of data that is adopted only the identity
// goes: a recovery may have put all of it into new files.
func (f *Founding) undoing() (undo func() error, err error) {
	dir := f.Conf.DataDir
	if f.Adopt {
		return func() error { return os.RemoveAll(string(trustDir(dir))) }, nil
	}
	before, err := names(dir)
	return func() error {
		now, err := names(dir)
		for _, name := range now {
			if !slices.Contains(before, name) {
				err = errors.Join(err, os.RemoveAll(filepath.Join(dir, name)))
			}
		}
		return err
	}, err
}

// names lists what is in a directory; nothing, when there is none.
func names(dir string) (list []string, err error) {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	for _, e := range entries {
		list = append(list, e.Name())
	}
	return list, err
}
