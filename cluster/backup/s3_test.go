package backup

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"filippo.io/age"
	"github.com/johannesboyne/gofakes3"
	"github.com/johannesboyne/gofakes3/backend/s3mem"
)

const secretKey = "wJalrXUtnFEMI-nobody-may-see-this"

// openFake opens a target at a server of S3 in this process, which checks signatures.
func openFake(t *testing.T, change func(*S3Config)) (*S3, gofakes3.Backend, *httptest.Server) {
	t.Helper()
	objects := s3mem.New()
	if err := objects.CreateBucket("vault"); err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(signed(t, gofakes3.New(objects).Server()))
	t.Cleanup(server.Close)
	file := filepath.Join(t.TempDir(), "credentials")
	text := "[default]\naws_access_key_id = AKIDEXAMPLE\naws_secret_access_key = " + secretKey + "\n"
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	conf := S3Config{Bucket: "vault", Prefix: "deep/er (it's ours!)*", Endpoint: server.URL,
		Credentials: file, Drafts: t.TempDir()}
	if change != nil {
		change(&conf)
	}
	s, err := OpenS3(conf)
	if err != nil {
		t.Fatal(err)
	}
	s.pause = time.Millisecond
	return s, objects, server
}

// put puts an object of somebody else.
func put(t *testing.T, to gofakes3.Backend, key, text string) {
	t.Helper()
	if _, err := to.PutObject("vault", key, map[string]string{}, strings.NewReader(text),
		int64(len(text)), nil); err != nil {
		t.Fatal(err)
	}
}

// A backup goes to storage and comes back, through a bucket full of the objects of others.
func TestS3BackupComesBack(t *testing.T) {
	s, objects, _ := openFake(t, nil)
	for i := range 2500 {
		put(t, objects, fmt.Sprintf(s.key("report-%d"), i), "x")
		put(t, objects, fmt.Sprintf(s.key("vigil-prod-%d.snap"), i), "x")
	}
	put(t, objects, s.key("vigil-prod-/x"), "x")
	put(t, objects, "deep/"+at(9).String(), "x")
	key := newKey(t)
	state := newState(t, 42, strings.Repeat(secret, 5000))
	n, err := Make(t.Context(), s, "prod", state.Copy(), []age.Recipient{key.Recipient()}, noon)
	if err != nil {
		t.Fatal(err)
	}
	for _, cluster := range []string{"prod", ""} {
		if list, err := s.List(t.Context(), cluster); err != nil || len(list) != 1 || list[0] != n {
			t.Fatalf("listed %v, %v", list, err)
		}
	}
	var stored bytes.Buffer
	if _, err := Fetch(t.Context(), s, n, &stored); err != nil {
		t.Fatal(err)
	}
	in, err := Decrypt(n, &stored, []age.Identity{key})
	if err != nil {
		t.Fatal(err)
	}
	if back, err := Load(in); err != nil || back.Hash() != state.Hash() {
		t.Errorf("another state came back: %v", err)
	}
	if left := names(t, s.conf.Drafts); len(left) != 0 {
		t.Errorf("drafts left: %v", left)
	}
	for range 2 {
		if err := s.Delete(t.Context(), n); err != nil {
			t.Error(err)
		}
	}
	if list, err := s.List(t.Context(), ""); err != nil || len(list) != 0 {
		t.Errorf("after it was deleted: %v, %v", list, err)
	}
	if o, err := objects.HeadObject("vault", "deep/"+at(9).String()); err != nil || o == nil {
		t.Errorf("the object of somebody else is gone: %v", err)
	}
}

func TestS3DamageIsFound(t *testing.T) {
	s, objects, _ := openFake(t, nil)
	n, err := Make(t.Context(), s, "prod", newState(t, 2, secret).Copy(), nil, noon)
	if err != nil {
		t.Fatal(err)
	}
	in, err := s.Open(t.Context(), n)
	if err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(in)
	if err != nil {
		t.Fatal(err)
	}
	put(t, objects, s.key(n.String()), string(text[:len(text)-1]))
	if err := Verify(t.Context(), s, n); !errors.Is(err, ErrDamaged) {
		t.Errorf("got %v", err)
	}
}

