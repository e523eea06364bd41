package cluster

// A question opens a connection that is closed after the answer, one of the words below where it says nothing else.
const (
	// Whether the other server reaches the API of the one whose id follows; the answer
	// is a ReachWord.
	reachQuestion = "vigil-reach/1"
	// What a server is in the cluster that the other one leads: its id follows.
	seatQuestion = "vigil-seat/1"
	// What the other server has made of a log entry: the id of the one that asks follows, the index, and the
	// SHA-256 of the entry.
	refusedQuestion = "vigil-refused/1"
	// What the other server says of its part in raft: the id of the one that asks follows; the answer is Figures
	// as JSON.
	figuresQuestion = "vigil-figures/1"
)

const (
	wordLater    = "later"    // the other cannot tell yet
	wordVoter    = "voter"    //
	wordNonvoter = "nonvoter" // a member without a vote
)
