package conf

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/token"
	"google.golang.org/protobuf/types/known/durationpb"

	"vigil/cmd/vigil/cli"
	"vigil/rpc/gen/vigilv1"
)

// roomFile is one document of a file for `vigil apply`; configs/room.yaml explains
// every key.
type roomFile struct {
	Room     textValue      `yaml:"room"`
	Roles    []roleFile     `yaml:"roles"`
	Watchdog *roomWatchFile `yaml:"watchdog"`
	Budget   *budgetFile    `yaml:"budget"`
}

// roleFile declares a role. Keys that are left out take the cluster's defaults.
type roleFile struct {
	Name          textValue            `yaml:"name"`
	Runner        textValue            `yaml:"runner"`
	Replicas      *countValue          `yaml:"replicas"`
	Desired       textValue            `yaml:"desired"`
	Start         textValue            `yaml:"start"`
	Proof         textValue            `yaml:"proof"`
	Policy        textValue            `yaml:"policy"`
	Labels        map[string]textValue `yaml:"labels"`
	Params        map[string]textValue `yaml:"params"`
	TTL           spanValue            `yaml:"ttl"`
	AckLimit      spanValue            `yaml:"ack_limit"`
	PendingLimit  spanValue            `yaml:"pending_limit"`
	StartLimit    spanValue            `yaml:"start_limit"`
	ProgressLimit spanValue            `yaml:"progress_limit"`
	StopGrace     spanValue            `yaml:"stop_grace"`
	AttemptLimit  countValue           `yaml:"attempt_limit"`
	KillLimit     countValue           `yaml:"kill_limit"`
	TurnLimit     spanValue            `yaml:"turn_limit"`
	RunLimit      spanValue            `yaml:"run_limit"`
	Health        healthValue          `yaml:"health"`
	Ladder        textValue            `yaml:"ladder"`
	Expect        spanValue            `yaml:"expect"`
	Overseer      *overseerFile        `yaml:"overseer"`
	RetryFirst    spanValue            `yaml:"retry_first"`
	RetryMost     spanValue            `yaml:"retry_most"`
	Grants        []grantFile          `yaml:"grants"`
	Containment   textValue            `yaml:"containment"`
	Budget        *budgetFile          `yaml:"budget"`
	AgentBudget   *budgetFile          `yaml:"agent_budget"`
}

// ParseRooms reads all documents of a file; file is its name in messages.
func ParseRooms(file, text string) ([]*vigilv1.ApplyRoomRequest, error) {
	var rooms []*vigilv1.ApplyRoomRequest
	places := map[string]*token.Token{} // of rooms, by name
	for _, part := range documents(text) {
		parsed, err := parseYAML(file, text, part)
		if err != nil {
			return nil, err
		}
		for _, doc := range parsed.Docs {
			if doc.Body == nil || doc.Body.Type() == ast.NullType || doc.Body.Type() == ast.CommentType ||
				doc.Body.Type() == ast.CommentGroupType {
				continue
			}
			d := &document{file: file, text: text, body: doc.Body}
			var room roomFile
			if err := d.decode(&room); err != nil {
				return nil, err
			}
			request, err := d.request(&room)
			if err != nil {
				return nil, err
			}
			if first := places[request.Room]; first != nil {
				return nil, placed(file, text, room.Room.at,
					fmt.Sprintf("room %q is declared twice: it stands in line %d too; "+
						"write all its roles in one of the two", request.Room, first.Position.Line))
			}
			places[request.Room] = room.Room.at
			rooms = append(rooms, request)
		}
	}
	if len(rooms) == 0 {
		return nil, cli.Usagef("%s declares no room: see configs/room.yaml for an example", file)
	}
	return rooms, nil
}

// documents splits a file at its document marks, since the YAML library loses what
// follows an empty document. Each part has empty lines in place of what stands
// before it, so that positions stay those of the file.
func documents(text string) (parts []string) {
	lines := strings.Split(text, "\n")
	first := 0
	end := func(next int) {
		parts = append(parts, strings.Repeat("\n", first)+strings.Join(lines[first:next], "\n"))
	}
	for i, line := range lines {
		mark := strings.TrimRight(line, " \t\r")
		switch {
		case mark == "...":
			lines[i] = ""
		case mark == "---" || strings.HasPrefix(line, "--- ") || strings.HasPrefix(line, "---\t"):
			end(i)
			first, lines[i] = i, "   "+line[3:]
		}
	}
	end(len(lines))
	return parts
}

var nameForm = regexp.MustCompile(`^[a-z0-9][a-z0-9_-]{0,63}$`)

