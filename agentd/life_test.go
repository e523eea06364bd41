package agentd

import "testing"

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
