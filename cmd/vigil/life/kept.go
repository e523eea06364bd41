package life

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"vigil/cmd/vigil/cli"
	"vigil/rpc/client"
)

// What a life holds is kept in a small file from one command to the next.
//
// A life that was begun by hand has it under the home of its user, by the name of its agent.
// It serves commands that name the agent while the process that began the life is there.
// A managed life has it with agentd, in the folder that its environment names, so that
// nothing of it is left where another terminal could take it for its own.

// HeldFile is the file of a managed life in its folder of undelivered results. Its name
// begins with a dot: agentd takes it for no result.
const HeldFile = ".held"

// HomeFile is the file of an agent's life by hand.
func HomeFile(a *cli.App, agent string) (string, error) {
	base := a.Getenv("XDG_RUNTIME_DIR") // it goes with the login where that is possible
	if base == "" {
		if home := a.Getenv("HOME"); home != "" {
			base = filepath.Join(home, ".cache")
		} else {
			base = filepath.Join(os.TempDir(), fmt.Sprintf("vigil-%d", os.Getuid()))
			if err := ownFolder(base); err != nil {
				return "", err
			}
		}
	}
	dir := filepath.Join(base, "vigil")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", fmt.Errorf("create directory for lives: %w", err)
	}
	return filepath.Join(dir, strings.ReplaceAll(agent, "/", "%")+".json"), nil
}

// ownFolder makes a folder where everybody may make one, and refuses one that is not this user's.
func ownFolder(dir string) error {
	if err := os.Mkdir(dir, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("create directory for lives: %w", err)
	}
	info, err := os.Lstat(dir)
	if err != nil {
		return fmt.Errorf("look at directory for lives: %w", err)
	}
	if !info.IsDir() || !onlyOurs(info) {
		return fmt.Errorf("%s is no directory that only you may write: remove it, or set HOME or XDG_RUNTIME_DIR", dir)
	}
	return nil
}

// fileOf is where the life is kept; "" when it is nowhere, because it is managed by
// something that gives no folder. Commands then ask the cluster.
func fileOf(a *cli.App, l *Life) (string, error) {
	if !l.Managed {
		return HomeFile(a, l.Agent)
	}
	if folder := a.Getenv(client.EnvSpool); folder != "" {
		return filepath.Join(folder, HeldFile), nil
	}
	return "", nil
}

// Save keeps the life for the next command. What another process of it has noted as ended or given up stays noted.
func Save(a *cli.App, l *Life) error { return save(a, l, func() {}) }

// save is Save with a change of what is noted as given up.
func save(a *cli.App, l *Life, change func()) error {
	name, err := fileOf(a, l)
	if err != nil || name == "" {
		return err
	}
	l.GivenUp = nil
	if kept, err := readLife(name); err == nil && kept.same(l) {
		mine := l.Ended
		l.Ended, l.GivenUp = kept.Ended, kept.GivenUp
		for _, t := range mine {
			l.NoteEnded(t.Task, t.Attempt)
		}
	}
	change()
	for _, t := range l.Ended {
		l.takeUp(t)
	}
	l.Saved = a.Now()
	return put(name, l)
}

// put writes a file that tells of a life, whole or not at all.
func put(name string, what any) error {
	b, err := json.Marshal(what)
	if err != nil {
		return fmt.Errorf("keep life: %w", err)
	}
	temporary := fmt.Sprintf("%s.%d", name, os.Getpid())
	if err := os.WriteFile(temporary, append(b, '\n'), 0o600); err != nil {
		return fmt.Errorf("keep life: %w", err)
	}
	if err := os.Rename(temporary, name); err != nil {
		return fmt.Errorf("keep life: %w", err)
	}
	return nil
}

// Forget removes what is kept of the life, unless a newer one is kept by now. Of a managed one stays what it has
// ended or given up: who started it may speak about that after a process of it has left the room.
func Forget(a *cli.App, l *Life) {
	if kept := KeptOf(a, l); kept != nil {
		if kept.Managed && len(kept.Ended)+len(kept.GivenUp) > 0 {
			kept.Task, kept.Attempt, kept.Traceparent = 0, 0, ""
			if Save(a, kept) == nil {
				return
			}
		}
		if name, err := fileOf(a, kept); err == nil {
			_ = os.Remove(name) // at worst a later command reads it and is told superseded
		}
		if name, err := hooksFileOf(a, kept); err == nil && !kept.Managed {
			_ = os.Remove(name) // it counts for this life alone
		}
	}
}

// KeptOf is what an earlier command has kept of this very life; nil when nothing is. A life
// that was begun by hand may be named with its number too.
func KeptOf(a *cli.App, l *Life) *Life {
	for _, managed := range []bool{true, false} {
		name, err := fileOf(a, &Life{Agent: l.Agent, Managed: managed})
		if err != nil || name == "" {
			continue
		}
		if kept, err := readLife(name); err == nil && kept.same(l) {
			kept.Managed = managed
			return kept
		}
	}
	return nil
}

// KeptOrNew is KeptOf; of a managed life of which nothing is kept, since whoever has claimed its task had no place for
// it, the beginning. nil: nothing is kept of it.
func KeptOrNew(a *cli.App, l *Life) *Life {
	kept := KeptOf(a, l)
	if kept == nil && l.Managed {
		kept = &Life{Agent: l.Agent, AgentID: l.AgentID, Incarnation: l.Incarnation, Managed: true}
	}
	return kept
}

// keptByHand is the life of the agent that was begun by hand here and whose owner is there. An owner that is not may
// run in another container or on another host with the same home, so what is kept stays: the next life replaces it.
func keptByHand(a *cli.App, agent string) (*Life, error) {
	name, err := HomeFile(a, agent)
	if err != nil {
		return nil, err
	}
	kept, err := readLife(name)
	if err == nil && kept.Agent == agent && kept.Owner.Alive() {
		return kept, nil
	}
	return nil, cli.Usagef("no life of %s is known here: "+
		"name it with --incarnation, or begin one with `vigil wait-for-task --agent %s`", agent, agent)
}

// KeptByCaller is the life of the agent that a command of the same process, or of one above
// it, began earlier; nil when there is none.
func KeptByCaller(a *cli.App, agent string, owner Process) *Life {
	kept, err := keptByHand(a, agent)
	if err != nil || !slices.Contains(append(Ancestors(os.Getppid()), owner), kept.Owner) {
		return nil
	}
	return kept
}

func readLife(name string) (*Life, error) {
	b, err := os.ReadFile(name)
	if err != nil {
		return nil, err
	}
	l := &Life{}
	if err := json.Unmarshal(b, l); err != nil {
		return nil, fmt.Errorf("read %s: %w", name, err)
	}
	return l, nil
}
