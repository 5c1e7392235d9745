#!/bin/sh
# test-tools.sh: what the tests need beside Debian packages, put under
# build/tools, where `make clean` finds it:
#
#   venv/      from PyPI: kubernetes-validate with the schemas it brings,
#              schemathesis, and for the pages playwright, which drives Debian's
#              Chromium, and axe-core in the package axe-playwright-python
#   promtool   out of Debian's package prometheus, which is not installed:
#              it would start a Prometheus on this machine
#
# Does nothing, without network, when both are there.
set -eu

tools=build/tools
kubernetes_validate=1.37.0
schemathesis=4.32.5
playwright=1.65.2
axe=0.1.8
mark=$tools/venv/installed-$kubernetes_validate-$schemathesis-$playwright-$axe

mkdir -p "$tools"
if [ ! -e "$mark" ]; then
    echo "installing: kubernetes-validate, schemathesis, playwright and axe-core," \
        "in $tools/venv"
    rm -rf "$tools/venv"
    /usr/bin/python3 -m venv "$tools/venv"
    "$tools/venv/bin/pip" --quiet --disable-pip-version-check install \
        "kubernetes-validate==$kubernetes_validate" \
        "schemathesis==$schemathesis" \
        "playwright==$playwright" "axe-playwright-python==$axe"
    touch "$mark"
fi
if [ ! -x "$tools/promtool" ]; then
    echo "installing: promtool, in $tools"
    rm -rf "$tools/prometheus"
    mkdir -p "$tools/prometheus"
    (cd "$tools/prometheus" && apt-get -qq download prometheus 2>/dev/null)
    dpkg-deb --fsys-tarfile "$tools/prometheus"/*.deb |
        tar -xf - -C "$tools/prometheus" ./usr/bin/promtool
    mv "$tools/prometheus/usr/bin/promtool" "$tools/promtool"
    rm -rf "$tools/prometheus"
fi
