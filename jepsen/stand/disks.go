//go:build linux

package stand

import (
	"errors"
	"fmt"
	"os"
	"slices"

	"vigil/jepsen/disk"
	"vigil/jepsen/stand/boxwords"
)

// Disk is the disk with the server's data directory, nil when Config.Disks is not set.
// Its store is beside that directory, and it outlives the machine's boots.
func (sv *Server) Disk() *disk.Disk { return sv.stand.disks[sv.Name] }

// openDisks mounts a disk for each server in the driver's namespace. Machines inherit
// the mounts when they boot.
func (s *Stand) openDisks() error {
	if !s.config.Disks {
		return nil
	}
	if why := disk.Missing(); why != "" {
		return errors.New(why)
	}
	s.disks = map[string]*disk.Disk{}
	for _, sv := range slices.Concat(s.Servers, s.Spares) {
		if err := os.MkdirAll(s.path(sv.Name), 0o711); err != nil {
			return fmt.Errorf("make folder of %s: %w", sv.Name, err)
		}
		d, err := disk.Open(disk.Config{
			Program: s.config.Box, Args: []string{boxwords.DiskMode},
			Store: s.path(sv.Name, "disk"), Mount: sv.Data, Log: s.path(sv.Name, "disk.log"),
		})
		if err != nil {
			return err
		}
		s.disks[sv.Name] = d
	}
	return nil
}

// closeDisks unmounts the disks. No machine may be on.
func (s *Stand) closeDisks() error {
	var errs []error
	for _, d := range s.disks {
		errs = append(errs, d.Close())
	}
	return errors.Join(errs...)
}
