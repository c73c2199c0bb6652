package server

import (
	"net/http"
	"regexp"
	"slices"
	"strings"

	"google.golang.org/genproto/googleapis/api/annotations"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
)

// route is one method and path of REST.
type route struct {
	method string
	path   *regexp.Regexp
	to     *method
}

// contractRoutes reads the REST routes from the contract. The gateway has them
// too, but cannot say which methods a path has.
func contractRoutes() (routes []route) {
	for _, service := range services() {
		for i := range service.Methods().Len() {
			routes = append(routes, routesOf(service.Methods().Get(i))...)
		}
	}
	return routes
}

func routesOf(method protoreflect.MethodDescriptor) (routes []route) {
	rule, _ := proto.GetExtension(method.Options(), annotations.E_Http).(*annotations.HttpRule)
	for _, binding := range append([]*annotations.HttpRule{rule}, rule.GetAdditionalBindings()...) {
		for name, template := range map[string]string{
			http.MethodGet: binding.GetGet(), http.MethodPost: binding.GetPost(), http.MethodPut: binding.GetPut(),
			http.MethodPatch: binding.GetPatch(), http.MethodDelete: binding.GetDelete(),
		} {
			if template != "" {
				routes = append(routes, route{method: name, path: pathPattern(template), to: methods[fullMethod(method)]})
			}
		}
	}
	return routes
}

// variable is a variable in a quoted path template of google/api/http.proto.
var variable = regexp.MustCompile(`\\\{[^/]*?\\\}`)

func pathPattern(template string) *regexp.Regexp {
	return regexp.MustCompile("^" + variable.ReplaceAllString(regexp.QuoteMeta(template), "[^/]+") + "$")
}

// routeOf finds the route of a request, or else the methods that its path has;
// none when the path is unknown.
func routeOf(routes []route, r *http.Request) (found *route, allowed []string) {
	for _, each := range routes {
		if !each.path.MatchString(r.URL.Path) {
			continue
		}
		if each.method == r.Method {
			return &each, nil
		}
		allowed = append(allowed, each.method)
	}
	slices.Sort(allowed)
	return nil, slices.Compact(allowed)
}

// checkRoute finds the route of a request, or refuses one that the contract has
// none for.
func checkRoute(routes []route, w http.ResponseWriter, r *http.Request) (*route, error) {
	found, allowed := routeOf(routes, r)
	switch {
	case found != nil:
		return found, nil
	case allowed == nil:
		return nil, notFound()
	default:
		w.Header().Set("Allow", strings.Join(allowed, ", "))
		return nil, notAllowed(allowed)
	}
}
