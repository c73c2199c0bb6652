package trial

import (
	"slices"

	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/enrichd/enrichd/loadtest/drive"
	"github.com/enrichd/enrichd/loadtest/judge"
	enrichv1 "github.com/enrichd/enrichd/proto/enrich/v1"
)

// oracle knows what is true in the fake vendors' world.
type oracle interface {
	Vendors() []string
	Knows(vendor, subject string) bool
	Truth(subject string) map[string]any
}

// spelt are attributes that some vendor spells in a way of its own.
var spelt = []string{"person.region"}

// examine compares what somebody was told about a lead with what the vendors
// know about it. Who asked for fields has lost the lead when none of them came.
func examine(o oracle, email string, fields []string, answer drive.Answer, e *judge.Examined) {
	truth := o.Truth(email)
	knows := func(vendor string) bool { return o.Knows(vendor, email) }
	toldOf := func(field string) bool { _, told := truth[field]; return told }
	found := told(answer.Response)
	if (len(fields) == 0 || slices.ContainsFunc(fields, toldOf)) && slices.ContainsFunc(o.Vendors(), knows) {
		e.Known++
		if len(found) == 0 {
			e.Lost++
		}
	}
	if len(found) == 0 {
		return
	}
	e.Compared++
	for path, value := range found {
		if text, isText := value.(string); isText && !slices.Contains(spelt, path) && truth[path] != text {
			e.Wrong++
			return
		}
	}
}

// told are the facts of a response by their names in the contract.
func told(response *enrichv1.EnrichResponse) map[string]any {
	facts := map[string]any{}
	for _, part := range []struct {
		name    string
		message protoreflect.Message
	}{{"person", response.GetPerson().ProtoReflect()}, {"company", response.GetCompany().ProtoReflect()}} {
		part.message.Range(func(field protoreflect.FieldDescriptor, value protoreflect.Value) bool {
			facts[part.name+"."+string(field.Name())] = value.Interface()
			return true
		})
	}
	return facts
}
