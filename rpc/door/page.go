package door

import (
	"context"
	"encoding/json"
	"net/http"

	"vigil/rpc/code"
	"vigil/rpc/door/who"
	"vigil/rpc/fault"
	"vigil/rpc/web"
)

// pageCookie begins the name of the cookie of a browser that has signed in; the id of the server follows, since
// servers on one machine get each other's cookies.
const pageCookie = "vigil-server-"

// newFront prepares the page of this server. A browser that has signed in speaks as whoever has asked for its link:
// each of its calls is judged as those of that identity are, so a right or a certificate that ends also ends here.
func (d *Door) newFront(g *gateway) (*web.Front, error) {
	page, err := web.Open()
	if err != nil {
		return nil, err
	}
	return &web.Front{Page: page, Sessions: web.NewSessions(), Cookie: pageCookie + d.cfg.ServerID, Secure: true,
		Base:    d.cfg.BasePath,
		Foreign: func(*http.Request) string { return "" }, // see pages
		API: func(x *web.Session) http.Handler {
			return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				claim, _ := x.As.(who.Claim) // that of nobody may do nothing
				ctx := context.WithValue(r.Context(), callerKey{}, &caller{claim: claim})
				g.ServeHTTP(w, r.WithContext(ctx))
			})
		},
		About: func(x *web.Session) any {
			claim, _ := x.As.(who.Claim)
			return d.aboutPage((&who.Principal{Claim: claim}).String())
		},
		Out:      "run `vigil ui --phone` on a machine where you are logged in, and open the link that it prints.",
		RoomFile: d.cfg.RoomFile}, nil
}

func (d *Door) aboutPage(name string) map[string]string {
	return map[string]string{"name": name, "cluster": d.cfg.ClusterID(), "server": d.cfg.ServerID}
}

// servePage adds the page to what is served: at / for browsers, and calls of those that have signed in.
func (d *Door) servePage(mux *http.ServeMux, g *gateway) error {
	front, err := d.newFront(g)
	if err != nil {
		return err
	}
	d.front = front
	mux.HandleFunc("/v1/", func(w http.ResponseWriter, r *http.Request) {
		if d.guard != nil && r.Header.Get(web.HalfHeader) != "" {
			front.ServeHTTP(w, r)
			return
		}
		g.ServeHTTP(w, r)
	})
	mux.Handle("/assets/", front)
	if d.guard != nil {
		for _, path := range []string{"/login", "/logout", "/session", "/room-file"} {
			mux.Handle(path, front)
		}
		return nil
	}
	// Whoever reaches this server may do everything, so nobody signs in.
	mux.HandleFunc("GET /session", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("Cache-Control", "no-store")
		_ = json.NewEncoder(w).Encode(d.aboutPage("")) // the reader has gone; nobody is left to tell
	})
	mux.HandleFunc("/room-file", front.ReadRoomFile)
	return nil
}

// OpenPage makes a code that signs one browser in at the page of this server, in the name of the person who calls;
// "" where there are no identities. API tokens are for programs, and the private socket for the machine itself.
func (d *Door) OpenPage(ctx context.Context) (string, error) {
	p := who.From(ctx)
	switch {
	case d.guard == nil:
		return "", nil
	case p.Kind != who.User:
		return "", fault.New(code.Denied, "%s may not sign a browser in: log in as a user (vigil login).", p)
	}
	text := d.front.Sessions.Code(p.String(), p.Claim)
	if text == "" {
		return "", fault.New(code.Unavailable, "Too many people have asked this server for links; try another one.")
	}
	return text, nil
}
