package check

import "vigil/jepsen/history"

func roomCases() []trialCase {
	type op = history.Op
	full := func(o op) op { o.Outcome, o.Error = history.Failed, "full"; return o }
	again := func() *book {
		return newBook().op("rooms", "declare", 0, 10, op{Key: "r"}).op("rooms", "create", 11, 12,
			op{Key: "r", Value: "a", Task: 1}).
			op("rooms", "delete", 13, 20, op{Key: "r"}).op("rooms", "declare", 30, 40,
			op{Key: "r"}).op("rooms", "create", 41, 42, op{Key: "r", Value: "b", Task: 2})
	}
	deleted := func() *book { return newBook().op("rooms", "delete", 13, 20, op{Key: "r"}) }
	flooded := func() *book {
		return newBook().op("flood", "budget", 0, 0, op{Share: 100, Floor: 60, TextSize: 30}).op("flood", "create", 1,
			2, op{Task: 1}).op("flood", "create", 3, 4, op{Task: 2})
	}
	return []trialCase{
		{"rooms", "the list shows the new room",
			again().op("rooms", "list", 50, 51, op{Key: "r", List: []string{"b"}}), Kept, ""},
		{"rooms", "the list shows a task of the old room",
			again().op("rooms", "list", 50, 51, op{Key: "r", List: []string{"a", "b"}}), Broken,
			"of a room that was deleted"},
		{"rooms", "the list lacks a task of the new room",
			again().op("rooms", "list", 50, 51, op{Key: "r"}), Broken, "lacks task"},
		{"rooms", "a task of the old room is claimed", again().op("rooms", "claim", 50, 51,
			op{Key: "r", Value: "a", Task: 1}), Broken, "of a room that was deleted"},
		{"rooms", "a life of the old room is heard", again().op("rooms", "word", 50, 51,
			op{Key: "r", Task: 1, Agent: "r/slot"}), Broken, "although its room was deleted"},
		{"rooms", "a life of the old room is refused",
			again().op("rooms", "word", 50, 51, op{Key: "r", Task: 1, Agent: "r/slot",
				Outcome: history.Failed, Error: "superseded"}), Kept, ""},
		{"rooms", "it is there after its deletion",
			deleted().op("rooms", "look", 21, 22, op{Key: "r", State: "there"}), Broken, "is there after"},
		{"rooms", "it is declared late", newBook().op("rooms", "declare", 0, 10,
			op{Key: "r", Outcome: history.Unknown}).op("rooms", "delete", 13, 20, op{Key: "r"}).
			op("rooms", "look", 21, 22, op{Key: "r", State: "there"}), Kept, ""},
		{"budgets", "refused when it is full", flooded().op("flood", "create", 5, 6, full(op{})), Kept, ""},
		{"budgets", "refused before it is full", flooded().op("flood", "cancel", 5, 6,
			op{Task: 1}).op("flood", "create", 7, 8, full(op{})), Broken, "was refused as full"},
		{"budgets", "refused while it may be full", flooded().op("flood", "cancel", 5, 6,
			op{Task: 1, Outcome: history.Unknown}).op("flood", "create", 7, 8, full(op{})), Kept, ""},
		{"budgets", "accepted beyond its share", flooded().op("flood", "create", 5, 6,
			op{Task: 3}).op("flood", "create", 7, 8, op{Task: 4}), Broken, "was accepted"},
		{"budgets", "each flood has a share of its own", flooded().op("flood", "budget", 0, 0,
			op{Key: "mail", Share: 100, Floor: 60, TextSize: 30}).op("flood", "create", 5, 6,
			op{Key: "mail", Task: 3}).op("flood", "create", 7, 8, full(op{Key: "mail"})), Broken,
			"mail: it was refused as full"},
		{"budgets", "somebody else is refused", flooded().op("mail", "send", 5, 6, full(op{})), Broken,
			"only what is new of the flood"},
		{"budgets", "a cancellation is refused", flooded().op("flood", "cancel", 5, 6, full(op{Task: 1})),
			Broken, "only what is new of the flood"},
	}
}
