#!/bin/sh
# install-packages.sh PACKAGE...: installs the Debian packages that are missing.
#
# Touches neither the network nor apt when all of them are there, so that it can
# stand before every build. As root it installs by itself; else through sudo.
set -eu

missing=
if command -v dpkg-query >/dev/null 2>&1; then
    for package in "$@"; do
        status=$(dpkg-query -W -f '${db:Status-Status} ' "$package" \
            2>/dev/null) || status=
        case " $status" in
        *' installed '*) ;;
        *) missing="$missing $package" ;;
        esac
    done
    [ -n "$missing" ] || exit 0
fi

if ! command -v apt-get >/dev/null 2>&1; then
    echo "install-packages.sh: no apt-get here, so this cannot install anything;" \
        "install the equivalents of these Debian packages by hand," \
        "then use 'make' alone: $*" >&2
    exit 1
fi

if [ "$(id -u)" -eq 0 ]; then
    as_root='env'
elif command -v sudo >/dev/null 2>&1; then
    as_root='sudo env'
else
    echo "install-packages.sh: packages are missing and neither root nor sudo" \
        "is at hand; as root run: apt-get install -y$missing" >&2
    exit 1
fi

echo "installing:$missing"
# The lists are words on purpose: a command, and package names.
# shellcheck disable=SC2086
{
    $as_root DEBIAN_FRONTEND=noninteractive apt-get update -qq
    $as_root DEBIAN_FRONTEND=noninteractive apt-get install -y -qq \
        --no-install-recommends $missing </dev/null >/dev/null
}
