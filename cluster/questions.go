package cluster

// A question opens a connection that is closed after the answer, one of the words below.
const (
	// Whether the other server's state knows the server whose id follows. It is what
	// earlier versions ask, and understand.
	question = "vigil-ask/1"
	// Whether the other server reaches the API of the one whose id follows; the answer
	// is a ReachWord.
	reachQuestion = "vigil-reach/1"
	// What a founder without data is to another: its id and its mark follow.
	markQuestion = "vigil-mark/1"
	// What a server is in the cluster that the other one leads: its id follows.
	seatQuestion = "vigil-seat/1"
)

const (
	wordKnown    = "known"    // it was a member before
	wordUnknown  = "unknown"  //
	wordNew      = "new"      // it was never heard before, with other data
	wordOutside  = "outside"  // it is no member
	wordLater    = "later"    // the other cannot tell yet
	wordVoter    = "voter"    //
	wordNonvoter = "nonvoter" // a member without a vote
)
