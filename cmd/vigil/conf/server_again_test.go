package conf

import (
	"slices"
	"testing"
)

// A configuration that is read again says of each key that differs whether it is taken now, needs a restart, or counts
// only for a new cluster; where it stands in the file makes no difference.
func TestAServerTakesAgainWhatItCan(t *testing.T) {
	parse := func(text string) *Server {
		t.Helper()
		f, err := parseServerFile("server.yaml", text)
		if err != nil {
			t.Fatal(err)
		}
		return f
	}
	const hook = "notify:\n- name: hook\n  command: {program: /bin/true}\n"
	base := "id: s1\ntiming: {disk: 6s}\nsettings: {session_ttl: 20m}\njoin: [a:1]\n" + hook
	for _, tt := range []struct {
		name, text            string
		now, restart, founded []string
	}{
		{"the same in another order", "\n# moved\n" + hook +
			"join: [a:1]\nsettings: {session_ttl: 20m}\ntiming:\n  disk: 6s\nid: s1\n", nil, nil, nil},
		{"log level", base + "log_level: debug\n", []string{"log_level"}, nil, nil},
		{"a notifier's program", "id: s1\ntiming: {disk: 6s}\nsettings: {session_ttl: 20m}\njoin: [a:1]\n" +
			"notify:\n- name: hook\n  command: {program: /bin/false}\n", []string{"notify"}, nil, nil},
		{"all of it", "id: s1\naddr: 127.0.0.1:9\ntiming: {disk: 7s}\nzone: b\n", []string{"notify"},
			[]string{"addr", "join", "timing", "zone"}, []string{"settings"}},
	} {
		now, restart, founded := parse(base).Again(parse(tt.text))
		if !slices.Equal(now, tt.now) || !slices.Equal(restart, tt.restart) || !slices.Equal(founded, tt.founded) {
			t.Errorf("%s: now %v, with a restart %v, when founded %v", tt.name, now, restart, founded)
		}
	}
}
