package enrichv1

import (
	"embed"
	"encoding/json"
	"sync"
)

// openAPIParts are the documents generated for each service, and what the
// generator has no words for: title, security, examples, and streams of lines.
//
//go:embed enrich.openapi.json admin.openapi.json leads.openapi.json openapi.more.json leads.more.json
var openAPIParts embed.FS

// OpenAPI returns the REST API as one OpenAPI 3.1 document in JSON. It must not
// be changed.
var OpenAPI = sync.OnceValue(func() []byte {
	whole := map[string]any{}
	for _, name := range []string{"enrich.openapi.json", "admin.openapi.json", "leads.openapi.json", "openapi.more.json", "leads.more.json"} {
		text, err := openAPIParts.ReadFile(name)
		part := map[string]any{}
		if err == nil {
			err = json.Unmarshal(text, &part)
		}
		if err != nil { // the files are our own, inside the program
			panic("openapi: " + name + ": " + err.Error())
		}
		merge(whole, part)
	}
	text, err := json.MarshalIndent(whole, "", "  ")
	if err != nil {
		panic("openapi: " + err.Error())
	}
	return text
})

// merge puts a part over a document, as JSON merge patches do (RFC 7396).
func merge(into, part map[string]any) {
	for name, value := range part {
		inner, isObject := value.(map[string]any)
		there, wasObject := into[name].(map[string]any)
		switch {
		case value == nil:
			delete(into, name)
		case isObject && wasObject:
			merge(there, inner)
		default:
			into[name] = value
		}
	}
}
