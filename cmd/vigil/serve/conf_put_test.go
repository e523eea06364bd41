package serve

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"vigil/cmd/vigil/conf"
)

func TestConfIsPut(t *testing.T) {
	tests := []struct {
		name, text string
		values     map[string]any
		want       string
	}{
		{"no file", "", map[string]any{"id": "s1", "addr": "10.0.0.1:7420"}, "addr: 10.0.0.1:7420\nid: s1\n"},
		{"in its place, comments stay", "# who\nid: \"\" # none\n# where\naddr: a:1\nlimits:\n  id: 3\n",
			map[string]any{"id": "s1"}, "# who\nid: s1\n# where\naddr: a:1\nlimits:\n  id: 3\n"},
		{"lists", "join:\n- a:1\n- b:1\nservers:\n  - c:1\n\n# end\nid: x",
			map[string]any{"join": []string{"d:1"}, "servers": []string{"e:1", "f:1"}, "zone": "z"},
			"join:\n- d:1\nservers:\n- e:1\n- f:1\n\n# end\nid: x\nzone: z\n"},
		{"what looks like something else stays text", "id: x\n", map[string]any{"id": "0123", "zone": "a: b"},
			"id: \"0123\"\nzone: \"a: b\"\n"},
	}
	for _, x := range tests {
		t.Run(x.name, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "etc", "server.yaml")
			if x.text != "" {
				if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(file, []byte(x.text), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			if err := putConf(file, x.values); err != nil {
				t.Fatal(err)
			}
			got, err := os.ReadFile(file)
			if err != nil || string(got) != x.want {
				t.Errorf("it holds\n%s\nwant\n%s\n%v", got, x.want, err)
			}
			info, err := os.Stat(file)
			if want := map[bool]os.FileMode{true: 0o600, false: 0o644}[x.text == ""]; err != nil || info.Mode() != want {
				t.Errorf("its mode is %v, want %v, %v", info.Mode(), want, err)
			}
			if left, err := os.ReadDir(filepath.Dir(file)); err != nil || len(left) != 1 {
				t.Errorf("%v is left behind, %v", left, err)
			}
		})
	}
}

// What cannot be changed by lines is left alone, and the error says what to write.
func TestConfThatCannotBePutIsLeftAlone(t *testing.T) {
	for _, text := range []string{"{id: x, addr: \"a:1\"}\n", "id: [\n", "id: x\nid: y\n"} {
		file := filepath.Join(t.TempDir(), "server.yaml")
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		err := putConf(file, map[string]any{"id": "s1"})
		if err == nil || !strings.Contains(err.Error(), "id: s1") || !strings.Contains(err.Error(), file) {
			t.Errorf("%q: %v", text, err)
		}
		if got, _ := os.ReadFile(file); string(got) != text {
			t.Errorf("%q became %q", text, got)
		}
	}
}

// The file that a package brings says afterwards what was told, and is right.
func TestConfOfThePackageIsPut(t *testing.T) {
	text, err := os.ReadFile("../../../configs/server.yaml")
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "server.yaml")
	if err := os.WriteFile(file, text, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := putConf(file, map[string]any{"id": "s2", "addr": "10.0.0.2:7420",
		"join": []string{"10.0.0.1:7421"}}); err != nil {
		t.Fatal(err)
	}
	s, err := conf.ReadServer(file)
	if err != nil || s.ID != "s2" || s.Addr != "10.0.0.2:7420" || len(s.Join) != 1 ||
		s.RaftAddr != conf.DefaultServer().RaftAddr {
		t.Errorf("%+v, %v", s, err)
	}
	got, _ := os.ReadFile(file)
	if n, want := strings.Count(string(got), "#"), strings.Count(string(text), "#"); n != want {
		t.Errorf("%d of %d comments are left", n, want)
	}
}
