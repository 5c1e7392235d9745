#!/bin/sh
# lint-rules.sh: the house rules that no tool knows: banned functions, and the
# size of functions and files. Prints each breach with its place.
#
# A line may ask for an exception and must say why:  /* allow: reason */
# A file over 600 lines says so in its first 10 lines: /* allow-size: reason */
set -eu

bad=0
files=$(find core proto server tests -name '*.[ch]' | sort)
code=$(find core proto server -name '*.[ch]' | sort)
core=$(find core -name '*.[ch]' | sort)
quiet=$(find core proto -name '*.[ch]' | sort)
others=$(printf '%s\n' "$core" | grep -vxE 'core/(arena|job)\.c')

# ban WHY PATTERN FILE...: a call of one of these names, outside comments.
ban() {
    why=$1
    pattern=$2
    shift 2
    found=$(grep -nE "(^|[^A-Za-z0-9_.>])($pattern)" /dev/null "$@" |
        grep -vE '/\* allow: [^*]+ \*/' |
        grep -vE '^[^:]+:[0-9]+: *(/?\*|//)' || true)
    if [ -n "$found" ]; then
        printf '%s\n' "$found" | sed "s|^|lint: $why: |" >&2
        bad=1
    fi
}

# Word splitting makes the lists of files.
# shellcheck disable=SC2086
{
    ban 'no bound' '(strcpy|strcat|sprintf|vsprintf|gets|alloca)\(' $files
    ban 'hides errors or state' \
        '(strtok|atoi|atol|atof|setjmp|longjmp|strtol|scanf|sscanf)\(' $code
    ban 'the HTTP thread sleeps on: srv_http_resume wakes it' \
        'MHD_resume_connection\(' $code
    ban 'use the unreachable branch properly' 'assert\(0\)' $files
    ban 'no goto in core' 'goto ' $core
    ban 'core allocates in arena.c and job.c only' \
        '(malloc|calloc|realloc|free)\(' $others
    ban 'core and proto print nothing' \
        '(printf|fprintf|puts|fputs|putchar|perror)\(' $quiet
    ban 'no exit below main' '(exit|_exit|abort|quick_exit)\(' $quiet

    # A function is what stands between braces at the left margin.
    awk '
        FNR == 1 { inside = 0 }
        /^\{/ { inside = 1; from = FNR }
        /^\}/ && inside {
            inside = 0
            if (FNR - from - 1 > 60) {
                printf "lint: %s:%d: a function of %d lines, at most 60\n",
                    FILENAME, from, FNR - from - 1
                bad = 1
            }
        }
        END { exit bad }' $files >&2 || bad=1
    for file in $files; do
        lines=$(wc -l <"$file")
        if [ "$lines" -gt 600 ] &&
            ! head -n 10 "$file" | grep -q 'allow-size: '; then
            echo "lint: $file: $lines lines, at most 600" >&2
            bad=1
        fi
    done
}
exit $bad
