package accounts

import (
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"time"

	"vigil/agentd/disk"
)

// File is the register, in the data directory.
const File = "accounts.json"

// Register gives each agent of this host an account of its own for all its lives. No account is ever given
// to a second agent, so what the first has left anywhere on the host, files and processes, is nobody else's.
// It is safe for concurrent use; its methods wait for a disk.
type Register struct {
	dir      string
	accounts Range

	mu   sync.Mutex
	kept content
	used map[string]time.Time // when this daemon started an agent last
}

// content is what is in File.
type content struct {
	Agents map[string]uint32 // by name
	Ranges []spent           // one for each range that ever was in use
}

// spent is how much of a range was given out: Given accounts from Start on, in a circle. It starts anywhere,
// so that two agentds on one machine do not give the same accounts.
type spent struct {
	Range
	Start, Given uint32
}

// at gives the account that was, or will be, the n-th.
func (s spent) at(n uint32) uint32 {
	return s.First + uint32((uint64(s.Start)+uint64(n))%uint64(s.size()))
}

// gave tells whether an account was given out of the range, or is its probe.
func (s spent) gave(uid uint32) bool {
	if uid < s.First || uid > s.Last {
		return false
	}
	size := uint64(s.size())
	return uid == s.Probe() || (uint64(uid-s.First)+size-uint64(s.Start))%size < uint64(s.Given)
}

// Open reads the register of a data directory.
func Open(dir string, a Range) (*Register, error) {
	r := &Register{dir: dir, accounts: a, used: map[string]time.Time{}}
	path := filepath.Join(dir, File)
	text, err := os.ReadFile(path)
	if errors.Is(err, os.ErrNotExist) {
		return r, nil // next makes it
	}
	if err == nil {
		err = json.Unmarshal(text, &r.kept)
	}
	if err == nil {
		err = r.kept.check()
	}
	if err != nil {
		return nil, fmt.Errorf("read accounts of agents: %s: %w; restore it: without it agents would get "+
			"accounts that belong to others", path, err)
	}
	return r, nil
}

// check refuses what would give two agents one account.
func (k *content) check() error {
	if k.Agents == nil {
		return errors.New("it names no agents")
	}
	for _, s := range k.Ranges {
		if err := s.Check(); err != nil {
			return err
		}
		if s.Start >= s.size() || s.Given > s.size() {
			return fmt.Errorf("more of the accounts %s was given than there is", s.Range)
		}
	}
	owners := map[uint32]string{}
	for agent, uid := range k.Agents {
		if other := owners[uid]; other != "" {
			return fmt.Errorf("account %d is of both %s and %s", uid, other, agent)
		}
		if !slices.ContainsFunc(k.Ranges, func(s spent) bool { return s.gave(uid) && uid != s.Probe() }) {
			return fmt.Errorf("account %d of %s was never given out", uid, agent)
		}
		owners[uid] = agent
	}
	return nil
}

// Starts notes that an agent is about to be started, whatever its account.
func (r *Register) Starts(agent string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.used[agent] = time.Now()
}

// Unless runs remove unless the agent has been started since the time of the look, and starts none meanwhile. It
// tells whether it did.
func (r *Register) Unless(agent string, looked time.Time, remove func() error) (bool, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.used[agent].Before(looked) {
		return false, nil
	}
	return true, remove()
}

// Of gives the account of an agent: the one that it has, or a new one, which is on disk then.
func (r *Register) Of(agent string) (uint32, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.used[agent] = time.Now()
	if uid, ok := r.kept.Agents[agent]; ok {
		return uid, nil
	}
	uid, next, err := r.next()
	if err != nil {
		return 0, err
	}
	next.Agents[agent] = uid
	if err := r.write(next); err != nil {
		return 0, fmt.Errorf("note the account of an agent: %w", err)
	}
	return uid, nil
}

// next gives an account that nobody ever had, and the register without its owner.
func (r *Register) next() (uint32, content, error) {
	next := content{Agents: map[string]uint32{}, Ranges: slices.Clone(r.kept.Ranges)}
	for agent, uid := range r.kept.Agents {
		next.Agents[agent] = uid
	}
	i := slices.IndexFunc(next.Ranges, func(s spent) bool { return s.Range == r.accounts })
	if i < 0 {
		i = len(next.Ranges)
		next.Ranges = append(next.Ranges, spent{Range: r.accounts, Start: rand.Uint32N(r.accounts.size())})
	}
	for s := &next.Ranges[i]; s.Given < s.size(); {
		uid := s.at(s.Given)
		s.Given++
		taken := slices.ContainsFunc(r.kept.Ranges, func(o spent) bool { return o.Range != s.Range && o.gave(uid) })
		if !taken && !someones(uid) {
			return uid, next, nil
		}
	}
	return 0, next, fmt.Errorf("all accounts of %s were given out, and none is given twice: give agentd "+
		"another range (accounts in its configuration)", r.accounts)
}

// someones tells whether the host knows a user or a group of that number.
func someones(id uint32) bool {
	text := strconv.FormatUint(uint64(id), 10)
	_, noUser := user.LookupId(text)
	_, noGroup := user.LookupGroupId(text)
	return noUser == nil || noGroup == nil
}

// Retire strikes out an agent, unless it has been started since the time of the look that found it deleted. In the
// same moment remove takes its folders away, so that a start sees all of them or none. It tells whether it did.
func (r *Register) Retire(agent string, looked time.Time, remove func() error) (bool, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.used[agent].Before(looked) {
		return false, nil
	}
	if err := remove(); err != nil {
		return false, err
	}
	delete(r.used, agent)
	if _, ok := r.kept.Agents[agent]; !ok {
		return true, nil
	}
	next := content{Agents: map[string]uint32{}, Ranges: r.kept.Ranges}
	for name, uid := range r.kept.Agents {
		if name != agent {
			next.Agents[name] = uid
		}
	}
	return true, r.write(next)
}

// Agents gives the names of all that have an account.
func (r *Register) Agents() (names []string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for name := range r.kept.Agents {
		names = append(names, name)
	}
	return names
}

// write puts next on disk and in place; r.mu is held.
func (r *Register) write(next content) error {
	text, err := json.Marshal(next)
	if err == nil {
		err = disk.Write(r.dir, filepath.Join(r.dir, File), string(text)+"\n")
	}
	if err == nil {
		r.kept = next
	}
	return err
}
