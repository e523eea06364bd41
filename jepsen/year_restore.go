//go:build linux

package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"strconv"

	"vigil/rpc/gen/vigilv1"
)

// dayBefore ends a year: what it has written was judged up to here, since a restore gives up acknowledged writes. A
// backup that servers made by themselves is restored, all agents come back, and nothing is wrong with the cluster.
func (d *driver) dayBefore(ctx context.Context) error {
	conn, f, err := d.field()
	if err != nil {
		return err
	}
	defer conn.Close()
	y := &year{driver: d, f: f}
	config := filepath.Join(d.folder, d.stand.Servers[0].Name, "server.yaml")
	if _, err := y.vigil(cmdSave, filepath.Join(d.folder, "before.snap")); err != nil {
		return fmt.Errorf("save what there is: %w", err)
	}
	out, err := y.vigil(cmdBackups, config)
	if err != nil {
		return fmt.Errorf("list backups: %w", err)
	}
	var list struct {
		Backups []struct {
			Index uint64 `json:"index"`
		} `json:"backups"`
	}
	if err := json.Unmarshal(out, &list); err != nil {
		return fmt.Errorf("list backups: %w: %.200s", err, out)
	}
	if len(list.Backups) < 2 {
		return fmt.Errorf("servers have made %d backups by themselves", len(list.Backups))
	}
	if _, err := y.vigil(cmdCheck, config); err != nil {
		return fmt.Errorf("check backups: %w", err)
	}
	before := list.Backups[1].Index // the newest comes first
	if _, err := y.vigil(cmdRestore, strconv.FormatUint(before, 10), config); err != nil {
		return fmt.Errorf("restore backup %d: %w", before, err)
	}
	d.say("the backup of index %d is restored, of %d", before, len(list.Backups))
	if err := y.until(ctx, "all agents are back", func() error { return y.allBack(ctx) }); err != nil {
		return err
	}
	if err := y.until(ctx, "doctor finds nothing to mend", func() error {
		out, err := y.vigil(cmdDoctor) // its exit code says so
		if err != nil {
			err = fmt.Errorf("%w: %.2000s", err, out)
		}
		return err
	}); err != nil {
		return err
	}
	d.say("all agents are back, and doctor finds nothing to mend")
	return nil
}

// allBack is who should run and does not; nil: nobody.
func (y *year) allBack(ctx context.Context) error {
	if _, err := y.vigil(cmdAgents); err != nil {
		return err
	}
	list, err := y.f.Fleet.ListAgents(ctx, &vigilv1.ListAgentsRequest{Room: y.f.Room, Limit: 1000})
	if err != nil {
		return err
	}
	managed := 0
	for _, a := range list.GetAgents() {
		if !a.GetManaged() {
			continue
		}
		managed++
		if a.GetProcess() != "running" || a.GetParticipant() == "DISCONNECTED" {
			return fmt.Errorf("%s is %s, %s", a.GetName(), a.GetProcess(), a.GetParticipant())
		}
	}
	if managed == 0 {
		return errors.New("the backup holds no agents")
	}
	return nil
}
