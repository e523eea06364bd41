//go:build linux

package stand

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"

	"vigil/rpc/client"
	"vigil/rpc/gen/vigilv1"
	"vigil/rpc/trust"
)

// A stand founds its cluster as its operator would: the first server by `vigil server init`, everybody else
// by a token of one use. Whoever runs the stand is the admin that init has logged in.
const admin = "driver"

// Folders below that of the stand.
const (
	contextsFolder = "contexts" // of the admin, as XDG_CONFIG_HOME has it
	rootFolder     = "root"     // a copy of the root's key, as it is to be kept elsewhere
	trustFolder    = "trust"    // within the data directory of a server or host
)

// enterAgain is between two tries to join: a server that leads soon after it has joined has no issuing key yet.
const enterAgain = 300 * time.Millisecond

// KnowsIdentities tells whether a build of vigil can found a cluster with identities; 0.1 cannot.
func KnowsIdentities(program string) (bool, error) {
	out, err := exec.Command(program, "server", "init", "--help").CombinedOutput()
	if err != nil {
		return false, fmt.Errorf("ask %s what it knows: %w: %s", program, err, lastLine(out))
	}
	return strings.Contains(string(out), "vigil server init"), nil
}

// Identity is the folder with who runs the stand, an admin; empty: servers speak in clear.
func (s *Stand) Identity() trust.Dir {
	if s.config.Insecure {
		return ""
	}
	return trust.Dir(s.path(contextsFolder, "vigil", "identity", admin))
}

// TLS is how clients of the admin connect; nil: in clear.
func (s *Stand) TLS() *tls.Config {
	if s.self == nil {
		return nil
	}
	return s.self.Client(nil)
}

// Credentials are those of a connection of the admin to one server.
func (s *Stand) Credentials() credentials.TransportCredentials {
	if s.self == nil {
		return insecure.NewCredentials()
	}
	return credentials.NewTLS(s.TLS())
}

// Holder is who runs the stand; nil: servers speak in clear.
func (s *Stand) Holder() *trust.Holder { return s.self }

// found makes the cluster on its first server, which runs afterwards.
func (s *Stand) found() error {
	first := s.Servers[0]
	if err := first.configure(); err != nil {
		return err
	}
	p, err := first.Machine.Start("init", s.program(first.Program), []string{"server", "init", "--config", first.file(),
		"--admin", admin, "--context-name", admin}, []string{"XDG_CONFIG_HOME=" + s.path(contextsFolder)})
	if err != nil {
		return err
	}
	if err := p.succeeds(); err != nil {
		return fmt.Errorf("found the cluster: %w", err)
	}
	// It shows a token for two servers, which is not needed: each joins by one of its own.
	if err := os.Remove(p.Log); err != nil {
		return fmt.Errorf("remove the words of init: %w", err)
	}
	if err := s.copyRoot(filepath.Join(first.Data, trustFolder), s.path(rootFolder)); err != nil {
		return err
	}
	if s.self, err = s.Identity().Holder(); err != nil {
		return fmt.Errorf("read the identity of the admin: %w", err)
	}
	first.entered = true
	return first.Start()
}

// wholeCluster waits until all servers are members with a vote, as founders without identities are from the
// beginning.
func (s *Stand) wholeCluster() error {
	conn, err := client.Open(client.Config{Addrs: s.Addrs(), Name: "stand", TLS: s.TLS()})
	if err != nil {
		return err
	}
	defer conn.Close()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	for {
		list, err := vigilv1.NewClusterClient(conn).ListServers(ctx, &vigilv1.ListServersRequest{})
		voters := 0
		for _, sv := range list.GetServers() {
			if sv.GetVoter() {
				voters++
			}
		}
		if err == nil && voters == len(s.Servers) {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("%d of %d servers have a vote after %s: %w", voters, len(s.Servers), patience, err)
		case <-time.After(wholeLook):
		}
	}
}

// wholeLook is between two looks at who has a vote.
const wholeLook = 20 * time.Millisecond

// copyRoot copies the key of the root and its certificate.
func (s *Stand) copyRoot(from, to string) error {
	root, err := trust.Dir(from).Get(trust.RootFiles)
	if err == nil {
		err = trust.Dir(to).Put(trust.RootFiles, root)
	}
	if err != nil {
		return fmt.Errorf("copy the key of the root: %w", err)
	}
	return nil
}

