#!/bin/sh
# python-test.sh [PYTEST OPTION...]: tests of the Python package that need more than Debian provides, in a virtual
# environment of their own, build-python/venv, with packages from the Python package index: the installed wheel, all
# tests including those of fsspec and zarr, the notebooks, doctests and types. Then tests the wheel under every other
# Python (3.9 or later) on this machine.
set -eu
cd "$(dirname "$0")/.."
work=$PWD/build-python
python=${PYTHON:-python3}
wheel=$(ls dist/sheaf_io-*manylinux*.whl 2>/dev/null || true)
[ -n "$wheel" ] || { scripts/wheel.sh; wheel=$(ls dist/sheaf_io-*manylinux*.whl); }
if [ ! -x "$work/venv/bin/ratarmount" ]; then
  "$python" -m venv "$work/venv"
  "$work/venv/bin/pip" install -q numpy pytest pytest-asyncio tqdm mpi4py matplotlib fsspec 'zarr>=3' kerchunk xarray 'dask[array]' \
    ratarmount aiohttp requests nbclient ipykernel mypy pyright auditwheel hypothesis typing_extensions safetensors
fi
PATH=$work/venv/bin:$PATH
export PATH SHEAF_INSTALLED=1 SHEAF_PYTHON_ALL=1
export SHEAF_BIN="${SHEAF_BIN:-$PWD/build/bin}"
pip install -q --force-reinstall --no-deps "$wheel"

echo "== the wheel"
auditwheel show "$wheel" | tr '\n' ' ' | grep -q 'manylinux_2_28_x86_64' || { auditwheel show "$wheel"; exit 1; }
size=$(stat -c %s "$wheel")
[ "$size" -le 1500000 ] || { echo "$wheel has $size bytes, more than 1,500,000"; exit 1; }
echo "$wheel: $size bytes, manylinux_2_28"
echo "== tests"
python -B -m pytest -q -p no:cacheprovider tests/python -o asyncio_mode=auto "$@"
echo "== doctests"
site=$(python -c 'import sheaf, os; print(os.path.dirname(sheaf.__file__))')
python -B -m pytest -q -p no:cacheprovider -o testpaths= --rootdir "$site" --doctest-modules --ignore="$site/torch" "$site"
echo "== types"
mypy python/sheaf/*.py python/sheaf/plot  # sheaf.torch: test-torch.sh
pyright
echo "== other Pythons"
for other in $(tests/python/pythons.sh); do
  rm -rf "$work/other"
  "$other" -m venv "$work/other"
  "$work/other/bin/pip" install -q --no-deps "$wheel"
  "$work/other/bin/python" -B tests/python/smoke.py
done
