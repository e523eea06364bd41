package mcp

import "testing"

func TestMCPDescribesEveryParameter(t *testing.T) {
	for _, tool := range mcpTools() {
		for _, p := range tool.params {
			if p.schema.Description == "" {
				t.Errorf("parameter %s of %s is not described", p.name, tool.name)
			}
		}
	}
}
