#!/bin/sh
# Prints the Pythons from 3.9 on, free-threaded ones included, found in PATH, under pyenv, or in SHEAF_PYTHONS: one per version.
seen=""
for python in ${SHEAF_PYTHONS:-} "${PYENV_ROOT:-$HOME/.pyenv}"/versions/*/bin/python3 \
  $(for v in 9 10 11 12 13 14; do command -v "python3.$v" "python3.${v}t"; done); do
  [ -x "$python" ] || continue
  version=$("$python" -c 'import sys; print("%d.%d%s" % (*sys.version_info[:2], "" if getattr(sys, "_is_gil_enabled", bool)() or sys.version_info < (3, 13) else "t"))' 2>/dev/null) || continue
  case " $seen " in *" $version "*) continue ;; esac
  case $version in 2.* | 3.[0-8]) continue ;; esac
  seen="$seen $version"
  echo "$python"
done
