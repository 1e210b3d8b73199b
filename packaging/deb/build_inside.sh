#!/bin/sh
# build_inside.sh JOBS: what build.sh runs in the clean root: the packages of /build/sheaf, built as an
# ordinary user.
set -eu
useradd --no-create-home --home-dir /build builder
chown -R builder: /build
cd /build/sheaf
exec setpriv --reuid builder --regid builder --clear-groups env HOME=/build DEB_BUILD_OPTIONS="parallel=$1" \
  dpkg-buildpackage --no-sign
