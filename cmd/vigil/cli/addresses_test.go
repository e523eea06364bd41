package cli

import (
	"slices"
	"testing"

	"github.com/spf13/cobra"
)

// What an agent says and asks goes by the socket of its life; whoever names servers asks these, and who has no
// such socket the ones of the environment.
func TestTheSocketOfALifeIsForItsAgent(t *testing.T) {
	env := map[string]string{"VIGIL_SOCKET": "/run/life/api", "VIGIL_ADDR": "10.0.0.1:7420",
		"VIGIL_SERVERS": "/run/servers"}
	for _, tt := range []struct {
		name  string
		app   App
		want  string
		lists string
	}{
		{"agent", App{}, "unix:/run/life/api", ""},
		{"agent with --addr", App{Addrs: []string{"10.0.0.2:7420"}}, "10.0.0.2:7420", ""},
		{"agent that passes its socket on", App{Addrs: []string{"unix:/run/life/api"}},
			"unix:/run/life/api", ""},
	} {
		a := tt.app
		a.Getenv = func(name string) string { return env[name] }
		got, err := a.Addresses()
		if err != nil || !slices.Equal(got, []string{tt.want}) || a.ServersFile() != tt.lists {
			t.Errorf("%s: %v, %v, file %q", tt.name, got, err, a.ServersFile())
		}
	}
	word := &cobra.Command{}
	if SpeaksAsAgent(word) {
		t.Error("a command without the flags of a life speaks as an agent")
	}
	if word.Flags().String("incarnation", "", ""); !SpeaksAsAgent(word) {
		t.Error("a command with the flags of a life does not speak as an agent")
	}
}
