package backup

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"filippo.io/age"
	"github.com/hashicorp/go-hclog"
	"github.com/prometheus/client_golang/prometheus"

	"vigil/fsm"
)

// Limits of a schedule.
const (
	MinEvery = 10 * time.Second
	MaxEvery = 31 * 24 * time.Hour
	MaxKeep  = 10_000

	ready    = time.Second      // between looks while there is nothing to back up yet
	skew     = 10 * time.Minute // a backup that is further ahead of this machine's clock than this does not count
	oneLimit = 2 * time.Hour    // of one look with all that it does
	tries    = 3                // backups that one look reads
	deletes  = 100              // of one look
)

// Source is this server's replica.
type Source interface {
	// Cluster is the id of the cluster; empty: not known yet.
	Cluster() string
	// Members are the servers of the cluster.
	Members() []Member
	// Copy gives the state with all that was committed before the call.
	Copy(ctx context.Context) (*fsm.Image, error)
}

// Config is the configuration of a Keeper. All but Recipients, KeepFor, Wall and Registerer is required.
type Config struct {
	Server  string        // id of this server
	Every   time.Duration // between backups, MinEvery to MaxEvery
	Keep    int           // so many stay at least, 1 to MaxKeep
	KeepFor time.Duration // and all that are younger; 0: no more
	Target  Target
	// Recipients are read for each backup; none: it is in clear. Nil: they all are. While they cannot be read none is
	// made.
	Recipients func() ([]age.Recipient, error)
	Source     Source
	Logger     hclog.Logger
	Registerer prometheus.Registerer
	Wall       func() time.Time // the time of day; nil: the machine's
}

// Keeper makes backups by a schedule.
type Keeper struct {
	Config
	figures figures

	health health

	// Of Run alone. Moments are of the monotonic clock.
	lacking   time.Time     // since then no good backup is there; zero: one is
	notBefore time.Time     // it makes none
	failures  int           // since the last success, in a row
	good      map[Name]bool // found so by reading them
	bad       map[Name]bool // damaged, or nobody could read them: they do not count
}

// Open prepares a Keeper and registers its figures.
func Open(conf Config) (*Keeper, error) {
	k := &Keeper{Config: conf, figures: newFigures(conf.Every), good: map[Name]bool{}, bad: map[Name]bool{}}
	if k.Wall == nil {
		k.Wall = time.Now
	}
	if conf.Registerer != nil {
		for _, c := range k.figures.all() {
			if err := conf.Registerer.Register(c); err != nil {
				return nil, fmt.Errorf("register figures of backups: %w", err)
			}
		}
	}
	return k, nil
}

// look is the time between looks at the target, grace how much later each further rank makes a backup.
func (k *Keeper) look() time.Duration  { return min(max(k.Every/60, time.Second), 5*time.Minute) }
func (k *Keeper) grace() time.Duration { return max(k.Every/8, 3*k.look()) }

// step is the time within which the next backup is there where all is well.
func (k *Keeper) step() time.Duration {
	return 2*k.Every + time.Duration(len(k.Source.Members()))*k.grace()
}

// retention is what stays, with so many of the newest.
func (k *Keeper) retention(keep int) retention { return retention{keep, k.KeepFor, k.step()} }

// Run makes backups until ctx ends, and then returns at once, also when a target hangs.
func (k *Keeper) Run(ctx context.Context) {
	if d, ok := k.Target.(Dir); ok {
		if err := d.Sweep(); err != nil {
			k.Logger.Warn("old drafts stay", "error", err)
		}
	}
	for {
		next := make(chan time.Duration, 1)
		go func() { next <- k.once(ctx) }()
		var wait time.Duration
		select {
		case <-ctx.Done():
			return
		case wait = <-next:
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(wait):
		}
	}
}

// once looks, makes a backup if one is due, and says when to look again.
func (k *Keeper) once(ctx context.Context) time.Duration {
	cluster, rank := k.Source.Cluster(), Rank(k.Source.Members(), k.Server)
	if cluster == "" || rank < 0 {
		k.health.idle()
		return ready
	}
	if time.Until(k.notBefore) > 0 {
		return min(time.Until(k.notBefore), k.look())
	}
	ctx, cancel := context.WithTimeout(ctx, oneLimit)
	defer cancel()
	k.health.looks()
	err := k.attend(ctx, cluster, rank)
	if err == nil {
		k.health.ended(nil)
		k.failures = 0
		return k.look()
	}
	if errors.Is(ctx.Err(), context.Canceled) {
		return k.look() // the server stops
	}
	k.health.ended(err)
	k.figures.failures.Inc()
	pause := min(k.look()<<min(k.failures, 20), k.Every, time.Hour)
	k.failures++
	k.notBefore = time.Now().Add(pause)
	k.Logger.Error("backup failed", "error", err, "again", pause)
	return min(pause, k.look())
}

