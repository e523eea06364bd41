//go:build linux

package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"vigil/jepsen/history"
	"vigil/jepsen/nemesis"
	"vigil/jepsen/stand"
	"vigil/rpc/gen/vigilv1"
)

// What a person types in a year, as the guide has it; {} stands for what depends on the machine. A test finds each of
// them in the guide.
const (
	cmdPlan      = "upgrade plan"
	cmdTransfer  = "server transfer"
	cmdRemove    = "server remove {}"
	cmdDead      = "host confirm-dead {} --yes"
	cmdForget    = "host forget {}"
	cmdRoot      = "root rotate --data-dir {}"
	cmdRootSeen  = "root status"
	cmdGossip    = "gossip rotate --wait"
	cmdSave      = "server snapshot save {}"
	cmdBackups   = "backup list --config {}"
	cmdCheck     = "backup check --all --config {}"
	cmdRestore   = "backup restore {} --config {} --yes"
	cmdAgents    = "agent list"
	cmdDoctor    = "doctor"
	cmdPeers     = "server peers"
	cmdIdentity  = "identity list"
	backupsEvery = 10 * time.Second
	leadersLost  = 10
	yearPatience = 2 * time.Minute // for what a person would wait for

	// Certificates of machines are good for a day, so there are 365 in a year, and in a run there is time for some
	// ten. Links between servers show what was new when they were begun, and are begun anew after a minute.
	certLives    = 10
	leastForCert = 3 * time.Minute
)

// yearCommands are all of them, and those by which the stand itself gives machines their identities.
var yearCommands = []string{cmdPlan, cmdTransfer, cmdRemove, cmdDead, cmdForget, cmdRoot,
	cmdRootSeen, cmdGossip, cmdSave, cmdBackups, cmdCheck, cmdRestore, cmdAgents, cmdDoctor,
	cmdPeers, cmdIdentity,
	"server init {}", "server join {}", "agentd join {}", "token create --role server --name {}",
	"token create --role host"}

// leaderKinds are how leaders are lost, in turn.
var leaderKinds = []string{"leader_killed", "leader_power_lost", "leader_paused_beyond_ttl"}

// year is what a cluster goes through in a year, within the time of a run.
type year struct {
	*driver
	f       *nemesis.Field
	kinds   map[string]*nemesis.Kind
	rebuilt string // the program under test once more, under another version
	leaders int
}

// rebuiltOne is a name in the folder of programs.
const rebuiltOne = "vigil-rebuilt"

// buildRebuilt builds the program under test once more under the name of another version.
func buildRebuilt(into string) error {
	program := filepath.Join(into, rebuiltOne)
	out, err := exec.Command("go", "build", "-tags", "stand", "-ldflags", "-X vigil/cmd/vigil/cli.release=rebuilt", "-o",
		program, "./cmd/vigil").CombinedOutput()
	if err != nil {
		return fmt.Errorf("build once more: %w: %s", err, out)
	}
	return nil
}

// yearKinds are those kinds of faults that come in a year.
func yearKinds() ([]*nemesis.Kind, error) {
	return nemesis.Select(append([]string{"server_disk_full"}, leaderKinds...)...)
}

// certLife is how long certificates of servers and hosts are good for.
func (o options) certLife() time.Duration { return max(o.time/certLives, leastForCert) }

// renewed says whose certificate is older than one may be, so that it was not renewed in time; nil: nobody's.
func (y *year) renewed(ctx context.Context) error {
	if _, err := y.vigil(cmdIdentity); err != nil {
		return err
	}
	list, err := y.f.Trust.ListIdentities(ctx, &vigilv1.ListIdentitiesRequest{})
	if err != nil {
		return err
	}
	machines := 0
	for _, i := range list.GetIdentities() {
		if i.GetKind() == "user" || i.GetGone() {
			continue
		}
		machines++
		if age := i.GetAge().AsDuration(); age >= y.certLife() {
			return fmt.Errorf("the certificate of %s %s is %s old, and good for %s", i.GetKind(), i.GetName(), age, y.certLife())
		}
	}
	if want := len(y.stand.Servers) + len(y.stand.Hosts); machines < want {
		return fmt.Errorf("%d servers and hosts have a certificate, of %d", machines, want)
	}
	return nil
}

