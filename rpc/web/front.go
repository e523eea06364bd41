package web

import (
	"cmp"
	"context"
	"encoding/json"
	"net/http"
	"strings"
)

// HalfHeader is in which the page shows what it holds beside the cookie.
const HalfHeader = "Vigil-Page"

// Front is the page with its sign-ins and the way to the API. Its fields are set before the first request; it may
// be used by any number of goroutines.
type Front struct {
	*Page
	Sessions *Sessions
	// Cookie is the name of the cookie. Cookies go to all ports of a machine, so each server has its own.
	Cookie string
	// Base is the path below which browsers see the page; "": at /. See Below.
	Base string
	// Secure has the browser send the cookie over TLS only.
	Secure bool
	// Foreign says why a request may be made by another page; "": it is ours.
	Foreign func(*http.Request) string
	// API answers calls in the name of a session.
	API func(*Session) http.Handler
	// About is what the page is told of a session.
	About func(*Session) any
	// Out is what who is signed out should do.
	Out string
	// RoomFile reads a room file as `vigil apply` does: what to ask the API for, as a list in JSON. It may be nil.
	RoomFile func(text string) ([]byte, error)
}

// ServeHTTP implements http.Handler.
func (s *Front) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("X-Content-Type-Options", "nosniff")
	w.Header().Set("Referrer-Policy", "no-referrer")
	switch why := s.Foreign(r); {
	case why != "":
		refuse(w, http.StatusForbidden, "wrong_origin", why)
	case s.Page.Has(r.URL.Path):
		s.Page.ServeHTTP(w, r)
	case strings.HasPrefix(r.URL.Path, "/v1/"):
		s.call(w, r)
	case r.URL.Path == "/login":
		s.login(w, r)
	case r.URL.Path == "/logout":
		s.logout(w, r)
	case r.URL.Path == "/session":
		s.session(w, r)
	case r.URL.Path == "/room-file":
		s.roomFile(w, r)
	default:
		s.Page.ServeHTTP(w, r) // says that there is nothing
	}
}

// signedIn gives the session of a request, or says that there is none.
func (s *Front) signedIn(w http.ResponseWriter, r *http.Request) *Session {
	cookie, err := r.Cookie(s.Cookie)
	if err == nil {
		if x := s.Sessions.find(cookie.Value, r.Header.Get(HalfHeader)); x != nil {
			return x
		}
	}
	refuse(w, http.StatusUnauthorized, "signed_out", "You are signed out: "+s.Out)
	return nil
}

// login trades a one-time code for a session.
func (s *Front) login(w http.ResponseWriter, r *http.Request) {
	var body struct {
		Code string `json:"code"`
	}
	if !isPost(w, r) {
		return
	}
	if err := json.NewDecoder(http.MaxBytesReader(w, r.Body, 4<<10)).Decode(&body); err != nil {
		refuse(w, http.StatusBadRequest, "invalid", "The body is not {\"code\": ...}.")
		return
	}
	cookie, half, ok := s.Sessions.SignIn(body.Code)
	if !ok {
		refuse(w, http.StatusUnauthorized, "signed_out",
			"This link was used before or is too old: "+s.Out)
		return
	}
	http.SetCookie(w, &http.Cookie{Name: s.Cookie, Value: cookie, Path: cmp.Or(s.Base, "/"), HttpOnly: true,
		Secure: s.Secure, SameSite: http.SameSiteStrictMode})
	answer(w, map[string]string{"token": half})
}

func (s *Front) logout(w http.ResponseWriter, r *http.Request) {
	if !isPost(w, r) || s.signedIn(w, r) == nil {
		return
	}
	cookie, _ := r.Cookie(s.Cookie) // it is there: the request is signed in by it
	s.Sessions.signOut(cookie.Value)
	http.SetCookie(w, &http.Cookie{Name: s.Cookie, Path: cmp.Or(s.Base, "/"), MaxAge: -1, HttpOnly: true,
		Secure: s.Secure, SameSite: http.SameSiteStrictMode})
	answer(w, map[string]string{})
}

