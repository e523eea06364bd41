package agentd

import (
	"context"
	"fmt"
	"strings"
	"time"

	"vigil/rpc/gen/vigilv1"
)

// lookAtMemory is the time between two looks at the memory and at the disk, from one answer to the next question.
const lookAtMemory = time.Second

// minProcesses is how many processes and threads there must be room for: a tool of an agent starts dozens, and
// agentd itself must be able to look after those that run.
const minProcesses = 256

// minInodes is how many files the disk must have room for, where it says so: a life needs
// a dozen.
const minInodes = 1000

// silentLimit is how long the disk, or the kernel, may leave a measurement without an answer before nothing is started.
const silentLimit = 5 * time.Second

// firstLimit is how long the daemon waits for the first measurement before it begins.
const firstLimit = time.Second

// pressure is the part that knows why this host takes no orders at the moment. It measures in a goroutine of its own: a
// disk of the network may not answer for hours.
type pressure struct {
	base
	member *membership

	reason   string // empty: it takes them
	due      time.Duration
	told     bool // the cluster knows; what an earlier agentd said is unknown
	underway bool
	again    time.Duration // after a failure not told before this

	measuring bool
	measures  chan measures // one fits
	looked    time.Duration // the last time
	waited    time.Duration // for the measurement that is under way

	memory, space, inodes, processes shortage
	readOnly                         shortage // of a disk that can be written to
	silent                           shortage // of answers
	leaving                          shortage // of its own daemon
}

// measures are what was found.
type measures struct {
	memory    uint64
	room      Room
	processes uint64

	noMemory, noRoom, noProcesses error
}

// leave has the cluster start nothing here any more, for the agents are about to be ended.
func (p *pressure) leave() {
	p.leaving.reason = "its agentd is shutting down"
	p.weighed()
}

// shortage is one thing of which there may be too little.
type shortage struct {
	reason  string // empty: there is enough
	failing bool   // it cannot be measured
}

// judge compares what there is with the floor; it is enough again with a quarter more, so
// that it does not flap. 0: whatever there is.
func (s *shortage) judge(what string, there, floor uint64, text func(uint64) string) {
	switch {
	case floor == 0:
	case s.reason == "" && there < floor:
		s.reason = fmt.Sprintf("is short of %s: %s are available, %s are wanted", what, text(there), text(floor))
	case s.reason != "" && there >= floor+floor/4:
		s.reason = ""
	}
}

// begin waits for the first measurement, unless that takes long: nothing is to be accepted before it. The keeper does
// not run yet.
func (p *pressure) begin() {
	p.measure()
	select {
	case m := <-p.measures:
		p.judge(&m)
	case <-time.After(firstLimit):
	case <-p.ctx.Done():
	}
	p.looked = p.config.Clock()
}

// look judges what was measured, measures when that is due, tells the cluster of a change, and says when to look
// again.
func (p *pressure) look(now time.Duration) time.Duration {
	// While the machine sleeps nobody answers: no step of the clock counts for more than a second.
	p.waited += min(now-p.looked, time.Second)
	p.looked = now
	select {
	case m := <-p.measures:
		p.judge(&m)
	default:
	}
	switch {
	case !p.measuring && now >= p.due:
		p.measure()
	case p.measuring && p.waited >= silentLimit && p.silent.reason == "":
		p.silent.reason = fmt.Sprintf("cannot be measured: for more than %s neither the disk of %s nor the kernel has "+
			"said what there is", silentLimit, p.data.Path)
		p.weighed()
	}
	if !p.told && !p.underway && p.member.registered && now >= p.again {
		p.tell()
	}
	return longestNap
}

// measure begins a measurement.
func (p *pressure) measure() {
	p.measuring, p.waited = true, 0
	go func() { // not spawn: what hangs must not hold up the end of Run
		var m measures
		if p.config.MinFreeMemory != 0 {
			m.memory, m.noMemory = p.config.Memory()
		}
		m.room, m.noRoom = p.config.Disk()
		m.processes, m.noProcesses = p.config.Processes()
		p.measures <- m
		p.send(func() {}) // the keeper looks
	}()
}

// judge takes a measurement.
func (p *pressure) judge(m *measures) {
	p.measuring, p.due = false, p.config.Clock()+lookAtMemory
	p.silent.reason = ""
	if p.measured(&p.memory, "min_free_memory", m.noMemory) {
		p.memory.judge("memory", m.memory, p.config.MinFreeMemory, mebibytes)
	}
	measured := p.measured(&p.space, "min_free_disk", m.noRoom)
	if measured {
		p.readOnly.reason = ""
		if m.room.ReadOnly {
			p.readOnly.reason = "cannot write to " + p.data.Path + ": its file system is read-only"
		}
	}
	if measured && p.config.MinFreeDisk != 0 {
		p.space.judge("disk space for "+p.data.Path, m.room.Bytes, p.config.MinFreeDisk, mebibytes)
		if m.room.Inodes != nil {
			p.inodes.judge("inodes on the disk of "+p.data.Path, *m.room.Inodes, minInodes,
				func(n uint64) string { return fmt.Sprint(n) })
		}
	}
	if p.measured(&p.processes, "the bound on processes", m.noProcesses) {
		p.processes.judge("processes that it may have", m.processes, minProcesses,
			func(n uint64) string { return fmt.Sprint(n) })
	}
	p.weighed()
}

// measured tells whether something could be measured, and warns once when it cannot.
func (p *pressure) measured(s *shortage, setting string, err error) bool {
	if err != nil && !s.failing {
		p.log.Warn(setting+" has no effect: what there is cannot be measured", "error", err)
	}
	s.failing = err != nil
	return err == nil
}

// weighed puts the reasons together.
func (p *pressure) weighed() {
	var all []string
	for _, s := range []*shortage{&p.leaving, &p.silent, &p.memory, &p.readOnly, &p.space, &p.inodes, &p.processes} {
		if s.reason != "" { // with the figures of the moment at which it began
			all = append(all, s.reason)
		}
	}
	reason := strings.Join(all, "; ")
	if reason == p.reason {
		return
	}
	p.reason, p.told = reason, false
	if reason == "" {
		p.log.Info("this host takes orders again")
		return
	}
	p.log.Warn("this host takes no orders", "why", reason)
}

func mebibytes(n uint64) string { return fmt.Sprintf("%d MiB", n>>20) }

// tell reports what the keeper believes by now. What cannot be delivered is
// told with the next look.
func (p *pressure) tell() {
	request := &vigilv1.ReportPressureRequest{Host: p.member.host, Boot: p.boot, Reason: p.reason}
	p.underway = true
	p.spawn(func() {
		ctx, cancel := context.WithTimeout(p.ctx, attemptLimit)
		defer cancel()
		_, err := p.host.ReportPressure(ctx, request)
		p.send(func() {
			p.underway = false
			p.told = p.reason == request.GetReason() && (err == nil || refused(err))
			if err != nil {
				p.again = p.config.Clock() + lookAtMemory
			}
		})
	})
}
