#!/bin/sh
# install-deps.sh [demo|dev|cluster|capture|deb|recipes|slurm|foreign-arm64|foreign-s390x]: installs missing Debian
# packages. Default: everything that `make test` builds and runs. `demo`: only the libraries, the tools and the demo.
# `dev` adds editors, debuggers and git hooks; `cluster` adds `make cluster-test`; `capture`, `recipes` and `slurm`
# add these tests; the foreign ones add scripts/foreign.sh. `deb`: only `make deb` and `make deb-test`. Prints nothing
# if no package is missing.
set -eu
packages="build-essential cmake ninja-build libopenmpi-dev openmpi-bin libcli11-dev libfmt-dev nlohmann-json3-dev libxxhash-dev"
[ "${1:-all}" = demo ] || packages="$packages pkg-config python3 libmpich-dev mpich gfortran
 libgtest-dev librapidcheck-dev libboost-context-dev strace
 clang-16 clang-format-16 clang-tidy-16 libclang-rt-16-dev libomp-16-dev libhdf5-openmpi-dev libhdf5-mpich-dev hdf5-tools libpnetcdf-dev python3-mpi4py python3-numpy
 python3-pytest python3-venv ccache
 iproute2 valgrind fuse3 libfuse3-dev
 python3-matplotlib libzstd-dev liblz4-dev zlib1g-dev zstd abigail-tools
 xfsprogs btrfs-progs"
[ "${1:-all}" != cluster ] || packages="$packages util-linux e2fsprogs
 glusterfs-server glusterfs-client moosefs-master moosefs-chunkserver moosefs-client
 ceph-mon ceph-mgr ceph-osd ceph-mds ceph-fuse ceph-common"
[ "${1:-all}" != dev ] || packages="$packages ca-certificates clangd-16 gdb gdbserver git pipx sudo"
[ "${1:-all}" != capture ] || packages="$packages lammps openfoam quantum-espresso gromacs strace"
case ${1:-all} in
deb) packages="mmdebstrap lintian autopkgtest iproute2" ;;
foreign-arm64) packages="$packages gcc-aarch64-linux-gnu g++-aarch64-linux-gnu qemu-user" ;;
recipes) packages="$packages lmod patchelf" ;;
slurm) packages="$packages slurmctld slurmd slurm-client munge" ;;
foreign-s390x) packages="$packages gcc-s390x-linux-gnu g++-s390x-linux-gnu qemu-user" ;;
esac
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
$sudo apt-get install -y -qq -o DPkg::Lock::Timeout=600 --no-install-recommends $missing >/dev/null
