// Package workload asks the cluster for what its users ask, all the time and many at
// once, and records every call with its outcome in the history of a run. It judges
// nothing: checkers do, from what is promised below.
//
//	s, err := workload.Open(config, workload.Names())
//	defer s.Close()
//	err = s.Prepare(ctx) // declares the rooms, before the first fault
//	err = s.Run(ctx)     // until ctx ends
//	err = s.Quiesce(ctx) // after the last fault was healed: drains, and reads everything
//
// # Every workload
//
// A Process does one call at a time. After an Op whose outcome is unknown it goes on
// under a new number, since that call may still take effect at any later time. Via
// names the server that was asked and passed the call on, "" when the client of the
// whole cluster chose. The client repeats a call that got no answer with the same
// write id; Call and Return span all that. Error is the code of the answer, as
// docs/errors.md lists them, of failed and unknown calls. A call is failed when that
// code proves that nothing was done, or (code late) that it counts for nothing.
//
// Values are written once: no two writes of a workload write the same Value. So a
// write of unknown outcome whose value is read was done, and one that is never read
// may be left out.
//
// Rev is the log index of the entry that made what was answered what it is; several
// changes may share one entry, and so one Rev. The answer to a write shows the thing
// as it was when the answer was made: its own change, or a later one.
//
// Whatever is chosen, there also are Looks at all agents of hosts (linearizable, five
// times a second), and Events of at least one watcher, which has number 1.
//
// Roles under policy fenced, for which law L7 holds, are given by Fenced.
//
// # register
//
// Registers that everybody may write. Key is "room/NAME" (the value is who changed
// the declaration last) or "agent/ROOM/ROLE.N" (the reason of the last stop or start).
//
//	write  Key, Value             unconditional
//	cas    Key, Value, Old        only if the value still is Old, which this process
//	                              has read (sent is the revision that came with it)
//	read   Key; answered: Value, Rev
//
// Promised: linearizable, each key by itself. Prepare writes each key once and
// records it; nothing is promised of a key before. A cas that failed with conflict
// proves that the value was not Old at some moment of the call. Of one key, a greater
// Rev is read later, and one Rev has one Value.
//
// # claim
//
// Agents without a host (room "claim") race for the tasks of one role. Task is the
// task and Attempt the number of the claim; Agent and Incarnation are who speaks, for
// get who holds or has held it.
//
//	create    Value (title); answered: Task, State
//	claim     Task, Agent, Incarnation; answered: Attempt, Index
//	next      as claim, but of whatever task is first; answered: Task too
//	start     Task, Attempt, Agent, Incarnation; answered: State, Rev
//	complete  as start, with Value (the result, unique)
//	fail      as start; State PENDING: given back for another attempt
//	handoff   as complete; answered: List with the number of the task that it created
//	cancel    Task; answered: State, Rev; by a human, at any time
//	get       Task; answered: State, Attempt, Agent, Incarnation, Value (result), Rev
//	final     as get, by Quiesce, of every task of the room that ever was answered
//
// Promised of each task: attempts are 1, 2, 3, ... in the order of the claims, each
// given to one life of an agent (asked again, the life that holds the task gets the
// same attempt again). A claim is granted only while nobody holds the task, so not
// before the last attempt was failed, recovered (at any time by the cluster itself
// after the life has been silent; nobody is told) or superseded. start, complete,
// fail and handoff are accepted only of the newest attempt by its own life. A task is
// finished (COMPLETED, FAILED, CANCELED, QUARANTINED) once and for all; an accepted
// complete is accepted again for the same attempt and life. Handed-off tasks belong
// to the same role.
//
// # lifecycle
//
// Tasks in batches (room "lifecycle"): role "work" is worked by agents of hosts, which
// note in the ledger what they were acknowledged, and so is role "fast" (policy fast)
// where there are five and more of them; role "hand" by workers of this process.
// Without hosts there is only "hand".
//
//	create    Key (role), Value (title, unique); answered: Task
//	claim     Task, Attempt, Agent, Incarnation (role hand)
//	complete  Task, Attempt, Agent, Incarnation, Value (result, unique)
//	final     Key, Value (title), Task, State, Attempt, Agent, Incarnation; by Quiesce,
//	          of every task of the room that is there
//
// Promised: every created task that was acknowledged is in the list at the end, once,
// and no title is there twice, acknowledged or not. Quiesce waits until all are
// finished, as long as its context allows: what is not finished then is shown as it
// is. What was acknowledged as completed is COMPLETED, by the attempt that was told so.
//
// # sdk
//
// Workers of the packages for Python (one sync, one asyncio) and for TypeScript (two), each a process of
// its own beside this one, and two in this process, work on the tasks of one role (room "sdk"). They
// speak TLS, by turns with an API token, the identity of an admin, and a file of contexts. Each in
// another language keeps a ledger, on machine "client", and creates tasks too. A human cancels a few;
// some handlers run a command, take longer than a TTL, or give the first attempt back. Where python3
// or node is missing its workers are left out, which is said.
//
//	create, claim, complete, final  as in lifecycle
//	cancel                          Task, by a human; answered: State, Rev
//
// Promised: as in lifecycle, and (with the ledger, as of agents of hosts) no lease ends of a worker that runs, nothing
// is acknowledged to an older life, and no task is completed by two.
//
// # dedup
//
// Agents of hosts (room "dedup", role "work") are restarted by humans, by tasks that
// end their process, and by whatever the nemeses do.
//
//	restart  Agent; answered: Incarnation, Rev
//	crash    Task: a task was created that ends the process of whoever claims it
//
// Promised (with Looks, Events order.* and agent.*, and the ledger): one start order
// for each incarnation of an agent, none while another order or life of it is open,
// and each incarnation started by one process.
//
// # outage
//
// Agents of hosts (room "outage", two roles) work on tasks some of which fail: for one attempt or
// two, with and without a word on how long to wait, or always. Their agents give them back or
// crash; nemeses take down what a role depends on, and then all of its tasks fail. A human cancels a
// few, and at the end those that always fail. Agents note in the ledger what they gave back.
//
//	rules     Key (the room), Rules: how often a task is tried, and what it waits in between
//	create    Key (role), Value (title, unique); answered: Task, State
//	cancel    Task, by a human; answered: State, Rev
//	index     answered: Index, linearizable; 0 when no leader told it
//	final     as in lifecycle
//
// Promised (with Events task.* and role.*): as in lifecycle, each accepted task is in the list at the
// end. A task is FAILED or QUARANTINED only when as many attempts have failed, or lives died of it, as
// the rules say while its role was not half-open, or after twenty times as many had failed. No
// attempt begins before the wait of the one before is over: what its agent said, else First, doubled
// with each failure up to Most, and half of that at least. A half-open role lets one task through at a
// time, after each success twice as many up to 8, after each failure half as many. CANCELED is only
// what a human canceled.
//
// # intent
//
// One human for each of the agents of room "intent", and one for the whole room
// "intent-room", stops, starts, pauses and resumes. Agent is the agent, Key the scope
// of a pause (agent or room).
//
//	stop, start    Agent; answered: Incarnation, Rev
//	pause, resume  Key; answered: Rev
//	look           Agent, directly after an acknowledged pause; answered: Incarnation,
//	               State (of its process), linearizable
//
// A process that got no answer asks for the same again with the same write id until
// it has one (an Op each time, of a new process, the same WriteID), and only then goes
// on. Key is also set of stop and start, to the agent, so that all Ops of one scope
// have one Key and never overlap but for those repetitions.
//
// Promised (law L9): between the return of an acknowledged stop and the call of the
// next start no life of the agent begins that is newer than the Incarnation answered
// by the stop; the same between pause and resume for the Incarnations of the looks
// that followed the pause. When the acknowledged life runs it is ended after a stop,
// and goes on under a pause.
//
// # watch
//
// Watchers follow the events of everything, each through a server of its own, and
// change the server after every break, going on after the last event that they have.
// What they get is in Events.
//
//	open  Process is the watcher; Via; Index: the event after which it goes on (0: the
//	      oldest kept); Return is when the first event came or the stream broke
//	last  by Quiesce: Index is the newest event of the cluster, linearizable; the
//	      watchers had time to come so far
//
// Promised: for one watcher Seq grows by exactly one from event to event, through all
// breaks; the same Seq is the same event for all watchers; Index never falls with Seq.
// An open that failed with compacted, or invalid (the history was taken back by a
// restored backup), ends the watcher; its successor has a new number and begins with
// the oldest event kept.
//
// # requests
//
// One write is sent two to five times, at once and one after the other, through
// different servers, always with the same WriteID. Each copy is an Op of a process of
// its own.
//
//	create  Value (title, unique); answered: Task
//	cancel  Task, of a task made by create, if it still has the revision that was read
//	set     Agent, Value (reason, unique), Old (the reason before), if the agent still
//	        has the revision that was read; Rev of the answer is not to be compared
//	final   Value, Task, State; by Quiesce, of every task of the room
//
// Promised: all copies with an answer (outcome ok or failed, other than by the codes
// not_leader, too_old, unknown_session) have the same outcome, Error and Task. A title
// is in the list at the end at most once, and once when any copy was ok, under the
// number that was answered. A cancel or set whose condition held when it was first
// sent is not refused with conflict, since nobody else touches that task or agent.
//
// # reads
//
// One writer for each of a few keys writes growing numbers; readers ask through each
// server for the latest and for what that server has.
//
//	write   Key, Value (decimal, growing), Old (the value before, whose revision is
//	        sent with it, so that a late one can never take the key back)
//	read    Key; answered: Value, Rev; Stale tells which kind of read
//	index   Via, Stale: answered: Index, the newest log index that the server applied
//	final   Key, Via, Stale, Value, Rev: by Quiesce, once the server has come so far
//
// Promised: a read that is not Stale is linearizable: it shows at least the last write
// that was acknowledged before it was sent. A stale read shows a value whose write was
// sent before the read returned, and through one server, as long as that server's
// process was not ended, Values and Indexes never fall from one stale answer to the
// next call. At the end each server shows the latest, or final is unknown.
//
// # rooms
//
// One owner for each of a few rooms declares it, creates tasks, has an agent join and claim one,
// deletes the room and begins anew. Key is the room.
//
//	declare, delete  until it is known to be done; answered: Rev (of a delete: the
//	                 condition, so that a late one meets no other room)
//	create           Value (title, unique); answered: Task
//	claim            Agent, Incarnation; answered: Task, Attempt, Value (title)
//	word             Task, Attempt, Agent, Incarnation: a life of a room that was deleted
//	                 completes what it held, claims anew (Value: the title that it got)
//	                 or joins, when the room is declared again, before and after the
//	                 first life of the agent that has its name now
//	list             answered: List (titles), linearizable
//	look             State there or gone; directly after a delete
//
// Promised (laws L6 and L8): a room is gone after its deletion was acknowledged; the next one of
// its name has none of its tasks; and no life of it has a say.
//
// # flood
//
// Long texts are put into a room until its share of a budget is used up, then half of them is
// taken out. Key is tasks (they are canceled), mail (its addressee acknowledges it) or values
// (what agents keep for their next life; they forget it); each has one process.
//
//	budget  Share (bytes that the room may use), Floor (bytes that these texts may use in
//	        any case), TextSize (bytes of one text)
//	create  Value (title, unique); answered: Task (its number, or that of the agent)
//	cancel  Task
//
// Promised: a create fails with full when the share is used up but for its reserve, not before;
// the texts never take more than the share; nothing else, and nothing of any other workload, fails
// with full.
package workload