// live lets a year pass: steps, each as long as the others, with the loss of a leader between them.
func (d *driver) live(ctx context.Context, f *nemesis.Field, kinds []*nemesis.Kind) error {
	y := &year{driver: d, f: f, kinds: map[string]*nemesis.Kind{}, rebuilt: filepath.Join(d.folder, programs, rebuiltOne)}
	for _, k := range kinds {
		y.kinds[k.Name] = k
	}
	steps := []*nemesis.Kind{
		y.step("upgrade", y.upgrade("")), y.step("server_lost", y.serverLost), y.step("host_lost", y.hostLost),
		y.kinds["server_disk_full"], y.step("root_rotated", y.root), y.step("gossip_rotated", y.gossip),
		y.step("upgrade_again", y.upgrade(y.rebuilt)),
	}
	share := d.time / time.Duration(len(steps))
	for i, k := range steps {
		until := time.Now().Add(share)
		if err := y.strike(ctx, k); err != nil {
			return err
		}
		for lost := leadersLost * (i + 1) / len(steps); y.leaders < lost; y.leaders++ {
			if err := y.strike(ctx, y.kinds[leaderKinds[y.leaders%len(leaderKinds)]]); err != nil {
				return err
			}
		}
		if !f.Pause(ctx, time.Until(until)) {
			return ctx.Err()
		}
	}
	if err := nemesis.Heal(f); err != nil {
		return err
	}
	y.say("certificates were good for %s", y.certLife())
	return y.until(ctx, "all certificates are renewed", func() error { return y.renewed(ctx) })
}

// step is a kind that is no accident, but what a person does, or an accident and its repair.
func (y *year) step(name string, do func(ctx context.Context, t *nemesis.Touched) (string, error)) *nemesis.Kind {
	return &nemesis.Kind{Name: name, Lane: nemesis.Servers, Takes: true,
		Strike: func(ctx context.Context, _ *nemesis.Field, _ *stand.Host, _ *rand.Rand) (nemesis.Struck, error) {
			var t nemesis.Touched
			note, err := do(ctx, &t)
			return t.Struck(note), err
		}}
}

func (y *year) strike(ctx context.Context, k *nemesis.Kind) error {
	if k.Needs != nil && k.Needs(y.f) != "" {
		y.say("left out: %s (%s)", k.Name, k.Needs(y.f))
		return nil
	}
	fault, err := y.f.Strike(ctx, k, nil, rand.New(rand.NewPCG(y.seed, uint64(y.struck.Load()))))
	if fault != nil {
		y.note(*fault)
		y.say("%s: %s", k.Name, fault.Note)
	}
	if err != nil && !errors.Is(err, nemesis.ErrNobody) {
		return fmt.Errorf("%s: %w", k.Name, err)
	}
	return nil
}

// vigil runs a command of the guide as the admin.
func (y *year) vigil(command string, values ...string) ([]byte, error) {
	return y.with("", command, values...)
}

// with runs it with a certain program; "": the one under test.
func (y *year) with(program, command string, values ...string) ([]byte, error) {
	args := strings.Fields(command)
	for i := range args {
		if args[i] == "{}" {
			args[i], values = values[0], values[1:]
		}
	}
	return y.stand.CLIOf(program, append(args, "--json")...)
}

// until repeats until do gives nil; its last error is the reason why not.
func (y *year) until(ctx context.Context, what string, do func() error) error {
	ctx, cancel := context.WithTimeout(ctx, yearPatience)
	defer cancel()
	for {
		err := do()
		if err == nil {
			return nil
		}
		if !y.f.Pause(ctx, 300*time.Millisecond) {
			return fmt.Errorf("%s within %s: %w", what, yearPatience, err)
		}
	}
}

// upgrade brings a program onto all servers, the leader last, and hosts, as the plan has it.
func (y *year) upgrade(program string) func(context.Context, *nemesis.Touched) (string, error) {
	return func(ctx context.Context, t *nemesis.Touched) (string, error) {
		var order []string
		for {
			next, err := y.next(ctx, program, order)
			if err != nil || next == "" {
				return "in this order: " + strings.Join(order, " "), err
			}
			order = append(order, next)
			if err := y.renew(ctx, t, program, next); err != nil {
				return "", fmt.Errorf("upgrade %s: %w", next, err)
			}
		}
	}
}

