package backup

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
)

// signed lets through what was signed with secretKey as Amazon's documents of version 4 of signatures ask, and
// whose body is what was signed.
func signed(t *testing.T, to http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		sum := sha256.Sum256(body)
		if want := signature(r, secretKey); !strings.HasSuffix(r.Header.Get("Authorization"), "Signature="+want) ||
			r.Header.Get("X-Amz-Content-Sha256") != hex.EncodeToString(sum[:]) {
			w.WriteHeader(http.StatusForbidden)
			_, _ = io.WriteString(w, `<?xml version="1.0"?><Error><Code>SignatureDoesNotMatch</Code></Error>`)
			return
		}
		to.ServeHTTP(w, r)
	})
}

// signature is what the request should be signed with: its canonical form, hashed with a key of the day.
func signature(r *http.Request, secret string) string {
	_, scope, _ := strings.Cut(r.Header.Get("Authorization"), "Credential=")
	scope, _, _ = strings.Cut(scope, ",")
	_, scope, _ = strings.Cut(scope, "/")
	_, names, _ := strings.Cut(r.Header.Get("Authorization"), "SignedHeaders=")
	names, _, _ = strings.Cut(names, ",")
	var canonical strings.Builder
	fmt.Fprintf(&canonical, "%s\n%s\n%s\n", r.Method, escaped(r.URL.Path, "/"), canonicalQuery(r.URL.Query()))
	for name := range strings.SplitSeq(names, ";") {
		value := r.Header.Get(name)
		switch name {
		case "host":
			value = r.Host
		case "content-length":
			value = fmt.Sprint(r.ContentLength)
		}
		fmt.Fprintf(&canonical, "%s:%s\n", name, strings.TrimSpace(value))
	}
	fmt.Fprintf(&canonical, "\n%s\n%s", names, r.Header.Get("X-Amz-Content-Sha256"))
	sum := sha256.Sum256([]byte(canonical.String()))
	text := fmt.Sprintf("AWS4-HMAC-SHA256\n%s\n%s\n%x", r.Header.Get("X-Amz-Date"), scope, sum)
	key := []byte("AWS4" + secret)
	for part := range strings.SplitSeq(scope, "/") {
		key = mac(key, part)
	}
	return hex.EncodeToString(mac(key, text))
}

func mac(key []byte, text string) []byte {
	h := hmac.New(sha256.New, key)
	h.Write([]byte(text))
	return h.Sum(nil)
}

// escaped leaves letters, digits and -._~ as they are, and what is left out.
func escaped(text, but string) string {
	var b strings.Builder
	for _, c := range []byte(text) {
		if strings.IndexByte(letters+but, c) >= 0 {
			b.WriteByte(c)
			continue
		}
		fmt.Fprintf(&b, "%%%02X", c)
	}
	return b.String()
}

func canonicalQuery(q url.Values) string {
	var list []string
	for name, values := range q {
		for _, v := range values {
			list = append(list, escaped(name, "")+"="+escaped(v, ""))
		}
	}
	slices.Sort(list)
	return strings.Join(list, "&")
}

// The example of Amazon's documents: a test of the test.
func TestSignatureIsThatOfTheDocuments(t *testing.T) {
	r, err := http.NewRequest(http.MethodGet, "https://examplebucket.s3.amazonaws.com/?max-keys=2&prefix=J", nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("X-Amz-Date", "20130524T000000Z")
	r.Header.Set("X-Amz-Content-Sha256", emptySum)
	r.Header.Set("Authorization", "AWS4-HMAC-SHA256 Credential=AKIAIOSFODNN7EXAMPLE/20130524/us-east-1/s3/aws4_request,"+
		"SignedHeaders=host;x-amz-content-sha256;x-amz-date,Signature=")
	const want = "34b48302e7b5fa45bde8084f4b7868a86f0a534bc59db6670ed5711ef69dc6f7"
	if got := signature(r, "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY"); got != want {
		t.Errorf("signature %s", got)
	}
}
