#!/bin/sh
# Asks a running service about one lead, a batch and a stream of leads.
# usage: enrich.sh EMAIL…      environment: ENRICHD_URL, ENRICHD_KEY
set -eu
url=${ENRICHD_URL:-http://127.0.0.1:8470}
[ $# -gt 0 ] || { echo "name the leads' e-mail addresses" >&2; exit 2; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# The key goes into a file: arguments stand in the list of processes.
touch "$work/headers" && chmod 600 "$work/headers"
if [ -n "${ENRICHD_KEY:-}" ]; then echo "Authorization: Bearer $ENRICHD_KEY" > "$work/headers"; fi

# question prints the question about a lead as JSON.
question() { printf '{"email": "%s"}' "$(printf %s "$1" | sed 's/["\\]/\\&/g')"; }

# ask posts standard input to a path and prints the answer, or the error. After
# 429 and 503 curl waits as long as Retry-After says, 30 seconds in all.
ask() {
	code=0
	curl -sS --fail-with-body --max-time 30 --retry 5 --retry-max-time 30 -o "$work/answer" \
		-H @"$work/headers" -H 'Content-Type: application/json' --data-binary @- "$url$1" || code=$?
	cat "$work/answer"
	echo
	return $code
}

echo "one:"
question "$1" | ask /v1/enrich

echo "batch:"
{
	printf '{"requests": ['
	comma=
	for lead; do printf %s "$comma"; question "$lead"; comma=,; done
	printf ']}'
} | ask /v1/enrich:batch

echo "stream:"
number=0
for lead; do
	printf '{"correlationId": "%d", "request": %s}\n' "$number" "$(question "$lead")"
	number=$((number + 1))
done | ask /v1/enrich:stream
