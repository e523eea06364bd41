package conf

import (
	"os"
	"reflect"
	"strings"
	"testing"
	"time"

	"vigil/cmd/vigil/cli"
	"vigil/cmd/vigil/term"
	"vigil/fsm/noun"
)

const exampleRoom = "../../../configs/room.yaml"

// The annotated example shows every key, and the defaults that it claims to show.
func TestExampleRoomShowsEveryKeyAndTheDefaults(t *testing.T) {
	b, err := os.ReadFile(exampleRoom)
	if err != nil {
		t.Fatal(err)
	}
	rooms, err := ParseRooms(exampleRoom, string(b))
	if err != nil {
		t.Fatal(err)
	}
	if len(rooms) != 1 || rooms[0].GetRoom() != "web" || len(rooms[0].GetRoles()) != 2 {
		t.Fatalf("got %v", rooms)
	}
	for _, key := range keysOf(reflect.TypeFor[roleFile]()) {
		if !strings.Contains(string(b), "    "+key+":") && key != "name" {
			t.Errorf("configs/room.yaml does not show the key %s", key)
		}
	}
	r, set := rooms[0].GetRoles()[0], noun.DefaultSettings()
	for name, pair := range map[string][2]time.Duration{
		"ttl":            {r.GetTtl().AsDuration(), set.TTL},
		"ack_limit":      {r.GetAckLimit().AsDuration(), set.AckLimit},
		"pending_limit":  {r.GetPendingLimit().AsDuration(), set.PendingLimit},
		"start_limit":    {r.GetStartLimit().AsDuration(), set.StartLimit},
		"progress_limit": {r.GetProgressLimit().AsDuration(), 0},
		"stop_grace":     {r.GetStopGrace().AsDuration(), set.StopGrace},
		"attempt_limit":  {time.Duration(r.GetAttemptLimit()), time.Duration(set.AttemptLimit)},
		"kill_limit":     {time.Duration(r.GetKillLimit()), time.Duration(set.KillLimit)},
	} {
		if pair[0] != pair[1] {
			t.Errorf("%s is shown as %v, the default is %v", name, pair[0], pair[1])
		}
	}
	if r.GetReplicas() != 1 || r.GetDesired() != "running" || r.GetStart() != "always" ||
		r.GetProof() != "process" || r.GetPolicy() != "fenced" {
		t.Errorf("role %v does not show the defaults", r)
	}
}

func keysOf(t reflect.Type) (keys []string) {
	for i := range t.NumField() {
		keys = append(keys, t.Field(i).Tag.Get("yaml"))
	}
	return keys
}

func TestMistakesInARoomFileNameThePlaceAndTheRemedy(t *testing.T) {
	for _, tc := range []struct{ name, text, want string }{
		{"unknown key", "room: web\nroles:\n  - name: builder\n    replica: 2\n",
			`room.yaml:4:5: unknown key "replica": check its spelling and indentation
  4 |     replica: 2
    |     ^`},
		{"unknown key at the top", "rooom: web\n", `room.yaml:1:1: unknown key "rooom"`},
		{"repeated key", "room: web\nroom: bew\n", `room.yaml:2:1: `},
		{"bad duration", "room: web\nroles:\n- name: b\n  ttl: 60\n",
			`room.yaml:4:8: "60" is not a duration like 60s, 5m or 2d`},
		{"negative duration", "room: web\nroles:\n- name: b\n  ttl: -5s\n", `room.yaml:4:8: "-5s" is negative`},
		{"bad number", "room: web\nroles:\n- name: b\n  replicas: many\n",
			`room.yaml:4:13: "many" is not a whole number`},
		{"no replicas", "room: web\nroles:\n- name: b\n  replicas: 0\n", `room.yaml:4:13: 0 replicas are not possible`},
		{"bad word", "room: web\nroles:\n- name: b\n  start: sometimes\n",
			`room.yaml:4:10: "sometimes" is unknown here: write always or on_demand`},
		{"bad policy", "room: web\nroles:\n- name: b\n  policy: never\n",
			`room.yaml:4:11: "never" is unknown here: write fenced, fast or confirm`},
		{"bad name", "room: web\nroles:\n- name: B1\n", `room.yaml:3:9: name of the role "B1" is not a name`},
		{"room is missing", "roles:\n- name: b\n", `room is missing`},
		{"name is missing", "room: web\nroles:\n- runner: x\n", `name of the role is missing`},
		{"twice", "room: web\nroles:\n- name: b\n- name: b\n", `room.yaml:4:9: role "b" is declared twice`},
		{"list wanted", "room: web\nroles: 5\n", `room.yaml:2:8: want a list: [5]`},
		{"list for a text", "room: [a]\n", `room.yaml:1:7: want a text`},
		{"broken", "room: web\nroles:\n\t- name: b\n", `room.yaml:3:`},
		{"text for a list", "room: web\nroles: builder\n", `room.yaml:2:8: want a list: [builder]`},
		{"text for keys", "room\n", `room.yaml:1:1: want keys with values`},
		{"list for keys", "room: web\nwatchdog: [a]\n", `room.yaml:2:11: want keys with values`},
		{"negative number", "room: web\nroles:\n- name: b\n  replicas: -1\n",
			`room.yaml:4:13: -1 is out of range: give a whole number from 0`},
		{"large number", "room: web\nroles:\n- name: b\n  replicas: 99999999999\n", `99999999999 is out of range`},
		{"open list", "room: web\nroles: [{name: b}\n", `room.yaml:2:8: this [ has no ]`},
		{"open map", "room: web\nroles: [{name: b]\n", `room.yaml:2:`},
		{"open quote", "room: \"web\nroles: []\n", `this quote has no end`},
		{"no colon", "room: web\nroles\n", `a key without`},
		{"empty", "# nothing\n", `declares no room`},
		{"second document", "room: web\n---\nroom: bew\nrole: x\n", `room.yaml:4:1: unknown key "role"`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			_, err := ParseRooms("room.yaml", tc.text)
			if err == nil {
				t.Fatal("it was taken")
			}
			if cli.ExitCode(err) != cli.ExitUsage {
				t.Errorf("exit code %d, want %d", cli.ExitCode(err), cli.ExitUsage)
			}
			if !strings.Contains(err.Error(), tc.want) {
				t.Errorf("message is\n%s\nwant\n%s", err, tc.want)
			}
			for _, raw := range [...]string{"token", "sequence", "mapping", "unmarshal", "struct", "character"} {
				if strings.Contains(err.Error(), raw) {
					t.Errorf("%q has words of a parser", err)
				}
			}
		})
	}
}

