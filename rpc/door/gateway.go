package door

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"sync"
	"time"

	"github.com/grpc-ecosystem/grpc-gateway/v2/runtime"
	"github.com/grpc-ecosystem/grpc-gateway/v2/utilities"
	statuspb "google.golang.org/genproto/googleapis/rpc/status"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	"vigil/rpc/code"
	"vigil/rpc/fault"
	"vigil/rpc/gen/vigilv1"
	"vigil/rpc/jsonform"
)

// What an HTTP request may bring, in bytes: JSON may be longer than the message that it says, since
// many programs escape what is not ASCII.
const (
	maxBody  = 2 << 20
	jsonMore = 4 // times as long
)

// bodyMisfit begins the message about a body that cannot be read.
const bodyMisfit = "The body does not fit: "

// queryMisfit begins the message about a parameter that a call does not take.
const queryMisfit = "This call has no parameter "

// queryWrong begins the message about the value of a parameter.
const queryWrong = "Parameter "

// mismatch finds parameter and value in the library's error about a path.
var mismatch = regexp.MustCompile(`^type mismatch, parameter: ([a-z_.]+), error: strconv\.[A-Za-z]+: parsing ("[^"]*")`)

// errorBody is the body of every answer over HTTP that is not 2xx.
type errorBody struct {
	Code    string `json:"code"`
	Message string `json:"message"`
	Rev     uint64 `json:"rev,omitempty"`
	Leader  string `json:"leader,omitempty"`
	Oldest  uint64 `json:"oldest,omitempty"`
}

// gateway turns HTTP/JSON under /v1 into calls on conn, which take the same way as
// those of gRPC clients.
type gateway struct {
	mux *runtime.ServeMux
	// parameters are the names that some call takes. Of calls that take none the library ignores
	// them all; see query for the others.
	parameters map[string]bool
	// bodies are the sizes that calls take, by what begins a request: "PUT /v1/rooms/{room=*}".
	bodies map[string]int64
	query  *query
	fleet  vigilv1.FleetClient
}

// NewGateway serves HTTP/JSON under /v1 by calls on conn, in the forms of every server: for a program that
// speaks to servers in the name of its user. It ends with ctx. Whoever may ask is for its caller to decide.
func NewGateway(ctx context.Context, conn grpc.ClientConnInterface) (http.Handler, error) {
	return newGateway(ctx, conn)
}

func newGateway(ctx context.Context, conn grpc.ClientConnInterface) (*gateway, error) {
	setParser()
	g := &gateway{parameters: parameters(), bodies: bodies(), query: parser, fleet: vigilv1.NewFleetClient(conn)}
	g.mux = runtime.NewServeMux(
		runtime.WithMiddlewares(g.bounded),
		runtime.WithMarshalerOption(runtime.MIMEWildcard, &jsonForm{g: g}),
		runtime.WithErrorHandler(g.answerError),
		runtime.WithStreamErrorHandler(g.streamError),
		runtime.WithRoutingErrorHandler(g.noRoute),
		runtime.WithIncomingHeaderMatcher(func(string) (string, bool) { return "", false }),
		runtime.WithOutgoingHeaderMatcher(func(name string) (string, bool) {
			return http.CanonicalHeaderKey(name), name == code.HeaderLeader || name == code.HeaderServers
		}),
		runtime.WithMetadata(passed),
		runtime.WithDisablePathLengthFallback(),
	)
	err := errors.Join(
		vigilv1.RegisterFleetHandlerClient(ctx, g.mux, g.fleet),
		vigilv1.RegisterWorkHandlerClient(ctx, g.mux, vigilv1.NewWorkClient(conn)),
		vigilv1.RegisterClusterHandlerClient(ctx, g.mux, vigilv1.NewClusterClient(conn)),
		vigilv1.RegisterMailboxHandlerClient(ctx, g.mux, vigilv1.NewMailboxClient(conn)),
		vigilv1.RegisterEscalationsHandlerClient(ctx, g.mux, vigilv1.NewEscalationsClient(conn)),
		vigilv1.RegisterOverseersHandlerClient(ctx, g.mux, vigilv1.NewOverseersClient(conn)),
		vigilv1.RegisterTrustHandlerClient(ctx, g.mux, vigilv1.NewTrustClient(conn)),
		vigilv1.RegisterDeskHandlerClient(ctx, g.mux, vigilv1.NewDeskClient(conn)),
	)
	if err != nil {
		return nil, fmt.Errorf("open gateway: %w", err)
	}
	return g, nil
}

