package enrichv1

import _ "embed"

// OpenAPI is the REST API as an OpenAPI 3 document in JSON.
//
//go:embed enrich.openapi.json
var OpenAPI []byte
