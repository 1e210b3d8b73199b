#!/bin/sh
# build.sh WORK OUT: builds the Debian packages of these sources in a clean root directory below WORK, without
# network access. Stores the packages in OUT, those with debug information in OUT/dbgsym, and checks them with
# lintian. The sources are the files of the working tree that git does not ignore.
set -eu
here=$(dirname "$(readlink -f "$0")")
top=$(readlink -f "$here/../..")
[ "$(id -u)" = 0 ] || { echo "build.sh: a clean root is made and entered by root; run it with sudo" >&2; exit 2; }
mkdir -p "$1" "$2"
work=$(readlink -f "$1") out=$(readlink -f "$2")
version=$(sed -n '1s/^sheaf (\(.*\)-[^-]*).*/\1/p' "$top/debian/changelog")

needed=$(sed -n '/^Build-Depends:/,/^[^ ].*:/{s/^Build-Depends://p;t;/^ /p}' "$top/debian/control" |
  tr -d '\n' | tr ',' '\n' | sed 's/(.*//; s/debhelper-compat/debhelper/; s/ //g')
"$here/clean_root.sh" "$work/build-root.tar" buildd $needed

root=$work/root
rm -rf --one-file-system "$root"
mkdir -p "$root"
trap '[ $? != 0 ] || rm -rf --one-file-system "$root"' EXIT  # kept after a failed build
tar -C "$root" -xpf "$work/build-root.tar" --exclude=./dev
mkdir -p "$root/dev" "$root/build/sheaf"
git -C "$top" ls-files -z --cached --others --exclude-standard | (cd "$top" && xargs -0 ls -d 2>/dev/null) |
  tar -C "$top" -cf - -T - | tar -C "$root/build/sheaf" --no-same-owner -xf -
tar -C "$root/build" --exclude=sheaf/debian --sort=name --owner=0 --group=0 \
  --mtime="@$(git -C "$top" log -1 --format=%ct)" -cJf "$root/build/sheaf_$version.orig.tar.xz" sheaf
cp "$here/build_inside.sh" "$root/build/"
"$here/in_root.sh" --no-network "$root" /build/build_inside.sh "${JOBS:-$(nproc)}"

rm -rf "$out"
mkdir -p "$out/dbgsym"
mv "$root"/build/*-dbgsym_*.deb "$out/dbgsym/"
mv "$root"/build/sheaf_* "$root"/build/*.deb "$out/"
chown -R "$(stat -c %u:%g "$top")" "$out"
echo "in $out:"
(cd "$out" && ls -1 ./*.deb ./*.dsc dbgsym/*.deb)
if command -v lintian >/dev/null; then
  # These packages are not uploaded to Debian, so no bug report requests them.
  (cd "$out" && ln -sf dbgsym/*.deb . &&
     lintian --fail-on error,warning --tag-display-limit 0 --suppress-tags initial-upload-closes-no-bugs ./*.changes; code=$?
   find . -maxdepth 1 -type l -delete; exit $code) && echo "lintian: no errors, no warnings"
else
  echo "build.sh: lintian is not installed, the packages were not checked" >&2
fi
