#!/bin/sh
# deb_clean_root.sh WORK PACKAGES: tries the Debian packages in the directory PACKAGES in clean roots below WORK, which have a
# compiler but no part of Sheaf or MPI:
#
#   1. `apt install ./*.deb`, writing and dumping a first multifile take at most 60 s (or SHEAF_DEB_SECONDS);
#   2. both MPIs' packages are installed together; one program, built for each, runs, and each reads the other's files;
#   3. autopkgtest runs the packages' own tests (debian/tests);
#   4. the packages can be removed again, without remains.
set -eu
here=$(dirname "$(readlink -f "$0")")
top=$(readlink -f "$here/../..")
[ "$(id -u)" = 0 ] || { echo "deb_clean_root.sh: clean roots are made and entered by root; run it with sudo" >&2; exit 2; }
work=$(readlink -f "$1") packages=$(readlink -f "$2")
limit=${SHEAF_DEB_SECONDS:-60}
in_root="$top/packaging/deb/in_root.sh"
root=$work/test-root
trap 'rm -rf --one-file-system "$root"' EXIT

fresh_root() {
  rm -rf --one-file-system "$root"
  mkdir -p "$root/dev"
  tar -C "$root" -xpf "$work/clean-root.tar" --exclude=./dev
  mkdir -p "$root/dev" "$root/packages"
  cp "$packages"/*.deb "$root/packages/"
  cp "$here/deb_inside.sh" "$top/scripts/mpirun.sh" "$root/packages/"
}

inside() { "$in_root" "$root" /packages/deb_inside.sh "$@"; }

"$top/packaging/deb/clean_root.sh" "$work/clean-root.tar" minbase gcc libc6-dev
fresh_root
inside find_all >"$work/files.before"
start=$(date +%s)
inside first_multifile
took=$(($(date +%s) - start))
echo "apt install ./*.deb to the first multifile written and dumped: $took s, at most $limit s"
[ "$took" -le "$limit" ] || {
  echo "deb_clean_root.sh: that was too long; $(nproc) cores had a load of $(cut -d' ' -f1-3 /proc/loadavg)" >&2
  exit 1
}

inside both_mpis
inside remove
inside find_all >"$work/files.after"
if left=$(LC_ALL=C comm -13 "$work/files.before" "$work/files.after" | grep -E '[Ss]heaf|/(lib)?sion'); then
  printf 'deb_clean_root.sh: the removed packages have left:\n%s\n' "$left" >&2
  exit 1
fi
echo "removed: nothing is left"

fresh_root
echo "autopkgtest:"
code=0
"$in_root" --beside "$root" autopkgtest --quiet --summary-file "$work/autopkgtest.summary" \
  "$packages"/*.deb "$packages"/*.dsc -- chroot "$root" >"$work/autopkgtest.log" 2>&1 || code=$?
cat "$work/autopkgtest.summary"
# 2: tests were skipped, 8: there were none; neither counts as passed here.
[ "$code" = 0 ] || { tail -n 60 "$work/autopkgtest.log"; echo "deb_clean_root.sh: autopkgtest ended with $code" >&2; exit 1; }
