package conf

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"vigil/fsm/noun"
)

// A notifier that lacks its secret or its program is one that fails, in words without a path, and works as soon as
// it is there. `vigil server --check` refuses it.
func TestNotifiersThatLackSomethingWorkOnceItIsThere(t *testing.T) {
	told := 0
	pager := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { told++ }))
	defer pager.Close()
	dir := t.TempDir()
	secret, program := filepath.Join(dir, "secret"), filepath.Join(dir, "page")
	f, err := parseServerFile("s.yaml", fmt.Sprintf("id: a\ninsecure: true\nnotify:\n"+
		"  - {name: hook, webhook: {url: %q, secret_file: %q}}\n  - {name: run, command: {program: %q}}\n"+
		"  - {name: mail, mail: {to: ops/oncall}}\n", pager.URL, secret, program))
	if err != nil {
		t.Fatal(err)
	}
	list, lacks := f.Notifiers(nil)
	if len(list) != 3 || len(lacks) != 2 || lacks[0].Notifier != "hook" || lacks[1].Notifier != "run" ||
		!strings.Contains(lacks[0].Err.Error(), "s.yaml:4:") || !strings.Contains(lacks[0].Err.Error(), secret) {
		t.Fatalf("%d notifiers, lacking %+v", len(list), lacks)
	}
	if wrong, _ := f.Inspect(); len(wrong) != 2 {
		t.Errorf("a check finds %v", wrong)
	}
	for _, n := range list[:2] {
		err := n.Send(t.Context(), "1", []byte("{}"))
		if err == nil || len(err.Error()) > noun.MaxFailure || strings.Contains(err.Error(), dir) {
			t.Errorf("%s: %v", n.Name, err)
		}
	}
	for name, text := range map[string]string{secret: strings.Repeat("x", 32), program: "#!/bin/sh\ncat >/dev/null\n"} {
		if err := os.WriteFile(name, []byte(text), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	for _, n := range list[:2] {
		if err := n.Send(t.Context(), "1", []byte("{}")); err != nil {
			t.Errorf("%s: %v", n.Name, err)
		}
	}
	if told != 1 {
		t.Errorf("the pager was called %d times", told)
	}
	if err := os.Remove(secret); err != nil { // what is opened stays so
		t.Fatal(err)
	}
	if err := list[0].Send(t.Context(), "2", []byte("{}")); err != nil || told != 2 {
		t.Errorf("called %d times: %v", told, err)
	}
}

// Every mistake in a notifier is told with its place and what to write instead, and no
// message holds an address, which may hold a secret.
func TestNotifyMistakesNameThePlace(t *testing.T) {
	for _, c := range []struct{ text, says string }{
		{"notify:\n  - webhook: {url: https://x.example/}\n",
			"s.yaml:1:1: notify: each entry needs a name"},
		{"notify:\n  - {name: Pager, mail: {to: ops/a}}\n",
			"s.yaml:2:12: notify: \"Pager\": each entry needs a name of 1 to 64"},
		{"notify:\n  - name: pager\n",
			"s.yaml:2:11: notify: \"pager\": it has 0 of webhook, command and mail: write exactly one"},
		{"notify:\n  - name: a\n    mail: {to: ops/x}\n    command: {program: /bin/true}\n",
			"it has 2 of webhook, command and mail"},
		{"notify:\n  - name: a\n    webhook: {url: ftp://hidden.example/, secret_file: k}\n",
			"s.yaml:3:20: notify: \"a\": webhook.url is no address: write https://host/path"},
		{"notify:\n  - name: a\n    webhook: {url: http://hidden.example/, secret_file: k}\n",
			"goes over the network without TLS"},
		{"notify:\n  - name: a\n    webhook: {url: https://u:hidden@x.example/, secret_file: k}\n",
			"holds a user or a password"},
		{"notify:\n  - name: a\n    webhook: {url: https://hidden.example/}\n",
			"webhook.secret_file is missing"},
		{"notify:\n  - name: a\n    command: {program: page}\n",
			"s.yaml:3:24: notify: \"a\": command.program \"page\": give its whole path"},
		{"notify:\n  - name: a\n    mail: {to: ops}\n",
			"s.yaml:3:16: notify: \"a\": mail.to \"ops\": give a role or an agent"},
		{"notify:\n  - {name: a, mail: {to: ops/x}, timeout: 1h}\n",
			"timeout 1h is out of range: write 100ms to 5m"},
		{"notify:\n  - {name: a, mail: {to: ops/x}}\n  - {name: a, mail: {to: ops/y}}\n",
			"s.yaml:3:12: notify: \"a\": there are two of this name"},
		{"notify:\n  - {name: a, mail: {too: ops/x}}\n",
			`s.yaml:2:22: unknown key "too"`},
		{"notify:\n" + strings.Repeat("  - {name: a, mail: {to: ops/x}}\n", 17),
			"17 notifiers are too many"},
	} {
		_, err := parseServerFile("s.yaml", c.text)
		if err == nil || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%q is answered\n%v, want\n%s", c.text, err, c.says)
			continue
		}
		// The line of the file is shown below the message; the message itself stays clean.
		if first, _, _ := strings.Cut(err.Error(), "\n"); strings.Contains(first, "hidden") {
			t.Errorf("the message holds the address: %v", err)
		}
	}
}
