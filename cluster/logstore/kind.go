package logstore

import (
	"errors"
	"fmt"
)

// Kind is the form in which a server keeps its log. Term and vote are in raft.db with either.
type Kind string

const (
	// Bolt keeps the log in raft.db too: two fdatasyncs for each write.
	Bolt Kind = "bolt"
	// WAL keeps the log in segments in the folder wal: one fdatasync for each write.
	WAL Kind = "wal"
)

// Valid tells whether there is such a kind.
func (k Kind) Valid() bool { return k == Bolt || k == WAL }

// ErrOtherKind says that the log is not of the kind that was asked for.
var ErrOtherKind = errors.New("the log is kept in another form")

// keyKind is where raft.db says of which kind the log is; what was made before there were two says
// nothing, and is bolt.
var keyKind = []byte("LogKind")

// kind tells of which kind the log of the directory is. An empty one becomes what is wanted, and that is
// recorded; made tells so.
func (d *Dir) kind(stable *summedStore, want Kind, empty bool) (have Kind, made bool, err error) {
	var v []byte
	err = d.disk.Do("read kind of log", 0, func() (err error) { v, err = stable.Get(keyKind); return err })
	switch have = Kind(v); {
	case err != nil && !noKey(err):
		return "", false, Failed("read kind of log", err)
	case err == nil && !have.Valid():
		return "", false, fmt.Errorf("check %s: %w: a log of kind %q is unknown: run the version that made it, or %s",
			stable.stableIn, ErrDamaged, v, remedy)
	case err != nil && empty:
		if have = want; have == "" {
			have = WAL
		}
		err = d.disk.Do("write kind of log", 0, func() error { return stable.Set(keyKind, []byte(have)) })
		if err != nil {
			return "", false, Failed("write kind of log", err)
		}
		return have, true, nil
	case err != nil:
		have = Bolt
	}
	if want != "" && want != have {
		return "", false, fmt.Errorf("%w: in %s it is %s, and log_store says %s: stop the server and run "+
			"`vigil server convert-log --data-dir %[2]s --to %[4]s`, or set log_store to %[3]s",
			ErrOtherKind, d.Path, have, want)
	}
	return have, false, nil
}

// newSuffix is what the name of a file that is being made ends in.
const newSuffix = ".new"
