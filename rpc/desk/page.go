package desk

import (
	"context"

	"vigil/fsm"
	"vigil/rpc/gen/vigilv1"
)

// OpenPage gives a link to the page of this server that signs one browser in, in the caller's name.
func (s *Service) OpenPage(ctx context.Context, _ *vigilv1.OpenPageRequest) (*vigilv1.OpenPageResponse, error) {
	text, err := s.Door.OpenPage(ctx)
	if err != nil {
		return nil, err
	}
	out := &vigilv1.OpenPageResponse{Code: text, Server: s.Self, Secure: text != ""}
	s.Reader.Read(func(st *fsm.View) {
		for _, srv := range st.Servers() {
			if srv.ID == s.Self {
				out.Address = srv.APIAddr
			}
		}
	})
	return out, nil
}
