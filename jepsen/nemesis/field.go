//go:build linux

package nemesis

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"google.golang.org/grpc"

	"vigil/jepsen/stand"
	"vigil/rpc/gen/vigilv1"
)

// healing is how long what a fault has changed may take to be as it was: a server
// that catches up, a member that is taken in again.
const healing = 2 * time.Minute

// others are the servers but one, which may be nil.
func (f *Field) others(but *stand.Server) []*stand.Server {
	var list []*stand.Server
	for _, sv := range f.Stand.Servers {
		if sv != but {
			list = append(list, sv)
		}
	}
	return list
}

// hosts are the machines of all hosts.
func (f *Field) hosts() []*stand.Machine {
	var list []*stand.Machine
	for _, h := range f.Stand.Hosts {
		list = append(list, h.Machine)
	}
	return list
}

// Ask asks one server about the cluster, past the wires, without the leader's help.
func (f *Field) Ask(ctx context.Context, sv *stand.Server) (*vigilv1.StatusResponse, error) {
	conn, err := grpc.NewClient("passthrough:///"+sv.APIAddr(),
		grpc.WithTransportCredentials(f.Stand.Credentials()))
	if err != nil {
		return nil, fmt.Errorf("reach %s: %w", sv.Name, err)
	}
	defer conn.Close()
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	return vigilv1.NewClusterClient(conn).Status(ctx, &vigilv1.StatusRequest{Stale: true})
}

// follows waits until a server knows a leader and has applied what a majority had
// committed before; at most until ctx ends, or 20 s: what is broken is found out by
// checkers, not here.
func (f *Field) follows(ctx context.Context, servers ...*stand.Server) {
	if len(servers) == 0 {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, 20*time.Second)
	defer cancel()
	_ = f.until(ctx, func(ctx context.Context) error {
		now, err := f.Cluster.Status(ctx, &vigilv1.StatusRequest{})
		if err != nil {
			return err
		}
		for _, sv := range servers {
			if err := f.until(ctx, func(ctx context.Context) error {
				st, err := f.Ask(ctx, sv)
				if err == nil && (st.GetLeader() == "" || st.GetIndex() < now.GetIndex()) {
					err = errors.New("it lags")
				}
				return err
			}); err != nil {
				return err
			}
		}
		return nil
	})
}

// until calls do until it gives nil or ctx ends; then its last error is the reason.
func (f *Field) until(ctx context.Context, do func(context.Context) error) error {
	for {
		call, cancel := context.WithTimeout(ctx, 10*time.Second)
		err := do(call)
		cancel()
		if err == nil {
			return nil
		}
		if !f.Pause(ctx, 50*time.Millisecond) {
			return fmt.Errorf("given up: %w", err)
		}
	}
}

// healTime is the context of what undoes a fault: it does not end with the run.
func healTime() (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.Background(), healing)
}

// member finds a server in the cluster's list, nil when it is no member.
func (f *Field) member(ctx context.Context, sv *stand.Server) (*vigilv1.Server, error) {
	list, err := f.Cluster.ListServers(ctx, &vigilv1.ListServersRequest{})
	if err != nil {
		return nil, err
	}
	i := slices.IndexFunc(list.GetServers(), func(s *vigilv1.Server) bool { return s.GetId() == sv.Name })
	if i < 0 {
		return nil, nil
	}
	return list.GetServers()[i], nil
}

// admit makes a server that runs a voting member, if it is none.
func (f *Field) admit(ctx context.Context, sv *stand.Server) error {
	err := f.until(ctx, func(ctx context.Context) error {
		m, err := f.member(ctx, sv)
		if err != nil || m.GetVoter() {
			return err
		}
		_, err = f.Cluster.AddServer(ctx, &vigilv1.AddServerRequest{Id: sv.Name, RaftAddr: sv.RaftAddr()})
		return err
	})
	if err != nil {
		return fmt.Errorf("make %s a member: %w", sv.Name, err)
	}
	return nil
}

// dismiss takes a server out of the cluster; afterwards it surely is no member.
func (f *Field) dismiss(ctx context.Context, sv *stand.Server) error {
	err := f.until(ctx, func(ctx context.Context) error {
		m, err := f.member(ctx, sv)
		if err != nil || m == nil {
			return err
		}
		if _, err := f.Cluster.RemoveServer(ctx, &vigilv1.RemoveServerRequest{Server: sv.Name}); err != nil {
			return err
		}
		return errors.New("it was removed: look again")
	})
	if err != nil {
		return fmt.Errorf("remove %s: %w", sv.Name, err)
	}
	return nil
}

// scrap kills a server that is no member and empties its disk.
func scrap(sv *stand.Server) error {
	if err := sv.Kill(); err != nil {
		return err
	}
	return sv.Empty()
}

// healMachines switches on, connects and starts what is not.
func healMachines(f *Field) error {
	f.Stand.Wires.Heal()
	errs := []error{f.Stand.HealLinks()}
	for _, m := range f.Stand.Machines() {
		if !m.IsOn() {
			errs = append(errs, m.On())
		}
		errs = append(errs, m.Heal())
	}
	for _, sv := range f.Stand.Servers {
		if !sv.Up() {
			errs = append(errs, sv.Start())
		}
		errs = append(errs, sv.Thaw())
	}
	return errors.Join(errs...)
}

// healMembers makes the servers members, and the spares none.
func healMembers(f *Field) error {
	ctx, cancel := healTime()
	defer cancel()
	var errs []error
	for _, sv := range f.Stand.Servers {
		errs = append(errs, f.admit(ctx, sv))
	}
	for _, sv := range f.Stand.Spares {
		if err := f.dismiss(ctx, sv); err != nil {
			errs = append(errs, err)
			continue
		}
		errs = append(errs, scrap(sv))
	}
	return errors.Join(errs...)
}
