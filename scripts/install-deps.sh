#!/bin/sh
# Installs the Debian packages that building and testing Sheaf needs and that are missing. Quiet if none is.
set -eu
packages="build-essential cmake ninja-build pkg-config python3 libopenmpi-dev openmpi-bin libmpich-dev mpich gfortran
 libcli11-dev libfmt-dev nlohmann-json3-dev libgtest-dev librapidcheck-dev libboost-context-dev libxxhash-dev strace
 clang-16 libclang-rt-16-dev libomp-16-dev libhdf5-openmpi-dev libhdf5-mpich-dev hdf5-tools libpnetcdf-dev python3-mpi4py python3-numpy
 iproute2 valgrind
 python3-matplotlib libzstd-dev liblz4-dev zstd
 xfsprogs btrfs-progs"
missing=""
for package in $packages; do
  dpkg-query -W -f '${Status}' "$package" 2>/dev/null | grep -q 'install ok installed' || missing="$missing $package"
done
[ -n "$missing" ] || exit 0
echo "installing:$missing"
sudo=""
[ "$(id -u)" = 0 ] || sudo=sudo
DEBIAN_FRONTEND=noninteractive
export DEBIAN_FRONTEND
$sudo apt-get update -qq
$sudo apt-get install -y -qq --no-install-recommends $missing >/dev/null
