package fakevendor

// exchange is one call of a dialect with the paths of its answer that the
// vendor's documentation names, and the values expected there. "?" is any
// value, nil none.
type exchange struct {
	call string // "POST /path body"
	want map[string]any
}

// refused is how a dialect says no.
type refused struct {
	status int
	path   string
	value  any
}

// spoken is what the tests know about one dialect.
type spoken struct {
	header string
	// exchanges that bring everything, in order.
	exchanges []exchange
	// first is the call that is refused below, miss where the vendor knows
	// nothing.
	first  string
	noKey  refused
	full   refused
	spent  refused
	failed refused
	bad    string
	badIs  refused
	miss   *refused
}

var dialectTests = map[string]spoken{
	"peopledatalabs": {
		header: "X-Api-Key: k",
		exchanges: []exchange{
			{"GET /v5/person/enrich?titlecase=true&email=" + ada, map[string]any{
				"status": 200.0, "likelihood": "?", "data.first_name": "Ada", "data.last_name": "North", "data.job_title": "?",
				"data.job_title_levels.0": "manager", "data.job_title_role": "sales", "data.phone_numbers.0": "?",
				"data.location_country": "United States", "data.job_company_employee_count": "?"}},
			{"GET /v5/company/enrich?website=blue-river.example", map[string]any{
				"display_name": "Blue River", "size": "?", "employee_count": "?", "location.country": "united states", "summary": "?"}},
		},
		first:  "GET /v5/person/enrich?email=" + ada,
		noKey:  refused{401, "error.type", "authentication_error"},
		full:   refused{429, "error.type", "rate_limit_error"},
		spent:  refused{402, "error.type", "payment_required"},
		failed: refused{503, "error.type", "api_error"},
		bad:    "GET /v5/person/enrich", badIs: refused{400, "error.type", "invalid_request_error"},
		miss: &refused{404, "error.type", "not_found"},
	},
	"apollo": {
		header: "x-api-key: k",
		exchanges: []exchange{
			{"POST /api/v1/people/match?email=" + ada, map[string]any{
				"person.name": "Ada North", "person.seniority": "manager", "person.functions.0": "sales", "person.email_status": "verified",
				"person.linkedin_url": "?", "person.organization.name": "Blue River", "person.organization.annual_revenue": "?",
				"person.contact.name": "Wanda Otherling"}},
			{"GET /api/v1/organizations/enrich?domain=blue-river.example", map[string]any{
				"organization.primary_domain": "blue-river.example", "organization.estimated_num_employees": "?",
				"organization.primary_phone.sanitized_number": "?", "organization.technology_names.0": "?"}},
		},
		first:  "POST /api/v1/people/match?email=" + ada,
		noKey:  refused{401, "", "Invalid access credentials."},
		full:   refused{429, "message", "?"},
		spent:  refused{422, "error_code", "INSUFFICIENT_CREDITS"},
		failed: refused{503, "error", "?"},
		bad:    "POST /api/v1/people/match", badIs: refused{400, "error_code", "INVALID_REQUEST"},
		miss: &refused{200, "person.match_confidence", "none"},
	},
	"hunter": {
		header: "X-API-KEY: k",
		exchanges: []exchange{{"GET /v2/combined/find?email=" + ada, map[string]any{
			"data.person.geo.countryCode": "US", "data.person.employment.role": "sales", "data.company.metrics.employees": "?",
			"data.company.category.industry": "Machinery", "data.company.tech.0": "?"}}},
		first:  "GET /v2/people/find?email=" + ada,
		noKey:  refused{401, "errors.0.id", "authentication_failed"},
		full:   refused{403, "errors.0.id", "rate_limit"},
		spent:  refused{429, "errors.0.id", "too_many_requests"},
		failed: refused{503, "errors.0.code", 503.0},
		bad:    "GET /v2/people/find", badIs: refused{400, "errors.0.id", "wrong_params"},
		miss: &refused{404, "errors.0.id", "not_found"},
	},
	"clearbit": {
		header: "Authorization: Basic azo=", // user k, no password
		exchanges: []exchange{
			{"GET /v2/people/find?email=" + ada, map[string]any{
				"name.fullName": "Ada North", "employment.seniority": "manager", "employment.role": "sales", "timeZone": "?"}},
			{"GET /v2/companies/find?domain=blue-river.example", map[string]any{
				"legalName": "?", "metrics.estimatedAnnualRevenue": "$0-$1M", "linkedin.handle": "company/blue-river"}},
			{"GET /v2/combined/find?email=" + ada, map[string]any{"person.email": ada, "company.domain": "blue-river.example"}},
			{"GET /v2/combined/find?email=info@blue-river.example", map[string]any{"person": nil, "company.domain": "blue-river.example"}},
		},
		first:  "GET /v2/people/find?email=" + ada,
		noKey:  refused{401, "error.type", "auth_invalid"},
		full:   refused{429, "error.type", "rate_limit"},
		spent:  refused{402, "error.type", "over_quota"},
		failed: refused{503, "error.type", "internal"},
		bad:    "GET /v2/people/find?email=x", badIs: refused{422, "error.type", "email_invalid"},
		miss: &refused{404, "error.type", "unknown_record"},
	},
	"fullcontact": {
		header: "Authorization: Bearer k",
		exchanges: []exchange{
			{`POST /v3/person.enrich {"email":"` + ada + `"}`, map[string]any{
				"fullName": "Ada North", "organization": "Blue River", "details.name.given": "Ada", "details.employment.0.domain": "blue-river.example",
				"details.locations.0.countryCode": "US", "phone": "?"}},
			{`POST /v3/company.enrich {"domain":"blue-river.example"}`, map[string]any{
				"name": "Blue River", "website": "https://www.blue-river.example", "employees": "?", "details.phones.0.value": "?", "bio": "?"}},
			{`POST /v3/person.enrich {"email":"` + ada + `","webhookUrl":"https://hook.example"}`, map[string]any{"status": 202.0}},
		},
		first:  `POST /v3/person.enrich {"email":"` + ada + `"}`,
		noKey:  refused{403, "message", "API key is missing"},
		full:   refused{429, "message", "?"},
		spent:  refused{403, "message", "?"},
		failed: refused{503, "message", "?"},
		bad:    `POST /v3/person.enrich {}`, badIs: refused{400, "message", "Invalid email"},
		miss: &refused{404, "message", "Profile not found"},
	},
	"dropcontact": {
		header: "X-Access-Token: k",
		exchanges: []exchange{{`POST /v1/enrich/all {"data":[{"email":"` + ada + `"}],"language":"en","siren":false}`, map[string]any{
			"success": true, "request_id": "?", "credits_left": "?"}}},
		first:  `POST /v1/enrich/all {"data":[{"email":"` + ada + `"}]}`,
		noKey:  refused{401, "success", false},
		full:   refused{429, "error", true},
		spent:  refused{403, "error", true},
		failed: refused{503, "detail", "?"},
		bad:    `POST /v1/enrich/all {"data":[{"shoe_size":"44"}]}`, badIs: refused{400, "reason", "unexpected_field: shoe_size"},
	},
	"rocketreach": {
		header: "Api-Key: k",
		exchanges: []exchange{
			{"GET /api/v2/person/lookup?email=" + ada, map[string]any{
				"status": "complete", "name": "Ada North", "emails.1.smtp_valid": "valid", "phones.0.type": "mobile", "phones.1.e164": "?",
				"job_history.1.department": "Sales", "job_history.1.is_current": true, "region": "OR", "country_code": "US"}},
			{"GET /api/v2/company/lookup/?domain=blue-river.example", map[string]any{
				"num_employees": "?", "links.linkedin": "?", "address.country_code": "US", "techstack.0": "?"}},
		},
		first:  "GET /api/v2/person/lookup?email=" + ada,
		noKey:  refused{401, "status", 401.0},
		full:   refused{429, "message", "?"},
		spent:  refused{402, "code", "insufficient_credits"},
		failed: refused{503, "message", "?"},
		bad:    "GET /api/v2/person/lookup", badIs: refused{400, "email.0", "?"},
		miss: &refused{404, "message", "No profile found"},
	},
	"lusha": {
		header: "api_key: k",
		exchanges: []exchange{
			{`POST /v3/contacts/search-and-enrich {"contacts":[{"clientReferenceId":"r1","email":"` + ada + `"}],"reveal":["emails","phones"]}`,
				map[string]any{"results.0.clientReferenceId": "r1", "results.0.fullName": "Ada North", "results.0.jobTitle.departments.0": "Sales",
					"results.0.phones.0.number": "?", "results.0.company.domain": "www.blue-river.example", "billing.creditsCharged": 6.0}},
			{`POST /v3/contacts/search-and-enrich {"contacts":[{"clientReferenceId":"r1","email":"` + ada + `"}]}`,
				map[string]any{"results.0.emails": "?", "results.0.emails.0": nil, "billing.creditsCharged": 0.0}},
			{`POST /v3/companies/search-and-enrich {"companies":[{"domain":"blue-river.example"},{"domain":"gmail.com"}]}`,
				map[string]any{"results.0.error.code": "NOT_FOUND", "results.1.employeeCount.exact": "?", "billing.resultsReturned": 1.0}},
		},
		first:  `POST /v3/contacts/search-and-enrich {"contacts":[{"email":"` + ada + `"}]}`,
		noKey:  refused{401, "statusCode", 401.0},
		full:   refused{429, "message", "?"},
		spent:  refused{402, "message", "?"},
		failed: refused{503, "message", "?"},
		bad:    `POST /v3/contacts/search-and-enrich {"contacts":[]}`, badIs: refused{400, "message", "?"},
		miss: &refused{200, "results.0.error.code", "NOT_FOUND"},
	},
	"leadmagic": {
		header: "X-API-Key: k",
		exchanges: []exchange{
			{`POST /v1/people/b2b-profile {"work_email":"` + ada + `"}`, map[string]any{
				"profile_url": "https://www.linkedin.com/in/ada-north-dece", "credits_consumed": 10.0}},
			{`POST /v1/people/profile-search {"profile_url":"https://www.linkedin.com/in/ada-north-dece"}`, map[string]any{
				"full_name": "Ada North", "professional_title": "?", "company_website": "blue-river.example", "country": "United States"}},
			{`POST /v1/people/email-validation {"email":"` + ada + `"}`, map[string]any{"email_status": "valid", "credits_consumed": 0.25}},
			{`POST /v1/companies/company-search {"company_domain":"blue-river.example"}`, map[string]any{"credits_consumed": 1.0, "description": "?"}},
		},
		first:  `POST /v1/people/b2b-profile {"work_email":"` + ada + `"}`,
		noKey:  refused{401, "error", "unauthorized"},
		full:   refused{429, "error", "rate_limit_exceeded"},
		spent:  refused{402, "error", "insufficient_credits"},
		failed: refused{503, "message", "?"},
		bad:    `POST /v1/people/b2b-profile {}`, badIs: refused{400, "message", "?"},
		miss: &refused{200, "profile_url", nil},
	},
	"prospeo": {
		header: "X-KEY: k",
		exchanges: []exchange{
			{`POST /enrich-person {"data":{"email":"` + ada + `"},"enrich_mobile":false}`, map[string]any{
				"error": false, "free_enrichment": false, "person.email.status": "VERIFIED", "person.mobile.revealed": false,
				"person.mobile.mobile": "+150**-***-****", "person.job_history.1.seniority": "Manager", "company.domain": "blue-river.example"}},
			{`POST /enrich-person {"data":{"email":"` + ada + `"},"enrich_mobile":true}`, map[string]any{
				"free_enrichment": false, "person.mobile.revealed": true}},
			{`POST /enrich-person {"data":{"email":"` + ada + `"},"enrich_mobile":true}`, map[string]any{"free_enrichment": true}},
			{`POST /enrich-company {"data":{"company_website":"blue-river.example"}}`, map[string]any{
				"company.name": "Blue River", "company.technology.technology_names.0": "?"}},
		},
		first:  `POST /enrich-person {"data":{"email":"` + ada + `"}}`,
		noKey:  refused{401, "error_code", "INVALID_API_KEY"},
		full:   refused{429, "error", true},
		spent:  refused{400, "error_code", "INSUFFICIENT_CREDITS"},
		failed: refused{503, "error", true},
		bad:    `POST /enrich-person {"data":{}}`, badIs: refused{400, "error_code", "INVALID_DATAPOINTS"},
		miss: &refused{400, "error_code", "NO_MATCH"},
	},
	"zerobounce": {
		exchanges: []exchange{
			{"GET /v2/validate?api_key=k&ip_address=&email=" + ada, map[string]any{
				"status": "valid", "mx_found": "True", "free_email": false, "country": "Iceland"}},
			{"GET /v2/validate?api_key=k&email=info@blue-river.example", map[string]any{"status": "do_not_mail", "sub_status": "role_based"}},
			{"GET /v2/validate?api_key=k&email=nonsense", map[string]any{"status": "invalid"}},
		},
		first:  "GET /v2/validate?api_key=k&email=" + ada,
		noKey:  refused{200, "error", "Invalid API key or your account ran out of credits"},
		full:   refused{429, "error", "?"},
		spent:  refused{200, "error", "Invalid API key or your account ran out of credits"},
		failed: refused{503, "error", "?"},
		bad:    "GET /v2/validate?api_key=k", badIs: refused{400, "error", "?"},
	},
	"neverbounce": {
		exchanges: []exchange{
			{"GET /v4.2/single/check?key=k&credits_info=1&email=" + ada, map[string]any{
				"status": "success", "result": "valid", "flags.0": "has_dns", "credits_info.paid_credits_used": 1.0, "credits_info.monthly_api_usage": "0"}},
			{`POST /v4.2/single/check {"key":"k","email":"info@blue-river.example"}`, map[string]any{"result": "valid", "flags.2": "role_account"}},
		},
		first:  "GET /v4.2/single/check?key=k&email=" + ada,
		noKey:  refused{200, "status", "auth_failure"},
		full:   refused{200, "status", "throttle_triggered"},
		spent:  refused{200, "status", "general_failure"},
		failed: refused{503, "status", "temp_unavail"},
		bad:    "GET /v4.2/single/check?key=k", badIs: refused{200, "status", "general_failure"},
	},
	"fullenrich": {
		header: "Authorization: Bearer k",
		exchanges: []exchange{
			{`POST /api/v2/contact/reverse/email/bulk {"name":"x","data":[{"email":"` + ada + `"}]}`, map[string]any{"enrichment_id": "?"}},
			{`POST /api/v2/company/lookup {"domain":"blue-river.example"}`, map[string]any{
				"companies.0.name": "Blue River", "companies.0.industry.main_industry": "Machinery", "metadata.credits": 0.25,
				"companies.0.social_profiles.professional_network.handle": "blue-river"}},
			{`POST /api/v2/company/lookup {"domain":"gmail.com"}`, map[string]any{"companies": "?", "companies.0": nil}},
		},
		first:  `POST /api/v2/company/lookup {"domain":"blue-river.example"}`,
		noKey:  refused{401, "code", "error.authorization.not_set"},
		full:   refused{429, "code", "error.rate.limit"},
		spent:  refused{402, "code", "error.credits.insufficient"},
		failed: refused{503, "code", "error.internal"},
		bad:    `POST /api/v2/contact/reverse/email/bulk {"name":"x","data":[{"email":"x"}]}`, badIs: refused{400, "code", "error.reverse.email.invalid"},
	},
}
