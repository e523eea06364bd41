package agentd

import (
	"os/exec"
	"strings"
	"testing"
)

// The daemon uses the product as users do: through the client and its messages.
func TestImports(t *testing.T) {
	out, err := exec.Command("go", "list", "-deps", "./...").Output()
	if err != nil {
		t.Skipf("the go command is needed: %v", err)
	}
	for _, path := range strings.Fields(string(out)) {
		switch {
		case !strings.HasPrefix(path, "vigil/"):
		case strings.HasPrefix(path, "vigil/agentd"), path == "vigil/rpc/client", path == "vigil/rpc/code",
			path == "vigil/rpc/link", path == "vigil/rpc/gen/vigilv1":
		default:
			t.Errorf("agentd must not import %s", path)
		}
	}
}
