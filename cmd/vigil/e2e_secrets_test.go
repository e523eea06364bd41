//go:build linux

package main_test

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/rand"
	"crypto/x509"
	"encoding/base64"
	"encoding/hex"
	"encoding/pem"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
)

// secrets is what must be nowhere but in files of its own, in each form in which it could be somewhere.
type secrets struct {
	names map[string]string // by secret
	forms map[string]string // name of the secret and the form, by form
}

func newSecrets() *secrets { return &secrets{names: map[string]string{}, forms: map[string]string{}} }

// add takes a secret of at least 16 bytes. In base64 it looks otherwise by where it begins in what was
// encoded: only the characters that depend on nothing else are looked for.
func (s *secrets) add(name string, secret []byte) {
	if len(secret) < 16 || s.names[string(secret)] != "" {
		return
	}
	s.names[string(secret)] = name
	s.forms[string(secret)] = name + " as it is"
	s.forms[hex.EncodeToString(secret)] = name + " in hex"
	s.forms[strings.ToUpper(hex.EncodeToString(secret))] = name + " in hex"
	for before := range 3 {
		for _, to := range []*base64.Encoding{base64.RawStdEncoding, base64.RawURLEncoding} {
			text := to.EncodeToString(append(make([]byte, before), secret...))
			s.forms[text[(before*8+5)/6:(before+len(secret))*8/6]] = name + " in base64"
		}
	}
}

// in names the secrets that a text holds, also where lines break it.
func (s *secrets) in(text []byte) (found []string) {
	text = bytes.TrimRight(text, "\x00") // files of the log are made longer than what is in them
	joined := bytes.ReplaceAll(bytes.ReplaceAll(text, []byte("\n"), nil), []byte(`\n`), nil)
	for form, name := range s.forms {
		if bytes.Contains(text, []byte(form)) || bytes.Contains(joined, []byte(form)) {
			found = append(found, name)
		}
	}
	slices.Sort(found)
	return slices.Compact(found)
}

// Each form in which a secret could be somewhere is found.
func TestSecretsAreFoundInEveryForm(t *testing.T) {
	key := make([]byte, 32)
	_, _ = rand.Read(key) // never fails
	s := newSecrets()
	s.add("the key", key)
	in := func(pad int) []byte { return slices.Concat(make([]byte, pad), key, []byte("behind it")) }
	for name, text := range map[string][]byte{
		"raw": in(7), "hex": []byte(hex.EncodeToString(in(2))), "HEX": []byte(strings.ToUpper(hex.EncodeToString(key))),
		"base64":   []byte(base64.StdEncoding.EncodeToString(in(0))),
		"base64+1": []byte(base64.URLEncoding.EncodeToString(in(1))),
		"base64+2": []byte(base64.RawStdEncoding.EncodeToString(in(2))),
		"PEM":      pem.EncodeToMemory(&pem.Block{Type: "X", Bytes: in(40)}),
		"log":      []byte(strings.ReplaceAll(string(pem.EncodeToMemory(&pem.Block{Type: "X", Bytes: in(40)})), "\n", `\n`)),
		"padded":   append(in(3), make([]byte, 4096)...),
	} {
		if got := s.in(text); len(got) != 1 || !strings.HasPrefix(got[0], "the key ") {
			t.Errorf("%s: %q", name, got)
		}
	}
	if got := s.in(bytes.ToLower(key[:31])); len(got) != 0 {
		t.Errorf("%q in something else", got)
	}
}

// keyFile tells whether a file is one in which secrets are.
func keyFile(name string) bool {
	return strings.Contains(name, ".key") || strings.HasPrefix(name, "gossip.keys") || name == "vigil.token"
}

// keys takes all private keys and keys of gossip that there are now.
func (f *trustFleet) keys(s *secrets) (n int) {
	f.t.Helper()
	_ = filepath.WalkDir(f.dir, func(name string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() || !keyFile(d.Name()) {
			return nil // gone meanwhile
		}
		where, _ := filepath.Rel(f.dir, name)
		if info, err := d.Info(); err == nil && info.Mode().Perm()&0o077 != 0 {
			f.t.Errorf("%s: others may read it: %v", where, info.Mode())
		}
		text, err := os.ReadFile(name)
		if err != nil {
			return nil
		}
		for block, rest := pem.Decode(text); block != nil; block, rest = pem.Decode(rest) {
			if block.Type == "CERTIFICATE" {
				continue
			}
			key := privateKey(block.Bytes)
			if key == nil {
				f.t.Errorf("%s: a key that this test cannot read: %s", where, block.Type)
				continue
			}
			s.add(where, key)
			n++
		}
		return nil
	})
	for _, who := range []string{"s1", "s2", "s3", "h1"} {
		for _, key := range f.secrets(who) {
			s.add("gossip key of "+who, key)
		}
	}
	return n
}

