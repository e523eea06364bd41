package backup

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
)

// maxKeys bounds a file with credentials, in bytes.
const maxKeys = 64 << 10

var errNoKeys = errors.New("there are no credentials: give a credentials_file with [default], aws_access_key_id and " +
	"aws_secret_access_key, or set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY")

// keys reads the credentials, from where they are now. Errors hold nothing of them.
func (c *S3Config) keys() (aws.Credentials, error) {
	k := aws.Credentials{AccessKeyID: os.Getenv("AWS_ACCESS_KEY_ID"), SecretAccessKey: os.Getenv("AWS_SECRET_ACCESS_KEY"),
		SessionToken: os.Getenv("AWS_SESSION_TOKEN")}
	if c.Credentials != "" {
		var err error
		if k, err = readKeys(c.Credentials); err != nil {
			return k, fmt.Errorf("credentials: %w", err)
		}
	}
	if !k.HasKeys() {
		return aws.Credentials{}, errNoKeys
	}
	return k, nil
}

// readKeys reads the profile "default" of a file that only its owner can read.
func readKeys(name string) (k aws.Credentials, err error) {
	in, err := os.Open(name)
	if err != nil {
		return k, err
	}
	defer in.Close()
	info, err := in.Stat()
	if err != nil {
		return k, err
	}
	if info.Mode().Perm()&0o077 != 0 {
		return k, fmt.Errorf("others can read %s: chmod 600 it", name)
	}
	text, err := io.ReadAll(io.LimitReader(in, maxKeys))
	if err != nil {
		return k, err
	}
	fields := map[string]*string{"aws_access_key_id": &k.AccessKeyID, "aws_secret_access_key": &k.SecretAccessKey,
		"aws_session_token": &k.SessionToken}
	profile := ""
	for line := range strings.Lines(string(text)) {
		line = strings.TrimSpace(line)
		if strings.HasPrefix(line, "[") {
			profile = line
		}
		name, value, _ := strings.Cut(line, "=")
		if field := fields[strings.ToLower(strings.TrimSpace(name))]; field != nil && profile == "[default]" {
			*field = strings.TrimSpace(value)
		}
	}
	return k, nil
}
