package agentd

import (
	"testing"
	"time"
)

// L7: whatever beats come and go, the tree is frozen from 0.75 TTL after the last
// acknowledged beat was sent, and never before.
func TestDeadman(t *testing.T) {
	const s = time.Second
	d := deadman{ttl: 60 * s, limit: 100 * s, sent: 10 * s}
	for _, step := range []struct {
		at    time.Duration
		acked time.Duration // a beat sent then is acknowledged now; 0: none
		want  command
	}{
		{20 * s, 0, goOn},
		{55*s - 1, 0, goOn},
		{55 * s, 0, freeze},
		{56 * s, 0, goOn},      // once
		{90 * s, 12 * s, goOn}, // an old answer: 78 s are too many
		{91 * s, 50 * s, thaw},
		{92 * s, 20 * s, goOn}, // answers overtake each other
		{95*s - 1, 0, goOn},
		{95 * s, 0, freeze},
		{194 * s, 0, goOn},
		{195 * s, 0, kill},
		{196 * s, 0, kill}, // until it is dead
	} {
		if step.acked != 0 {
			d.acknowledge(step.acked)
		}
		if got := d.judge(step.at); got != step.want {
			t.Errorf("at %s: %d, want %d", step.at, got, step.want)
		}
	}
}

func TestPlace(t *testing.T) {
	for name, want := range map[string][3]string{
		"demo/builder":    {"demo", "builder", "builder"},
		"demo/builder.2":  {"demo", "builder", "builder.2"},
		"demo/builder.x":  {"demo", "builder.x", "builder.x"},
		"demo/builder_.1": {"demo", "builder_", "builder_.1"},
	} {
		room, role, agent, err := place(name)
		if err != nil || [3]string{room, role, agent} != want {
			t.Errorf("%s: %s %s %s %v", name, room, role, agent, err)
		}
	}
	if _, _, _, err := place("demo"); err == nil {
		t.Error("a name without a role was accepted")
	}
}

func TestClip(t *testing.T) {
	if got := clip("aé", 2); got != "a" {
		t.Errorf("clip: %q", got)
	}
}
