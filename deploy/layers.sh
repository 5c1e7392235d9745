#!/bin/sh
# layers.sh CHECK...: proves that dependencies run core <- proto <- server.
#
#   includes  what each file includes: its own layer, the public header below,
#             the system headers its layer may know
#   depends   the same, as the compiler saw it (the .d files of a build)
#   symbols   libremat.a asks the outside only for what is on a list
#   names     every global symbol carries the name of its layer
#   globals   core holds no data that can change
#   headers   each header compiles alone, twice over
#
# Reads B (a release build's folder), CC and the flags that the Makefile exports
# as FLAGS_CORE, FLAGS_PROTO and FLAGS_SERVER. Prints each violation with its
# place; exit 1 when there is one.
#
# The checks are called by name, at the end:
# shellcheck disable=SC2317
set -eu

B=${B:-build/release}
CC=${CC:-gcc}
bad=0

complain() {
    echo "layers: $*" >&2
    bad=1
}

# What a pure library may need of the C library: no clock, no file, no
# environment, no locale, no thread, nothing with hidden state.
CORE_HEADERS='assert errno float inttypes limits math stdalign stdarg stdbool
stddef stdint stdio stdlib string'
CORE_SYMBOLS='malloc calloc realloc free memcpy memmove memset memcmp memchr
strcmp strncmp strlen strnlen strspn strcspn strchr strrchr strstr snprintf vsnprintf
floor ceil fmod fabs log log2 exp pow sqrt ldexp frexp
__assert_fail __stack_chk_fail __snprintf_chk __vsnprintf_chk __memcpy_chk
__memmove_chk __memset_chk __isoc99_sscanf _GLOBAL_OFFSET_TABLE_'

# ---- includes -----------------------------------------------------------

# system_allowed LAYER HEADER
system_allowed() {
    case $1 in
    core)
        # The arena tells the address sanitizer what it has taken back.
        [ "$1:$2" != core:sanitizer/asan_interface.h ] || return 0
        for header in $CORE_HEADERS; do
            [ "$2" != "$header.h" ] || return 0
        done
        return 1
        ;;
    proto)
        # JSON and SHA-256 yes; sockets, loops and threads no.
        case $2 in
        microhttpd.h | uv.h | uv/* | sys/* | netdb.h | netinet/* | arpa/* | \
            pthread.h | threads.h | unistd.h | fcntl.h | poll.h | signal.h | \
            dirent.h | time.h)
            return 1
            ;;
        esac
        ;;
    esac
}

# quoted_allowed LAYER FILE HEADER: is it found where this layer may look?
quoted_allowed() {
    case $1 in
    core) folders="core core/include" ;;
    proto) folders="proto proto/include core/include" ;;
    server) folders="server proto/include core/include" ;;
    esac
    for folder in $folders "${2%/*}"; do
        case $folder/$3 in
        proto/include/* | core/include/*) ;;
        *) case $folder/ in "$1"/*) ;; *) continue ;; esac ;;
        esac
        [ ! -f "$folder/$3" ] || return 0
    done
    return 1
}

# macro_value FILE NAME: what the file itself defines NAME as.
macro_value() {
    sed -nE "s/^#define $2 +(\".*\")$/\1/p" "$1"
}

check_includes() {
    for layer in core proto server; do
        find "$layer" -name '*.[ch]' -o -name '*.inc' | sort | while read -r f
        do
            sed -nE 's/^[[:space:]]*#[[:space:]]*include[[:space:]]*//p' "$f" |
                while read -r include; do
                    case $include in
                    [A-Z]*) include=$(macro_value "$f" "$include") ;;
                    esac
                    # What is between the marks, without a process for each of thousands.
                    name=${include#?}
                    name=${name%%[\">]*}
                    case $include in
                    *\.\./*) echo "$f: climbs out of its folder: $name" ;;
                    \"*) quoted_allowed "$layer" "$f" "$name" ||
                        echo "$f: $layer may not include \"$name\"" ;;
                    \<*) system_allowed "$layer" "$name" ||
                        echo "$f: $layer may not include <$name>" ;;
                    *) echo "$f: an include that names no file of its own" ;;
                    esac
                done
        done
    done >"$B/layers.includes"
    while read -r line; do
        complain "$line"
    done <"$B/layers.includes"
}

check_depends() {
    for layer in core proto server; do
        case $layer in
        core) allowed='core/' ;;
        proto) allowed='proto/|core/include/' ;;
        server) allowed='server/|proto/include/|core/include/' ;;
        esac
        set -- "$B/$layer"/*.d
        [ -f "$1" ] || complain "$B/$layer holds no build to look at"
        for d in $(cat "$@" | tr -s ' ' '\n' | grep -E '\.(c|h|inc):?$' |
            sed 's/:$//' | sort -u | grep -vE "^($allowed)"); do
            complain "$layer was compiled with $d"
        done
    done
}

# ---- symbols ------------------------------------------------------------

check_symbols() {
    nm -u "$B/libremat.a" | sed -n 's/^ *[Uw] //p' | sort -u >"$B/layers.undef"
    nm -g --defined-only "$B/libremat.a" | awk 'NF == 3 { print $3 }' |
        sort -u >"$B/layers.def"
    for symbol in $(comm -23 "$B/layers.undef" "$B/layers.def"); do
        for allowed in $CORE_SYMBOLS; do
            [ "$symbol" != "$allowed" ] || continue 2
        done
        complain "core needs the symbol $symbol, which is not on the list"
    done
}

check_names() {
    for pair in libremat.a:remat_ libproto.a:proto_; do
        archive=${pair%%:*}
        for symbol in $(nm -g --defined-only "$B/$archive" |
            awk 'NF == 3 { print $3 }' | grep -v "^${pair##*:}"); do
            complain "$archive: global symbol $symbol does not begin with" \
                "${pair##*:}"
        done
    done
}

# Data that can change is in .data, .bss, their thread-local kin, or COMMON;
# constant tables of pointers are in .data.rel.ro, read-only once loaded.
check_globals() {
    objdump -t "$B/libremat.a" | awk -F '\t' '
        NF == 2 {
            n = split($1, left, " "); section = left[n]
            split($2, right, " ")
            if (section ~ /^(\.(data|bss|tdata|tbss)(\..*)?|\*COM\*)$/ &&
                section !~ /^\.data\.rel\.ro/ && right[1] !~ /^0+$/)
                print right[2], section
        }' >"$B/layers.globals"
    while read -r name section; do
        complain "core: $name can change, in $section"
    done <"$B/layers.globals"
}

check_headers() {
    for header in core/*.h core/include/*.h proto/*.h proto/include/*.h \
        server/*.h; do
        [ -f "$header" ] || continue
        case $header in
        core/*) flags=$FLAGS_CORE ;;
        proto/*) flags=$FLAGS_PROTO ;;
        *) flags=$FLAGS_SERVER ;;
        esac
        # Flags are words on purpose.
        # shellcheck disable=SC2086
        printf '#include "%s"\n#include "%s"\nextern int nothing;\n' \
            "$header" "$header" |
            $CC $flags -I. -Werror -fsyntax-only -x c - ||
            complain "$header does not compile alone"
    done
}

mkdir -p "$B"
for name in "$@"; do
    case $name in
    includes | depends | symbols | names | globals | headers) "check_$name" ;;
    *) complain "no check is called $name" ;;
    esac
done
exit $bad