// ServeHTTP implements http.Handler.
func (g *gateway) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	for name := range r.URL.Query() {
		if !g.parameters[strings.TrimSuffix(name, "[]")] {
			g.write(w,
				fault.Of(fault.Invalid("There is no parameter %s; /openapi.json lists those of each call.",
					fault.Quote(name))))
			return
		}
	}
	if wantsStream(r) {
		g.streamEvents(w, r)
		return
	}
	if r.Body != nil && r.Body != http.NoBody { // also of a request that no call is found for
		if err := http.NewResponseController(w).SetReadDeadline(time.Now().Add(bodyLimit)); err != nil {
			g.write(w, fault.Of(err))
			return
		}
	}
	code := 0
	ctx := context.WithValue(r.Context(), statusKey{}, &code)
	g.mux.ServeHTTP(&statusWriter{ResponseWriter: w, code: &code}, r.WithContext(ctx))
}

// bounded reads the body of a call, which may be as long as that call takes.
func (g *gateway) bounded(call runtime.HandlerFunc) runtime.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request, path map[string]string) {
		if r.Body != nil && r.Body != http.NoBody {
			pattern, _ := runtime.HTTPPattern(r.Context())
			most := g.bodies[r.Method+" "+pattern.String()]
			body, err := readBody(http.NewResponseController(w), http.MaxBytesReader(w, r.Body, most))
			if err != nil {
				g.write(w, httpProblem(err))
				return
			}
			r.Body = body
		}
		call(w, r, path)
	}
}

// statusKey finds the HTTP status that an error of a stream should have.
type statusKey struct{}

// statusWriter replaces the HTTP status that the gateway derives from the gRPC
// status of a failed stream by the one of the table of errors.
type statusWriter struct {
	http.ResponseWriter
	code *int
}

// WriteHeader implements http.ResponseWriter.
func (w *statusWriter) WriteHeader(code int) {
	if *w.code != 0 {
		code = *w.code
	}
	w.ResponseWriter.WriteHeader(code)
}

// Unwrap lets http.ResponseController flush.
func (w *statusWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }

func (g *gateway) body(p *fault.Error) errorBody {
	i := p.Info()
	return errorBody{Code: i.GetCode(), Message: i.GetMessage(), Rev: i.GetRev(), Leader: i.GetLeader(),
		Oldest: i.GetOldest()}
}

func (g *gateway) answerError(_ context.Context, _ *runtime.ServeMux, _ runtime.Marshaler,
	w http.ResponseWriter, _ *http.Request, err error) {
	g.write(w, httpProblem(err))
}

// httpProblem gives errors of the gateway itself their code.
func httpProblem(err error) *fault.Error {
	if long := (*http.MaxBytesError)(nil); errors.As(err, &long) {
		return fault.New(code.TooLarge,
			"The body has more than %d bytes; put large content into a file and name it instead.", long.Limit)
	}
	var st *runtime.HTTPStatusError
	if errors.As(err, &st) {
		err = st.Err
	}
	// The library wraps the errors of decoders, and names Go's functions in its own.
	text := status.Convert(err).Message()
	if _, ours, ok := strings.Cut(text, bodyMisfit); ok {
		return fault.Of(fault.Invalid("%s", bodyMisfit+strings.TrimSuffix(ours, ".")+"."))
	}
	if _, ours, ok := strings.Cut(text, queryMisfit); ok {
		return fault.Of(fault.Invalid("%s", queryMisfit+ours))
	}
	if strings.HasPrefix(text, queryWrong) {
		return fault.Of(fault.Invalid("%s", text))
	}
	if m := mismatch.FindStringSubmatch(text); m != nil {
		return fault.Of(fault.Invalid("%s %s does not fit; give a whole number.", m[1], m[2]))
	}
	return fault.Of(err)
}

func (g *gateway) write(w http.ResponseWriter, p *fault.Error) {
	h := w.Header()
	h.Del("Trailer")
	h.Del("Transfer-Encoding")
	h.Set("Content-Type", "application/json")
	w.WriteHeader(code.Of(p.Code).HTTP)
	_ = json.NewEncoder(w).Encode(g.body(p)) // the reader has gone; nobody is left to tell
}

func (g *gateway) noRoute(_ context.Context, _ *runtime.ServeMux, _ runtime.Marshaler,
	w http.ResponseWriter, r *http.Request, status int) {
	p := &fault.Error{Code: code.Internal}
	switch status {
	case http.StatusNotFound:
		p = fault.Of(fault.NotFound("There is nothing at %s; /openapi.json lists the calls.", fault.Quote(r.URL.Path)))
	case http.StatusMethodNotAllowed:
		p = fault.New(code.WrongMethod, "%s takes no %s; /openapi.json lists the calls.",
			fault.Quote(r.URL.Path), r.Method)
	case http.StatusBadRequest:
		p = fault.Of(fault.Invalid("The request cannot be read; /openapi.json lists the calls."))
	}
	g.write(w, p)
}

