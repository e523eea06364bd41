//go:build unix

package conf

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"sync/atomic"
	"time"

	"github.com/goccy/go-yaml/token"

	"vigil/cluster/duty"
	"vigil/cluster/notify"
	"vigil/fsm/noun"
	"vigil/rpc/door"
)

// Range of a notifier's timeout.
const (
	minNotifyTimeout = 100 * time.Millisecond
	maxNotifyTimeout = 5 * time.Minute
)

var (
	notifierName = regexp.MustCompile(`^[a-z0-9][a-z0-9_-]{0,63}$`)
	mailTarget   = regexp.MustCompile(`^[a-z0-9][a-z0-9_-]{0,63}/[a-z0-9][a-z0-9_-]{0,63}(\.[1-9][0-9]{0,4})?$`)
)

// notifyFile is one notifier of a server's file; configs/server.yaml explains every key.
type notifyFile struct {
	Name    textValue    `yaml:"name"`
	Webhook *webhookFile `yaml:"webhook"`
	Command *commandFile `yaml:"command"`
	Mail    *mailFile    `yaml:"mail"`
	Timeout spanValue    `yaml:"timeout"`

	place func(at *token.Token, message string) error
}

type webhookFile struct {
	URL        textValue `yaml:"url"`
	SecretFile textValue `yaml:"secret_file"`
}

type commandFile struct {
	Program textValue   `yaml:"program"`
	Args    []textValue `yaml:"args"`
}

type mailFile struct {
	To textValue `yaml:"to"`
}

// checkNotify tells the first mistake that the file alone shows.
func (f *Server) checkNotify(file, text string) error {
	if len(f.Notify) > noun.MaxNotifiers {
		return placed(file, text, f.Notify[noun.MaxNotifiers].Name.at,
			fmt.Sprintf("%d notifiers are too many: at most %d are allowed", len(f.Notify), noun.MaxNotifiers))
	}
	seen := map[string]bool{}
	for i := range f.Notify {
		n := &f.Notify[i]
		n.place = func(at *token.Token, message string) error { return placed(file, text, at, message) }
		if err := n.check(); err != nil {
			return err
		}
		if seen[n.Name.text] {
			return n.wrong(n.Name.at,
				"there are two of this name: give each its own, since deliveries are noted under it")
		}
		seen[n.Name.text] = true
	}
	return nil
}

// wrong is a mistake at a place of the file.
func (n *notifyFile) wrong(at *token.Token, format string, args ...any) error {
	name := "notify: "
	if n.Name.text != "" {
		name += fmt.Sprintf("%q: ", n.Name.text)
	}
	if at == nil {
		at = n.Name.at
	}
	return n.place(at, name+fmt.Sprintf(format, args...))
}

func (n *notifyFile) check() error {
	ways := 0
	for _, there := range []bool{n.Webhook != nil, n.Command != nil, n.Mail != nil} {
		if there {
			ways++
		}
	}
	switch {
	case !notifierName.MatchString(n.Name.text):
		return n.wrong(n.Name.at,
			"each entry needs a name of 1 to 64 of a-z, 0-9, _ and -: write for instance name: pager")
	case ways != 1:
		return n.wrong(n.Name.at, "it has %d of webhook, command and mail: write exactly one", ways)
	case n.Timeout.at != nil && (n.Timeout.Span < minNotifyTimeout || n.Timeout.Span > maxNotifyTimeout):
		return n.wrong(n.Timeout.at, "timeout %s is out of range: write %s to %s", n.Timeout.Span,
			minNotifyTimeout, maxNotifyTimeout)
	case n.Webhook != nil:
		return n.checkWebhook()
	case n.Command != nil && !filepath.IsAbs(n.Command.Program.text):
		return n.wrong(n.Command.Program.at,
			"command.program %q: give its whole path, for instance /usr/local/bin/page; no shell looks for it",
			n.Command.Program.text)
	case n.Mail != nil && !mailTarget.MatchString(n.Mail.To.text):
		return n.wrong(n.Mail.To.at, "mail.to %q: give a role or an agent, for instance ops/oncall", n.Mail.To.text)
	}
	return nil
}

