package conf

import (
	"errors"
	"strings"
	"testing"

	"vigil/cmd/vigil/cli"
)

// N22: the place of a mistake is that of the value that is wrong.
func TestN22MistakesArePlacedAtTheirValue(t *testing.T) {
	room := func(text string) error { _, err := ParseRooms("f.yaml", text); return err }
	server := func(text string) error { _, err := parseServerFile("f.yaml", text); return err }
	for _, tt := range []struct {
		read func(string) error
		text string // the mistake stands behind >
	}{
		{server, "settings: {kill_limit: 7, stop_grace: 5s, ttl: >6s}\n"},
		{server, "settings:\n  kill_limit: 7\n  ttl: >6s\n"},
		{server, "settings: {kill_limit: 7, stop_grace: >90s}\n"},
		{room, "room: web\nroles: [{name: a}, >{runner: b}]\n"},
		{room, "room: web\nroles:\n- name: a\n- >runner: b\n"},
		{room, "room: web\nroles:\n- name: a\n- >runner: b\n  start: always\n"},
		{room, `{"room": "web", "roles": [{"name": "a", "params": {"a": "ä \" ü"}, "ttl": >"5x"}]}`},
		{room, "room: web\nroles: [{name: a, params: {x: 'it''s'}}, {name: b, start: >nope}]\n"},
	} {
		before, after, _ := strings.Cut(tt.text, ">")
		lines := strings.Split(before, "\n")
		var at *cli.PlaceError
		if err := tt.read(before + after); !errors.As(err, &at) {
			t.Errorf("%q: %v, want a mistake with its place", tt.text, err)
			continue
		}
		if line, column := len(lines), len([]rune(lines[len(lines)-1]))+1; at.Line != line || at.Column != column {
			t.Errorf("%q: the mistake is placed at %d:%d, want %d:%d: %v", tt.text, at.Line, at.Column,
				line, column, at)
		}
	}
}
