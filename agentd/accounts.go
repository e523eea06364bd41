package agentd

import (
	"bufio"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// Accounts is a range of accounts (uids, and gids of the same numbers) out of which agents get
// accounts of their own. No user or group of the host should be in it.
type Accounts struct{ First, Last uint32 }

// DefaultAccounts lies where by custom nobody is: above the ranges of containers, of /etc/subuid and of
// directory services.
func DefaultAccounts() Accounts { return Accounts{2_100_000_000, 2_146_999_999} }

// ParseAccounts reads FIRST-LAST. The error says what is wrong and what to write.
func ParseAccounts(text string) (a Accounts, err error) {
	first, last, ok := strings.Cut(text, "-")
	from, err1 := strconv.ParseUint(first, 10, 32)
	to, err2 := strconv.ParseUint(last, 10, 32)
	if !ok || err1 != nil || err2 != nil {
		return a, fmt.Errorf("%q is no range of accounts: write two numbers such as %s", text, DefaultAccounts())
	}
	a = Accounts{uint32(from), uint32(to)}
	return a, a.check()
}

func (a Accounts) String() string { return fmt.Sprintf("%d-%d", a.First, a.Last) }

// check refuses ranges that belong to others by custom, or can give nothing.
func (a Accounts) check() error {
	const nobody, highest = 65534, 1<<32 - 3
	switch {
	case a.Last <= a.First:
		return fmt.Errorf("accounts %s hold no account for an agent: give a first number and a greater last one", a)
	case a.First < 1000:
		return fmt.Errorf("accounts %s hold accounts of the system: begin at 1000 or above", a)
	case a.First <= nobody+1 && nobody <= a.Last, a.Last > highest:
		return fmt.Errorf("accounts %s hold a number that means nobody (65534, 65535, 4294967294 and above): "+
			"give a range without", a)
	}
	return nil
}

// Here tells why this host cannot give out the accounts: in a container of a user namespace most do not exist.
func (a Accounts) Here() error {
	for _, of := range []string{"uid", "gid"} {
		text, err := os.ReadFile("/proc/self/" + of + "_map")
		if err != nil {
			continue // no namespaces here
		}
		if have := mapped(string(text), a); have != "" {
			return fmt.Errorf("accounts %s do not exist in this container (%ss here: %s): give a range within",
				a, of, have)
		}
	}
	return nil
}

// mapped gives what a map of ids holds, in words, when a is not all in one of its lines; else "".
func mapped(text string, a Accounts) string {
	var have []string
	for lines := bufio.NewScanner(strings.NewReader(text)); lines.Scan(); {
		var first, outside, n uint64
		if _, err := fmt.Sscan(lines.Text(), &first, &outside, &n); err != nil || n == 0 {
			continue
		}
		if first <= uint64(a.First) && uint64(a.Last) < first+n {
			return ""
		}
		have = append(have, fmt.Sprintf("%d-%d", first, first+n-1))
	}
	return cmp.Or(strings.Join(have, ", "), "none")
}

// probe is the account of the range that no agent ever gets.
func (a Accounts) probe() uint32 { return a.Last }

// size is how many agents can have one.
func (a Accounts) size() uint32 { return a.Last - a.First }

// accountsFile is the register, in the data directory.
const accountsFile = "accounts.json"

// register gives each agent of this host an account of its own for all its lives. No account is ever given
// to a second agent, so what the first has left anywhere on the host, files and processes, is nobody else's.
// It is safe for concurrent use; its methods wait for a disk.
type register struct {
	dir      string
	accounts Accounts

	mu   sync.Mutex
	kept registered
	used map[string]time.Time // when this daemon gave an agent its account last
}

// registered is the content of accountsFile.
type registered struct {
	Agents map[string]uint32 // by name
	Ranges []spent           // one for each range that ever was in use
}

// spent is how much of a range was given out: Given accounts from Start on, in a circle. It starts anywhere,
// so that two agentds on one machine do not give the same accounts.
type spent struct {
	Accounts
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
	return uid == s.probe() || (uint64(uid-s.First)+size-uint64(s.Start))%size < uint64(s.Given)
}

// openRegister reads the register of a data directory.
func openRegister(dir string, a Accounts) (*register, error) {
	r := &register{dir: dir, accounts: a, used: map[string]time.Time{}}
	path := filepath.Join(dir, accountsFile)
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
func (k *registered) check() error {
	if k.Agents == nil {
		return errors.New("it names no agents")
	}
	for _, s := range k.Ranges {
		if err := s.check(); err != nil {
			return err
		}
		if s.Start >= s.size() || s.Given > s.size() {
			return fmt.Errorf("more of the accounts %s was given than there is", s.Accounts)
		}
	}
	owners := map[uint32]string{}
	for agent, uid := range k.Agents {
		if other := owners[uid]; other != "" {
			return fmt.Errorf("account %d is of both %s and %s", uid, other, agent)
		}
		if !slices.ContainsFunc(k.Ranges, func(s spent) bool { return s.gave(uid) && uid != s.probe() }) {
			return fmt.Errorf("account %d of %s was never given out", uid, agent)
		}
		owners[uid] = agent
	}
	return nil
}

// of gives the account of an agent: the one that it has, or a new one, which is on disk then.
func (r *register) of(agent string) (uint32, error) {
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
func (r *register) next() (uint32, registered, error) {
	next := registered{Agents: map[string]uint32{}, Ranges: slices.Clone(r.kept.Ranges)}
	for agent, uid := range r.kept.Agents {
		next.Agents[agent] = uid
	}
	i := slices.IndexFunc(next.Ranges, func(s spent) bool { return s.Accounts == r.accounts })
	if i < 0 {
		i = len(next.Ranges)
		next.Ranges = append(next.Ranges, spent{Accounts: r.accounts, Start: rand.Uint32N(r.accounts.size())})
	}
	for s := &next.Ranges[i]; s.Given < s.size(); {
		uid := s.at(s.Given)
		s.Given++
		taken := slices.ContainsFunc(r.kept.Ranges, func(o spent) bool { return o.Accounts != s.Accounts && o.gave(uid) })
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

// retire strikes out an agent, unless it has been started since the time of the look that found it deleted. In the
// same moment remove takes its folders away, so that a start sees all of them or none. It tells whether it did.
func (r *register) retire(agent string, looked time.Time, remove func() error) (bool, error) {
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
	next := registered{Agents: map[string]uint32{}, Ranges: r.kept.Ranges}
	for name, uid := range r.kept.Agents {
		if name != agent {
			next.Agents[name] = uid
		}
	}
	return true, r.write(next)
}

// agents gives the names of all that have an account.
func (r *register) agents() (names []string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for name := range r.kept.Agents {
		names = append(names, name)
	}
	return names
}

// write puts next on disk and in place; r.mu is held.
func (r *register) write(next registered) error {
	text, err := json.Marshal(next)
	if err == nil {
		err = writeDurably(r.dir, filepath.Join(r.dir, accountsFile), string(text)+"\n")
	}
	if err == nil {
		r.kept = next
	}
	return err
}