func (n *notifyFile) checkWebhook() error {
	// The address may hold a secret, so it is in no message.
	u, err := url.Parse(n.Webhook.URL.text)
	switch {
	case err != nil || u.Scheme != "https" && u.Scheme != "http" || u.Host == "":
		return n.wrong(n.Webhook.URL.at, "webhook.url is no address: write https://host/path")
	case u.User != nil:
		return n.wrong(n.Webhook.URL.at,
			"webhook.url holds a user or a password: leave it out, calls are signed with secret_file")
	case u.Scheme == "http" && !door.Loopback(hostPort(u)):
		return n.wrong(n.Webhook.URL.at, "webhook.url goes over the network without TLS: write https://")
	case n.Webhook.SecretFile.text == "":
		return n.wrong(n.Webhook.URL.at,
			"webhook.secret_file is missing: name a file with at least %d bytes "+
				"that the receiver knows too, `openssl rand -hex 32` makes one", notify.MinSecret)
	}
	if _, err := http.NewRequest(http.MethodPost, n.Webhook.URL.text, nil); err != nil {
		return n.wrong(n.Webhook.URL.at, "webhook.url is no address: write https://host/path")
	}
	return nil
}

// hostPort gives a URL's host with a port, as loopback wants it.
func hostPort(u *url.URL) string {
	if u.Port() == "" {
		return u.Host + ":80"
	}
	return u.Host
}

// open makes the notifier; its error tells what the machine lacks for it: it is opened again by each try then.
func (n *notifyFile) open(r duty.Replica) (duty.Notifier, error) {
	out := duty.Notifier{Name: n.Name.text, Timeout: n.Timeout.Span}
	switch {
	case n.Webhook != nil:
		secret, err := notify.ReadSecret(n.Webhook.SecretFile.text)
		if err != nil {
			out.Send = (&later{file: n, replica: r}).Send
			return out, n.wrong(n.Webhook.SecretFile.at, "webhook.secret_file: %v", err)
		}
		out.Send = notify.NewWebhook(n.Webhook.URL.text, secret).Send
	case n.Command != nil:
		if err := executable(n.Command.Program.text); err != nil {
			out.Send = (&later{file: n, replica: r}).Send
			return out, n.wrong(n.Command.Program.at, "command.program: %v", err)
		}
		var args []string
		for _, a := range n.Command.Args {
			args = append(args, a.text)
		}
		out.Send = notify.NewCommand(n.Command.Program.text, args).Send
	default:
		out.Send, out.Fits = duty.MailTo(r, n.Mail.To.text), duty.MailFits
	}
	return out, nil
}

// executable tells why a program cannot be started.
func executable(path string) error {
	switch info, err := os.Stat(path); {
	case err != nil:
		return err
	case info.IsDir():
		return fmt.Errorf("%s is a directory: give a program", path)
	case info.Mode()&0o111 == 0:
		return fmt.Errorf("%s is not executable: `chmod +x` makes it so", path)
	}
	return nil
}

// later is a notifier for which this machine lacks something, until it is there.
type later struct {
	file    *notifyFile
	replica duty.Replica
	opened  atomic.Pointer[duty.Notifier]
}

var errLacks = errors.New("it lacks a file on the server that leads: see its log, or `vigil status` there")

func (l *later) Send(ctx context.Context, id string, body []byte) error {
	n := l.opened.Load()
	if n == nil {
		got, err := l.file.open(l.replica)
		if err != nil { // its text names files of this machine, and what is returned is kept
			return errLacks
		}
		n = &got
		l.opened.Store(n)
	}
	return n.Send(ctx, id, body)
}

// Lack says why a notifier cannot be used on this machine now: of its secret, or of its program.
type Lack struct {
	Notifier string
	Err      error // names the place in the file, and the remedy
}

// Notifiers opens all notifiers of the file. Those that lack something are among them, and fail until it is there.
func (f *Server) Notifiers(r duty.Replica) (list []duty.Notifier, lacks []Lack) {
	for i := range f.Notify {
		n, err := f.Notify[i].open(r)
		if err != nil {
			lacks = append(lacks, Lack{Notifier: n.Name, Err: err})
		}
		list = append(list, n)
	}
	return list, lacks
}