// name checks the name of a room, role or runner.
func (d *document) name(what string, v textValue, parent ast.Node) error {
	at := v.at
	if at == nil {
		at = start(parent)
	}
	switch {
	case v.text == "":
		return placed(d.file, d.text, at, fmt.Sprintf("%s is missing", what))
	case !nameForm.MatchString(v.text):
		return placed(d.file, d.text, at,
			fmt.Sprintf("%s %q is not a name: use 1 to 64 of a-z, 0-9, _ and -, beginning with a letter or digit",
				what, v.text))
	}
	return nil
}

// word checks a value that is one of a few words.
func (d *document) word(v textValue, words ...string) error {
	if v.text == "" || slices.Contains(words, v.text) {
		return nil
	}
	return placed(d.file, d.text, v.at, fmt.Sprintf("%q is unknown here: write %s or %s", v.text,
		strings.Join(words[:len(words)-1], ", "), words[len(words)-1]))
}

// request turns a decoded document into what the server is asked for.
func (d *document) request(room *roomFile) (*vigilv1.ApplyRoomRequest, error) {
	if err := d.name("room", room.Room, d.body); err != nil {
		return nil, err
	}
	out := &vigilv1.ApplyRoomRequest{Room: room.Room.text, Watch: room.Watchdog.wire(),
		Budget: room.Budget.wire()}
	if out.Budget == nil {
		out.Budget = &vigilv1.Budget{} // a file says all of it
	}
	if room.Watchdog != nil {
		if err := d.word(room.Watchdog.Untaken, "warn", "cancel"); err != nil {
			return nil, err
		}
	}
	seen := map[string]bool{}
	for i := range room.Roles {
		r := &room.Roles[i]
		if err := d.checkRole(r, d.item("roles", i)); err != nil {
			return nil, err
		}
		if seen[r.Name.text] {
			return nil, placed(d.file, d.text, r.Name.at, fmt.Sprintf("role %q is declared twice: remove one",
				r.Name.text))
		}
		seen[r.Name.text] = true
		out.Roles = append(out.Roles, r.spec())
	}
	return out, nil
}

func (d *document) checkRole(r *roleFile, node ast.Node) error {
	for _, err := range []error{
		d.name("name of the role", r.Name, node),
		d.word(r.Desired, "running", "stopped", "paused"),
		d.word(r.Start, "always", "on_demand"),
		d.word(r.Proof, "process", "agent"),
		d.word(r.Policy, "fenced", "fast", "confirm"),
		d.word(r.Ladder, "careful", "escalate", "off", "restart"),
		d.word(r.Containment, "sealed", "weak"),
		d.checkGrants(r.Grants),
	} {
		if err != nil {
			return err
		}
	}
	if r.Overseer != nil && r.Overseer.Triage.text != "" {
		if err := d.name("triage", r.Overseer.Triage, node); err != nil {
			return err
		}
	}
	if r.Runner.text != "" {
		if err := d.name("runner", r.Runner, node); err != nil {
			return err
		}
	}
	if r.Replicas != nil && (r.Replicas.n == 0 || r.Replicas.n > 10_000) {
		return placed(d.file, d.text, r.Replicas.at,
			fmt.Sprintf("%d replicas are not possible: give 1 to 10000 (to stop the role write desired: stopped)",
				r.Replicas.n))
	}
	return nil
}

func (r *roleFile) spec() *vigilv1.RoleSpec {
	spec := &vigilv1.RoleSpec{
		Name: r.Name.text, Runner: r.Runner.text, Desired: r.Desired.text, Start: r.Start.text,
		Proof: r.Proof.text, Policy: r.Policy.text, Labels: texts(r.Labels), Params: texts(r.Params),
		Ttl: r.TTL.wire(), AckLimit: r.AckLimit.wire(), PendingLimit: r.PendingLimit.wire(),
		StartLimit:    r.StartLimit.wire(),
		ProgressLimit: r.ProgressLimit.wire(), StopGrace: r.StopGrace.wire(),
		AttemptLimit: r.AttemptLimit.n, KillLimit: r.KillLimit.n,
		TurnLimit: r.TurnLimit.wire(), RunLimit: r.RunLimit.wire(), Health: r.Health.spec, Ladder: r.Ladder.text,
		Expect: r.Expect.wire(), Overseer: r.Overseer.wire(),
		RetryFirst: r.RetryFirst.wire(), RetryMost: r.RetryMost.wire(),
		Grants: grants(r.Grants), Containment: r.Containment.text,
		Budget: r.Budget.wire(), AgentBudget: r.AgentBudget.wire(),
	}
	if r.Replicas != nil {
		spec.Replicas = r.Replicas.n
	}
	return spec
}

func (v *spanValue) wire() *durationpb.Duration {
	if v.Span == 0 {
		return nil
	}
	return durationpb.New(v.Span)
}

func texts(in map[string]textValue) map[string]string {
	if len(in) == 0 {
		return nil
	}
	out := make(map[string]string, len(in))
	for k, v := range in {
		out[k] = v.text
	}
	return out
}
