#!/bin/sh
# renew.sh BUILD: writes the descriptions of the binary interface in this directory anew (docs/releasing.md).
exec python3 -B "$(dirname "$0")/abi.py" renew "$@"