// streamError keeps the table's HTTP status for a stream that fails before its first
// message.
func (g *gateway) streamError(ctx context.Context, err error) *status.Status {
	p := fault.Of(err)
	if want, ok := ctx.Value(statusKey{}).(*int); ok {
		*want = code.Of(p.Code).HTTP
	}
	return status.Convert(p.Status())
}

// jsonForm writes JSON; the error of a stream gets the shape of all other errors.
type jsonForm struct {
	runtime.JSONPb
	g *gateway
}

// Marshal implements runtime.Marshaler.
func (j *jsonForm) Marshal(v any) ([]byte, error) {
	if chunk, ok := v.(map[string]proto.Message); ok {
		if st, ok := chunk["error"].(*statuspb.Status); ok {
			p := fault.FromStatus(status.FromProto(st))
			return json.Marshal(map[string]errorBody{"error": j.g.body(p)})
		}
	}
	if chunk, ok := v.(map[string]any); ok { // one message of a stream
		if result, ok := chunk["result"].(proto.Message); ok {
			b, err := jsonform.Append([]byte(`{"result":`), result.ProtoReflect())
			return append(b, '}'), err
		}
	}
	if m, ok := v.(proto.Message); ok {
		return jsonform.Append(nil, m.ProtoReflect())
	}
	return j.JSONPb.Marshal(v)
}

// isEnd tells whether a stream has ended as it should.
func isEnd(err error) bool { return errors.Is(err, io.EOF) }

// NewDecoder reports what is wrong with a body in words of this room.
func (j *jsonForm) NewDecoder(r io.Reader) runtime.Decoder {
	return runtime.DecoderFunc(func(v any) error {
		b, err := io.ReadAll(r)
		if err != nil {
			return err
		}
		if len(b) == 0 {
			return nil
		}
		m, ok := v.(proto.Message)
		if !ok {
			return json.Unmarshal(b, v)
		}
		if err := protojson.Unmarshal(b, m); err != nil {
			// The library varies the space in its texts from build to build.
			text := strings.ReplaceAll(err.Error(), "\u00a0", " ")
			return status.Error(codes.InvalidArgument, bodyMisfit+
				bodyFault(strings.TrimPrefix(text, "proto: "), m.ProtoReflect().Descriptor()))
		}
		return nil
	})
}

// parameters collects the names of the fields of all requests, in both spellings
// that the library takes.
func parameters() map[string]bool {
	names := map[string]bool{}
	for _, svc := range services() {
		for i := range svc.Methods().Len() {
			fields := svc.Methods().Get(i).Input().Fields()
			for k := range fields.Len() {
				collect(names, fields.Get(k), "")
			}
		}
	}
	return names
}

// query reads the parameters of a call that takes some. The library ignores those that the call
// does not have, and a filter with a slip in its name would show everything.
type query struct {
	runtime.DefaultQueryParser
	known sync.Map // by the full name of a request: the names of its fields
}

// parser is that of all gateways: the library keeps one for the whole process, which must not be set
// while another gateway serves.
var (
	parser    = &query{}
	setParser = sync.OnceFunc(func() { runtime.NewServeMux(runtime.SetQueryParameterParser(parser)) })
)

// Parse implements runtime.QueryParameterParser.
func (q *query) Parse(m proto.Message, values url.Values, filter *utilities.DoubleArray) error {
	request := m.ProtoReflect().Descriptor()
	known, ok := q.known.Load(request.FullName())
	if !ok {
		names := map[string]bool{}
		for i := range request.Fields().Len() {
			collect(names, request.Fields().Get(i), "")
		}
		known, _ = q.known.LoadOrStore(request.FullName(), names)
	}
	for name := range values {
		if !known.(map[string]bool)[strings.TrimSuffix(name, "[]")] {
			return status.Error(codes.InvalidArgument, queryMisfit+fault.Quote(name)+
				"; /openapi.json lists those of each call.")
		}
	}
	if err := q.DefaultQueryParser.Parse(m, values, filter); err != nil {
		return errors.New(queryFault(err.Error(), request, values))
	}
	return nil
}

// collect adds a field, and those of a message in it.
func collect(names map[string]bool, f protoreflect.FieldDescriptor, prefix string) {
	names[prefix+f.TextName()], names[prefix+f.JSONName()] = true, true
	if f.Kind() != protoreflect.MessageKind || prefix != "" || f.IsMap() {
		return
	}
	for i := range f.Message().Fields().Len() {
		collect(names, f.Message().Fields().Get(i), f.TextName()+".")
	}
}
