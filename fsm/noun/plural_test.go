package noun

import "testing"

func TestN19OneIsOne(t *testing.T) {
	for want, got := range map[string]string{
		"0 tasks": Plural(0, "task"), "1 task": Plural(uint32(1), "task"), "2 tasks": Plural(int64(2), "task"),
		"1 mail waits": Plural(1, "mail waits", "mails wait"), "3 mails wait": Plural(3, "mail waits", "mails wait"),
	} {
		if got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
