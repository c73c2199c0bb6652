package server

import (
	"net/http"
	"strings"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/enrichd/enrichd/enrich"
	enrichv1 "github.com/enrichd/enrichd/proto/enrich/v1"
)

// method is one method of the contract.
type method struct {
	// name is the method's, as the observer is told, item that of its questions.
	name, item string
	// admin: the admin scope is needed. The account's rate does not count it.
	admin bool
	// stream: messages come one after another.
	stream bool
	// raw answers the method over REST where its body or its answer is no JSON
	// message; nil: the gateway does. A file's body has any form.
	raw  func(s *Server, w http.ResponseWriter, r *http.Request, call *call)
	file bool
}

// services are the contract's.
func services() []protoreflect.ServiceDescriptor {
	return []protoreflect.ServiceDescriptor{
		enrichv1.File_enrich_v1_enrich_proto.Services().ByName("EnrichService"),
		enrichv1.File_enrich_v1_admin_proto.Services().ByName("AdminService"),
		enrichv1.File_enrich_v1_leads_proto.Services().ByName("LeadService"),
		enrichv1.File_enrich_v1_leads_proto.Services().ByName("LeadAdminService"),
	}
}

// methods are the contract's, by their full names in gRPC.
var methods = func() map[string]*method {
	all := map[string]*method{}
	for _, service := range services() {
		for i := range service.Methods().Len() {
			each := service.Methods().Get(i)
			name := string(each.Name())
			all[fullMethod(each)] = &method{
				name: name, item: name + ".item", admin: strings.HasSuffix(string(service.Name()), "AdminService"), stream: each.IsStreamingClient(),
				raw: rawMethods[name], file: name == "CreateImport",
			}
		}
	}
	return all
}()

// rawMethods are those that the gateway does not answer.
var rawMethods = map[string]func(s *Server, w http.ResponseWriter, r *http.Request, call *call){
	"StreamEnrich": (*Server).streamREST,
	"CreateImport": (*Server).importREST,
	"ReceiveEvent": (*Server).eventREST,
	"ExportLedger": (*Server).exportREST,
}

// fullMethod is a method's path in gRPC.
func fullMethod(method protoreflect.MethodDescriptor) string {
	return "/" + string(method.Parent().FullName()) + "/" + string(method.Name())
}

// enter is the one gate: every request for the contract's methods passes it
// before its message is looked at, over gRPC, unary or stream, and over REST. It
// tells who asks, whether they may, and counts the request against the account's
// rate.
func (s *Server) enter(call *call, shown credential) error {
	caller, err := s.authenticate(shown)
	if err != nil {
		return err
	}
	call.caller = caller
	if call.method.admin {
		if !caller.Admin {
			return errNotAdmin
		}
		return nil
	}
	call.rate = s.rates.take(&call.caller)
	return call.rate.refusal()
}

var errNotAdmin = &enrich.Error{Kind: enrich.Denied, Reason: "admin_scope", Offset: -1, Message: "this needs a key with the admin scope"}

// leave tells the observer of a request that passed the gate, let in or not.
func (s *Server) leave(call *call, code codes.Code) {
	s.parts.Observer.Finished(call.traceContext(), call.method.name, code.String(), call.caller.Account.Name, call.source, time.Since(call.began))
	call.endTrace(code)
}

// leaveItem tells the observer of one question of a batch or a stream.
func (s *Server) leaveItem(call *call, code codes.Code, source string, began time.Time) {
	s.parts.Observer.Finished(call.traceContext(), call.method.item, code.String(), call.caller.Account.Name, source, time.Since(began))
}
