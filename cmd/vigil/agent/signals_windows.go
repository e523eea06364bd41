package agent

import "os"

// passedOn are the signals that a wrapped program gets when we get them.
var passedOn = [...]os.Signal{os.Interrupt}
