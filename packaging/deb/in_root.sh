#!/bin/sh
# in_root.sh [--no-network] [--beside] ROOT COMMAND [ARG...]: runs a command in the root directory ROOT. With
# --beside, the command keeps the root directory of this host. In both cases ROOT has separate processes and
# mounts, which end with the command. Requires root privileges.
set -eu
network="" enter="chroot"
while :; do
  case $1 in
  --no-network) network=--net ;;
  --beside) enter="" ;;
  *) break ;;
  esac
  shift
done
root=$1
shift
for file in resolv.conf hosts; do
  [ ! -f /etc/$file ] || cp /etc/$file "$root/etc/$file"
done
exec unshare --mount --pid --ipc --fork --kill-child $network sh -eu -c '
  enter=$1 root=$2
  shift 2
  mount --make-rprivate /
  mount -t proc proc "$root/proc"
  mount --rbind /sys "$root/sys"
  mount --rbind /dev "$root/dev"
  mount -t tmpfs shm "$root/dev/shm"
  [ -n "$enter" ] || mount -t proc proc /proc
  ip link set lo up  # without an interface the wrappers of Open MPI warn, and CMake takes that for options
  exec env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LC_ALL=C.UTF-8 DEBIAN_FRONTEND=noninteractive ${enter:+chroot "$root"} "$@"
' sh "$enter" "$root" "$@"
