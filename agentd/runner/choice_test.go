package runner

import "testing"

// What would be answered by a line or by the Enter key is known without a pattern of its tool.
func TestChooses(t *testing.T) {
	for screen, want := range map[string]bool{
		"Which theme?\n ❯ 1. Dark mode\n   2. Light mode\n":                       true,
		"Pick one\n> 1. a\n  2. b":                                                true,
		"  › 3) Ask me\n":                                                         true,
		"╭──╮\n│ ❯ 1. Yes │\n│   2. No │\n╰──╯":                                   true,
		"│ ● 1. Allow once │\n│   2. Deny │":                                      true,
		"Ready?\n  Submit answers\n  Enter to select · Esc to cancel":             true,
		"Overwrite notes.txt? [y/N]":                                              true,
		"Continue (yes/no)? \n\n":                                                 true,
		"● 1. First the tests\n  2. Then the code\n──\n> \n──\n  ? for shortcuts": false,
		"Overwrite? [y/N] y\ndone\n> ":                                            false,
		"> \n":                                                                    false,
		"":                                                                        false,
		"✻ Pondering… (12s · esc to interrupt)\n> \n":                             false,
		" ❯ 1. long ago\n1\n2\n3\n4\n5\n6\n7\n8\n9\n10\n11\n12\n13\n14\n15\n16\n17\n": false,
	} {
		if got := Chooses(Tidy(screen)); got != want {
			t.Errorf("%q: %v", screen, got)
		}
	}
}
