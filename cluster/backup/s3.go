package backup

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"net/http"
	"net/url"
	"os"
	"path"
	"strings"
	"time"
)

// DefaultRegion of S3; without an endpoint Amazon's in the region is meant.
const DefaultRegion = "us-east-1"

// onePut is the greatest object that S3 takes in one request, which is all or nothing, in bytes.
const onePut = 5 << 30

// S3Config says where objects are. Bucket is required.
type S3Config struct {
	Bucket, Prefix   string // Prefix without slashes at its ends; empty: none
	Endpoint, Region string // empty: Amazon's in the region, DefaultRegion
	// Credentials is a file in the form of ~/.aws/credentials, profile "default", which only its owner can
	// read. Empty: the variables AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY and AWS_SESSION_TOKEN. Both are read
	// for each request, so a file may be replaced at any time.
	Credentials string
	Drafts      string // directory for drafts, beside the log: what is stored has to be known before it is sent
	// Free gives the bytes that are free there; nil: nobody asks.
	Free func(dir string) (uint64, error)
}

// S3 is a target in storage that speaks the protocol of S3, with the bucket in the path of addresses.
type S3 struct {
	conf   S3Config
	base   string        // https://host
	pause  time.Duration // before the second try of a request; doubles
	client *http.Client
}

// OpenS3 asks nothing over the network. Errors name the remedy, and hold no secret.
func OpenS3(conf S3Config) (*S3, error) {
	if conf.Region == "" {
		conf.Region = DefaultRegion
	}
	if conf.Endpoint == "" {
		conf.Endpoint = "https://s3." + conf.Region + ".amazonaws.com"
	}
	u, err := url.Parse(conf.Endpoint)
	if err != nil || u.Host == "" || u.Scheme != "https" && u.Scheme != "http" || u.User != nil ||
		strings.Trim(u.Path, "/") != "" {
		return nil, errors.New("the endpoint is no address: write https://host or https://host:port")
	}
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.ResponseHeaderTimeout = answerLimit
	return &S3{conf: conf, base: u.Scheme + "://" + u.Host, pause: firstPause, client: &http.Client{Transport: transport,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}}, nil
}

// Check tells whether there are credentials now.
func (s *S3) Check() error {
	_, err := s.conf.keys()
	return err
}

func (s *S3) key(name string) string { return path.Join(s.conf.Prefix, name) }

// List asks for names that begin as those of backups do, so a bucket full of others costs nothing.
func (s *S3) List(ctx context.Context, cluster string) ([]Name, error) {
	list := listing{cluster: cluster}
	folder := strings.TrimSuffix(s.key("x"), "x")
	for next := ""; ; {
		page, err := s.page(ctx, folder+prefix(cluster), next)
		if err != nil {
			return nil, s.failed("list backups", err)
		}
		for _, key := range page.keys {
			if err := list.add(strings.TrimPrefix(key, folder)); err != nil {
				return nil, s.failed("list backups", err)
			}
		}
		switch {
		case page.next == "":
			return list.names, nil
		case page.next == next:
			return nil, s.failed("list backups", errors.New("the storage gives the same page for ever"))
		}
		next = page.next
	}
}

// failed says what failed in which bucket.
func (s *S3) failed(what string, err error) error {
	return fmt.Errorf("%s in bucket %s: %w", what, s.conf.Bucket, err)
}

// Create begins a file on this machine, without a name as soon as it is open.
func (s *S3) Create(_ context.Context, about int64) (Draft, error) {
	if s.conf.Free != nil {
		want := besideLog(about)
		if free, err := s.conf.Free(s.conf.Drafts); err != nil || free < want {
			return nil, errors.Join(err, fmt.Errorf("write backup: %d MiB are free in %s and %d MiB are wanted: a draft of %d "+
				"MiB would take what the log needs: make room", free>>20, s.conf.Drafts, want>>20, about>>20))
		}
	}
	f, err := os.CreateTemp(s.conf.Drafts, "backup-*.tmp")
	if err != nil {
		return nil, fmt.Errorf("write backup: %w", err)
	}
	if err := os.Remove(f.Name()); err != nil {
		_ = f.Close()
		return nil, fmt.Errorf("write backup: %w", err)
	}
	return &s3Draft{File: f, to: s, hash: sha256.New()}, nil
}

type s3Draft struct {
	*os.File
	to   *S3
	hash hash.Hash // of what was written: it is in the signature of the request
	size int64
}

func (w *s3Draft) Write(p []byte) (int, error) {
	n, err := w.File.Write(p)
	w.size += int64(n)
	_, _ = w.hash.Write(p[:n]) // a hash takes everything
	return n, err
}

// Commit sends it, in one request.
func (w *s3Draft) Commit(ctx context.Context, n Name) error {
	if w.size > onePut {
		return w.to.failed("write backup", fmt.Errorf("it has %d MiB, and storage takes %d MiB in one piece: "+
			"make backups to a directory", w.size>>20, onePut>>20))
	}
	answer, err := w.to.ask(ctx, request{method: http.MethodPut, key: w.to.key(n.String()), body: w.File, size: w.size,
		sum: hex.EncodeToString(w.hash.Sum(nil))})
	if err != nil {
		return w.to.failed("write backup", err)
	}
	return answer.Body.Close()
}

func (w *s3Draft) Discard() { _ = w.Close() } // the file has no name any more

// Open reads an object.
func (s *S3) Open(ctx context.Context, n Name) (io.ReadCloser, error) {
	answer, err := s.ask(ctx, request{method: http.MethodGet, key: s.key(n.String())})
	if err != nil {
		return nil, s.failed("read backup", err)
	}
	return answer.Body, nil
}

// Delete removes an object.
func (s *S3) Delete(ctx context.Context, n Name) error {
	answer, err := s.ask(ctx, request{method: http.MethodDelete, key: s.key(n.String())})
	if refused := (*refusal)(nil); errors.As(err, &refused) && refused.Code == "NoSuchKey" {
		return nil
	}
	if err != nil {
		return s.failed("delete backup", err)
	}
	return answer.Body.Close()
}
