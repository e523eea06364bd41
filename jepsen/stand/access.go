//go:build linux

package stand

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// accessRole is what programs without a login may do.
const accessRole = "operator"

// Access gives environments by which programs in the driver's own network speak to the cluster: with an API token,
// with the identity of the admin, and with a file of contexts that names both; in clear there is one. Files are put
// into the folder.
func (s *Stand) Access(folder string) ([][]string, error) {
	var addrs []string
	for _, sv := range slices.Concat(s.Servers, s.Spares) { // all may have been moved
		addrs = append(addrs, sv.Addr())
	}
	by := "VIGIL_ADDR=" + strings.Join(addrs, ",")
	if s.config.Insecure {
		return [][]string{{by}}, nil
	}
	token, err := s.Token(accessRole, "workers")
	if err != nil {
		return nil, err
	}
	var b strings.Builder
	fmt.Fprintf(&b, "selected: stand\ncontexts:\n    stand:\n        servers:\n")
	for _, addr := range addrs {
		fmt.Fprintf(&b, "            - %s\n", addr)
	}
	fmt.Fprintf(&b, "        identity: %q\n", string(s.Identity()))
	contexts := filepath.Join(folder, "vigil", "contexts.yaml")
	if err := os.MkdirAll(filepath.Dir(contexts), 0o700); err != nil {
		return nil, fmt.Errorf("make folder of contexts: %w", err)
	}
	if err := os.WriteFile(contexts, []byte(b.String()), 0o600); err != nil {
		return nil, fmt.Errorf("write contexts: %w", err)
	}
	roots := filepath.Join(string(s.Identity()), "roots.crt")
	return [][]string{{by, "VIGIL_API_TOKEN=" + token, "VIGIL_ROOTS=" + roots},
		{by, "VIGIL_IDENTITY=" + string(s.Identity())}, {"XDG_CONFIG_HOME=" + folder}}, nil
}