func (s *Front) session(w http.ResponseWriter, r *http.Request) {
	if x := s.signedIn(w, r); x != nil {
		answer(w, s.About(x))
	}
}

// passed are the headers of a browser that mean something to the API; no other goes along.
var passed = []string{"Accept", "Content-Type", "Idempotency-Key", "Last-Event-Id"}

// identities begins the paths by which certificates are made and renewed. A session has none: what a script in a
// page got would outlive the session, and every sign-out.
const identities = "/v1/trust:"

// call asks the cluster in the name of the user.
func (s *Front) call(w http.ResponseWriter, r *http.Request) {
	x := s.signedIn(w, r)
	if x == nil {
		return
	}
	if strings.HasPrefix(r.URL.Path, identities) {
		refuse(w, http.StatusForbidden, "denied", "A browser gets no certificate: use `vigil login` on a machine.")
		return
	}
	ctx, cancel := context.WithCancel(r.Context())
	defer cancel()
	defer context.AfterFunc(x.ctx, cancel)()
	inner := r.Clone(ctx)
	inner.Header = http.Header{}
	for _, name := range passed {
		if v := r.Header.Get(name); v != "" {
			inner.Header.Set(name, v)
		}
	}
	if r.Method != http.MethodGet && r.Method != http.MethodDelete && !isJSON(w, r) {
		return
	}
	w.Header().Set("Cache-Control", "no-store")
	s.API(x).ServeHTTP(w, inner)
}

func isPost(w http.ResponseWriter, r *http.Request) bool {
	if r.Method != http.MethodPost {
		refuse(w, http.StatusMethodNotAllowed, "wrong_method", "Only POST is possible here.")
		return false
	}
	return isJSON(w, r)
}

// isJSON refuses bodies of forms, which other pages can send without asking.
func isJSON(w http.ResponseWriter, r *http.Request) bool {
	if kind, _, _ := strings.Cut(r.Header.Get("Content-Type"), ";"); strings.TrimSpace(kind) != "application/json" {
		refuse(w, http.StatusUnsupportedMediaType, "wrong_type", "Send JSON, and say so: Content-Type: application/json.")
		return false
	}
	return true
}

func answer(w http.ResponseWriter, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	_ = json.NewEncoder(w).Encode(v) // the reader has gone; nobody is left to tell
}

func refuse(w http.ResponseWriter, status int, code, message string) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(map[string]string{"code": code, "message": message}) // as above
}

// maxRoomFile is how long a room file may be, in bytes.
const maxRoomFile = 1 << 20

// roomFile reads a room file, and gives what the API would be asked for, room by room. It asks nobody and changes
// nothing.
func (s *Front) roomFile(w http.ResponseWriter, r *http.Request) {
	if s.signedIn(w, r) != nil {
		s.ReadRoomFile(w, r)
	}
}

// ReadRoomFile answers with what a room file says, whoever asks.
func (s *Front) ReadRoomFile(w http.ResponseWriter, r *http.Request) {
	if !isPost(w, r) {
		return
	}
	var body struct {
		Text string `json:"text"`
	}
	if err := json.NewDecoder(http.MaxBytesReader(w, r.Body, 2*maxRoomFile)).Decode(&body); err != nil ||
		len(body.Text) > maxRoomFile {
		refuse(w, http.StatusBadRequest, "invalid", "The room file is longer than 1 MiB, or no text.")
		return
	}
	if s.RoomFile == nil {
		refuse(w, http.StatusNotFound, "not_found", "Room files are not read here: use `vigil apply -f`.")
		return
	}
	rooms, err := s.RoomFile(body.Text)
	if err != nil {
		refuse(w, http.StatusBadRequest, "invalid", err.Error())
		return
	}
	answer(w, map[string]json.RawMessage{"rooms": rooms})
}