// Token makes a token by which one server or host joins; with a name that one alone, also in place of one that
// has lost its data.
func (s *Stand) Token(role, name string) (string, error) {
	out, err := s.CLI("token", "create", "--role", role, "--name", name, "--json")
	if err != nil {
		return "", fmt.Errorf("make a token for a %s: %w", role, err)
	}
	var made struct {
		Secret string `json:"secret"`
	}
	if err := json.Unmarshal(out, &made); err != nil || made.Secret == "" {
		return "", fmt.Errorf("make a token for a %s: the answer holds none: %w", role, err)
	}
	return made.Secret, nil
}

// CLI runs a command of the product as the admin, in the driver's own network, and gives its output.
func (s *Stand) CLI(args ...string) ([]byte, error) { return s.CLIOf("", args...) }

// CLIOf is CLI with a certain program; empty: the program under test.
func (s *Stand) CLIOf(program string, args ...string) ([]byte, error) {
	var addrs []string
	for _, sv := range slices.Concat(s.Servers, s.Spares) { // all may have been moved
		addrs = append(addrs, sv.Addr())
	}
	cmd := exec.Command(s.program(program), args...)
	cmd.Env = append(os.Environ(), "XDG_CONFIG_HOME="+s.path(contextsFolder), "VIGIL_ADDR="+strings.Join(addrs, ","),
		"VIGIL_IDENTITY="+string(s.Identity()))
	out, err := cmd.Output()
	if exit := new(exec.ExitError); errors.As(err, &exit) {
		err = fmt.Errorf("%w: %s", err, lastLine(exit.Stderr))
	}
	return out, err
}

// join gives a server or host an identity by a token, with the command that follows from it.
func (s *Stand) join(m *Machine, program, role string, command func(token string) []string) error {
	for end := time.Now().Add(patience); ; time.Sleep(enterAgain) {
		name := "" // a host's is its key, which it makes as it joins
		if role == "server" {
			name = m.Name // the answer to an earlier try may have been lost
		}
		token, err := s.Token(role, name)
		if err == nil {
			err = m.Run("join", program, command(token)...)
		}
		if err == nil {
			return nil
		}
		if errors.Is(err, ErrDown) || time.Now().After(end) {
			return fmt.Errorf("%s joins: %w", m.Name, err)
		}
	}
}

// enter gives the server an identity, unless it has one. A replacement or a spare also gets the root's key:
// the server that founded the cluster may be gone.
func (sv *Server) enter() error {
	if sv.stand.config.Insecure || sv.entered {
		return nil
	}
	err := sv.stand.join(sv.Machine, sv.stand.program(sv.Program), "server", func(token string) []string {
		return []string{"server", "join", token, "--config", sv.file()}
	})
	if err == nil && sv.joins {
		err = sv.stand.copyRoot(sv.stand.path(rootFolder), filepath.Join(sv.Data, trustFolder))
	}
	sv.entered = err == nil
	return err
}

// enter gives the host an identity, unless its data directory holds one.
func (h *Host) enter() error {
	if h.stand.config.Insecure {
		return nil
	}
	there, err := trust.Dir(filepath.Join(h.Data, trustFolder)).Exists()
	if err != nil || there {
		return err
	}
	return h.stand.join(h.Machine, h.stand.program(h.Program), "host", func(token string) []string {
		return []string{"agentd", "join", token, "--config", h.file(), "--data-dir", h.Data}
	})
}

// Identity is the folder with who the host is.
func (h *Host) Identity() trust.Dir { return trust.Dir(filepath.Join(h.Data, trustFolder)) }

// Intruder gives somebody an identity as a host that is no machine of the stand, and the token by which it
// has joined. Its files are gone when it is given.
func (s *Stand) Intruder() (_ *trust.Holder, token string, err error) {
	if token, err = s.Token("host", ""); err != nil {
		return nil, "", err
	}
	folder, err := os.MkdirTemp(s.config.Folder, "intruder-")
	if err != nil {
		return nil, "", err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(folder)) }()
	if _, err := s.CLI("agentd", "join", token, "--data-dir", folder); err != nil {
		return nil, "", fmt.Errorf("an intruder joins: %w", err)
	}
	self, err := trust.Dir(filepath.Join(folder, trustFolder)).Holder()
	return self, token, err
}
