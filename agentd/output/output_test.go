package output

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"
	"unicode/utf8"
)

func openLog(t *testing.T, config Config) *Log {
	t.Helper()
	config.Dir = t.TempDir()
	d := NewDir(config)
	t.Cleanup(d.Close)
	l, err := d.Log("demo/builder.2")
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func TestRotationKeepsSizeAndNumber(t *testing.T) {
	l := openLog(t, Config{MaxBytes: 100, Keep: 2})
	for i := range 100 {
		fmt.Fprintf(l, "line %03d\n", i) // 9 bytes
	}
	files, _ := filepath.Glob(l.Path() + "*")
	if len(files) != 3 {
		t.Errorf("files %v", files)
	}
	for _, f := range files {
		info, err := os.Stat(f)
		if err != nil || info.Size() > 100 || info.Mode().Perm() != 0o600 {
			t.Errorf("%s: %v %v", f, info, err)
		}
	}
}

func TestLastLines(t *testing.T) {
	l := openLog(t, Config{MaxBytes: 100, Keep: 3})
	var all []string
	for i := range 25 {
		line := fmt.Sprintf("line %03d\n", i)
		all = append(all, line)
		l.Write([]byte(line))
	}
	l.Write([]byte("no end"))
	all = append(all, "no end")
	for n := range 26 {
		var got bytes.Buffer
		err := l.Read(context.Background(), n, false, func(p []byte) error { got.Write(p); return nil })
		if want := strings.Join(all[26-n:], ""); err != nil || got.String() != want {
			t.Errorf("last %d: %q, want %q (%v)", n, got.String(), want, err)
		}
	}
}

// A follower that is slower than the rotation is told so and goes on.
func TestOvertakenFollower(t *testing.T) {
	l := openLog(t, Config{MaxBytes: 100, Keep: 1})
	l.Write([]byte("first\n"))
	var got strings.Builder
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	err := l.Read(ctx, 10, true, func(p []byte) error {
		got.Write(p)
		if strings.HasSuffix(got.String(), "line 099\n") {
			cancel()
		}
		if got.String() == "first\n" {
			for i := range 100 {
				fmt.Fprintf(l, "line %03d\n", i)
			}
		}
		return nil
	})
	if !errors.Is(err, context.Canceled) || !strings.Contains(got.String(), "skipped") ||
		strings.Contains(got.String(), "line 050") {
		t.Errorf("%v: %q", err, got.String())
	}
}

func TestFollowFromBeforeTheFirstByte(t *testing.T) {
	l := openLog(t, Config{})
	ctx, cancel := context.WithCancel(context.Background())
	got := make(chan string, 10)
	done := make(chan error, 1)
	go func() {
		done <- l.Read(ctx, 10, true, func(p []byte) error { got <- string(p); return nil })
	}()
	l.Write([]byte("hello\n"))
	if s := <-got; s != "hello\n" {
		t.Errorf("got %q", s)
	}
	cancel()
	if err := <-done; !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

// A disk that refuses bytes costs output, not agents.
func TestRefusedBytesAreCounted(t *testing.T) {
	l := openLog(t, Config{})
	folder := filepath.Dir(l.Path())
	if err := os.WriteFile(folder, nil, 0o600); err != nil { // a file where the folder should be
		t.Fatal(err)
	}
	if n, err := l.Write([]byte("lost\n")); n != 5 || err != nil {
		t.Errorf("Write: %d, %v", n, err)
	}
	if err := os.Remove(folder); err != nil {
		t.Fatal(err)
	}
	l.Write([]byte("kept\n"))
	text, err := os.ReadFile(l.Path())
	if err != nil || !strings.Contains(string(text), "5 bytes of output were lost") ||
		!strings.HasSuffix(string(text), "\nkept\n") {
		t.Errorf("%v: %q", err, text)
	}
}

// A log that somebody removes, or moves away to rotate it in their own way, goes on in a new file within a second.
func TestLogThatIsTakenAwayGoesOn(t *testing.T) {
	for name, take := range map[string]func(path string) error{
		"removed": os.Remove,
		"moved":   func(path string) error { return os.Rename(path, path+".old") },
		"replaced": func(path string) error {
			return errors.Join(os.Remove(path), os.WriteFile(path, []byte("mine\n"), 0o600))
		},
		"folder": func(path string) error { return os.RemoveAll(filepath.Dir(path)) },
	} {
		synctest.Test(t, func(t *testing.T) {
			l := openLog(t, Config{})
			l.Write([]byte("before\n"))
			if err := take(l.Path()); err != nil {
				t.Fatal(err)
			}
			time.Sleep(lookEvery) // in no time: the clock is the test's
			l.Write([]byte("after\n"))
			l.Write([]byte("later\n"))
			want := "after\nlater\n"
			if name == "replaced" {
				want = "mine\n" + want
			}
			if text, err := os.ReadFile(l.Path()); err != nil || string(text) != want {
				t.Errorf("%s: %v: %q, want %q", name, err, text, want)
			}
			if s, err := l.Stamp(); err != nil || !s.Same(s) {
				t.Errorf("%s: a look does not find it: %v", name, err)
			}
			l.close()
		})
	}
}

// A log that is where it was is not opened anew, and its size stays known for the rotation.
func TestLogThatStaysIsKeptOpen(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := openLog(t, Config{MaxBytes: 100, Keep: 1})
		l.Write([]byte("first\n"))
		file := l.file
		time.Sleep(lookEvery)
		l.Write([]byte("second\n"))
		if l.file != file || l.size != int64(len("first\nsecond\n")) {
			t.Errorf("%d bytes, opened anew: %v", l.size, l.file != file)
		}
		l.close()
	})
}

