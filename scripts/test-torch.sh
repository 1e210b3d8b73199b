#!/bin/sh
# test-torch.sh [PYTEST OPTION...]: tests sheaf.torch with 1 to 8 ranks on the CPU (gloo) and checks its types. Then
# kills ranks at random times while they save; KILL_MOMENTS is the number of kills (default 200). Installs PyTorch in
# build-torch, a persistent virtual environment.
set -eu
cd "$(dirname "$0")/.."
python=${PYTHON:-python3}
"$python" -B scripts/torch_env.py build-torch
export SHEAF_BIN="${SHEAF_BIN:-$PWD/build/bin}"
export SHEAF_LIBRARY="${SHEAF_BIN%/bin}/lib"
echo "== tests"
build-torch/bin/python -B -m pytest -q -p no:cacheprovider -W ignore tests/python/checkpoints "$@"
echo "== types"
build-torch/bin/python -m mypy -p sheaf.torch
echo "== killed ranks"
build-torch/bin/python -B tests/python/checkpoints/kill_test.py --moments "${KILL_MOMENTS:-200}"
