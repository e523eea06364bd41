// Command ticker is an agent that keeps a ledger: it notes every 50 ms that it runs,
// joins its room, works on tasks, and notes what the cluster acknowledged. It finds
// who it is in the environment, like every managed agent, the folder of the ledger
// in TICKER_LEDGER and the name of its host in TICKER_HOST.
//
// While it lives it holds a connection to the socket "gone" in that folder, if there
// is one: the kernel closes it at the end of the process, whatever ended it.
//
// # Behaviours
//
// Its first argument says what is wrong with it, as words with commas between them;
// the text of a task adds words for the time of that task. Without any it works as
// it should.
//
//	quiet=5s       a task takes so long, and it says nothing meanwhile
//	busy=5s        a task takes so long, and it reports progress twice a second
//	hang           it beats, but never goes on with a task that it has started
//	late           it beats, but never starts a task that it has claimed
//	deaf           it beats, but takes no task
//	silent         it lives, but does not beat any more once it has a task
//	trap-term      it ignores SIGTERM
//	fork           it leaves two children, one in its group, one in a session of its own
//	crash=1s       it exits with code 3 so long after its start, or that of the task
//	slow-start=3s  it joins so long after its start
//	quota=10s      until so long after the agent's first life began it prints that its
//	               usage limit is reached, and exits with code 75
//	remember       it leaves a resume value, and notes from which life it got one
//	eat=64         it takes so many MiB of memory
//	fail=2         it gives back attempt 1 and 2 at a task, to be tried again
//	hostile=calls  it tries what it may not, and the task has the answers as its result
//	victim=...     with hostile: on whom, as package hostile writes it
//	after=2s       with fail: and says that it is not to be tried again before that
//
// # What it depends on
//
// Before it completes a task it looks whether what its role depends on is there (package depend). If
// not, the task gets the words that the outage has.
package main
