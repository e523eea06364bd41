package backup

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"path"
	"strings"

	"github.com/minio/minio-go/v7"
	"github.com/minio/minio-go/v7/pkg/credentials"
)

// Default place of S3.
const (
	DefaultEndpoint = "https://s3.amazonaws.com"
	DefaultRegion   = "us-east-1"
)

// onePut is the greatest object that S3 takes in one request, which is all or nothing.
const onePut = 5 << 30

// reserve stays free on the disk with the drafts, whatever a backup takes.
const reserve = 256 << 20

// S3Config says where objects are. Bucket is required.
type S3Config struct {
	Bucket, Prefix   string // Prefix without slashes at its ends; empty: none
	Endpoint, Region string // empty: DefaultEndpoint, DefaultRegion
	// Credentials is a file in the form of ~/.aws/credentials, profile "default", which only its owner can
	// read. Empty: the variables AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY.
	Credentials string
	Drafts      string // directory for drafts: what is stored has to be known before it is sent
	// Free gives the bytes that are free there; nil: nobody asks.
	Free func(dir string) (uint64, error)
}

// S3 is a target in storage that speaks the protocol of S3.
type S3 struct {
	conf   S3Config
	client *minio.Client
}

// OpenS3 asks nothing over the network. Errors name the remedy, and hold no secret.
func OpenS3(conf S3Config) (*S3, error) {
	if conf.Endpoint == "" {
		conf.Endpoint = DefaultEndpoint
	}
	if conf.Region == "" { // else the library asks for it
		conf.Region = DefaultRegion
	}
	u, err := url.Parse(conf.Endpoint)
	if err != nil || u.Host == "" || u.Scheme != "https" && u.Scheme != "http" || u.User != nil ||
		strings.Trim(u.Path, "/") != "" {
		return nil, errors.New("the endpoint is no address: write https://host or https://host:port")
	}
	creds := credentials.NewEnvAWS()
	if conf.Credentials != "" {
		info, err := os.Stat(conf.Credentials)
		switch {
		case err != nil:
			return nil, fmt.Errorf("credentials: %w", err)
		case info.Mode().Perm()&0o077 != 0:
			return nil, fmt.Errorf("credentials: others can read %s: chmod 600 it", conf.Credentials)
		}
		creds = credentials.NewFileAWSCredentials(conf.Credentials, "default")
	}
	if v, err := creds.GetWithContext(nil); err != nil || v.AccessKeyID == "" || v.SecretAccessKey == "" {
		return nil, errors.New("there are no credentials: give a credentials_file with [default], aws_access_key_id and " +
			"aws_secret_access_key, or set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY")
	}
	client, err := minio.New(u.Host, &minio.Options{Creds: creds, Secure: u.Scheme == "https", Region: conf.Region,
		MaxRetries: 3})
	if err != nil {
		return nil, fmt.Errorf("open S3: %w", err)
	}
	return &S3{conf: conf, client: client}, nil
}

func (s *S3) key(name string) string { return path.Join(s.conf.Prefix, name) }

// List asks for names that begin as those of backups do, so a bucket full of others costs nothing.
func (s *S3) List(ctx context.Context, cluster string) ([]Name, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel() // ends the library's listing
	list := listing{cluster: cluster}
	folder := strings.TrimSuffix(s.key("x"), "x")
	for o := range s.client.ListObjectsIter(ctx, s.conf.Bucket, minio.ListObjectsOptions{
		Prefix: folder + prefix(cluster)}) {
		if o.Err != nil {
			return nil, s.failed("list backups", o.Err)
		}
		if err := list.add(strings.TrimPrefix(o.Key, folder)); err != nil {
			return nil, s.failed("list backups", err)
		}
	}
	return list.names, nil
}

// failed says what failed in which bucket.
func (s *S3) failed(what string, err error) error {
	return fmt.Errorf("%s in bucket %s: %w", what, s.conf.Bucket, err)
}

// Create begins a file on this machine, without a name as soon as it is open.
func (s *S3) Create(_ context.Context, about int64) (Draft, error) {
	if s.conf.Free != nil {
		if free, err := s.conf.Free(s.conf.Drafts); err != nil || free < uint64(about)+reserve {
			return nil, errors.Join(err, fmt.Errorf("write backup: %d MiB are free in %s, a draft of %d MiB would fill the "+
				"disk: make room", free>>20, s.conf.Drafts, about>>20))
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
	return &s3Draft{File: f, to: s}, nil
}

type s3Draft struct {
	*os.File
	to *S3
}

// Commit sends it.
func (w *s3Draft) Commit(ctx context.Context, n Name) error {
	size, err := w.Seek(0, io.SeekCurrent)
	if err == nil {
		_, err = w.Seek(0, io.SeekStart)
	}
	if err != nil {
		return fmt.Errorf("write backup: %w", err)
	}
	_, err = w.to.client.PutObject(ctx, w.to.conf.Bucket, w.to.key(n.String()), w.File, size,
		minio.PutObjectOptions{ContentType: "application/octet-stream", DisableMultipart: size <= onePut})
	if err != nil {
		return w.to.failed("write backup", err)
	}
	return nil
}

func (w *s3Draft) Discard() { _ = w.Close() } // the file has no name any more

// Open reads an object.
func (s *S3) Open(ctx context.Context, n Name) (io.ReadCloser, error) {
	o, err := s.client.GetObject(ctx, s.conf.Bucket, s.key(n.String()), minio.GetObjectOptions{})
	if err != nil {
		return nil, s.failed("read backup", err)
	}
	return o, nil
}

// Delete removes an object.
func (s *S3) Delete(ctx context.Context, n Name) error {
	if err := s.client.RemoveObject(ctx, s.conf.Bucket, s.key(n.String()), minio.RemoveObjectOptions{}); err != nil {
		return s.failed("delete backup", err)
	}
	return nil
}
