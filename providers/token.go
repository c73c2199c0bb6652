package providers

import (
	"context"
	"sync"
	"time"

	"github.com/enrichd/enrichd/enrich"
	"github.com/enrichd/enrichd/providers/engine"
)

// tokens keeps the access token of one provider. The zero value has none.
type tokens struct {
	lock    chan struct{} // of one place: held while a token is asked for
	mu      sync.Mutex
	current string
	expires time.Time
}

func newTokens() *tokens { return &tokens{lock: make(chan struct{}, 1)} }

func (t *tokens) valid(now time.Time) string {
	t.mu.Lock()
	defer t.mu.Unlock()
	if now.Before(t.expires) {
		return t.current
	}
	return ""
}

// drop forgets a token that the vendor no longer takes, unless it was renewed
// meanwhile.
func (t *tokens) drop(token string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.current == token {
		t.current, t.expires = "", time.Time{}
	}
}

func (t *tokens) set(token string, expires time.Time) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.current, t.expires = token, expires
}

// token returns a valid access token. One caller asks for a new one, others
// wait for it.
func (v *Vendor) token(ctx context.Context, scope *engine.Scope) (string, *failure) {
	if token := v.tokens.valid(scope.Now); token != "" {
		return token, nil
	}
	select {
	case v.tokens.lock <- struct{}{}:
		defer func() { <-v.tokens.lock }()
	case <-ctx.Done():
		return "", &failure{enrich.Timeout, enrich.KnownCharge(0), "no access token in time"}
	}
	if token := v.tokens.valid(scope.Now); token != "" {
		return token, nil
	}
	out, err := v.definition.TokenRequest(scope, v.base)
	if err != nil {
		return "", &failure{enrich.AuthFailed, enrich.KnownCharge(0), "the token request lacks an input"}
	}
	response, failed := v.exchange(ctx, out)
	if failed != nil {
		failed.charge = enrich.KnownCharge(0)
		failed.reason += ", asking for an access token"
		return "", failed
	}
	defer response.release()
	token, expires, outcome := v.definition.ReadToken(response.status, response.body, scope.Now)
	if outcome != enrich.Hit {
		return "", &failure{outcome, enrich.KnownCharge(0), "no access token was given"}
	}
	v.tokens.set(token, expires)
	return token, nil
}
