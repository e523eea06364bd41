package dev

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"

	"vigil/cmd/vigil/cli"
	"vigil/rpc/trust"
)

// devContext is the context of a demo; a second demo beside the first is dev-2.
const devContext = "dev"

// lockName is the file in the folder of a demo that is locked while the demo runs.
const lockName = "lock"

// lockFolder keeps the folder to this demo; the caller closes what it gets.
func lockFolder(dir string) (*os.File, error) {
	lock, err := os.OpenFile(filepath.Join(dir, lockName), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, fmt.Errorf("lock data folder: %w", err)
	}
	err = syscall.Flock(int(lock.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	if err == nil {
		return lock, nil
	}
	lock.Close()
	if errors.Is(err, syscall.EWOULDBLOCK) {
		return nil, cli.ExitWith(cli.ExitConflict,
			fmt.Errorf("another `vigil dev` runs in %s: end it, or give another --data-dir", dir))
	}
	return nil, fmt.Errorf("lock data folder: %w", err)
}

// runs tells whether a demo runs in a folder.
func runs(dir string) bool {
	lock, err := os.Open(filepath.Join(dir, lockName))
	if err != nil {
		return false
	}
	defer lock.Close() // and with it the lock, if it was free
	return errors.Is(syscall.Flock(int(lock.Fd()), syscall.LOCK_SH|syscall.LOCK_NB), syscall.EWOULDBLOCK)
}

// announce makes the demo a context and selects it, so that other terminals find it and whoever uses
// them is its admin. Contexts of demos that were killed are taken away.
func announce(a *cli.App, dir string, identity trust.Dir, addrs []string) (name string, err error) {
	err = a.ChangeContexts(func(all *cli.Contexts) error {
		for known, one := range all.Contexts {
			if one.Demo != "" && !runs(one.Demo) {
				all.Remove(known)
			}
		}
		name = devContext
		for n := 2; ; n++ {
			if _, taken := all.Contexts[name]; !taken {
				break
			}
			name = fmt.Sprintf("%s-%d", devContext, n)
		}
		all.Contexts[name] = cli.Context{Servers: addrs, Identity: string(identity), Demo: dir, Before: all.Selected}
		all.Selected = name
		return nil
	})
	return name, err
}

// withdraw takes the context away; what was selected before it is selected again.
func withdraw(a *cli.App, name, dir string) error {
	return a.ChangeContexts(func(all *cli.Contexts) error {
		if all.Contexts[name].Demo == dir { // else somebody has given the name to something else
			all.Remove(name)
		}
		return nil
	})
}
