package backup

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"filippo.io/age"

	"vigil/fsm"
	"vigil/fsm/noun"
)

// newState is a state at an index, with a task of which a text is known.
func newState(t testing.TB, index uint64, text string) *fsm.State {
	t.Helper()
	s := fsm.New()
	for i, cmd := range []fsm.Command{
		fsm.ApplyRoom{Room: "web", Roles: []noun.RoleSpec{{Name: "builder"}}},
		fsm.CreateTask{Room: "web", Role: "builder", Title: "t", Text: text},
	} {
		for _, out := range s.Apply(&fsm.Entry{Index: index - 1 + uint64(i), Requests: []fsm.Request{{Cmd: cmd}}}).Outcomes {
			if out.Code != noun.OK {
				t.Fatalf("%T: %+v", cmd, out)
			}
		}
	}
	return s
}

func newKey(t testing.TB) *age.X25519Identity {
	t.Helper()
	key, err := age.GenerateX25519Identity()
	if err != nil {
		t.Fatal(err)
	}
	return key
}

// names lists a directory.
func names(t testing.TB, dir string) (list []string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		list = append(list, e.Name())
	}
	return list
}

var noon = time.Date(2026, 11, 26, 12, 0, 0, 0, time.UTC)

const secret = "the text of a task that nobody else may read"

// A backup is encrypted on its way, and restores to the same state with the key alone.
func TestMadeBackupIsTheStateForWhoHasTheKey(t *testing.T) {
	key, dir := newKey(t), Dir{Path: t.TempDir(), Server: "a"}
	state := newState(t, 42, secret)
	for _, to := range [][]age.Recipient{nil, {key.Recipient()}} {
		n, err := Make(t.Context(), dir, "prod", state.Copy(), to, noon)
		if err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(dir.Path, n.String())
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if info, _ := os.Stat(path); info.Mode().Perm() != 0o600 {
			t.Errorf("%s has mode %v", n, info.Mode())
		}
		if clear := bytes.Contains(text, []byte(secret)); clear != (to == nil) || n.Encrypted != (to != nil) {
			t.Errorf("%s holds the text of a task: %v", n, clear)
		}
		var stored bytes.Buffer
		if _, err := Fetch(t.Context(), dir, n, &stored); err != nil {
			t.Fatal(err)
		}
		in, err := Decrypt(n, &stored, []age.Identity{key})
		if err != nil {
			t.Fatal(err)
		}
		back, err := Load(in)
		if err != nil {
			t.Fatal(err)
		}
		if back.Hash() != state.Hash() || n.Index != 42 || n.Time() != noon {
			t.Errorf("%s holds another state", n)
		}
	}
	if list := names(t, dir.Path); len(list) != 2 {
		t.Errorf("left behind: %v", list)
	}
}

func TestWrongOrNoKeyOpensNothing(t *testing.T) {
	dir := Dir{Path: t.TempDir(), Server: "a"}
	n, err := Make(t.Context(), dir, "prod", newState(t, 2, secret).Copy(), []age.Recipient{newKey(t).Recipient()}, noon)
	if err != nil {
		t.Fatal(err)
	}
	open := func(keys ...age.Identity) error {
		in, err := dir.Open(t.Context(), n)
		if err != nil {
			t.Fatal(err)
		}
		defer in.Close()
		_, err = Decrypt(n, in, keys)
		return err
	}
	if err := open(); !errors.Is(err, ErrNoKey) {
		t.Errorf("without a key: %v", err)
	}
	var no *age.NoIdentityMatchError
	if err := open(newKey(t)); !errors.As(err, &no) {
		t.Errorf("with another key: %v", err)
	}
	if err := Verify(t.Context(), dir, n); err != nil {
		t.Errorf("its sum needs no key: %v", err)
	}
}

// A truncated file, and one of which a bit was changed, are found without a key.
func TestDamagedBackupIsFound(t *testing.T) {
	for name, damage := range map[string]func([]byte) []byte{
		"truncated": func(b []byte) []byte { return b[:len(b)-1] },
		"empty":     func([]byte) []byte { return nil },
		"a bit":     func(b []byte) []byte { b[len(b)/2] ^= 1; return b },
		"longer":    func(b []byte) []byte { return append(b, 0) },
	} {
		t.Run(name, func(t *testing.T) {
			dir := Dir{Path: t.TempDir(), Server: "a"}
			n, err := Make(t.Context(), dir, "prod", newState(t, 2, secret).Copy(), nil, noon)
			if err != nil {
				t.Fatal(err)
			}
			path := filepath.Join(dir.Path, n.String())
			text, err := os.ReadFile(path)
			if err == nil {
				err = os.WriteFile(path, damage(text), 0o600)
			}
			if err != nil {
				t.Fatal(err)
			}
			if err := Verify(t.Context(), dir, n); !errors.Is(err, ErrDamaged) {
				t.Errorf("got %v", err)
			}
		})
	}
}

// full is a target whose disk takes so many bytes and then no more.
type full struct {
	Target
	room int
}

type fullDraft struct {
	Draft
	room int
}

func (f full) Create(ctx context.Context, about int64) (Draft, error) {
	d, err := f.Target.Create(ctx, about)
	return &fullDraft{d, f.room}, err
}

func (d *fullDraft) Write(p []byte) (int, error) {
	n, err := d.Draft.Write(p[:min(d.room, len(p))])
	d.room -= n
	if err == nil && n < len(p) {
		err = syscall.ENOSPC
	}
	return n, err
}

// A full disk leaves nothing behind, and what was there stays.
func TestFullDiskLeavesNothingBehind(t *testing.T) {
	dir := Dir{Path: t.TempDir(), Server: "a"}
	state := newState(t, 2, strings.Repeat(secret, 1000))
	before, err := Make(t.Context(), dir, "prod", state.Copy(), nil, noon)
	if err != nil {
		t.Fatal(err)
	}
	for _, room := range []int{0, 1, 1000} {
		_, err := Make(t.Context(), full{dir, room}, "prod", state.Copy(), []age.Recipient{newKey(t).Recipient()},
			noon.Add(time.Hour))
		if !errors.Is(err, syscall.ENOSPC) {
			t.Errorf("with room for %d bytes: %v", room, err)
		}
	}
	if list := names(t, dir.Path); len(list) != 1 || list[0] != before.String() {
		t.Errorf("left: %v", list)
	}
}

func TestEndedContextEndsTheWork(t *testing.T) {
	dir := Dir{Path: t.TempDir(), Server: "a"}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Make(ctx, dir, "prod", newState(t, 2, secret).Copy(), nil, noon); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	if list := names(t, dir.Path); len(list) != 0 {
		t.Errorf("left: %v", list)
	}
}

func TestMissingDirectoryIsSaid(t *testing.T) {
	dir := Dir{Path: filepath.Join(t.TempDir(), "mnt"), Server: "a"}
	if _, err := dir.List(t.Context(), ""); err == nil || !strings.Contains(err.Error(), "mount") {
		t.Errorf("list: %v", err)
	}
	if _, err := Make(t.Context(), dir, "prod", newState(t, 2, secret).Copy(), nil, noon); err == nil {
		t.Error("a backup was made in a directory that is not there")
	}
	if _, err := os.Stat(dir.Path); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the directory was made: %v", err)
	}
}
