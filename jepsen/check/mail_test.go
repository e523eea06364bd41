package check

import "vigil/jepsen/history"

func mailCases() []trialCase {
	type op = history.Op
	const box = "mail/box"
	sent := func() *book {
		return newBook().op("mail", "send", 0, 10, op{Key: box, Value: "s", List: []string{"7"}})
	}
	read := func(b *book, at int64, inc uint64, list ...string) *book {
		return b.op("mail", "read", at, at+5, op{Agent: box, Incarnation: inc, List: list})
	}
	final := func(b *book, state string) *book {
		return b.op("mail", "final", 100, 110, op{Key: box, Value: "s", State: state, List: []string{"7"}})
	}
	drained := func(b *book, inc uint64) *book {
		return b.op("mail", "drained", 90, 91, op{Agent: box, Incarnation: inc})
	}
	ack := func(b *book, o op) *book {
		o.Agent, o.Incarnation, o.List = box, 1, []string{"7"}
		return b.op("mail", "ack", 30, 40, o)
	}
	return []trialCase{
		{"mail", "read by each life until it is acknowledged",
			final(ack(read(read(sent(), 15, 1, "7"), 20, 2, "7*"), op{}), "acknowledged"), Kept, ""},
		{"mail", "an accepted mail is lost", final(sent(), "queued").op("mail", "send", 20, 30,
			op{Key: box, Value: "u", List: []string{"8"}}), Broken, "is lost"},
		{"mail", "a mail without an answer is lost", final(sent(), "queued").op("mail", "send", 20, 30,
			op{Key: box, Value: "u", Outcome: history.Unknown}), Kept, ""},
		{"mail", "a mail is there twice", final(sent(), "queued").op("mail", "final", 100, 110,
			op{Key: box, Value: "s", State: "queued", List: []string{"8"}}), Broken, "is there twice"},
		{"mail", "a life gets it twice", read(read(sent(), 15, 1, "7"), 25, 1, "7"), Broken, "to mail/box 1 twice"},
		{"mail", "somebody else gets it", sent().op("mail", "read", 20, 30,
			op{Agent: "mail/box.2", Incarnation: 1, List: []string{"7"}}), Broken, "handed over to mail/box.2"},
		{"mail", "it comes back after it was acknowledged",
			read(ack(read(sent(), 15, 1, "7"), op{}), 50, 2, "7*"), Broken, "after it had been acknowledged"},
		{"mail", "it comes back after an acknowledgement without an answer",
			read(ack(read(sent(), 15, 1, "7"), op{Outcome: history.Unknown}), 50, 2, "7*"), Kept, ""},
		{"mail", "an acknowledgement is forgotten", final(ack(read(sent(), 15, 1, "7"), op{}), "delivered"),
			Broken, "is delivered at the end"},
		{"mail", "a redelivery is not marked", read(read(sent(), 15, 1, "7"), 25, 2, "7"), Broken,
			"as if for the first time"},
		{"mail", "a first delivery is marked", read(sent(), 15, 1, "7*"), Broken, "as if not for the first time"},
		{"mail", "a delivery is marked after a read without an answer",
			read(sent().op("mail", "read", 12, 14,
				op{Agent: box, Incarnation: 1, Outcome: history.Unknown}), 15, 2, "7*"), Kept, ""},
		{"mail", "the last life does not get it", final(drained(sent(), 3), "queued"), Broken, "did not get it"},
		{"mail", "the last life gets it", final(drained(read(sent(), 80, 3, "7"), 3), "delivered"), Kept, ""},
		{"mail", "acknowledged and removed", final(sent(), "queued").op("mail", "send", 20, 30,
			op{Key: box, Value: "u", List: []string{"8"}}).
			op("mail", "ack", 40, 50, op{Agent: box, Incarnation: 1, List: []string{"8"}}), Kept, "closed mail"},
	}
}
