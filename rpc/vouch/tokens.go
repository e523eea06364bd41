package vouch

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"slices"
	"time"

	"google.golang.org/protobuf/types/known/durationpb"

	"vigil/fsm"
	"vigil/fsm/noun"
	"vigil/rpc/base"
	"vigil/rpc/form"
	"vigil/rpc/gen/vigilv1"
)

// How long tokens are good for when nobody says.
const (
	tokenLife    = time.Hour
	apiTokenLife = 30 * 24 * time.Hour
)

// newSecret makes what only whoever asked for a token gets to know.
func newSecret() []byte {
	secret := make([]byte, 32)
	_, _ = rand.Read(secret) // it never fails
	return secret
}

func hashOf(secret []byte) []byte {
	sum := sha256.Sum256(secret)
	return sum[:]
}

// CreateToken makes a token to join by. Its secret is in the answer and nowhere else.
func (t *Service) CreateToken(
	ctx context.Context, r *vigilv1.CreateTokenRequest,
) (*vigilv1.CreateTokenResponse, error) {
	secret := newSecret()
	var c form.Checks
	cmd := fsm.PutToken{SecretHash: hashOf(secret), Name: r.GetName(), Labels: c.KVs("labels", r.GetLabels()),
		Runners: slices.Clone(r.GetRunners()), Uses: max(1, r.GetUses()), For: c.Duration("ttl", r.GetTtl()),
		By: byWhom(ctx)}
	if cmd.Kind = identityKind(&c, "role", r.GetRole()); r.GetName() != "" {
		identityOf(&c, "role", r.GetRole(), "name", r.GetName())
	} else if cmd.Kind == noun.UserIdentity {
		c.Fail("name is missing; a token to log in is for one user.")
	}
	c.AtMost("runners", len(r.GetRunners()), noun.MaxTokenKVs)
	for _, name := range r.GetRunners() {
		c.Name("runners", name)
	}
	if cmd.For == 0 {
		cmd.For = tokenLife
	}
	if c.Err != nil {
		return nil, c.Err
	}
	if err := t.ready(); err != nil {
		return nil, err
	}
	out, err := t.Submit(ctx, nil, cmd)
	if err != nil {
		return nil, err
	}
	return &vigilv1.CreateTokenResponse{Token: out.Number(), Secret: secret, Anchors: base.Read(t.Core, anchors)}, nil
}

// ListTokens shows the tokens.
func (t *Service) ListTokens(
	context.Context, *vigilv1.ListTokensRequest,
) (*vigilv1.ListTokensResponse, error) {
	return base.Read(t.Core, func(st *fsm.View) *vigilv1.ListTokensResponse {
		out := &vigilv1.ListTokensResponse{}
		for k := range st.Tokens() {
			out.Tokens = append(out.Tokens, &vigilv1.Token{Token: uint64(k.ID), Role: k.Kind.String(), Name: k.Name,
				Labels: form.KVMap(k.Labels), Runners: k.Runners, UsesLeft: k.Uses, EndsIn: leftOf(st, k.End), By: k.By,
				CreatedAt: form.Wall(k.At)})
		}
		return out
	}), nil
}

// leftOf is the time until an end; zero: it has come.
func leftOf(st *fsm.View, end noun.Time) *durationpb.Duration {
	return durationpb.New(max(0, end.Sub(st.Clock())))
}

// RevokeToken ends a token.
func (t *Service) RevokeToken(
	ctx context.Context, r *vigilv1.RevokeTokenRequest,
) (*vigilv1.RevokeTokenResponse, error) {
	return change(ctx, t, r, fsm.RevokeToken{Token: noun.TokenID(r.GetToken()), By: byWhom(ctx)}, nil,
		func(*fsm.View, *noun.Outcome) *vigilv1.RevokeTokenResponse { return &vigilv1.RevokeTokenResponse{} })
}

// change is write for a command that is made already, in a cluster with identities; wrong is what is wrong
// with the request.
func change[Req interface{ GetId() *vigilv1.WriteId }, Resp any](ctx context.Context, t *Service, r Req,
	cmd fsm.Command, wrong error, answer func(*fsm.View, *noun.Outcome) *Resp,
) (*Resp, error) {
	if wrong == nil {
		wrong = t.ready()
	}
	return base.Write(ctx, t.Core, r, func(Req) (fsm.Command, error) { return cmd, wrong }, answer)
}

// CreateAPIToken makes a token for programs.
func (t *Service) CreateAPIToken(
	ctx context.Context, r *vigilv1.CreateAPITokenRequest,
) (*vigilv1.CreateAPITokenResponse, error) {
	secret := base64.RawURLEncoding.EncodeToString(newSecret())
	var c form.Checks
	c.Name("name", r.GetName())
	cmd := fsm.PutAPIToken{Name: r.GetName(), Hash: hashOf([]byte(secret)),
		Bindings: c.Bindings("bindings", r.GetBindings()), For: c.Duration("ttl", r.GetTtl()), By: byWhom(ctx)}
	if cmd.For == 0 {
		cmd.For = apiTokenLife
	}
	if c.Err != nil {
		return nil, c.Err
	}
	if err := t.ready(); err != nil {
		return nil, err
	}
	out, err := t.Submit(ctx, nil, cmd)
	if err != nil {
		return nil, err
	}
	return &vigilv1.CreateAPITokenResponse{Token: out.Number(),
		Bearer: fmt.Sprintf("vigil-api.%d.%s", out.Number(), secret)}, nil
}

// ListAPITokens shows the API tokens.
func (t *Service) ListAPITokens(
	context.Context, *vigilv1.ListAPITokensRequest,
) (*vigilv1.ListAPITokensResponse, error) {
	return base.Read(t.Core, func(st *fsm.View) *vigilv1.ListAPITokensResponse {
		out := &vigilv1.ListAPITokensResponse{}
		for k := range st.APITokens() {
			out.Tokens = append(out.Tokens, &vigilv1.APIToken{Token: uint64(k.ID), Name: k.Name,
				Bindings: form.Bindings(k.Bindings), EndsIn: leftOf(st, k.End), By: k.By, CreatedAt: form.Wall(k.At)})
		}
		return out
	}), nil
}

// RevokeAPIToken ends an API token.
func (t *Service) RevokeAPIToken(
	ctx context.Context, r *vigilv1.RevokeAPITokenRequest,
) (*vigilv1.RevokeAPITokenResponse, error) {
	return change(ctx, t, r, fsm.RevokeAPIToken{Token: noun.APITokenID(r.GetToken()), By: byWhom(ctx)}, nil,
		func(*fsm.View, *noun.Outcome) *vigilv1.RevokeAPITokenResponse {
			return &vigilv1.RevokeAPITokenResponse{}
		})
}
