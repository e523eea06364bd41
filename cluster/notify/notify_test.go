package notify

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"
)

const secret = "a secret of some length"

// A receiver can tell from the call alone that it comes from the cluster, when it was made
// and which notice it is.
func TestWebhookIsSigned(t *testing.T) {
	type call struct {
		header http.Header
		body   []byte
	}
	calls := make(chan call, 1)
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		calls <- call{r.Header, body}
		w.WriteHeader(http.StatusAccepted)
	}))
	defer srv.Close()
	if err := NewWebhook(srv.URL+"/hook?key=k", []byte(secret)).Send(t.Context(), "c1-7",
		[]byte(`{"id":"c1-7"}`)); err != nil {
		t.Fatal(err)
	}
	got := <-calls
	stamp := got.header.Get("X-Vigil-Timestamp")
	h := hmac.New(sha256.New, []byte(secret)) // as a receiver does it, without this package
	h.Write([]byte(stamp + "." + string(got.body)))
	if want := "sha256=" + hex.EncodeToString(h.Sum(nil)); got.header.Get("X-Vigil-Signature") != want {
		t.Errorf("signature %q, want %q", got.header.Get("X-Vigil-Signature"), want)
	}
	at, err := strconv.ParseInt(stamp, 10, 64)
	if age := time.Since(time.Unix(at, 0)); err != nil || age < 0 || age > time.Minute {
		t.Errorf("timestamp %q", stamp)
	}
	if got.header.Get("X-Vigil-Id") != "c1-7" || string(got.body) != `{"id":"c1-7"}` ||
		got.header.Get("Content-Type") != "application/json" {
		t.Errorf("%v %s", got.header, got.body)
	}
	if Sign([]byte(secret), stamp, []byte(`{"id":"c1-8"}`)) == got.header.Get("X-Vigil-Signature") ||
		Sign([]byte(secret), stamp+"1", got.body) == got.header.Get("X-Vigil-Signature") {
		t.Error("the signature covers neither body nor timestamp")
	}
}

// What goes wrong is said in words that hold neither the address nor the secret.
func TestWebhookFailures(t *testing.T) {
	release := make(chan struct{})
	elsewhere := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		t.Error("a signed call was redirected")
	}))
	defer elsewhere.Close()
	mux := http.NewServeMux()
	mux.HandleFunc("/500", func(w http.ResponseWriter, _ *http.Request) {
		http.Error(w, "no", http.StatusInternalServerError)
	})
	mux.HandleFunc("/moved", func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, elsewhere.URL, http.StatusTemporaryRedirect)
	})
	mux.HandleFunc("/hangs", func(_ http.ResponseWriter, r *http.Request) {
		select {
		case <-release:
		case <-r.Context().Done():
		}
	})
	srv := httptest.NewServer(mux)
	defer srv.Close()
	defer close(release)
	trusted := httptest.NewTLSServer(mux)
	defer trusted.Close()
	gone := httptest.NewServer(mux)
	gone.Close()
	for url, want := range map[string]string{
		srv.URL + "/500?key=hidden":   "status 500",
		srv.URL + "/moved?key=hidden": "status 307",
		trusted.URL + "/?key=hidden":  "its certificate is not trusted",
		gone.URL + "/?key=hidden":     "no connection",
	} {
		err := NewWebhook(url, []byte(secret)).Send(t.Context(), "c1-7", []byte("{}"))
		if err == nil || err.Error() != want {
			t.Errorf("%s: %v, want %s", url, err, want)
		}
	}
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if err := NewWebhook(srv.URL+"/hangs?key=hidden", []byte(secret)).Send(ctx, "c1-7",
		[]byte("{}")); err == nil || err.Error() != "no answer in time" {
		t.Errorf("a call that hangs: %v", err)
	}
}

func TestReadSecret(t *testing.T) {
	file := filepath.Join(t.TempDir(), "key")
	for text, ok := range map[string]bool{secret + "\n": true, "  \n": false, "too short": false} {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		got, err := ReadSecret(file)
		if (err == nil) != ok || ok && string(got) != secret {
			t.Errorf("%q is read as %q, %v", text, got, err)
		}
		if err != nil && strings.TrimSpace(text) != "" && strings.Contains(err.Error(), strings.TrimSpace(text)) {
			t.Errorf("the error holds the secret: %v", err)
		}
	}
	if _, err := ReadSecret(filepath.Join(t.TempDir(), "none")); err == nil {
		t.Error("a file that is not there is read")
	}
}
