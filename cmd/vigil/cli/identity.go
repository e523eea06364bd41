package cli

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"vigil/rpc/trust"
)

// EnvIdentity names the folder with who asks, in place of the one of a context.
const EnvIdentity = "VIGIL_IDENTITY"

// IdentityDir is the folder in which a person keeps who they are in the cluster of a context.
func (a *App) IdentityDir(context string) (trust.Dir, error) {
	file := a.ContextsFile()
	if file == "" {
		return "", Usagef("there is no place for an identity: set HOME or XDG_CONFIG_HOME")
	}
	return trust.Dir(filepath.Join(filepath.Dir(file), "identity", context)), nil
}

// NewIdentityDir is IdentityDir for somebody who is about to get an identity in that context. Whoever has
// one there already, in a cluster that same does not take for theirs by its servers and roots, keeps it and
// gets an error: it may be the only way into that cluster, also when its context was removed or lost. What an
// attempt has left that failed has no leaf and is in nobody's way. flag is the one that names another context.
func (a *App) NewIdentityDir(
	context, flag string, same func(servers []string, roots *trust.Roots) bool,
) (trust.Dir, error) {
	if err := CheckContextName(context); err != nil {
		return "", err
	}
	all, err := a.Contexts()
	if err != nil {
		return "", err
	}
	dir, err := a.IdentityDir(context)
	if err != nil {
		return "", err
	}
	there, err := dir.Exists()
	if err != nil || !there {
		return dir, err
	}
	var servers []string // of the identity's cluster, as far as they are known
	named := all.Contexts[context].Identity == string(dir)
	if named {
		servers = all.Contexts[context].Servers
	}
	if roots, err := dir.Roots(); err == nil && same(servers, roots) {
		return dir, nil
	}
	if !named {
		return "", ExitWith(ExitConflict, fmt.Errorf("%s holds an identity that no context names, perhaps the only way "+
			"into its cluster: name another context with %s, or move that folder to a safe place", dir, flag))
	}
	return "", ExitWith(ExitConflict, fmt.Errorf("context %s holds your identity in another cluster: "+
		"name another context with %s, or give that identity up first with `vigil logout --context %s`",
		context, flag, context))
}

// identityFor finds who asks servers that were named by address: who the environment says, or who
// one is in the context that these servers are of. "": nobody.
func (a *App) identityFor(addrs []string) string {
	if dir := a.Getenv(EnvIdentity); dir != "" {
		return dir
	}
	all, err := a.Contexts()
	if err != nil {
		return ""
	}
	for _, name := range slices.Sorted(maps.Keys(all.Contexts)) {
		one := all.Contexts[name]
		servers, err := CleanAddresses(one.Servers)
		if err == nil && one.Identity != "" && slices.ContainsFunc(addrs, func(addr string) bool {
			return slices.Contains(servers, addr)
		}) {
			return one.Identity
		}
	}
	return ""
}

// secure is who asks, and how connections prove it; nil: nobody, in clear.
func (s source) secure() (*trust.Holder, *tls.Config, error) {
	if s.identity == "" {
		return nil, nil, nil
	}
	holder, err := trust.Dir(s.identity).Holder()
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, nil, Usagef("there is no identity in %s: log in again with `vigil login TOKEN`, or, if that was "+
			"a demo, start one again or select another context with `vigil context use`", s.identity)
	case err != nil:
		return nil, nil, fmt.Errorf("read identity: %w", err)
	}
	return holder, holder.Client(nil), nil
}

// Forget removes who one is in the chosen context, and gives its name.
func (a *App) Forget() (name string, err error) {
	name, chosen, err := a.chosenContext()
	switch {
	case err != nil:
		return "", err
	case chosen.Identity == "":
		return "", Usagef("you are not logged in: the selected context has no identity")
	}
	if err := os.RemoveAll(chosen.Identity); err != nil {
		return "", fmt.Errorf("remove identity: %w", err)
	}
	return name, a.ChangeContexts(func(all *Contexts) error {
		chosen.Identity = ""
		all.Contexts[name] = chosen
		return nil
	})
}

// followServers keeps in the chosen context which servers the cluster has now: the one that founded
// it may be away tomorrow. Only contexts with an identity follow: there, nobody but a server of the
// cluster can say which others there are. It is best effort; the next command does it again.
func (a *App) followServers(c *Conn) {
	s, err := a.source()
	name, inContext := strings.CutPrefix(s.from, "context ")
	if now := c.Servers(); err == nil && inContext && s.identity != "" && c.Reached() && !slices.Equal(now, s.addrs) {
		_ = a.ChangeContexts(func(all *Contexts) error {
			if one, ok := all.Contexts[name]; ok {
				one.Servers = now
				all.Contexts[name] = one
			}
			return nil
		})
	}
}

// renewAfter is the age of a person's certificate from which a command renews it first. It goes by
// this machine's clock: one that is wrong makes it too often or too late, and the servers, which go by
// cluster time, let it be renewed for 30 days.
const renewAfter = trust.RenewUser

// renewEvery is how often a command without an end of its own looks at the age of the certificate.
const renewEvery = 10 * time.Minute

// KeepRenewed renews the certificate of a connection when it is time, for commands that may run for days, until the
// function that it gives is called. It is best effort: what the command gets as an answer tells whether it was needed.
func (a *App) KeepRenewed(ctx context.Context, c *Conn) (end func()) {
	ctx, cancel := context.WithCancel(ctx)
	var work sync.WaitGroup
	work.Go(func() {
		for tick := time.NewTicker(renewEvery); ; {
			select {
			case <-ctx.Done():
				tick.Stop()
				return
			case <-tick.C:
				c.takeUp()
				a.renew(ctx, c)
			}
		}
	})
	return func() {
		cancel()
		work.Wait()
	}
}

// takeUp has new connections show the certificate that another command has fetched since for the same person: this one
// shows an older one, which may not be renewed any more.
func (c *Conn) takeUp() {
	if c.self == nil {
		return
	}
	now, _ := c.self.Self()
	kept, err := c.dir.Holder()
	if err != nil {
		return // it is being written, or gone
	}
	leaf, err := c.dir.Get(trust.LeafFiles)
	if self, _ := kept.Self(); err == nil && self.Name == now.Name && self.Serial != now.Serial {
		c.self.SetRoots(kept.Roots())
		_ = c.self.Set(leaf.Chain, leaf.Key) // what is not good was not kept
	}
}

// renew is best effort: what the command gets as an answer tells whether it was needed.
func (a *App) renew(ctx context.Context, c *Conn) {
	if c.self == nil || a.Renew == nil {
		return
	}
	age, err := c.dir.Age()
	if err != nil || age >= 0 && age < renewAfter {
		return
	}
	_ = a.Renew(ctx, c.Client, c.self, c.dir)
}
