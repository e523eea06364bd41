//go:build unix

package backups

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"filippo.io/age"

	"vigil/cluster/backup"
	"vigil/cmd/vigil/cli"
	"vigil/cmd/vigil/term"
	"vigil/fsm"
)

// shelf is a directory with backups of the log indices 10, 20 and so on, and a configuration that names it.
type shelf struct {
	t      *testing.T
	dir    backup.Dir
	config string
	key    string // file with the private key
	tmp    string
	names  []backup.Name
}

func newShelf(t *testing.T, n int, clusters ...string) *shelf {
	t.Helper()
	key, err := age.GenerateX25519Identity()
	if err != nil {
		t.Fatal(err)
	}
	s := &shelf{t: t, dir: backup.Dir{Path: t.TempDir(), Server: "a"}, tmp: t.TempDir()}
	s.config, s.key = s.file("server.yaml", "id: a\nbackup: {to: "+s.dir.Path+"}\n"), s.file("key", key.String()+"\n")
	t.Setenv("TMPDIR", s.tmp)
	for i := range n {
		state := fsm.New()
		state.Apply(&fsm.Entry{Index: uint64(i+1) * 10})
		for _, cluster := range clusters {
			name, err := backup.Make(t.Context(), s.dir, cluster, state.Copy(), []age.Recipient{key.Recipient()},
				time.Unix(1_800_000_000, 0).Add(time.Duration(i)*time.Hour))
			if err != nil {
				t.Fatal(err)
			}
			s.names = append(s.names, name)
		}
	}
	return s
}

func (s *shelf) file(name, text string) string {
	s.t.Helper()
	name = filepath.Join(s.t.TempDir(), name)
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		s.t.Fatal(err)
	}
	return name
}

// run runs a command and looks that it leaves no file behind.
func (s *shelf) run(args ...string) (out string, err error) {
	s.t.Helper()
	var b bytes.Buffer
	a := &cli.App{Terminal: term.NewTerminal(strings.NewReader(""), &b, &b, os.Getenv), Getenv: os.Getenv,
		Addrs: []string{"127.0.0.1:1"}, Timeout: time.Second}
	a.JSON = slices.Contains(args, "json")
	cmd := NewCommand(a)
	cmd.SilenceErrors, cmd.SilenceUsage = true, true
	cmd.SetArgs(slices.DeleteFunc(args, func(s string) bool { return s == "json" }))
	err = cmd.ExecuteContext(s.t.Context())
	if left, e := os.ReadDir(s.tmp); e != nil || len(left) > 0 {
		s.t.Errorf("%v leaves %v behind: %v", args, left, e)
	}
	return b.String(), err
}

func TestListShowsTheNewestFirst(t *testing.T) {
	s := newShelf(t, 3, "prod")
	for _, where := range []string{"--config=" + s.config, "--from=" + s.dir.Path} {
		out, err := s.run("list", where)
		if err != nil || strings.Index(out, "30") > strings.Index(out, "20") || !strings.Contains(out, "prod") {
			t.Errorf("%s: %v\n%s", where, err, out)
		}
	}
	if out, err := s.run("list", "json", "--from="+s.dir.Path); err != nil || strings.Count(out, `"index"`) != 3 {
		t.Errorf("%v\n%s", err, out)
	}
}

