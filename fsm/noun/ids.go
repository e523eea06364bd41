package noun

import "strconv"

// RoomID, RoleID, AgentID and HostID are dense numbers that the state machine
// hands out in order and never uses twice. Zero means none.
type (
	RoomID  uint32
	RoleID  uint32
	AgentID uint32
	HostID  uint32
)

// TaskID numbers tasks from 1 across all rooms; it is what users see. Zero means
// none.
type TaskID uint64

// MailID numbers mails from 1 across all rooms; it is what users see. Zero means none.
type MailID uint64

// SessionID numbers client sessions. Zero means no session.
type SessionID uint64

// Incarnation is the n-th life of an agent, the fencing token of everything that
// this life does: epoch in the upper 32 bits, n in the lower. It only grows. Zero
// means that the agent has never lived.
type Incarnation uint64

// MakeIncarnation packs an epoch and a number.
func MakeIncarnation(epoch, n uint32) Incarnation {
	return Incarnation(uint64(epoch)<<32 | uint64(n))
}

// Epoch is raised when a backup is restored, so that numbers are never used twice.
func (i Incarnation) Epoch() uint32 { return uint32(i >> 32) }

// N counts lives within the epoch, from 1.
func (i Incarnation) N() uint32 { return uint32(i) }

// String gives "n", or "epoch.n" when the epoch is not the first.
func (i Incarnation) String() string {
	n := strconv.FormatUint(uint64(i.N()), 10)
	if i.Epoch() == 0 {
		return n
	}
	return strconv.FormatUint(uint64(i.Epoch()), 10) + "." + n
}
