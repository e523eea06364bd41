package bench

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"time"

	"vigil/rpc/client"
	"vigil/rpc/gen/vigilv1"
	"vigil/rpc/trust"
)

// benchContext is the name under which the cluster of a benchmark keeps who has founded it.
const benchContext = "bench"

var tokenForm = regexp.MustCompile(`vigil1\.[A-Za-z0-9_.-]+`)

// found makes the servers a cluster with identities, as people do it, and starts them. The stand is its
// admin then.
func (s *stand) found(ctx context.Context, config string, debug bool) error {
	var token []byte
	for i, sv := range s.servers {
		args := []string{"server", "init", "--admin", "bench", "--context-name", benchContext}
		if i > 0 {
			args = []string{"server", "join", "-"}
		}
		args = append(args, "--id", sv.id, "--data-dir", sv.dir, "--addr", sv.api, "--raft-addr", sv.raft)
		out, err := s.tell(ctx, sv.program, token, args...)
		if err != nil {
			return err
		}
		if i == 0 {
			if token = tokenForm.Find(out); token == nil {
				return errors.New("server init has printed no token")
			}
			me, err := trust.Dir(filepath.Join(s.dir, "people", "vigil", "identity", benchContext)).Holder()
			if err != nil {
				return fmt.Errorf("read who the founder is: %w", err)
			}
			s.tls = me.Client(nil)
		}
		file := filepath.Join(sv.dir, "server.yaml")
		if err := appendTo(file, config); err != nil {
			return err
		}
		sv.args = []string{"server", "--config", file, "--log-level", "warn"}
		if debug {
			sv.args = append(sv.args, "--debug")
		}
		if err := sv.start(); err != nil {
			return err
		}
		if err := s.members(ctx, i+1); err != nil {
			return err
		}
	}
	return nil
}

// joinHost gives agentd an identity, in its data directory.
func (s *stand) joinHost(ctx context.Context, program, dir string) error {
	out, err := s.tell(ctx, program, nil, "token", "create", "--role", "host")
	if err == nil {
		_, err = s.tell(ctx, program, tokenForm.Find(out), "agentd", "join", "-", "--data-dir", dir)
	}
	return err
}

// tell runs a command of this program to its end.
func (s *stand) tell(ctx context.Context, program string, input []byte, args ...string) ([]byte, error) {
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.Env = append(os.Environ(), "XDG_CONFIG_HOME="+filepath.Join(s.dir, "people"), "VIGIL_ADDR=", "VIGIL_CONTEXT=")
	cmd.Stdin = bytes.NewReader(input)
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Run(); err != nil {
		return nil, fmt.Errorf("vigil %s %s: %w: %s", args[0], args[1], err, bytes.TrimSpace(errs.Bytes()))
	}
	return out.Bytes(), nil
}

// members waits until the first n servers are voters, and have an issuing key where they have identities.
func (s *stand) members(ctx context.Context, n int) error {
	ctx, cancel := context.WithTimeout(ctx, readyLimit)
	defer cancel()
	var addrs []string
	for _, sv := range s.servers[:n] {
		addrs = append(addrs, sv.api)
	}
	c, err := client.Open(client.Config{Addrs: addrs, Name: "bench", TLS: s.tls})
	if err != nil {
		return err
	}
	defer c.Close()
	for {
		list, err := vigilv1.NewClusterClient(c).ListServers(ctx, &vigilv1.ListServersRequest{})
		voters := 0
		for _, sv := range list.GetServers() {
			if sv.GetVoter() {
				voters++
			}
		}
		var no error
		if s.tls != nil {
			_, no = os.Stat(filepath.Join(s.servers[n-1].dir, "trust", trust.IssuerFiles+".key"))
		}
		if voters == n && no == nil {
			return nil
		}
		if ctx.Err() != nil {
			return fmt.Errorf("server %s is no member after %s: %w", s.servers[n-1].id, readyLimit, errors.Join(err, no))
		}
		pause(ctx, 50*time.Millisecond)
	}
}

// appendTo adds lines to a configuration file that is there.
func appendTo(file, config string) error {
	f, err := os.OpenFile(file, os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		return fmt.Errorf("add to the configuration: %w", err)
	}
	_, err = f.WriteString(config)
	return errors.Join(err, f.Close())
}
