package noun

// BudgetSettings bound what the state may hold. A budget is in bytes as the ledger counts
// them, see Purse. New tasks, mail, joins by hand, sessions, hosts, rooms and agents may use
// nine tenths of one; the last tenth is for what is never refused: facts of hosts, results,
// what humans want and what vigil writes by itself. When that is used up too, their texts
// are cut.
type BudgetSettings struct {
	Tasks, Mail, Agents, Hosts, Sessions, History uint64 // in bytes, by Purse

	RoomShare uint32 // percentage of a budget, and of MaxTasks, that one room may use

	MaxTasks    uint64 // that have not ended
	MaxRooms    uint64
	MaxAgents   uint64
	MaxHosts    uint64
	MaxSessions uint64

	Trust uint64 // in bytes
}

func defaultBudget() BudgetSettings {
	return BudgetSettings{
		Tasks: 576 << 20, Mail: 64 << 20, Agents: 640 << 20, Hosts: 16 << 20, Sessions: 128 << 20, History: 64 << 20,
		RoomShare: 50, MaxTasks: 2_000_000, MaxRooms: 10_000, MaxAgents: 1_000_000, MaxHosts: 10_000,
		MaxSessions: 100_000, Trust: 32 << 20,
	}
}

// Of is the budget of a purse.
func (b *BudgetSettings) Of(p Purse) *uint64 {
	return [...]*uint64{&b.Tasks, &b.Mail, &b.Agents, &b.Hosts, &b.Sessions, &b.History, &b.Trust}[p]
}

// Total is the sum of all budgets in bytes.
func (b *BudgetSettings) Total() (n uint64) {
	for p := ForTasks; p < Purses; p++ {
		n += *b.Of(p)
	}
	return n
}

// Purse is what one budget is for.
type Purse uint8

// Purses. The first RoomPurses of them are also counted by room.
const (
	ForTasks    Purse = iota // tasks with all their texts
	ForMail                  // mail; each copy pays for its text
	ForAgents                // rooms, roles and agents, and what those say of themselves
	ForHosts                 // hosts
	ForSessions              // sessions of clients with the answers that they remember
	ForHistory               // events, escalations and the audit
	ForTrust                 // tokens, credentials and users
	Purses

	RoomPurses = ForAgents + 1
)

var purseNames = [...]string{"tasks", "mail", "agents", "hosts", "sessions", "history", "trust"}

func (p Purse) String() string { return purseNames[p] }