// privateKey is the number that is secret in a key, nil: it is none.
func privateKey(der []byte) []byte {
	key, err := x509.ParseECPrivateKey(der)
	if err != nil {
		parsed, no := x509.ParsePKCS8PrivateKey(der)
		var ok bool
		if key, ok = parsed.(*ecdsa.PrivateKey); no != nil || !ok {
			return nil
		}
	}
	secret, err := key.Bytes()
	if err != nil {
		return nil
	}
	return secret
}

// lifeTokens takes the tokens of the agents that run, as they have them.
func (f *trustFleet) lifeTokens(s *secrets) (n int) {
	files, _ := filepath.Glob(filepath.Join(f.dir, "*", "lives", "*", "secrets", "vigil.token")) // the pattern is right
	for _, file := range files {
		if token, err := os.ReadFile(file); err == nil { // else it has ended
			s.add("token of a life", token)
			n++
		}
	}
	return n
}

var apiTokenForm = regexp.MustCompile(`vigil-api\.\d+\.([A-Za-z0-9_-]+)`)

// nowhere looks for secrets in all files but those of keys, in a backup and in everything that was printed.
// A token is printed once, by who makes it.
func (f *trustFleet) nowhere(s *secrets, printed ...*proc) {
	f.t.Helper()
	backup := filepath.Join(f.dir, "backup")
	f.until("admin", backup, "server", "snapshot", "save", backup) // a server that led may just have been removed
	f.untilFile(backup)
	looked := 0
	look := func(name string, text []byte) {
		looked++
		for _, found := range s.in(text) {
			f.t.Errorf("%s holds %s", name, found)
		}
	}
	err := filepath.WalkDir(f.dir, func(name string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() || keyFile(d.Name()) {
			return nil // gone meanwhile
		}
		if text, err := os.ReadFile(name); err == nil {
			look(name, text)
		}
		return nil
	})
	if err != nil || looked < 10 {
		f.t.Errorf("looked into %d files: %v", looked, err)
	}
	for _, p := range printed {
		look("the output of "+p.name, []byte(p.out.String()))
	}
	for _, c := range f.said {
		out := apiTokenForm.ReplaceAllString(tokenForm.ReplaceAllString(c.out, ""), "")
		look("the output of vigil "+strings.Join(c.args[:min(2, len(c.args))], " "), []byte(out))
	}
}

// tokens takes the secrets of all tokens that were printed, each by the command that made it.
func (f *trustFleet) tokens(s *secrets) (n int) {
	f.t.Helper()
	take := func(c said, text string) {
		secret, err := base64.RawURLEncoding.DecodeString(text)
		if err != nil {
			f.t.Errorf("the secret of a token is no base64: %v", err)
		}
		s.add("a token", secret)
		n++
		if verb := strings.Join(c.args[:2], " "); verb != "server init" && verb != "token create" && verb != "user add" {
			f.t.Errorf("vigil %s prints a token", verb)
		}
	}
	for _, c := range f.said {
		for _, token := range tokenForm.FindAllString(c.out, -1) {
			take(c, token[strings.LastIndexByte(token, '.')+1:])
		}
		for _, m := range apiTokenForm.FindAllStringSubmatch(c.out, -1) {
			take(c, m[1])
		}
	}
	return n
}

