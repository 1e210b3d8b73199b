#!/bin/sh
# clean_root.sh OUT.tar VARIANT [PACKAGE...]: makes an archive of a fresh root of this Debian with mmdebstrap,
# where packages come from as on this machine. VARIANT buildd has compilers, minbase next to nothing. An
# archive less than a week old with the same packages stays.
set -eu
out=$1 variant=$2
shift 2
packages=$(printf '%s\n' "$@" | LC_ALL=C sort -u | paste -sd,)
if [ -f "$out" ] && [ "$(cat "$out.packages")" = "$variant $packages" ] && [ -n "$(find "$out" -mtime -7)" ]; then
  exit 0
fi
mkdir -p "$(dirname "$out")"
. /etc/os-release
settings=$(mktemp)
trap 'rm -f "$settings"' EXIT
# Proxies, and whether the dates of lists count.
apt-config dump | grep -E '^Acquire::((https?|ftp)::Proxy|Check-|Retries)' >"$settings" || true
rm -f "$out"
echo "clean_root.sh: $variant root of $VERSION_CODENAME with $# packages beyond that, $out"
mmdebstrap --quiet --variant="$variant" ${packages:+--include="$packages"} --aptopt="$settings" --skip=cleanup/apt/lists \
  "$VERSION_CODENAME" "$out" $(find /etc/apt/sources.list /etc/apt/sources.list.d -name '*.list' -o -name '*.sources' 2>/dev/null)
echo "$variant $packages" >"$out.packages"
