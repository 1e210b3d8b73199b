#!/bin/sh
# foreign-root.sh ARCH DIRECTORY: unpacks into DIRECTORY the Debian packages that Sheaf needs for another architecture
# (arm64, s390x), with all dependencies. Nothing is installed or registered with the package system, since packages
# for two architectures may conflict. Packages are downloaded from the Debian archives that apt is configured for.
set -eu
arch=$1 root=$2
packages="libc6 libstdc++6 libgomp1 libfmt-dev libcli11-dev nlohmann-json3-dev libxxhash-dev libzstd1 liblz4-1 zlib1g libgtest-dev
 librapidcheck-dev libboost-context-dev python3"
[ ! -e "$root/complete" ] || [ "$(cat "$root/complete")" != "$packages" ] || exit 0

rm -rf "$root"
mkdir -p "$root.apt/lists/partial" "$root.apt/archives/partial" "$root.apt/parts" "$root"
apt-get indextargets --format '$(ORIGIN) deb $(REPO_URI) $(RELEASE) $(COMPONENT)' 'Identifier: Packages' |
  sed -n 's/^Debian //p' | sort -u >"$root.apt/sources.list"
[ -s "$root.apt/sources.list" ] || { echo "foreign-root.sh: apt knows no Debian archive; run apt-get update" >&2; exit 1; }
: >"$root.apt/status"
cat >"$root.apt/conf" <<END
APT::Architecture "$arch";
APT::Architectures { "$arch"; };
APT::Install-Recommends "false";
APT::Sandbox::User "root";
Dir::State::Lists "$root.apt/lists";
Dir::State::status "$root.apt/status";
Dir::State::extended_states "$root.apt/extended_states";
Dir::Cache "$root.apt";
Dir::Cache::Archives "$root.apt/archives";
Dir::Etc::SourceList "$root.apt/sources.list";
Dir::Etc::SourceParts "$root.apt/parts";
Debug::NoLocking "true";
END
APT_CONFIG=$root.apt/conf
export APT_CONFIG
apt-get update -qq
apt-get install -qq --download-only -o Dpkg::Use-Pty=0 $packages >/dev/null
for package in "$root.apt"/archives/*.deb; do
  dpkg-deb -x "$package" "$root"
done
rm -rf "$root.apt"

# Packages contain absolute links, which are relative to the root of their own system.
find "$root" -type l -lname '/*' | while read -r link; do
  ln -snf "$root$(readlink "$link")" "$link"
done
[ -e "$root/lib" ] || ln -s usr/lib "$root/lib"
printf '%s' "$packages" >"$root/complete"