// unpackDebug makes an archive for strangers and lays what is in it where nowhere looks. It must hold the log,
// the figures and the profiles of each server, and none of these texts.
func (f *trustFleet) unpackDebug(texts ...string) {
	f.t.Helper()
	file, dir := filepath.Join(f.dir, "debug.tar.gz"), filepath.Join(f.dir, "debug")
	begun := time.Now()
	f.must("admin", "debug", "--out", file)
	if took := time.Since(begun); took > 30*time.Second {
		f.t.Errorf("vigil debug took %v", took)
	}
	if err := os.Mkdir(dir, 0o700); err != nil {
		f.t.Fatal(err)
	}
	if out, err := exec.Command("tar", "xzf", file, "-C", dir).CombinedOutput(); err != nil {
		f.t.Fatalf("%v: %s", err, out)
	}
	for _, name := range []string{"log.txt", "metrics.txt", "goroutines.pb.gz", "heap.pb.gz", "cpu.pb.gz", "config.yaml"} {
		if found, _ := filepath.Glob(filepath.Join(dir, "vigil-debug", "servers", "*", name)); len(found) != 3 {
			f.t.Errorf("%d servers have %s in the archive", len(found), name)
		}
	}
	for name, word := range map[string]string{"agents.json": `"name": "web/words"`, "rooms.json": `"name": "web"`,
		"settings.json": "watchdog_threshold", "servers.json": "logBytes", "agents-not-fine.json": "{"} {
		held, err := os.ReadFile(filepath.Join(dir, "vigil-debug", name))
		if spaced := strings.ReplaceAll(string(held), ":  ", ": "); err != nil || !strings.Contains(spaced, word) {
			f.t.Errorf("%s: %v, without %s: %s", name, err, word, held)
		}
	}
	err := filepath.WalkDir(dir, func(name string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		held, err := os.ReadFile(name)
		for _, text := range texts {
			if bytes.Contains(held, []byte(text)) {
				f.t.Errorf("%s holds %q", name, text)
			}
		}
		return err
	})
	if err != nil {
		f.t.Error(err)
	}
}

// A cluster with servers, a host, an agent, people and an API token, all of which are used, whose root and key
// of gossip are replaced, whose servers log every call: no private key and no secret of a token is in a file of
// the log, a snapshot, a backup, a list of refused calls, or anything that a command or a server has printed.
func TestSecretsAreNowhereButInTheirFiles(t *testing.T) {
	t.Parallel()
	f := foundFleet(t, "log_level: trace")
	agentd := f.work()
	defer func() { (&testFleet{t: t, dir: f.dir}).clear("h1", agentd) }()
	s := newSecrets()
	f.must("ben", "login",
		tokenForm.FindString(f.must("admin", "user", "add", "ben", "--role", "viewer", "--room", "web")),
		"--user", "ben")
	if out, err := f.as("ben", "server", "remove", "s3"); err == nil {
		t.Errorf("a viewer removes a server: %s", out)
	}
	f.programs()
	for _, id := range []string{"s2", "s3"} {
		f.untilFile(filepath.Join(f.dir, id, "trust", "issuer.key"))
	}
	f.until("admin", "All use key 1.", "gossip", "status")
	f.untilFile(filepath.Join(f.dir, "h1", "trust", "gossip.keys"))
	if n := f.keys(s); n < 9 { // root, three issuers, three servers, a host, two people
		t.Errorf("there are only %d keys", n)
	}
	f.newRoot()
	f.must("admin", "gossip", "rotate", "--wait", "--timeout", "90s")
	f.must("admin", "agent", "restart", "web/words")
	f.until("admin", "     2  h1", "agent", "list") // it is ordered, and starts
	lives := f.lifeTokens(s)
	for end := time.Now().Add(patience); lives == 0 && time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		lives = f.lifeTokens(s)
	}
	if keys, tokens := f.keys(s), f.tokens(s); keys < 9 || lives == 0 || tokens < 4 {
		t.Errorf("%d keys, %d tokens of lives, %d tokens", keys, lives, tokens)
	}
	for _, args := range []string{"status", "server list", "host list", "host show h1", "agent list",
		"agent show web/words", "room show web", "events", "events --audit", "identity list",
		"token list", "user list", "tls show", "root status",
		"gossip status", "settings show"} {
		f.must("admin", append(strings.Fields(args), "--json")...)
	}
	f.must("admin", "agent", "logs", "web/words")
	const title, text = "the title of a task that nobody may see", "the text of a mail that nobody may see"
	f.must("admin", "task", "create", "web/words", title)
	f.must("admin", "mail", "send", "web/words", text)
	f.unpackDebug(title, text)
	f.nowhere(s, append(f.servers, agentd)...)
	denied, err := filepath.Glob(filepath.Join(f.dir, "s*", "denials.jsonl"))
	if err != nil || len(denied) == 0 {
		t.Errorf("no refused call was listed: %v", err)
	}
}