// next is the machine that the plan names first, when it has nothing against a restart; "": all is done.
func (y *year) next(ctx context.Context, program string, done []string) (name string, err error) {
	err = y.until(ctx, "it is safe to go on", func() error {
		out, err := y.with(program, cmdPlan) // its exit code says whether it may go on
		if err != nil {
			return err
		}
		var plan struct {
			Steps []struct {
				Kind, Name string
			} `json:"steps"`
		}
		if err := json.Unmarshal(out, &plan); err != nil {
			return err
		}
		if name = ""; len(plan.Steps) > 0 {
			name = plan.Steps[0].Name
		}
		for _, d := range done {
			if d == name { // its new version is not known yet
				return fmt.Errorf("%s is told to be upgraded again", d)
			}
		}
		return nil
	})
	return name, err
}

// renew restarts one machine with the program.
func (y *year) renew(ctx context.Context, t *nemesis.Touched, program, name string) error {
	if sv := y.stand.Server(name); sv != nil {
		if lead := y.f.Leader(ctx); lead == sv {
			if _, err := y.vigil(cmdTransfer); err != nil {
				return err
			}
		}
		defer t.Begin(history.Away, name)()
		if _, err := sv.Process.End(ctx, yearPatience); err != nil {
			return err
		}
		return sv.StartWith(program)
	}
	for _, h := range y.stand.Hosts {
		if h.Name != name {
			continue
		}
		defer t.Begin(history.Away, name)()
		if _, err := h.Process.End(ctx, yearPatience); err != nil {
			return err
		}
		h.Program = program
		return h.Start()
	}
	return errors.New("the plan names a machine that there is not")
}

// serverLost takes a server's disk: it is removed and joins as a new one.
func (y *year) serverLost(ctx context.Context, t *nemesis.Touched) (string, error) {
	sv := y.stand.Servers[1]
	defer t.Begin(history.Killed, sv.Name)()
	defer t.Begin(history.Disk, sv.Name)()
	defer t.Begin(history.Away, sv.Name)()
	if err := sv.Kill(); err != nil {
		return "", err
	}
	if err := y.until(ctx, "it is removed", func() error {
		_, err := y.vigil(cmdRemove, sv.Name)
		return err
	}); err != nil {
		return "", err
	}
	if err := errors.Join(sv.Empty(), sv.Start()); err != nil {
		return "", err
	}
	return sv.Name, y.until(ctx, sv.Name+" has a vote", func() error {
		out, err := y.vigil(cmdPeers)
		if err == nil && !regexp.MustCompile(`"id":\s*"`+sv.Name+`"[^}]*"voter":\s*true`).Match(out) {
			err = errors.New("it has none yet")
		}
		return err
	})
}

// hostLost takes a host with its disk for good; a new one comes under its name.
func (y *year) hostLost(ctx context.Context, t *nemesis.Touched) (string, error) {
	h := y.stand.Hosts[0]
	defer t.Begin(history.Killed, h.Name)()
	if err := errors.Join(h.PowerOff(), os.RemoveAll(h.Data)); err != nil {
		return "", err
	}
	for _, command := range []string{cmdDead, cmdForget} {
		if err := y.until(ctx, command, func() error {
			_, err := y.vigil(command, h.Name)
			return err
		}); err != nil {
			return "", err
		}
	}
	return h.Name, errors.Join(h.On(), h.Start())
}

// root makes a new root on the server that has the key.
func (y *year) root(ctx context.Context, _ *nemesis.Touched) (string, error) {
	if _, err := y.vigil(cmdRoot, y.stand.Servers[0].Data); err != nil {
		return "", err
	}
	out, err := y.vigil(cmdRootSeen)
	return fmt.Sprintf("%d bytes of status", len(out)), err
}

// gossip replaces the key of gossip and waits until all have the new one.
func (y *year) gossip(ctx context.Context, _ *nemesis.Touched) (string, error) {
	return "", y.until(ctx, "the new key is used", func() error {
		_, err := y.vigil(cmdGossip)
		return err
	})
}
