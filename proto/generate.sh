#!/bin/sh
# Rebuilds the code generated from the contract: Go messages and services, the
# REST gateway and the OpenAPI document. Needs protoc (Debian packages
# protobuf-compiler and libprotobuf-dev); the plugins are pinned in proto/tools.mod.
# usage: proto/generate.sh [output folder, default: proto]
set -eu
cd "$(dirname "$0")/.."
out=${1:-proto}
bin=$(mktemp -d)
trap 'rm -rf "$bin"' EXIT

protoc -o /dev/null google/protobuf/timestamp.proto || { echo "protoc or its types are missing: apt-get install protobuf-compiler libprotobuf-dev" >&2; exit 1; }
export GOFLAGS="${GOFLAGS:-} -modfile=proto/tools.mod"
for tool in google.golang.org/protobuf/cmd/protoc-gen-go \
	google.golang.org/grpc/cmd/protoc-gen-go-grpc \
	github.com/grpc-ecosystem/grpc-gateway/v2/protoc-gen-grpc-gateway \
	github.com/grpc-ecosystem/grpc-gateway/v2/protoc-gen-openapiv3; do
	go build -o "$bin/" "$tool"
done

# folder prints where the go command keeps a module that only lends its .proto files.
folder() { go mod download "$1" && go list -m -f '{{.Dir}}' "$1"; }

PATH="$bin:$PATH" protoc \
	-I proto \
	-I "$(folder github.com/grpc-ecosystem/grpc-gateway)/third_party/googleapis" \
	-I "$(folder github.com/bufbuild/protovalidate)/proto/protovalidate" \
	--go_out="$out" --go_opt=paths=source_relative \
	--go-grpc_out="$out" --go-grpc_opt=paths=source_relative \
	--grpc-gateway_out="$out" --grpc-gateway_opt=paths=source_relative \
	--openapiv3_out="$out" \
	$(cd proto && find . -name '*.proto' | sed 's|^\./||' | sort)
