package shim

import (
	"net"

	"vigil/agentd/local"
)

// openDoor opens the socket of the life before its program is started, and puts it into the
// environment. Nothing of the watch over the agent waits for that socket (law L7): it has
// goroutines of its own and a bound for all that it keeps.
func (g *guard) openDoor() (err error) {
	spec := g.spec
	if spec.Agentd == "" {
		return nil
	}
	g.agents, err = local.OpenDoor(local.DoorConfig{Folder: spec.Folder, Name: AgentSocket, Owner: spec.owner(),
		Life:  local.Life{Agent: spec.Mark.Agent, Incarnation: spec.Mark.Incarnation},
		Reach: func() (net.Conn, error) { return local.Dial(spec.Agentd) }})
	if err == nil {
		spec.Env = append(spec.Env, local.EnvSocket+"="+g.agents.Path())
		g.openPort()
	}
	return err
}

// openPort opens the port for the telemetry of the life. It is the shim's, so that nobody else can take it
// while agentd is away. Without one the agent works as well.
func (g *guard) openPort() {
	spec := g.spec
	if spec.Telemetry == "" {
		return
	}
	var err error
	g.port, err = local.OpenPort(local.DoorConfig{
		Life:  local.Life{Agent: spec.Mark.Agent, Incarnation: spec.Mark.Incarnation},
		Reach: func() (net.Conn, error) { return local.Dial(spec.Telemetry) }})
	if err != nil {
		g.notes.Note("sends no telemetry: " + err.Error())
		return
	}
	for _, name := range [...]string{"OTEL_EXPORTER_OTLP_ENDPOINT", "GEMINI_TELEMETRY_OTLP_ENDPOINT"} {
		spec.Env = append(spec.Env, name+"=http://"+g.port.Addr())
	}
}

// socket is where the agent reaches agentd; empty: nowhere.
func (g *guard) socket() string {
	if g.agents == nil {
		return ""
	}
	return g.agents.Path()
}

// closeDoor ends every connection of the agent, also of what outlives it.
func (g *guard) closeDoor() {
	if g.agents != nil {
		g.agents.Close()
	}
	if g.port != nil {
		g.port.Close()
	}
}
