package notify

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"crypto/tls"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strconv"
	"time"
)

// Headers of a webhook call.
const (
	HeaderID        = "X-Vigil-Id"        // of the notice; the same when it is sent again
	HeaderTimestamp = "X-Vigil-Timestamp" // seconds since 1970
	HeaderSignature = "X-Vigil-Signature" // see Sign
)

// MinSecret is the shortest secret of a webhook, in bytes.
const MinSecret = 16

// maxAnswer is how much of an answer is read before its connection is used again.
const maxAnswer = 64 << 10

// Webhook posts notices as JSON to a web address. Safe for concurrent use.
type Webhook struct {
	url    string
	secret []byte
	client *http.Client
}

// NewWebhook makes one; the caller has checked the address. It follows no redirection:
// what is signed for one address goes to no other.
func NewWebhook(url string, secret []byte) *Webhook {
	return &Webhook{url: url, secret: bytes.Clone(secret), client: &http.Client{
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}
}

// ReadSecret reads the secret of a webhook from a file: its text without white space
// around it, at least MinSecret bytes. The error names the file and never the secret.
// The file must be readable by no others.
func ReadSecret(file string) ([]byte, error) {
	info, err := os.Stat(file)
	if err != nil {
		return nil, err
	}
	if mode := info.Mode().Perm(); mode&0o027 != 0 {
		return nil, fmt.Errorf("%s has mode %#o, so that others read or write it: chmod 600 %s", file, mode, file)
	}
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	if text = bytes.TrimSpace(text); len(text) < MinSecret {
		return nil, fmt.Errorf("%s holds %d bytes, a secret needs at least %d: make one with "+
			"`openssl rand -hex 32`", file, len(text), MinSecret)
	}
	return text, nil
}

// Sign gives the signature of a call: "sha256=" and the HMAC-SHA256 in hexadecimal of the
// timestamp, a dot and the body. Whoever receives calls computes it anew, compares the two
// in constant time (hmac.Equal), refuses old timestamps, and drops ids that it has seen.
func Sign(secret []byte, timestamp string, body []byte) string {
	h := hmac.New(sha256.New, secret)
	h.Write([]byte(timestamp))
	h.Write([]byte{'.'})
	h.Write(body)
	return "sha256=" + hex.EncodeToString(h.Sum(nil))
}

// Send posts one notice. An answer of 200 to 299 says that it has been taken.
func (w *Webhook) Send(ctx context.Context, id string, body []byte) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, w.url, bytes.NewReader(body))
	if err != nil {
		return errors.New("its address is wrong")
	}
	stamp := strconv.FormatInt(time.Now().Unix(), 10)
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("User-Agent", "vigil")
	req.Header.Set(HeaderID, id)
	req.Header.Set(HeaderTimestamp, stamp)
	req.Header.Set(HeaderSignature, Sign(w.secret, stamp, body))
	resp, err := w.client.Do(req)
	if err != nil {
		return reasonOf(ctx, err)
	}
	defer func() { _ = resp.Body.Close() }()                         // it was read
	_, _ = io.Copy(io.Discard, io.LimitReader(resp.Body, maxAnswer)) // what it says decides nothing
	if resp.StatusCode < 200 || resp.StatusCode > 299 {
		return fmt.Errorf("status %d", resp.StatusCode)
	}
	return nil
}

// reasonOf says why there is no answer. The error itself names the address, which may
// hold a secret.
func reasonOf(ctx context.Context, err error) error {
	var name *net.DNSError
	var trust *tls.CertificateVerificationError
	var wait net.Error
	switch {
	case ctx.Err() != nil, errors.As(err, &wait) && wait.Timeout():
		return errors.New("no answer in time")
	case errors.As(err, &name):
		return errors.New("the name of its host is not known")
	case errors.As(err, &trust):
		return errors.New("its certificate is not trusted")
	}
	return errors.New("no connection")
}
