package clustertest

import (
	"fmt"

	"github.com/hashicorp/raft"
)

// gapless is a log in memory as strict as the strictest on disk: entries follow one another, and only a
// beginning or an end is deleted.
type gapless struct{ raft.LogStore }

func (g gapless) StoreLog(l *raft.Log) error { return g.StoreLogs([]*raft.Log{l}) }

func (g gapless) StoreLogs(logs []*raft.Log) error {
	last, err := g.LastIndex()
	if err != nil {
		return err
	}
	for _, l := range logs {
		if last > 0 && l.Index != last+1 {
			return fmt.Errorf("entry %d is put behind entry %d", l.Index, last)
		}
		last = l.Index
	}
	return g.LogStore.StoreLogs(logs)
}

func (g gapless) DeleteRange(low, high uint64) error {
	first, err := g.FirstIndex()
	if err != nil {
		return err
	}
	last, err := g.LastIndex()
	if err != nil {
		return err
	}
	switch {
	case last == 0 || high < first || low > last:
		return nil
	case low > first && high < last:
		return fmt.Errorf("entries %d to %d are deleted from the middle of %d to %d", low, high, first, last)
	}
	return g.LogStore.DeleteRange(max(low, first), min(high, last))
}
