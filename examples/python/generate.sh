#!/bin/sh
# Generates the Python code of the contract.
# usage: generate.sh [output folder, default: that of this script]
# Needs protoc 3.15 or newer with its plugin for Python (Debian packages
# protobuf-compiler, protobuf-compiler-grpc and libprotobuf-dev), and Go for the
# contract's imports.
set -eu
cd "$(dirname "$0")/../../proto"
out=${1:-../examples/python}
export GOFLAGS="${GOFLAGS:-} -modfile=proto/tools.mod"
folder() { (cd .. && go mod download "$1" && go list -m -f '{{.Dir}}' "$1"); }
protoc -I . \
	-I "$(folder github.com/grpc-ecosystem/grpc-gateway)/third_party/googleapis" \
	-I "$(folder github.com/bufbuild/protovalidate)/proto/protovalidate" \
	--python_out="$out" --grpc_python_out="$out" \
	--plugin=protoc-gen-grpc_python="$(command -v grpc_python_plugin)" \
	enrich/v1/enrich.proto enrich/v1/attributes.proto enrich/v1/options.proto buf/validate/validate.proto \
	google/api/annotations.proto google/api/http.proto google/rpc/status.proto google/rpc/error_details.proto
