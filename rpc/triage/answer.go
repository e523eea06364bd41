package triage

import (
	"encoding/json"
	"slices"
	"unicode/utf8"

	"vigil/fsm/noun"
)

// MaxAnswer bounds what is read as an answer, in bytes.
const MaxAnswer = 16 << 10

// Parse reads the answer of a triage agent: one flat JSON object of at most MaxAnswer bytes with
// the strings decision and, if it likes, reason; other members are strings, numbers and words.
// The reason is cut at noun.MaxTriageWhy bytes. It tells whether there is a decision. Safe for
// concurrent use.
func Parse(answer string) (d noun.Decision, reason string, ok bool) {
	if len(answer) > MaxAnswer || !utf8.ValidString(answer) {
		return 0, "", false
	}
	var members map[string]json.RawMessage
	if json.Unmarshal([]byte(answer), &members) != nil {
		return 0, "", false
	}
	said := map[string]string{}
	for name, value := range members {
		switch value[0] {
		case '{', '[':
			return 0, "", false
		case '"':
			var text string
			if json.Unmarshal(value, &text) != nil {
				return 0, "", false
			}
			said[name] = text
		}
	}
	at := slices.Index(noun.DecisionNames(), said["decision"])
	if at < 0 {
		return 0, "", false
	}
	return noun.Decision(at), noun.Clip(said["reason"], noun.MaxTriageWhy), true
}
