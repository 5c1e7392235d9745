#!/bin/sh
# torch-venv.sh FOLDER REQUIREMENT...: a Python environment with PyTorch and what
# the client's tests need beside it. Does nothing, without network, when all is
# there already.
set -eu
folder=$1
shift
stamp="$folder/installed"
wanted="$*"
if [ -f "$stamp" ] && [ "$(cat "$stamp")" = "$wanted" ]; then
    exit 0
fi
if ! python3 -c 'import ensurepip, venv' >/dev/null 2>&1; then
    sh deploy/install-packages.sh python3-venv
fi
if ! python3 -c 'import os, sysconfig
assert os.path.exists(sysconfig.get_path("include") + "/Python.h")' 2>/dev/null; then
    sh deploy/install-packages.sh python3-dev
fi
if ! command -v g++ >/dev/null 2>&1; then
    sh deploy/install-packages.sh g++ # Inductor compiles C++
fi
rm -rf "$folder"
python3 -m venv "$folder"
"$folder/bin/python" -m pip install --quiet --disable-pip-version-check "$@" \
    mypy==2.4.1 ruff setuptools wheel build
printf '%s' "$wanted" >"$stamp"
