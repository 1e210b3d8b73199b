#!/bin/sh
# build_inside.sh JOBS: builds the packages of /build/sheaf as an ordinary user. Run by build.sh in the clean
# root directory.
set -eu
useradd --no-create-home --home-dir /build builder
chown -R builder: /build
cd /build/sheaf
exec setpriv --reuid builder --regid builder --clear-groups env HOME=/build DEB_BUILD_OPTIONS="parallel=$1" \
  dpkg-buildpackage --no-sign
