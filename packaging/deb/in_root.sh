#!/bin/sh
# in_root.sh [--no-network] ROOT COMMAND [ARG...]: runs a command in the root directory ROOT, with processes, devices and mounts of its
# own, which end with it. Needs to be root.
set -eu
network=""
if [ "$1" = --no-network ]; then network=--net; shift; fi
root=$1
shift
for file in resolv.conf hosts; do
  [ ! -f /etc/$file ] || cp /etc/$file "$root/etc/$file"
done
exec unshare --mount --pid --ipc --fork --kill-child $network sh -eu -c '
  root=$1
  shift
  mount --make-rprivate /
  mount -t proc proc "$root/proc"
  mount --rbind /dev "$root/dev"
  mount -t tmpfs shm "$root/dev/shm"
  ip link set lo up  # without an interface the wrappers of Open MPI warn, and CMake takes that for options
  exec env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LC_ALL=C.UTF-8 DEBIAN_FRONTEND=noninteractive chroot "$root" "$@"
' sh "$root" "$@"
