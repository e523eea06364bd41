package noun

// Event is one entry of the append-only history. It carries no task text and no
// token. Names are copied, so that it can be read after its room is gone.
type Event struct {
	Seq     uint64 // from 1, without gaps; the index that a watch resumes from
	Index   uint64 // log index
	At      Time
	Wall    Wall
	Kind    string // noun.verb, for instance task.claimed
	Room    string
	Agent   string
	Inc     Incarnation
	Task    TaskID
	Attempt uint32
	Host    string
	Text    string // a sentence for people
}
