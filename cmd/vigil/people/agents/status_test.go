package agents

import (
	"testing"

	"google.golang.org/protobuf/types/known/durationpb"

	"vigil/rpc/gen/vigilv1"
)

func TestScreenLine(t *testing.T) {
	for want, s := range map[string]*vigilv1.ScreenState{
		"":          nil,
		"no prompt": {Prompt: "none", Shown: durationpb.New(60e9)},
		"usage limit prompt for 1m; nothing new for 5m and more": {Prompt: "usage_limit",
			Shown: durationpb.New(60e9), Quiet: true, QuietFor: durationpb.New(300e9)},
	} {
		if got := screenLine(s, ""); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
	if got := screenLine(nil, "no terminal: no tmux"); got != "no terminal: no tmux" {
		t.Errorf("%q", got)
	}
}
