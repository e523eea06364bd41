package cluster_test

import (
	"strings"
	"testing"

	"vigil/cluster"
	"vigil/fsm"
	"vigil/fsm/noun"
)

// What lets somebody in is never shown, texts of people and agents only when asked for, and nothing disturbs a
// terminal.
func TestWordsOfACommandKeepSecrets(t *testing.T) {
	for _, tt := range []struct {
		cmd   fsm.Command
		texts bool
		want  string
	}{
		{fsm.PutToken{SecretHash: []byte("hash"), Name: "h1", Uses: 1}, true, "SecretHash=<hidden>"},
		{fsm.RegisterHost{Key: "k", Name: "h1", Boot: "b"}, true, "Key=<hidden> Name=h1 Boot=b"},
		{fsm.CreateTask{Room: "web", Role: "builder", Title: "secret plan", Text: "x"}, false,
			"Room=web Role=builder Title=<11 bytes> Text=<1 bytes>"},
		{fsm.CreateTask{Room: "web", Title: "plan\x1b[2J"}, true, `Room=web Title="plan\x1b[2J"`},
		{fsm.ApplyRoom{Room: "we\nb", Roles: []noun.RoleSpec{{Name: "builder", Replicas: 2}}}, false,
			`Room="we\nb" Roles=[{Name=builder Replicas=2}]`},
	} {
		if got := cluster.Words(tt.cmd, tt.texts); !strings.Contains(got, tt.want) {
			t.Errorf("%T: %s, want %s", tt.cmd, got, tt.want)
		}
	}
}