// attend makes a backup if it is this server's turn, and deletes what is outdated then.
func (k *Keeper) attend(ctx context.Context, cluster string, rank int) error {
	list, err := k.Target.List(ctx, cluster)
	if err != nil {
		return err
	}
	k.forget(list)
	newest, found, err := k.newestGood(ctx, list)
	if err != nil {
		return err
	}
	// Also where it is not this server's turn: whoever lacks its keys says so before all depends on it.
	var keys []age.Recipient
	if k.Recipients != nil {
		if keys, err = k.Recipients(); err != nil {
			return err
		}
	}
	late := time.Duration(rank) * k.grace()
	switch {
	case found:
		k.lacking = time.Time{}
		k.figures.lastGood.Set(float64(newest.Unix))
		k.health.good(k.Wall().Sub(newest.Time()))
		if k.Wall().Sub(newest.Time()) < k.Every+late {
			return nil
		}
	case k.lacking.IsZero():
		k.lacking = time.Now()
		fallthrough
	default:
		if time.Since(k.lacking) < late {
			return nil
		}
	}
	return k.make(ctx, cluster, list, newest, keys)
}

// make makes a backup and deletes what it has outdated. An error of the deletion alone keeps nobody from
// making the next one in time. Newest is the newest good one that is there; zero: there is none.
func (k *Keeper) make(ctx context.Context, cluster string, list []Name, newest Name, keys []age.Recipient) error {
	img, err := k.Source.Copy(ctx)
	if err != nil {
		return fmt.Errorf("copy the state: %w", err)
	}
	began := time.Now()
	to := roomy{k.Target, k, list, newest, map[Name]bool{}}
	n, err := Make(ctx, to, cluster, img, keys, k.Wall())
	if err != nil {
		return err
	}
	k.good[n] = true
	k.notBefore = time.Now().Add(k.Every / 2) // whatever the clock does
	k.figures.lastGood.Set(float64(n.Unix))
	k.health.good(0)
	k.Logger.Info("backup made", "name", n.String(), "took", time.Since(began).Round(time.Millisecond))
	list = slices.DeleteFunc(list, func(n Name) bool { return to.gone[n] })
	old := k.retention(k.Keep).outdated(append(list, n), n, k.Wall(), k.bad)
	slices.Reverse(old) // the oldest first
	for _, o := range old[:min(len(old), deletes)] {
		if err := k.drop(ctx, o); err != nil {
			break
		}
	}
	return nil
}

// drop deletes a backup.
func (k *Keeper) drop(ctx context.Context, n Name) error {
	if err := k.Target.Delete(ctx, n); err != nil {
		k.figures.failures.Inc()
		k.Logger.Warn("an old backup stays", "name", n.String(), "error", err)
		return err
	}
	k.Logger.Info("old backup deleted", "name", n.String())
	return nil
}

// newestGood gives the latest backup that is whole. Each is read once in the life of this process; one
// that cannot be read is passed over, so that it never keeps anybody from making the next.
func (k *Keeper) newestGood(ctx context.Context, list []Name) (n Name, found bool, err error) {
	list = slices.Clone(list)
	byTime(list)
	read := 0
	for _, n := range list {
		switch {
		case k.Wall().Sub(n.Time()) < -skew, k.bad[n]:
			continue
		case k.good[n]:
			return n, true, nil
		case read == tries:
			return Name{}, false, nil
		}
		read++
		err := Verify(ctx, k.Target, n)
		if err == nil {
			k.good[n] = true
			return n, true, nil
		}
		if ctx.Err() != nil {
			return Name{}, false, err
		}
		k.bad[n] = true
		k.figures.failures.Inc()
		k.Logger.Error("a backup cannot be used", "name", n.String(), "error", err)
	}
	return Name{}, false, nil
}

// forget drops what is known of backups that are gone.
func (k *Keeper) forget(list []Name) {
	there := make(map[Name]bool, len(list))
	for _, n := range list {
		there[n] = true
	}
	for _, known := range []map[Name]bool{k.good, k.bad} {
		for n := range known {
			if !there[n] {
				delete(known, n)
			}
		}
	}
}
