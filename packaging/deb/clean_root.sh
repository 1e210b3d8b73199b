#!/bin/sh
# clean_root.sh OUT.tar VARIANT [PACKAGE...]: makes an archive of a new root directory of this Debian release
# with mmdebstrap, using the package sources of this host. VARIANT buildd contains compilers, minbase only
# essential packages and apt. Reuses an archive with the same packages that is less than a week old.
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
# Copies the proxy settings, and those for the validity dates of package lists.
apt-config dump | grep -E '^Acquire::((https?|ftp)::Proxy|Check-|Retries)' >"$settings" || true
rm -f "$out"
echo "clean_root.sh: $variant root of $VERSION_CODENAME with $# packages beyond that, $out"
mmdebstrap --quiet --variant="$variant" ${packages:+--include="$packages"} --aptopt="$settings" --skip=cleanup/apt/lists \
  "$VERSION_CODENAME" "$out" $(find /etc/apt/sources.list /etc/apt/sources.list.d -name '*.list' -o -name '*.sources' 2>/dev/null)
echo "$variant $packages" >"$out.packages"
