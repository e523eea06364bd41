package conf

import "vigil/rpc/gen/vigilv1"

// overseerFile makes the agents of a role overseers.
type overseerFile struct {
	Triage       textValue  `yaml:"triage"`
	HandoffAfter countValue `yaml:"handoff_after"`
	Fresh        spanValue  `yaml:"fresh"`
	Stale        spanValue  `yaml:"stale"`
}

// wire is what the server gets; nil: nobody is an overseer.
func (o *overseerFile) wire() *vigilv1.OverseerSpec {
	if o == nil {
		return nil
	}
	return &vigilv1.OverseerSpec{Triage: o.Triage.text, HandoffAfter: o.HandoffAfter.n, Fresh: o.Fresh.wire(),
		Stale: o.Stale.wire()}
}
