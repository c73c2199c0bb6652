package server

import (
	"context"
	"strings"
	"time"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/enrichd/enrichd/enrich"
	enrichv1 "github.com/enrichd/enrichd/proto/enrich/v1"
)

// adminService is the operators' service, for gRPC and for REST.
type adminService struct {
	enrichv1.UnimplementedAdminServiceServer
	server *Server
}

var _ enrichv1.AdminServiceServer = (*adminService)(nil)

// operate checks a message, has the operator do what it asks for, and answers. The
// log has who asked for what changes something.
func operate[Q proto.Message, A any](a *adminService, ctx context.Context, message Q, do func(Operator) (A, error)) (A, error) {
	s := a.server
	err := s.checkRules(message)
	var answer A
	if err == nil {
		if call := callOf(ctx); !strings.HasPrefix(call.method.name, "List") {
			s.log.InfoContext(ctx, "an operator asks", "method", call.method.name, "account", call.caller.Account.Name)
		}
		answer, err = do(s.parts.Operator)
	}
	if err != nil {
		var none A
		return none, s.statusOf(ctx, err)
	}
	return answer, nil
}

// ListProviders lists all providers.
func (a *adminService) ListProviders(ctx context.Context, message *enrichv1.ListProvidersRequest) (*enrichv1.ListProvidersResponse, error) {
	return operate(a, ctx, message, func(operator Operator) (*enrichv1.ListProvidersResponse, error) {
		providers, err := operator.Providers(ctx)
		response := &enrichv1.ListProvidersResponse{}
		for _, provider := range providers {
			response.Providers = append(response.Providers, writeProvider(provider))
		}
		return response, err
	})
}

// PauseProvider stops the calls to a provider.
func (a *adminService) PauseProvider(ctx context.Context, message *enrichv1.PauseProviderRequest) (*enrichv1.PauseProviderResponse, error) {
	return operate(a, ctx, message, func(operator Operator) (*enrichv1.PauseProviderResponse, error) {
		until := time.Time{}
		if message.GetUntil() != nil {
			until = message.GetUntil().AsTime()
			if !until.After(time.Now()) {
				return nil, &enrich.Error{Kind: enrich.Invalid, Field: "until", Reason: "past", Offset: -1, Message: "until: must be in the future"}
			}
		}
		return &enrichv1.PauseProviderResponse{}, operator.Pause(ctx, message.GetProvider(), message.GetReason(), until)
	})
}

// ResumeProvider ends a provider's pause.
func (a *adminService) ResumeProvider(ctx context.Context, message *enrichv1.ResumeProviderRequest) (*enrichv1.ResumeProviderResponse, error) {
	return operate(a, ctx, message, func(operator Operator) (*enrichv1.ResumeProviderResponse, error) {
		return &enrichv1.ResumeProviderResponse{}, operator.Resume(ctx, message.GetProvider())
	})
}

// ForgetProvider drops all that a provider has said.
func (a *adminService) ForgetProvider(ctx context.Context, message *enrichv1.ForgetProviderRequest) (*enrichv1.ForgetProviderResponse, error) {
	return operate(a, ctx, message, func(operator Operator) (*enrichv1.ForgetProviderResponse, error) {
		return &enrichv1.ForgetProviderResponse{}, operator.ForgetProvider(ctx, message.GetProvider())
	})
}

var switchScopes = map[enrichv1.SwitchScope]enrich.SwitchScope{
	enrichv1.SwitchScope_SWITCH_SCOPE_VENDORS:  enrich.SwitchVendors,
	enrichv1.SwitchScope_SWITCH_SCOPE_PROVIDER: enrich.SwitchProvider,
	enrichv1.SwitchScope_SWITCH_SCOPE_ACCOUNT:  enrich.SwitchAccount,
}

// ListSwitches lists the kill switches that are thrown.
func (a *adminService) ListSwitches(ctx context.Context, message *enrichv1.ListSwitchesRequest) (*enrichv1.ListSwitchesResponse, error) {
	return operate(a, ctx, message, func(operator Operator) (*enrichv1.ListSwitchesResponse, error) {
		switches, err := operator.Switches(ctx)
		response := &enrichv1.ListSwitchesResponse{}
		for _, each := range switches {
			response.Switches = append(response.Switches, writeSwitch(each))
		}
		return response, err
	})
}

// SetSwitch throws a kill switch or takes it back.
func (a *adminService) SetSwitch(ctx context.Context, message *enrichv1.SetSwitchRequest) (*enrichv1.SetSwitchResponse, error) {
	return operate(a, ctx, message, func(operator Operator) (*enrichv1.SetSwitchResponse, error) {
		set := enrich.Switch{Scope: switchScopes[message.GetScope()], Name: message.GetName(), Reason: message.GetReason(), Since: time.Now()}
		return &enrichv1.SetSwitchResponse{}, operator.SetSwitch(ctx, set, message.GetOff())
	})
}

// ForgetSubject drops a subject from the caches.
func (a *adminService) ForgetSubject(ctx context.Context, message *enrichv1.ForgetSubjectRequest) (*enrichv1.ForgetSubjectResponse, error) {
	return operate(a, ctx, message, func(operator Operator) (*enrichv1.ForgetSubjectResponse, error) {
		dropped, err := operator.Forget(ctx, enrich.Named{Email: message.GetEmail(), Domain: message.GetDomain()})
		if err == nil {
			err = unreached(dropped)
		}
		return &enrichv1.ForgetSubjectResponse{Dropped: writeDropped(dropped)}, err
	})
}

// EraseSubject drops a subject everywhere and suppresses it.
func (a *adminService) EraseSubject(ctx context.Context, message *enrichv1.EraseSubjectRequest) (*enrichv1.EraseSubjectResponse, error) {
	return operate(a, ctx, message, func(operator Operator) (*enrichv1.EraseSubjectResponse, error) {
		proof, err := operator.Erase(ctx, enrich.Named{Email: message.GetEmail(), Domain: message.GetDomain()})
		switch {
		case err != nil:
			return nil, err
		case !proof.Suppressed:
			return nil, unreachable("suppression list")
		}
		return &enrichv1.EraseSubjectResponse{
			Subject: proof.Subject, EraseTime: timestamppb.New(proof.At), Suppressed: proof.Suppressed, Dropped: writeDropped(proof.Dropped),
		}, unreached(proof.Dropped)
	})
}

// LiftSuppression takes a subject off the suppression list.
func (a *adminService) LiftSuppression(ctx context.Context, message *enrichv1.LiftSuppressionRequest) (*enrichv1.LiftSuppressionResponse, error) {
	return operate(a, ctx, message, func(operator Operator) (*enrichv1.LiftSuppressionResponse, error) {
		done, err := operator.Lift(ctx, enrich.Named{Email: message.GetEmail(), Domain: message.GetDomain()})
		switch {
		case err != nil:
			return nil, err
		case !done.Everywhere:
			return nil, unreachable("suppression list")
		}
		return &enrichv1.LiftSuppressionResponse{Subject: done.Subject, Lifted: done.Was}, nil
	})
}

// ReloadConfig reads the configuration again.
func (a *adminService) ReloadConfig(ctx context.Context, message *enrichv1.ReloadConfigRequest) (*enrichv1.ReloadConfigResponse, error) {
	return operate(a, ctx, message, func(operator Operator) (*enrichv1.ReloadConfigResponse, error) {
		done, err := operator.Reload(ctx)
		return &enrichv1.ReloadConfigResponse{Changed: done.Changed, Restart: done.Restart}, err
	})
}