// With the key a check restores in memory, without it the sum alone says what is damaged.
func TestCheckReadsEachBackup(t *testing.T) {
	s := newShelf(t, 2, "prod")
	from := "--from=" + s.dir.Path
	out, err := s.run("check", from)
	if err != nil || !strings.Contains(out, "give --identity") || !strings.Contains(out, "20") {
		t.Errorf("without a key: %v\n%s", err, out)
	}
	out, err = s.run("check", "--all", from, "--identity="+s.key)
	if err != nil || strings.Count(out, "whole; it restores") != 2 {
		t.Errorf("with the key: %v\n%s", err, out)
	}
	other, err := age.GenerateX25519Identity()
	if err != nil {
		t.Fatal(err)
	}
	if out, err = s.run("check", "10", from,
		"--identity="+s.file("other", other.String())); cli.ExitCode(err) != cli.ExitFailed ||
		strings.Contains(out, "whole") {
		t.Errorf("with another key: %v\n%s", err, out)
	}
	if err := os.Truncate(filepath.Join(s.dir.Path, s.names[0].String()), 100); err != nil {
		t.Fatal(err)
	}
	for _, key := range []string{"--identity=" + s.key, "--identity="} {
		if out, err = s.run("check", "--all", from, key); cli.ExitCode(err) != cli.ExitFailed ||
			strings.Count(out, "cut off or changed") != 1 || strings.Count(out, "whole") != 1 {
			t.Errorf("one is truncated, %s: %v\n%s", key, err, out)
		}
	}
}

// pruned is a target whose servers remove a backup as soon as another one is read.
type pruned struct {
	backup.Dir
	oldest backup.Name
}

func (p pruned) Open(ctx context.Context, n backup.Name) (io.ReadCloser, error) {
	if n != p.oldest {
		if err := p.Delete(ctx, p.oldest); err != nil {
			return nil, err
		}
	}
	return p.Dir.Open(ctx, n)
}

// A server that keeps so many backups and no more removes the oldest while a check reads the others: nothing is wrong.
// Who asks for that one is told that it is not there.
func TestCheckMindsNoBackupThatIsRemovedMeanwhile(t *testing.T) {
	s := newShelf(t, 3, "prod")
	list := slices.Clone(s.names)
	backup.ByIndex(list)
	from := pruned{s.dir, s.names[0]}
	var b bytes.Buffer
	a := &cli.App{Terminal: term.NewTerminal(strings.NewReader(""), &b, &b, os.Getenv)}
	if err := report(t.Context(), a, from, list, true, nil); err != nil || strings.Count(b.String(), "whole") != 2 ||
		strings.Count(b.String(), "removed meanwhile") != 1 {
		t.Errorf("%v\n%s", err, b.String())
	}
	if err := report(t.Context(), a, from, s.names[:1], false, nil); cli.ExitCode(err) != cli.ExitFailed {
		t.Errorf("one that is not there: %v", err)
	}
}

// Whatever cannot be restored is refused before any server is asked.
func TestRestoreLooksBeforeItAsks(t *testing.T) {
	s := newShelf(t, 2, "prod", "test")
	from, prod := "--from="+s.dir.Path, "--cluster=prod"
	if err := os.Truncate(filepath.Join(s.dir.Path, s.names[0].String()), 100); err != nil {
		t.Fatal(err)
	}
	for name, tt := range map[string]struct {
		args []string
		want string
	}{
		"without yes":     {[]string{"latest", from, prod}, "--yes"},
		"two clusters":    {[]string{"latest", from, "--yes"}, "choose one with --cluster"},
		"no key":          {[]string{"latest", from, prod, "--yes"}, "give --identity"},
		"a file of text":  {[]string{"latest", from, prod, "--yes", "--identity=" + s.config}, "holds no private key"},
		"no such index":   {[]string{"11", from, prod, "--yes"}, "there is no backup 11"},
		"no number":       {[]string{"../x", from, prod, "--yes"}, "write latest"},
		"a truncated one": {[]string{"10", from, prod, "--yes", "--identity=" + s.key}, "nothing was changed"},
		"no place":        {[]string{"latest", "--config=" + s.file("c", "id: a\n"), "--yes"}, "says nothing of backups"},
		"no server":       {[]string{"latest", from, prod, "--yes", "--identity=" + s.key}, "127.0.0.1:1"},
	} {
		out, err := s.run(append([]string{"restore"}, tt.args...)...)
		if err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %v, want %q\n%s", name, err, tt.want, out)
		}
		if name == "a truncated one" && !errors.Is(err, backup.ErrDamaged) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
