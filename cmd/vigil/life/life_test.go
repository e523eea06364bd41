package life

import "testing"

// N22: room/role.1 is the same life as room/role, however it is named.
func TestN22TheFirstAgentHasOneName(t *testing.T) {
	for _, tt := range []struct {
		flags Flags
		env   map[string]string
		want  string
	}{
		{Flags{agent: "w/a.1"}, nil, "w/a"},
		{Flags{agent: "w/a.11"}, nil, "w/a.11"},
		{Flags{room: "w", role: "a.1"}, nil, "w/a"},
		{Flags{}, map[string]string{"VIGIL_AGENT": "w/a.1"}, "w/a"},
		{Flags{}, map[string]string{"VIGIL_AGENT": "w/a.2"}, "w/a.2"},
		{Flags{agent: "w/a.*"}, nil, "w/a.*"},
	} {
		got, err := tt.flags.name(func(key string) string { return tt.env[key] })
		if err != nil || got != tt.want {
			t.Errorf("%+v, %v: %q, %v, want %q", tt.flags, tt.env, got, err, tt.want)
		}
	}
}
