// Package silence is the conversation watchdog. A room with open tasks in which nothing is done or
// said for too long is warned, and canceled when it stays silent (WarnRoom, CancelIdleRoom); a human
// reopens it. Its silence is excused by what agents declare that hold its tasks, and by what humans
// hold back. Quiet tells how a room is seen, StalledRooms finds those that are stalled.
package silence
