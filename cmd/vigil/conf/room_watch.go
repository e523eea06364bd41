package conf

import "vigil/rpc/gen/vigilv1"

// roomWatchFile is what a room's file says to the conversation watchdog.
type roomWatchFile struct {
	IdleLimit spanValue `yaml:"idle_limit"`
	Deadline  spanValue `yaml:"deadline"`
	Disabled  bool      `yaml:"disabled"`
	Untaken   textValue `yaml:"untaken"`
}

func (w *roomWatchFile) wire() *vigilv1.RoomWatch {
	if w == nil {
		return nil
	}
	return &vigilv1.RoomWatch{IdleLimit: w.IdleLimit.wire(), Deadline: w.Deadline.wire(), Disabled: w.Disabled,
		Untaken: w.Untaken.text}
}