// Every key of a role gets into the request, and every field of the request has a key.
func TestEveryKeyOfARoleIsSent(t *testing.T) {
	keys := map[string]string{"name": "x", "runner": "r", "replicas": "2", "desired": "stopped",
		"start": "on_demand", "proof": "agent", "policy": "fast", "labels": "{a: b}", "params": "{c: d}",
		"health": "active", "ladder": "off", "overseer": "{triage: boot}",
		"grants": "[{role: reader, rooms: [web]}]", "containment": "weak",
		"budget": "{tokens: 2M, usd: 19.90}", "agent_budget": "{tokens: 500k}"}
	text := "room: a\nroles:\n-"
	of := reflect.TypeFor[roleFile]()
	for i, key := range keysOf(of) {
		value := keys[key]
		switch {
		case value != "":
		case of.Field(i).Type == reflect.TypeFor[spanValue]():
			value = "3s"
		case of.Field(i).Type == reflect.TypeFor[countValue]():
			value = "7"
		default:
			t.Fatalf("%s has no value here: write one into keys", key)
		}
		text += " " + key + ": " + value + "\n "
	}
	rooms, err := ParseRooms("f", text)
	if err != nil {
		t.Fatal(err)
	}
	role := rooms[0].GetRoles()[0].ProtoReflect()
	for i := range role.Descriptor().Fields().Len() {
		if f := role.Descriptor().Fields().Get(i); !role.Has(f) {
			t.Errorf("%s is not sent: give it a key in roleFile, and a line in spec", f.Name())
		}
	}
}

func TestRoomFileSaysHowLongTasksTake(t *testing.T) {
	rooms, err := ParseRooms("f", "room: a\nroles:\n- name: x\n  expect: 3h\n- name: y\n")
	if err != nil || rooms[0].GetRoles()[0].GetExpect().AsDuration() != 3*time.Hour ||
		rooms[0].GetRoles()[1].GetExpect() != nil {
		t.Errorf("got %v, %v", rooms, err)
	}
}

func TestSeveralRoomsInOneFile(t *testing.T) {
	rooms, err := ParseRooms("f",
		"room: a\n---\n# only a remark\n---\nroom: b\nroles:\n- name: x\n  params: {port: 8080, debug: true}\n")
	if err != nil || len(rooms) != 2 || rooms[1].GetRoles()[0].GetParams()["port"] != "8080" ||
		rooms[1].GetRoles()[0].GetParams()["debug"] != "true" {
		t.Errorf("got %v, %v", rooms, err)
	}
}

func FuzzRoomFile(f *testing.F) {
	f.Add("room: web\nroles:\n- name: b\n  ttl: 60s\n")
	f.Add("room: &0 A\nroles: !0\n00000") // made the YAML library panic
	f.Add("room: a\n---\n---\nroom: b")   // made it lose the second room
	f.Add("room: &a web\nroles: [{name: *a}]\n---\nroom: b")
	f.Fuzz(func(t *testing.T, text string) {
		if len(text) > 1<<12 {
			return
		}
		rooms, err := ParseRooms("room.yaml", text)
		if err == nil && len(rooms) == 0 {
			t.Error("neither rooms nor an error")
		}
		if err != nil && cli.ExitCode(err) != cli.ExitUsage {
			t.Errorf("exit code %d for %v", cli.ExitCode(err), err)
		}
	})
}

