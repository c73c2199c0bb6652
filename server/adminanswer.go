package server

import (
	"fmt"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/enrichd/enrichd/enrich"
	enrichv1 "github.com/enrichd/enrichd/proto/enrich/v1"
)

// timeOrUnset leaves the zero time out.
func timeOrUnset(at time.Time) *timestamppb.Timestamp {
	if at.IsZero() {
		return nil
	}
	return timestamppb.New(at)
}

func writeProvider(provider enrich.ProviderState) *enrichv1.ProviderState {
	message := &enrichv1.ProviderState{
		Name:        provider.Name,
		Definition:  provider.Definition,
		Health:      string(provider.Health),
		Breaker:     provider.Breaker,
		Calls:       provider.Calls,
		Outcomes:    make(map[string]int64, len(provider.Outcomes)),
		HitRate:     provider.HitRate,
		SpentMicros: int64(provider.Spent),
	}
	for outcome, calls := range provider.Outcomes {
		message.Outcomes[string(outcome)] = calls
	}
	if provider.Pause.Reason != "" {
		message.Pause = &enrichv1.ProviderPause{Reason: string(provider.Pause.Reason), Until: timeOrUnset(provider.Pause.Until)}
	}
	for _, limit := range provider.Limits {
		message.Limits = append(message.Limits, &enrichv1.LimitLeft{
			Name: limit.Name, Unit: string(limit.Unit), Amount: limit.Amount, Left: limit.Left, ResetTime: timeOrUnset(limit.ResetAt),
		})
	}
	return message
}

func writeSwitch(thrown enrich.Switch) *enrichv1.Switch {
	message := &enrichv1.Switch{Name: thrown.Name, Reason: thrown.Reason, Since: timeOrUnset(thrown.Since), Configured: thrown.Configured}
	for scope, own := range switchScopes {
		if own == thrown.Scope {
			message.Scope = scope
		}
	}
	return message
}

func writeDropped(dropped []enrich.Dropped) []*enrichv1.Dropped {
	var messages []*enrichv1.Dropped
	for _, each := range dropped {
		messages = append(messages, &enrichv1.Dropped{Place: each.Place, Entries: each.Entries})
	}
	return messages
}

// unreached is an error when a place could not be reached: a part of a proof is
// none.
func unreached(dropped []enrich.Dropped) error {
	for _, each := range dropped {
		if !each.Done {
			return unreachable(each.Place)
		}
	}
	return nil
}

func unreachable(place string) error {
	return &enrich.Error{
		Kind: enrich.Unavailable, Reason: "unreached", Offset: -1, ReadyAt: time.Now().Add(overloadDelay),
		Message: fmt.Sprintf("%s could not be reached, so it may still know the subject: send the request again", place),
	}
}
