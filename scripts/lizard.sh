#!/bin/sh
# lizard.sh ARGUMENT...: runs lizard, which measures functions (tests/house/test_limits.py), with its ARGUMENTs. Installs
# it first from the Python package index, in a virtual environment of its own, build-lizard.
set -eu
version=1.24.3
work=$(cd "$(dirname "$0")/.." && pwd)/build-lizard
if [ "$("$work/bin/python" -m lizard --version 2>/dev/null)" != $version ]; then
  rm -rf "$work"
  { "${PYTHON:-python3}" -m venv "$work" &&
    "$work/bin/pip" install -q --disable-pip-version-check lizard==$version pathspec==1.1.1 pygments==2.20.0; } >&2 || {
    rm -rf "$work"
    echo "lizard.sh: lizard $version cannot be installed (it needs python3-venv and the Python package index)" >&2
    exit 1
  }
fi
exec "$work/bin/python" -m lizard "$@"
