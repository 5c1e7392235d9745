#!/bin/sh
# build.sh: makes the Debian package, in build/deb. `make deb`.
#
# The tree is copied first, so that the package is built from clean sources and
# leaves nothing behind in ours. Version and date come from the Makefile and
# CHANGELOG.md: the same sources give the same package.
set -eu

out=build/deb
src=$out/src
version=$(sed -n 's/^VERSION := //p' Makefile)
maintainer=$(sed -n 's/^Maintainer: //p' deploy/deb/debian/control)
date=$(sed -n "s/^## \[$version\] - //p" CHANGELOG.md)
if [ -z "$date" ]; then
    echo "build.sh: CHANGELOG.md has no heading \"## [$version] - DATE\"" >&2
    exit 1
fi

rm -rf "$out"
mkdir -p "$src"
cp -R Makefile LICENSE ./*.md core proto server deploy "$src"
cp -R deploy/deb/debian "$src/debian"

printf 'rematd (%s-1) unstable; urgency=medium\n\n' "$version" \
    >"$src/debian/changelog"
printf '  * Release %s; changelog.gz beside this file says what changed.\n\n' "$version" \
    >>"$src/debian/changelog"
printf ' -- %s  %s\n' "$maintainer" \
    "$(LC_ALL=C date -u -d "$date" '+%a, %d %b %Y %H:%M:%S +0000')" \
    >>"$src/debian/changelog"

{
    echo 'Format: https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/'
    printf '\nFiles: *\n'
    sed -n 's/^Copyright (c) /Copyright: /p' LICENSE
    echo 'License: BSD-3-clause'
    sed -n '/^Redistribution/,$ { s/^$/./; s/^/ /; p }' LICENSE
    for vendored in proto/pages/vendor/*; do
        printf '\nFiles: %s/*\n' "$vendored"
        sed -n 's/^Copyright (c) /Copyright: /p' "$vendored/LICENSE"
        echo 'License: Expat'
        sed -n '/^Permission/,$ { s/^$/./; s/^/ /; p }' "$vendored/LICENSE"
    done
} >"$src/debian/copyright"

cp deploy/systemd/rematd.sysusers "$src/debian/rematd.sysusers"

(cd "$src" && dpkg-buildpackage --build=binary --no-sign) >"$out/log" 2>&1 || {
    tail -n 40 "$out/log" >&2
    exit 1
}
rm -rf "$src"
ls "$out"/rematd_*.deb
