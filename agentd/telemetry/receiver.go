package telemetry

import (
	"bytes"
	"compress/gzip"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"sync"
	"time"

	collogs "go.opentelemetry.io/proto/otlp/collector/logs/v1"
	colmetrics "go.opentelemetry.io/proto/otlp/collector/metrics/v1"
	coltrace "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"

	"vigil/agentd/local"
)

const (
	// MaxBody bounds a message, as it comes and unpacked, in bytes.
	MaxBody = 4 << 20
	// Header carries the token of a life.
	Header = "X-Vigil-Telemetry"
	// perLife is how many messages of a life are under way at once, readers how many are read at once when
	// they have arrived.
	perLife = 2
	readers = 2
)

// Token is what a life shows with its telemetry: made of a key that only this host's daemon knows, so that nobody
// keeps it. It opens nothing but the telemetry of that life.
func Token(key string, life local.Life) string {
	mac := hmac.New(sha256.New, []byte(key))
	fmt.Fprintf(mac, "vigil telemetry %d %d", life.Agent, life.Incarnation)
	return hex.EncodeToString(mac.Sum(nil))
}

// Config is what a Receiver needs.
type Config struct {
	Key string // of the tokens
	// LifeOf gives the life whose shim has passed a request on.
	LifeOf func(*http.Request) local.Life
	// Forward takes each message that was read, as it came; nil: nothing does. It must not block.
	Forward func(path, contentType string, body []byte)
	// Count hears what became of each message; nil: nobody wants to know.
	Count func(outcome string)
	Now   func() time.Time // nil: time.Now
}

// Outcomes are what Config.Count hears.
func Outcomes() []string {
	return []string{"taken", "repeated", "denied", "too_large", "too_many", "unreadable", "series_left_out"}
}

// Receiver takes telemetry of the lives of a host. It is safe for concurrent use.
type Receiver struct {
	config Config
	slots  chan struct{}

	mu    sync.Mutex
	lives map[local.Life]*meter
}

// NewReceiver makes a receiver that knows no life yet.
func NewReceiver(config Config) *Receiver {
	if config.Now == nil {
		config.Now = time.Now
	}
	if config.Count == nil {
		config.Count = func(string) {}
	}
	return &Receiver{config: config, slots: make(chan struct{}, readers), lives: map[local.Life]*meter{}}
}

// Begin has the telemetry of a life counted. adopted: it began under an earlier receiver.
func (r *Receiver) Begin(life local.Life, adopted bool) {
	since := time.Time{}
	if adopted {
		since = r.config.Now()
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.lives[life] == nil {
		r.lives[life] = newMeter(since)
	}
}

// End forgets a life.
func (r *Receiver) End(life local.Life) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.lives, life)
}

// Total is what a life has used by now, as far as this receiver has heard. It waits for no message that is
// counted meanwhile: the beats of the host ask.
func (r *Receiver) Total(life local.Life) Usage {
	r.mu.Lock()
	defer r.mu.Unlock()
	if m := r.lives[life]; m != nil {
		return m.total()
	}
	return Usage{}
}

// ServeHTTP takes one message.
func (r *Receiver) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	life := r.config.LifeOf(req)
	if !hmac.Equal([]byte(req.Header.Get(Header)), []byte(Token(r.config.Key, life))) {
		r.refuse(w, "denied", http.StatusUnauthorized, "the header "+Header+" is not that of this life")
		return
	}
	if req.Method != http.MethodPost || messageOf(req.URL.Path) == nil {
		r.refuse(w, "unreadable", http.StatusNotFound, "post to /v1/metrics, /v1/logs or /v1/traces")
		return
	}
	if !r.may(life) {
		w.Header().Set("Retry-After", "5")
		r.refuse(w, "too_many", http.StatusTooManyRequests, "this life sends too many messages")
		return
	}
	defer r.done(life)
	r.take(w, req, life)
}

// may tells whether a life may send one more message now.
func (r *Receiver) may(life local.Life) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	m := r.lives[life]
	if m == nil || m.underway >= perLife || !m.may(r.config.Now()) {
		return false
	}
	m.underway++
	return true
}

