//go:build linux

package stand

import (
	"errors"
	"fmt"
	"os"

	"vigil/jepsen/clock"
)

// BuildStepped builds the program under test such that it sees the clocks of machines:
// it is for Config.Vigil together with Config.Clocks. See clock.Build.
func BuildStepped(program string) error { return clock.Build(program, "vigil/cmd/vigil", tags...) }

// Clock is the machine's wall clock, nil when Config.Clocks is not set. Only programs
// of clock.Build see it.
func (m *Machine) Clock() *clock.Clock { return m.stand.clocks[m.Name] }

// makeClocks gives each machine a clock.
func (s *Stand) makeClocks() error {
	if !s.config.Clocks {
		return nil
	}
	s.clocks = map[string]*clock.Clock{}
	for _, m := range s.Machines() {
		if err := os.MkdirAll(s.path(m.Name), 0o711); err != nil {
			return fmt.Errorf("make folder of %s: %w", m.Name, err)
		}
		c, err := clock.New(s.path(m.Name, "clock"))
		if err != nil {
			return err
		}
		s.clocks[m.Name] = c
		m.Env = append(m.Env, c.Env())
	}
	return nil
}

func (s *Stand) closeClocks() error {
	var errs []error
	for _, c := range s.clocks {
		errs = append(errs, c.Close())
	}
	return errors.Join(errs...)
}
