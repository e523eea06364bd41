package backup

import (
	"context"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws/signer/v4"
)

const (
	// answerLimit is how long storage may take to begin an answer, once it has the whole request.
	answerLimit = 2 * time.Minute
	// asks are the tries of a request, firstPause is before the second one.
	asks       = 3
	firstPause = 250 * time.Millisecond
	// maxPage bounds a page of a list, in bytes: 1000 keys of 1024 bytes, escaped. maxRefusal bounds an error.
	maxPage, maxRefusal = 8 << 20, 64 << 10
	// emptySum is the SHA-256 of nothing.
	emptySum = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
)

// request is one call of S3.
type request struct {
	method, key string // key empty: the bucket
	query       url.Values
	body        io.ReaderAt // of size bytes with the SHA-256 sum; nil: none
	size        int64
	sum         string
}

// refusal is how S3 says no.
type refusal struct {
	Code, Message string
	status        int
	region        string // where the bucket is, if the storage says so
}

func (r *refusal) Error() string {
	text := fmt.Sprintf("the storage refuses: %d %.100q, %.300q", r.status, r.Code, r.Message)
	switch {
	case r.status/100 == 3 && r.region != "":
		text += fmt.Sprintf(": set region to %.40q", r.region)
	case r.status/100 == 3:
		text += ": the bucket is elsewhere, set endpoint and region"
	case r.status == http.StatusForbidden:
		text += ": look at the credentials, at what they may do in this bucket, and at this machine's clock"
	}
	return text
}

// ask sends a request, and once more when it was lost or the storage is busy. The caller closes the body of the
// answer. No secret is in an error.
func (s *S3) ask(ctx context.Context, r request) (*http.Response, error) {
	for try, pause := 1, s.pause; ; try, pause = try+1, 2*pause {
		answer, err := s.askOnce(ctx, r)
		refused := (*refusal)(nil)
		if err == nil || try == asks || ctx.Err() != nil ||
			errors.As(err, &refused) && refused.status < 500 && refused.status != http.StatusTooManyRequests {
			return answer, err
		}
		select {
		case <-ctx.Done():
			return nil, err
		case <-time.After(pause):
		}
	}
}

// toPath makes of an escaped query an escaped path.
var toPath = strings.NewReplacer("%2F", "/", "+", "%20")

func (s *S3) askOnce(ctx context.Context, r request) (*http.Response, error) {
	keys, err := s.conf.keys()
	if err != nil {
		return nil, err
	}
	// The signature is over the path with all but letters, digits and -._~/ escaped, so it goes out like that.
	address := s.base + toPath.Replace(url.QueryEscape(strings.TrimSuffix("/"+s.conf.Bucket+"/"+r.key, "/")))
	if len(r.query) > 0 {
		address += "?" + r.query.Encode()
	}
	var body io.Reader // of nil: no body
	sum := emptySum
	if r.body != nil {
		body, sum = io.NewSectionReader(r.body, 0, r.size), r.sum
	}
	req, err := http.NewRequestWithContext(ctx, r.method, address, body)
	if err != nil {
		return nil, err
	}
	req.ContentLength = r.size
	req.Header.Set("Content-Type", "application/octet-stream")
	req.Header.Set("X-Amz-Content-Sha256", sum)
	signer := v4.NewSigner(func(o *v4.SignerOptions) { o.DisableURIPathEscaping = true })
	if err := signer.SignHTTP(ctx, keys, req, sum, "s3", s.conf.Region, time.Now()); err != nil {
		return nil, fmt.Errorf("sign request: %w", err)
	}
	answer, err := s.client.Do(req)
	if err != nil {
		return nil, err
	}
	if answer.StatusCode/100 == 2 {
		return answer, nil
	}
	defer answer.Body.Close()
	no := &refusal{status: answer.StatusCode, region: answer.Header.Get("X-Amz-Bucket-Region")}
	_ = xml.NewDecoder(io.LimitReader(answer.Body, maxRefusal)).Decode(no) // the status says enough
	return nil, no
}

// page is a part of a list.
type page struct {
	keys []string
	next string // asks for the next one; empty: it is the last
}

// page gives the keys in this folder that begin so.
func (s *S3) page(ctx context.Context, begin, from string) (p page, err error) {
	query := url.Values{"list-type": {"2"}, "delimiter": {"/"}, "encoding-type": {"url"}, "prefix": {begin}}
	if from != "" {
		query.Set("continuation-token", from)
	}
	answer, err := s.ask(ctx, request{method: http.MethodGet, query: query})
	if err != nil {
		return p, err
	}
	defer answer.Body.Close()
	var told struct {
		EncodingType          string
		IsTruncated           bool
		NextContinuationToken string
		Contents              []struct{ Key string }
	}
	if err := xml.NewDecoder(io.LimitReader(answer.Body, maxPage)).Decode(&told); err != nil {
		return p, fmt.Errorf("the storage gives no list: %w", err)
	}
	for _, c := range told.Contents {
		if told.EncodingType == "url" {
			if c.Key, err = url.QueryUnescape(c.Key); err != nil {
				return p, fmt.Errorf("the storage gives no list: %w", err)
			}
		}
		p.keys = append(p.keys, c.Key)
	}
	if told.IsTruncated {
		if p.next = told.NextContinuationToken; p.next == "" {
			return p, errors.New("the storage gives a part of the list, and no word about the rest")
		}
	}
	return p, nil
}
