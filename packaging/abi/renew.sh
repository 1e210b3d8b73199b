#!/bin/sh
# renew.sh BUILD: replaces the descriptions of the binary interface in this directory (docs/releasing.md).
exec python3 -B "$(dirname "$0")/abi.py" renew "$@"
