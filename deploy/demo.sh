#!/bin/sh
# demo.sh: what rematd does, shown on two real graphs over HTTP.
#
# Starts the daemon on a free port of loopback, sends a Llama training graph with
# selective checkpointing and then one whose checkpoint tags contradict each
# other, shows both answers and stops the daemon. Exits non-zero when anything
# is not as it should be. Needs a build, curl and xz; `make demo` sees to all.
set -eu

graphs=tests/data/corpus
work=$(mktemp -d)
daemon=

finish() {
    status=$?
    trap - EXIT
    [ -z "$daemon" ] || kill "$daemon" 2>/dev/null || true
    rm -rf "$work"
    exit "$status"
}
trap finish EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

fail() {
    echo "demo: $*" >&2
    [ ! -s "$work/log" ] || sed 's/^/demo: rematd: /' "$work/log" >&2
    exit 1
}

title() {
    printf '\n== %s\n\n' "$*"
}

# expect PATTERN: the answer shown last has a line like that.
expect() {
    grep -qE "$1" "$work/answer" || fail "the answer has no line like: $1"
}

# post NAME: sends the corpus graph and leaves the text report in the answer.
post() {
    xz -dc "$graphs/$1.graph.json.xz" >"$work/$1.json"
    printf '$ curl --json @%s.json -H "Accept: text/plain" %s/v1/plans\n\n' \
        "$1" "$url"
    status=$(curl --silent --show-error --max-time 60 --output "$work/answer" \
        --write-out '%{http_code} in %{time_total} s' --json "@$work/$1.json" \
        --header 'Accept: text/plain' "$url/v1/plans")
    case $status in
    200*) ;;
    *) cat "$work/answer" && fail "$1: expected 200, got $status" ;;
    esac
}

# ---- start --------------------------------------------------------------

mkfifo "$work/stdout"
build/rematd --listen 127.0.0.1:0 --data :memory: \
    >"$work/stdout" 2>"$work/log" </dev/null &
daemon=$!
exec 3<"$work/stdout" # kept open: the daemon may go on writing
read -r first <&3 || fail "rematd ended before it listened"
url=${first#listening on }
case $url in
http://127.0.0.1:[1-9]*) ;;
*) fail "unexpected first line of rematd: $first" ;;
esac
title "rematd is listening on $url"
build/remat ping "$url" || fail "remat ping found no daemon"
curl --silent --show-error --fail "$url/version" || fail "no /version"

# ---- a plan -------------------------------------------------------------

title "A Llama training step (2 layers, selective checkpointing): what to save?"
post llama_2l_sac
cat "$work/answer"
expect '^The forward saves 47 values'
expect '^ +131072 .* getitem_4 .*which is tagged must_save'
expect ' 140 computed again in it'
printf '\n(answered %s)\n' "$status"

# ---- no plan ------------------------------------------------------------

title "The same family with attention outputs tagged apart from their source"
post autoparallel_llama_3l_naive_getitem
cat "$work/answer"
expect '^There is no plan'
expect '_scaled_dot_product_flash_attention_for_cpu is tagged must_save'
expect 'getitem_4 is tagged prefer_recompute'
printf '\n(answered %s)\n' "$status"

# ---- stop ---------------------------------------------------------------

kill -TERM "$daemon"
code=0
wait "$daemon" || code=$?
daemon=
[ "$code" -eq 0 ] || fail "rematd exited $code on SIGTERM, expected 0"
title "rematd stopped cleanly; its log, one JSON line per request:"
cat "$work/log" - <&3
title "The demo went as it should"
