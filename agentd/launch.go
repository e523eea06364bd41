package agentd

import (
	"fmt"
	"path/filepath"
	"time"

	"vigil/agentd/disk"
	"vigil/agentd/proc"
	"vigil/agentd/runner"
	"vigil/agentd/shim"
)

// tokenFile holds the token of a life, among its secrets. No variable has such a name.
const tokenFile = "vigil.token"

// secretIn is where a life finds one of its secrets.
func secretIn(life, name string) string { return filepath.Join(life, shim.SecretsFolder, name) }

// point is called at every step between the acceptance of an order and the record
// of its end. Tests make the process die there.
var point = func(string) {}

// launch is all that a life needs from its journal to its fork.
type launch struct {
	spec        shim.Spec
	intent      disk.Intent
	room, agent string
	own         bool              // it runs as the agent's own account
	token       string            // a secret
	secrets     map[string]string // files to read, by the names of their copies
	patience    time.Duration
}

// launch gives the agent its account and folders, writes the intent and then forks. It touches nothing of the
// keeper, and completes spec and intent.
func (s *site) launch(b *launch) (process, error) {
	if err := s.settle(b); err != nil {
		return nil, err
	}
	secrets, err := b.read()
	if err != nil {
		return nil, err
	}
	_, lock, err := s.journal.Begin(b.intent, b.spec.Credential, secrets)
	if err != nil {
		return nil, err
	}
	point("journaled")
	if s.config.Clock()-b.spec.Acknowledged > b.patience {
		lock.Close()
		err = errSlow
	}
	var p process
	if err == nil {
		p, err = s.launcher.Start(b.spec, lock)
		point("forked")
	}
	if err != nil {
		shim.Forget(b.spec.Folder)
		return nil, err
	}
	return p, nil
}

// settle finds out whom the agent runs as, and where.
func (s *site) settle(b *launch) error {
	name := b.room + "/" + b.agent
	s.accounts.Starts(name)
	s.data.Begins(b.room, b.agent, b.intent.Who())
	if b.own {
		uid, err := s.accounts.Of(name)
		if err == nil {
			err = s.data.MakeHome(b.room, b.agent, uid)
		}
		if err == nil {
			err = s.clearOut(b, uid)
		}
		if err != nil {
			return err
		}
		b.spec.Credential = &shim.Credential{UID: uid, GID: uid}
		b.intent.SpoolOwner = int(uid)
	}
	var owner *uint32
	if b.spec.Credential != nil {
		owner = &b.spec.Credential.UID
	}
	if err := s.data.MakeFiles(b.room, b.agent, owner); err != nil || b.spec.Dir != "" {
		return err
	}
	dir, err := s.data.WorkDir(b.room, b.agent, owner)
	b.spec.Dir = dir
	return err
}

// clearOut kills what an earlier life of an agent has left under its account, which is nobody else's: it may have
// escaped from group and mark where no control group holds it (law L7).
func (s *site) clearOut(b *launch, uid uint32) error {
	n, err := proc.KillAccount(uid)
	if n > 0 {
		s.log.Warn("processes that an earlier life of an agent has left were killed", "agent", b.intent.AgentName,
			"account", uid, "count", n)
	}
	return err
}

// read gives the secrets as they are now.
func (b *launch) read() (map[string][]byte, error) {
	all := map[string][]byte{tokenFile: []byte(b.token)}
	for name, path := range b.secrets {
		text, err := runner.ReadCredential(path)
		if err != nil {
			return nil, fmt.Errorf("credential %s of runner %q: %w", name, b.spec.Runner, err)
		}
		all[name] = text
	}
	return all, nil
}