func (r *Receiver) done(life local.Life) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if m := r.lives[life]; m != nil {
		m.underway--
	}
}

// take reads and counts a message.
func (r *Receiver) take(w http.ResponseWriter, req *http.Request, life local.Life) {
	packed, err := io.ReadAll(http.MaxBytesReader(w, req.Body, MaxBody))
	var body []byte
	if err == nil {
		r.slots <- struct{}{}
		defer func() { <-r.slots }()
		body, err = unpack(req.Header.Get("Content-Encoding"), packed)
	}
	var large *http.MaxBytesError
	if errors.As(err, &large) {
		r.refuse(w, "too_large", http.StatusRequestEntityTooLarge, fmt.Sprintf("a message has %d bytes at most", MaxBody))
		return
	}
	kind, _, _ := mime.ParseMediaType(req.Header.Get("Content-Type"))
	message := messageOf(req.URL.Path)
	if err == nil {
		err = unmarshal(kind, body, message)
	}
	if err != nil {
		r.refuse(w, "unreadable", http.StatusBadRequest, "the message cannot be read as "+req.URL.Path)
		return
	}
	if r.count(life, message, sha256.Sum256(body)) && r.config.Forward != nil {
		r.config.Forward(req.URL.Path, kind, body)
	}
	answer(w, kind)
}

// count adds a message to the totals of its life; false when it was counted before.
func (r *Receiver) count(life local.Life, message proto.Message, sum [sha256.Size]byte) bool {
	r.mu.Lock()
	m := r.lives[life]
	r.mu.Unlock()
	if m == nil { // it has just ended
		return false
	}
	m.counting.Lock()
	defer m.counting.Unlock()
	if m.again(sum) {
		r.config.Count("repeated")
		return false
	}
	m.took(sum)
	left := 0
	switch message := message.(type) {
	case *colmetrics.ExportMetricsServiceRequest:
		left = m.metrics(message)
	case *collogs.ExportLogsServiceRequest:
		m.logs(message)
	}
	r.mu.Lock()
	m.counted = m.sums
	r.mu.Unlock()
	if left > 0 {
		r.config.Count("series_left_out")
	}
	r.config.Count("taken")
	return true
}

func (r *Receiver) refuse(w http.ResponseWriter, outcome string, status int, why string) {
	r.config.Count(outcome)
	http.Error(w, why, status)
}

// messageOf gives what is posted to a path; nil: nothing is.
func messageOf(path string) proto.Message {
	switch path {
	case "/v1/metrics":
		return &colmetrics.ExportMetricsServiceRequest{}
	case "/v1/logs":
		return &collogs.ExportLogsServiceRequest{}
	case "/v1/traces":
		return &coltrace.ExportTraceServiceRequest{}
	}
	return nil
}

// unpack undoes the encoding of a body, as far as the result is bounded.
func unpack(encoding string, packed []byte) ([]byte, error) {
	switch encoding {
	case "", "identity":
		return packed, nil
	case "gzip":
	default:
		return nil, errors.New("unknown encoding")
	}
	from, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		return nil, err
	}
	body, err := io.ReadAll(io.LimitReader(from, MaxBody+1))
	if len(body) > MaxBody {
		return nil, &http.MaxBytesError{Limit: MaxBody}
	}
	return body, err
}

func unmarshal(kind string, body []byte, message proto.Message) error {
	switch kind {
	case "application/x-protobuf":
		return proto.UnmarshalOptions{RecursionLimit: 100}.Unmarshal(body, message)
	case "application/json":
		return protojson.UnmarshalOptions{DiscardUnknown: true, RecursionLimit: 100}.Unmarshal(body, message)
	}
	return fmt.Errorf("content type %q is unknown", kind)
}

// answer says that all of it was taken: an empty message of OTLP.
func answer(w http.ResponseWriter, kind string) {
	w.Header().Set("Content-Type", kind)
	if kind == "application/json" {
		_, _ = io.WriteString(w, "{}") // a sender that is gone repeats it
	}
}