// What goes wrong is told without the key.
func TestS3ErrorsHoldNoSecret(t *testing.T) {
	_, _, server := openFake(t, nil)
	away, _, gone := openFake(t, nil)
	gone.Close()
	denied := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusForbidden)
	}))
	defer denied.Close()
	other, _, _ := openFake(t, func(c *S3Config) { c.Endpoint, c.Bucket = server.URL, "nowhere" })
	shut, _, _ := openFake(t, func(c *S3Config) { c.Endpoint = denied.URL })
	for name, s := range map[string]*S3{"no bucket": other, "denied": shut, "no server": away} {
		for what, err := range map[string]error{
			"list": func() error { _, err := s.List(t.Context(), "prod"); return err }(),
			"make": func() error {
				_, err := Make(t.Context(), s, "prod", newState(t, 2, secret).Copy(), nil, noon)
				return err
			}(),
			"read": Verify(t.Context(), s, at(1)),
		} {
			if err == nil || strings.Contains(err.Error(), secretKey) || strings.Contains(err.Error(), secret) {
				t.Errorf("%s, %s: %v", name, what, err)
			}
		}
		if left := names(t, s.conf.Drafts); len(left) != 0 {
			t.Errorf("%s: drafts left: %v", name, left)
		}
	}
}

// A draft leaves the log beside it what a backup into a directory there would leave it.
func TestS3DraftDoesNotFillTheDisk(t *testing.T) {
	for name, tt := range map[string]struct {
		about int64
		free  uint64
		fits  bool
	}{
		"a small one that leaves less than the log's reserve": {1 << 20, logReserve, false},
		"a small one that leaves it":                          {1 << 20, 1<<20 + logReserve, true},
		"a great one that leaves less than twice its size":    {1 << 30, 1<<30 + 300<<20, false},
		"a great one that leaves it":                          {1 << 30, 3 << 30, true},
	} {
		s, _, _ := openFake(t, func(c *S3Config) { c.Free = func(string) (uint64, error) { return tt.free, nil } })
		d, err := s.Create(t.Context(), tt.about)
		if err == nil {
			d.Discard()
		}
		if tt.fits != (err == nil) || err != nil && !strings.Contains(err.Error(), "make room") {
			t.Errorf("%s: got %v", name, err)
		}
	}
	s, _, _ := openFake(t, func(c *S3Config) { c.Free = func(string) (uint64, error) { return logReserve, nil } })
	_, err := Make(t.Context(), s, "prod", newState(t, 2, secret).Copy(), nil, noon)
	if err == nil || !strings.Contains(err.Error(), "make room") {
		t.Errorf("made: %v", err)
	}
}

func TestS3ConfigurationIsChecked(t *testing.T) {
	t.Setenv("AWS_ACCESS_KEY_ID", "")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "")
	file := func(text string, mode os.FileMode) string {
		name := filepath.Join(t.TempDir(), "credentials")
		if err := os.WriteFile(name, []byte(text), mode); err != nil {
			t.Fatal(err)
		}
		return name
	}
	good := "[default]\naws_access_key_id = a\naws_secret_access_key = " + secretKey + "\n"
	for name, tt := range map[string]struct {
		conf S3Config
		want string
	}{
		"no credentials":      {S3Config{}, "there are no credentials"},
		"no file":             {S3Config{Credentials: "/nowhere/x"}, "no such file"},
		"others read it":      {S3Config{Credentials: file(good, 0o644)}, "chmod 600"},
		"another form":        {S3Config{Credentials: file("a:"+secretKey, 0o600)}, "there are no credentials"},
		"no address":          {S3Config{Credentials: file(good, 0o600), Endpoint: "s3.example"}, "https://host"},
		"a path":              {S3Config{Credentials: file(good, 0o600), Endpoint: "https://s3.example/x"}, "https://host"},
		"a password in it":    {S3Config{Credentials: file(good, 0o600), Endpoint: "https://a:b@s3.example"}, "https://host"},
		"another way than it": {S3Config{Credentials: file(good, 0o600), Endpoint: "ftp://s3.example"}, "https://host"},
	} {
		tt.conf.Bucket = "vault"
		s, err := OpenS3(tt.conf)
		if err == nil {
			err = s.Check()
		}
		if err == nil || !strings.Contains(err.Error(), tt.want) ||
			strings.Contains(err.Error(), secretKey) {
			t.Errorf("%s: %v, want %q", name, err, tt.want)
		}
	}
	if s, err := OpenS3(S3Config{Bucket: "vault", Credentials: file(good, 0o600)}); err != nil || s.Check() != nil {
		t.Error(err)
	}
}

