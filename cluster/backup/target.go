package backup

import (
	"context"
	"fmt"
	"io"
)

// Target is a place for backups. Whatever else is there is left alone.
type Target interface {
	// List gives the backups of a cluster, of all clusters with "", in no order.
	List(ctx context.Context, cluster string) ([]Name, error)
	// Create begins one; about is its size in bytes, roughly.
	Create(ctx context.Context, about int64) (Draft, error)
	// Open reads one from where it is stored.
	Open(ctx context.Context, n Name) (io.ReadCloser, error)
	// Delete removes one; one that is not there is no error.
	Delete(ctx context.Context, n Name) error
}

// Draft is a backup that nobody sees yet.
type Draft interface {
	io.Writer
	// Commit stores it durably under its name: all of it, or nothing.
	Commit(ctx context.Context, n Name) error
	// Discard gives back what it took; after Commit it does nothing more.
	Discard()
}

// maxListed bounds the backups in one target, all clusters together.
const maxListed = 100_000

// listing collects names, and gives up when there are too many.
type listing struct {
	cluster string
	names   []Name
}

func (l *listing) add(text string) error {
	n, ok := ParseName(text)
	if !ok || l.cluster != "" && n.Cluster != l.cluster {
		return nil
	}
	if len(l.names) >= maxListed {
		return fmt.Errorf("there are more than %d backups: move old ones elsewhere", maxListed)
	}
	l.names = append(l.names, n)
	return nil
}