func TestNamesCannotLeaveTheFolder(t *testing.T) {
	d := NewDir(Config{Dir: t.TempDir()})
	for _, name := range []string{"", "a", "../a", "a/..", "a/../b", "a/b/c", "/a", "a/", "a/.b", "a/b\x00"} {
		if _, err := d.Log(name); err == nil {
			t.Errorf("%q was accepted", name)
		}
	}
}

func FuzzTail(f *testing.F) {
	f.Add([]byte("a\nb\xff\n"), uint8(3))
	f.Add(bytes.Repeat([]byte("é"), 40), uint8(7))
	f.Fuzz(func(t *testing.T, p []byte, size uint8) {
		tail := Tail{Max: int(size)%32 + 1}
		for len(p) > 0 {
			n := min(len(p), 1+int(p[0])%9)
			tail.Write(p[:n])
			p = p[n:]
		}
		if s := tail.String(); len(s) > tail.Max || !utf8.ValidString(s) {
			t.Errorf("tail %q of %d bytes", s, len(s))
		}
	})
}

// A writer in another process rotates under the reader's feet: no line is lost or
// doubled for a follower that keeps up with the files.
func TestFollowAWriterElsewhere(t *testing.T) {
	config := Config{Dir: t.TempDir(), MaxBytes: 400, Keep: 100}
	writer, reader := NewDir(config), NewDir(config)
	defer writer.Close()
	defer reader.Close()
	to, err := writer.Log("demo/a")
	if err != nil {
		t.Fatal(err)
	}
	from, err := reader.Log("demo/a")
	if err != nil {
		t.Fatal(err)
	}
	const lines = 4000
	fmt.Fprintf(to, "line %05d\n", 0)
	go func() {
		for i := 1; i < lines; i++ {
			fmt.Fprintf(to, "line %05d\n", i)
		}
	}()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var got strings.Builder
	err = from.Read(ctx, 10, true, func(p []byte) error {
		got.Write(p)
		if strings.Contains(got.String(), fmt.Sprintf("line %05d\n", lines-1)) {
			cancel()
		}
		return nil
	})
	if !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	// It may be overtaken by more files than are kept, and then says so.
	last := -1
	for line := range strings.Lines(got.String()) {
		var n int
		if _, err := fmt.Sscanf(line, "line %d", &n); err != nil {
			last = -1
			continue
		}
		if last >= 0 && n != last+1 {
			t.Fatalf("line %d after line %d", n, last)
		}
		last = n
	}
}