// A storage that is busy is asked again, a backup is whole then; one that refuses is not asked again.
func TestS3IsAskedAgainWhenItIsBusy(t *testing.T) {
	objects := s3mem.New()
	if err := objects.CreateBucket("vault"); err != nil {
		t.Fatal(err)
	}
	fake, asked, busy := signed(t, gofakes3.New(objects).Server()), 0, 2
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if asked++; asked <= busy {
			w.WriteHeader(http.StatusServiceUnavailable)
			return
		}
		fake.ServeHTTP(w, r)
	}))
	defer server.Close()
	s, _, _ := openFake(t, func(c *S3Config) { c.Endpoint = server.URL })
	n, err := Make(t.Context(), s, "prod", newState(t, 2, secret).Copy(), nil, noon)
	if err != nil || asked != 4 { // twice busy, the backup, and it is read back
		t.Fatalf("asked %d times: %v", asked, err)
	}
	if asked, busy = 0, 9; s.Delete(t.Context(), n) == nil || asked != asks {
		t.Errorf("a busy storage was asked %d times", asked)
	}
	s.conf.Bucket = "nowhere"
	if asked, busy = 0, 0; s.Delete(t.Context(), n) == nil || asked != 1 {
		t.Errorf("a storage without the bucket was asked %d times", asked)
	}
}

// Whatever a storage answers, a list ends.
func TestS3ListEnds(t *testing.T) {
	for name, page := range map[string]string{
		"no list":     "<html>",
		"no end":      strings.Repeat("<a>", maxPage),
		"no token":    "<L><IsTruncated>true</IsTruncated></L>",
		"one for all": "<L><IsTruncated>true</IsTruncated><NextContinuationToken>x</NextContinuationToken></L>",
		"odd key":     "<L><EncodingType>url</EncodingType><Contents><Key>%zz</Key></Contents></L>",
	} {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			_, _ = io.WriteString(w, page)
		}))
		s, _, _ := openFake(t, func(c *S3Config) { c.Endpoint = server.URL })
		if list, err := s.List(t.Context(), ""); err == nil {
			t.Errorf("%s: %v", name, list)
		}
		server.Close()
	}
}

// A bucket that is elsewhere is named with the remedy, and what a storage says is bounded and quoted.
func TestS3RefusalNamesTheRemedy(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("X-Amz-Bucket-Region", "eu-west-7")
		w.Header().Set("Location", "http://127.0.0.1:1/")
		w.WriteHeader(http.StatusMovedPermanently)
		_, _ = io.WriteString(w, "<Error><Code>PermanentRedirect</Code><Message>\n"+
			strings.Repeat("x", 5000)+"</Message></Error>")
	}))
	defer server.Close()
	s, _, _ := openFake(t, func(c *S3Config) { c.Endpoint = server.URL })
	_, err := s.List(t.Context(), "")
	if err == nil || !strings.Contains(err.Error(), `set region to "eu-west-7"`) || len(err.Error()) > 600 ||
		strings.Contains(err.Error(), "\n") {
		t.Errorf("got %v", err)
	}
}
