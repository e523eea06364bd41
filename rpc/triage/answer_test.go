package triage

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"vigil/fsm/noun"
)

// What is no decision is told apart from what is one.
func TestParse(t *testing.T) {
	for text, want := range map[string]string{
		`{"decision":"START","reason":"dead"}`:                                    "START dead",
		" {\n\t\"reason\" : \"a \\\"b\\\" \\u00e4\\n\", \"decision\":\"WAKE\" } ": "WAKE a \"b\" ä\n",
		`{"decision":"NOTHING"}`:                                                  "NOTHING ",
		`{"decision":"NUDGE","sure":true,"score":-1.5e3,"x":null}`:                "NUDGE ",
		``: "", `{}`: "", `[]`: "", `"START"`: "", `START`: "", `{"decision":"start"}`: "",
		`{"decision":"START"`: "", `{"decision":"START"} and more`: "",
		`{"decision":"START",}`: "", `{"decision":["START"]}`: "",
		`{"decision":{"a":"START"}}`: "", `{decision:"START"}`: "", `{"decision":"START\x"}`: "",
		`{"decision":"START","more":{"a":1}}`: "", `{"decision":"START","score":1e999}`: "START ",
		`{"decision":"START","decision":"WAKE"}`: "WAKE ", "null": "", `{"decision":null}`: "",
		`{"reason":"START"}`: "", "{\"decision\":\"START\xff\"}": "",
		`{"decision":"START","reason":"` + strings.Repeat("a", MaxAnswer) + `"}`: "",
		`{"decision":"START","reason":"` + strings.Repeat("a", 1000) + `"}`: "START " +
			strings.Repeat("a", noun.MaxTriageWhy),
		`{"decision":"START" "reason":"x"}`: "",
	} {
		got := ""
		if d, reason, ok := Parse(text); ok {
			got = fmt.Sprintf("%s %s", d, reason)
		}
		if got != want {
			t.Errorf("%q is read as %q, want %q", text, got, want)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add(`{"decision":"WAKE","reason":"a \u00e4"}`)
	f.Fuzz(func(t *testing.T, text string) {
		d, reason, ok := Parse(text)
		if !ok {
			return
		}
		if !slices.Contains(noun.DecisionNames(), d.String()) || len(reason) > noun.MaxTriageWhy {
			t.Errorf("%q is read as %s, %q", text, d, reason)
		}
		again, err := json.Marshal(map[string]string{"decision": d.String(), "reason": reason})
		if err != nil {
			t.Fatal(err)
		}
		if d2, reason2, ok := Parse(string(again)); !ok || d2 != d || reason2 != reason {
			t.Errorf("%q is written as %s and read as %s, %q", text, again, d2, reason2)
		}
	})
}
