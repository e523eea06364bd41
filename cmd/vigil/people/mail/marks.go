package mail

import (
	"fmt"

	"vigil/rpc/gen/vigilv1"
)

// marks is what is worth knowing of a mail besides its state.
func marks(m *vigilv1.Mail) []string {
	marks := handedOver(m)
	if m.GetKind() != "" {
		marks = append(marks, "kind "+m.GetKind())
	}
	return marks
}

// handedOver is what vigil itself knows of how a mail came to its reader.
func handedOver(m *vigilv1.Mail) (marks []string) {
	if m.GetRedelivered() {
		marks = append(marks, "redelivered")
	}
	if m.GetReminded() > 0 {
		marks = append(marks, "reminded")
	}
	if m.GetEscalated() {
		marks = append(marks, "escalated")
	}
	if m.GetReplyTo() != 0 {
		marks = append(marks, fmt.Sprintf("answers mail %d", m.GetReplyTo()))
	}
	return marks
}
