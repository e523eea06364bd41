package accounts

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

// An account is never given to a second agent, whatever is deleted, restarted or configured in between, and an
// agent keeps its own until it is deleted.
func TestAccountIsNeverGivenToASecondAgent(t *testing.T) {
	ranges := []Range{{2_000_000, 2_000_200}, {2_000_100, 2_000_400}, Default()}
	for seed := range uint64(5) {
		random := rand.New(rand.NewPCG(seed, 1))
		dir, a := t.TempDir(), ranges[0]
		r := reopened(t, dir, a)
		owner := map[uint32]string{} // of all accounts that ever were given
		now := map[string]uint32{}
		for step := range 300 {
			agent := fmt.Sprintf("demo/r%d", random.IntN(20))
			switch random.IntN(6) {
			case 0:
				a = ranges[random.IntN(len(ranges))]
				r = reopened(t, dir, a)
			case 1:
				if done, err := r.Retire(agent, time.Now().Add(time.Hour), func() error { return nil }); err != nil || !done {
					t.Fatal(done, err)
				}
				delete(now, agent)
			default:
				uid, err := r.Of(agent)
				if err != nil && strings.Contains(err.Error(), "none is given twice") {
					continue
				}
				if err != nil {
					t.Fatal(err)
				}
				life := fmt.Sprint(agent, " of step ", step)
				switch had := now[agent]; {
				case had != 0 && had != uid:
					t.Fatalf("seed %d: %s had account %d and has %d", seed, agent, had, uid)
				case had == 0 && owner[uid] != "":
					t.Fatalf("seed %d: account %d of %s is given to %s", seed, uid, owner[uid], life)
				case had == 0 && (uid < a.First || uid >= a.Last):
					t.Fatalf("seed %d: account %d is not one of %s, or its probe", seed, uid, a)
				case had == 0:
					owner[uid], now[agent] = life, uid
				}
			}
		}
	}
}

func reopened(t *testing.T, dir string, a Range) *Register {
	t.Helper()
	r, err := Open(dir, a)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// Each account of a range is given, and then the error says what to do. Users of the host are passed over.
func TestAccountsOfARangeAreUsedUp(t *testing.T) {
	a := Range{2_000_000, 2_000_010}
	r := reopened(t, t.TempDir(), a)
	given := map[uint32]bool{}
	var mu sync.Mutex
	var starts sync.WaitGroup
	for i := range a.size() {
		starts.Go(func() {
			uid, err := r.Of(fmt.Sprintf("demo/r%d", i))
			if err != nil {
				t.Error(err)
			}
			mu.Lock()
			defer mu.Unlock()
			given[uid] = true
		})
	}
	starts.Wait()
	if len(given) != int(a.size()) || given[a.Probe()] {
		t.Errorf("%d of %d accounts were given: %v", len(given), a.size(), given)
	}
	if _, err := r.Of("demo/more"); err == nil || !strings.Contains(err.Error(), "another range (accounts in its") {
		t.Error(err)
	}
	if someones(a.First) || !someones(0) {
		t.Errorf("somebody: %v, root: %v", someones(a.First), someones(0))
	}
}

// An agent that was started after the look that found it deleted keeps account and folders.
func TestAgentThatStartsIsNotRetired(t *testing.T) {
	r := reopened(t, t.TempDir(), Default())
	looked := time.Now()
	uid, err := r.Of("demo/r1")
	if err != nil {
		t.Fatal(err)
	}
	done, err := r.Retire("demo/r1", looked, func() error { t.Error("its folders were removed"); return nil })
	if done || err != nil {
		t.Error(done, err)
	}
	if again, err := r.Of("demo/r1"); again != uid || err != nil {
		t.Errorf("%d, %v: it had %d", again, err, uid)
	}
}

// A register that cannot be right is refused: it would give accounts of others.
func TestDamagedRegisterIsRefused(t *testing.T) {
	whole := `{"Agents":{"demo/a":2000001,"demo/b":2000002},` +
		`"Ranges":[{"First":2000000,"Last":2000010,"Start":0,"Given":3}]}`
	for old, bad := range map[string]string{
		"":                  "",
		`{"Agents"`:         `"Agents"`,
		"2000002":           "2000001",     // twice
		`"demo/b":2000002`:  `"b":2000003`, // not given yet
		`"demo/a":2000001`:  `"a":2000010`, // the probe
		`"Given":3`:         `"Given":11`,
		`"Start":0`:         `"Start":10`,
		`"First":2000000`:   `"First":0`,
		`"Ranges":[{`:       `"Ranges":[],"X":[{`,
		whole:               `null`,
		`{"Agents":{`:       `{"Agents":null,"Other":{`,
		`"Last":2000010,"S`: `"Last":1,"S`,
	} {
		dir := t.TempDir()
		text := strings.Replace(whole, old, bad, 1)
		if err := os.WriteFile(filepath.Join(dir, File), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		_, err := Open(dir, Default())
		if old != "" && (err == nil || !strings.Contains(err.Error(), File) ||
			!strings.Contains(err.Error(), "restore it")) {
			t.Errorf("%s was read: %v", text, err)
		}
		if old == "" && err != nil {
			t.Error(err)
		}
	}
}

func TestParseAccounts(t *testing.T) {
	for text, want := range map[string]string{
		Default().String(): "", "700000-799999": "", "20000-29999": "",
		"": "write two numbers", "700000": "write two numbers", "a-b": "write two numbers", "-1-5000": "write two numbers",
		"700000-4294967296": "write two numbers", "700001-700000": "greater last one", "700000-700000": "greater last one",
		"0-700000": "begin at 1000", "60000-70000": "means nobody", "65534-70000": "means nobody",
		"65535-70000":       "means nobody",
		"700000-4294967295": "means nobody",
	} {
		a, err := Parse(text)
		if want == "" && (err != nil || a.String() != text) ||
			want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%q: %s, %v, want %q", text, a, err, want)
		}
	}
}

// In a container only what it maps exists.
func TestAccountsOfAContainer(t *testing.T) {
	for text, want := range map[string]string{
		"         0          0 4294967295\n":           "",
		"0 100000 65536\n":                             "0-65535",
		"0 100000 65536\n700000 900000 1000\n":         "0-65535, 700000-700999",
		"0 100000 65536\n700000 900000 100000\n":       "",
		"0 100000 65536\n700000 900000 99999\nx y z\n": "0-65535, 700000-799998",
		"": "none",
	} {
		if got := mapped(text, Range{700_000, 799_999}); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}
