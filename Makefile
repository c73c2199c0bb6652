# Run "make help" for what there is.
SHELL := /bin/sh
.DEFAULT_GOAL := help
PACKAGES := ./...
# The Go that releases, and the image of deploy/Dockerfile, are built with: its standard
# library faces the network.
RELEASE_GO ?= go1.26.11

# By what the compiler knows the hot paths: make profile writes it.
PROFILE := cmd/enrichd/release.pgo

.PHONY: help demo build release profile test fuzz audit bench loadtest quotarun crashrun importrun waitrun lint setup generate fields check-generated

help: ## Show this help.
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-16s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

demo: ## Enrich a bundled list of leads with fake vendors, then keep serving.
	@go run ./cmd/enrichd demo $(DEMO)

build: ## Build bin/enrichd.
	go build -trimpath -pgo=$(PROFILE) -o bin/enrichd ./cmd/enrichd

release: ## Build bin/enrichd static, with its bill of materials and checksums.
	CGO_ENABLED=0 GOTOOLCHAIN=$(RELEASE_GO) go build -trimpath -pgo=$(PROFILE) -buildvcs=auto -ldflags="-s -w" -o bin/enrichd ./cmd/enrichd
	go run github.com/CycloneDX/cyclonedx-gomod/cmd/cyclonedx-gomod@v1.10.0 bin -json -output bin/enrichd.cdx.json bin/enrichd
	cd bin && sha256sum enrichd enrichd.cdx.json > SHA256SUMS

profile: setup ## Profile the service under the benchmarks' load, for builds to be guided by.
	go run ./loadtest/bench --rows C1,C2,C3,C4,C7 --rounds 3 --length 2s --profile $(PROFILE)

test: setup lint check-generated ## Run all checks and tests; sets up what they need.
	go test -race -vet=off -timeout 10m $(PACKAGES)

fuzz: setup ## Feed made-up input to every fuzz test, each for FUZZTIME=30s.
	@grep -rno --include='*_test.go' '^func Fuzz[A-Za-z]*' . | sed 's|/[^/]*:[0-9]*:func | |' | while read -r folder name; do \
		echo "$$folder $$name"; go test -run '^$$' -fuzz "^$$name\$$" -fuzztime $(or $(FUZZTIME),30s) "$$folder" </dev/null || exit 1; \
	done

bench: setup ## Measure cost beside floors: BENCH="--rows C1 --rounds 3 --length 500ms".
	go run ./loadtest/bench $(BENCH)

loadtest: setup ## Run load tests against a real fleet: LOADTEST="run steady brownout".
	go run ./loadtest $(LOADTEST)

quotarun: ## Play random limits and callers in simulated time, and count what strict vendors refuse.
	ENRICHD_QUOTA_SEEDS=200 go test -count=1 -timeout 60m -run 'TestWhatever|TestWhoever' ./quota

crashrun: setup ## Kill durable work 50 times on SQLite and on PostgreSQL, and count what is lost or paid twice.
	ENRICHD_CRASH_KILLS=50 ENRICHD_CRASH_ON=both go test -count=1 -v -timeout 30m -run TestCrash ./jobs

importrun: ## Import 100,000 messy rows through vendors with brownouts, and check that the figures add up.
	ENRICHD_IMPORT_ROWS=100000 go test -count=1 -v -timeout 60m -run 'TestImportRun|TestRowsOfRubbish' ./intake

waitrun: setup ## Measure how long interactive leads take alone and beside a bulk import of 100,000.
	ENRICHD_BACKLOG=100000 go test -run '^$$' -bench Interactive -benchtime 200x -timeout 30m ./jobs

# Vet compiles with -race where there is a C compiler because the tests do: what both
# need is compiled once.
lint: ## Check formatting and vet.
	@unformatted=$$(gofmt -l $$(git ls-files '*.go' 2>/dev/null || find . -name '*.go')); \
	if [ -n "$$unformatted" ]; then echo "not formatted with gofmt:"; echo "$$unformatted"; exit 1; fi
	go vet $$(if [ "$$(go env CGO_ENABLED)" = 1 ]; then echo -race; fi) $(PACKAGES)

audit: ## Look for known vulnerabilities (asks the Go vulnerability database) and for mistakes.
	go run honnef.co/go/tools/cmd/staticcheck@v0.8.2 $(PACKAGES)
	GOTOOLCHAIN=$(RELEASE_GO) go run golang.org/x/vuln/cmd/govulncheck@v1.9.0 $(GOVULNCHECK) $(PACKAGES)

setup: ## Install redis-server, protoc, promtool, PostgreSQL and gcc where they are missing (Debian, as root).
	@missing=""; \
	command -v redis-server >/dev/null || missing="$$missing redis-server"; \
	protoc -o /dev/null google/protobuf/timestamp.proto 2>/dev/null || missing="$$missing protobuf-compiler libprotobuf-dev"; \
	command -v promtool >/dev/null || missing="$$missing prometheus"; \
	ls /usr/lib/postgresql/*/bin/initdb >/dev/null 2>&1 || command -v initdb >/dev/null || missing="$$missing postgresql"; \
	command -v gcc >/dev/null || missing="$$missing gcc libc6-dev"; \
	if [ -n "$$missing" ]; then \
		if [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null; then \
			apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends $$missing >/dev/null; \
		else echo "please install first:$$missing"; exit 1; fi; \
	fi

generate: ## Rebuild the code generated from the contract in proto/.
	proto/generate.sh

fields: ## Write the fields of the configuration into docs/configuration.md and config/enrichd.schema.json.
	go test ./config -run 'TestThePageListsEveryField|TestTheSchemaIsFresh' -update

check-generated: ## Fail when generated code is not what the contract generates.
	@fresh=$$(mktemp -d) && trap 'rm -rf "$$fresh"' EXIT && proto/generate.sh "$$fresh" && \
	for file in $$( (cd "$$fresh" && find . -type f; cd "$(CURDIR)/proto" && find . -name '*.pb.go' -o -name '*.pb.gw.go' -o -name '*.openapi.json') | sort -u); do \
		cmp -s "$$fresh/$$file" "proto/$$file" || { echo "proto/$$file is stale: run make generate, and remove what it no longer makes"; exit 1; }; \
	done