// The example of docs/overseers.md is a room that a server takes, and its triage role a runner
// that is shipped.
func TestExampleOfAnOverseer(t *testing.T) {
	b, err := os.ReadFile("../../../configs/overseer.yaml")
	if err != nil {
		t.Fatal(err)
	}
	rooms, err := ParseRooms("overseer.yaml", string(b))
	if err != nil || len(rooms) != 1 || len(rooms[0].GetRoles()) != 2 {
		t.Fatalf("got %v (%v)", rooms, err)
	}
	deacon, boot, set := rooms[0].GetRoles()[0], rooms[0].GetRoles()[1], noun.DefaultSettings().Chain
	o := deacon.GetOverseer()
	if o.GetTriage() != boot.GetName() || o.GetHandoffAfter() != 20 || o.GetFresh().AsDuration() != set.Fresh ||
		o.GetStale().AsDuration() != set.Stale || boot.GetOverseer() != nil {
		t.Errorf("the overseer is %v", o)
	}
	for _, r := range rooms[0].GetRoles() {
		if _, err := os.Stat("../../../configs/runners.d/" + r.GetRunner() + ".yaml"); err != nil {
			t.Errorf("role %s: %v", r.GetName(), err)
		}
	}
	for text, want := range map[string]string{
		"room: r\nroles:\n- name: a\n  overseer: {}\n":                        "",
		"room: r\nroles:\n- name: a\n  overseer: {triage: Boot}\n":            `triage "Boot" is not a name`,
		"room: r\nroles:\n- name: a\n  overseer: {handoff: 3}\n":              `unknown key "handoff"`,
		"room: r\nroles:\n- name: a\n  overseer: {stale: soon}\n":             `"soon" is not a duration`,
		"room: r\nroles:\n- name: a\n  overseer:\n    handoff_after: often\n": `"often" is not a whole number`,
	} {
		rooms, err := ParseRooms("room.yaml", text)
		switch {
		case want == "" && (err != nil || rooms[0].GetRoles()[0].GetOverseer() == nil):
			t.Errorf("%q: %v", text, err)
		case want != "" && (err == nil || !strings.Contains(err.Error(), want)):
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
}

func TestRoomFileDeclaresHealth(t *testing.T) {
	for text, want := range map[string]string{
		"critical":                `{"preset":"critical","missed":0}`,
		"{every: 45s, missed: 4}": `{"every":"45s","missed":4}`,
		"{every: 45s}":            `{"every":"45s","missed":0}`,
		"none":                    "null",
	} {
		rooms, err := ParseRooms("room.yaml", "room: web\nroles:\n- name: b\n  health: "+text+"\n")
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		got := "null"
		if h := rooms[0].GetRoles()[0].GetHealth(); h != nil {
			b, err := term.Marshal(h)
			if err != nil {
				t.Fatal(err)
			}
			got = string(b)
		}
		if got != want {
			t.Errorf("%s became %s, want %s", text, got, want)
		}
	}
	for text, want := range map[string]string{
		"relaxed": `room.yaml:4:11: "relaxed" is unknown here: write none, a preset (critical, active, background, standby)`,

		"{missed: 4}":             "every is missing",
		"{every: 45}":             `"45" is not a duration`,
		"{every: 45s, often: 2}":  `unknown key "often": write every and missed`,
		"{every: 45s, missed: 0}": "give at least 1",
		"[1, 2]":                  "want none, a preset",
	} {
		if _, err := ParseRooms("room.yaml", "room: web\nroles:\n- name: b\n  health: "+text+"\n"); err == nil ||
			!strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
}

// Grants name a role and rooms; each room is a right of its own.
func TestGrantsOfARoomFile(t *testing.T) {
	for text, want := range map[string]string{
		"[{role: reader, rooms: [web, \"*\"]}, {role: operator, rooms: [ops]}]": "",
		"[{rooms: [web]}]":               "a grant has no role",
		"[{role: reader}]":               "names no room",
		"[{role: admin, rooms: [web]}]":  `"admin" is unknown here: write viewer, reader or operator`,
		"[{role: reader, rooms: [Web]}]": `room "Web" is not a name`,
		"[{role: reader, room: web}]":    `unknown key "room"`,
	} {
		rooms, err := ParseRooms("room.yaml", "room: r\nroles:\n- name: a\n  grants: "+text+"\n")
		switch {
		case want == "" && err != nil, want != "" && (err == nil || !strings.Contains(err.Error(), want)):
			t.Errorf("%s: %v, want %q", text, err, want)
		case want == "" && len(rooms[0].GetRoles()[0].GetGrants()) != 3:
			t.Errorf("%s became %v", text, rooms[0].GetRoles()[0].GetGrants())
		}
	}
}
