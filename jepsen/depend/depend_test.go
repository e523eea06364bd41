package depend

import "testing"

// An outage is seen by the agents of its role, all of them and no others, until it is over.
func TestAnOutageIsThatOfItsRole(t *testing.T) {
	folder := t.TempDir()
	see := func(agent, want string) {
		t.Helper()
		if got, err := Words(folder, agent); err != nil || got != want {
			t.Errorf("%s sees %q (%v), want %q", agent, got, err, want)
		}
	}
	see("r/a", "")
	for role, words := range map[string]string{"r/a": "fail=9", "r/b": "crash=0s"} {
		if err := TakeDown(folder, role, words); err != nil {
			t.Fatal(err)
		}
	}
	see("r/a", "fail=9")
	see("r/a.2", "fail=9")
	see("r/b.3", "crash=0s")
	see("r/ab", "")
	if err := BringUp(folder, "r/a"); err != nil {
		t.Fatal(err)
	}
	see("r/a.2", "")
	see("r/b", "crash=0s")
	if err := BringAllUp(folder); err != nil {
		t.Fatal(err)
	}
	see("r/b", "")
	if err := BringUp(folder, "r/b"); err != nil {
		t.Errorf("what is there is brought up: %v", err)
	}
}
