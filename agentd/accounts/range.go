package accounts

import (
	"bufio"
	"cmp"
	"fmt"
	"os"
	"strconv"
	"strings"
)

// Range is a range of accounts (uids, and gids of the same numbers) out of which agents get
// accounts of their own. No user or group of the host should be in it.
type Range struct{ First, Last uint32 }

// Default lies where by custom nobody is: above the ranges of containers, of /etc/subuid and of
// directory services.
func Default() Range { return Range{2_100_000_000, 2_146_999_999} }

// Parse reads FIRST-LAST. The error says what is wrong and what to write.
func Parse(text string) (a Range, err error) {
	first, last, ok := strings.Cut(text, "-")
	from, err1 := strconv.ParseUint(first, 10, 32)
	to, err2 := strconv.ParseUint(last, 10, 32)
	if !ok || err1 != nil || err2 != nil {
		return a, fmt.Errorf("%q is no range of accounts: write two numbers such as %s", text, Default())
	}
	a = Range{uint32(from), uint32(to)}
	return a, a.Check()
}

// String is FIRST-LAST, as Parse reads it.
func (a Range) String() string { return fmt.Sprintf("%d-%d", a.First, a.Last) }

// Check refuses ranges that belong to others by custom, or can give nothing.
func (a Range) Check() error {
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
func (a Range) Here() error {
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
func mapped(text string, a Range) string {
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

// Probe is the account of the range that no agent ever gets.
func (a Range) Probe() uint32 { return a.Last }

// size is how many agents can have one.
func (a Range) size() uint32 { return a.Last - a.First }
