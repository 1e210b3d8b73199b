#!/usr/bin/env python3
"""build_recipes.py [WORK]: carries out the recipes of EasyBuild, conda and Spack as far as this machine can, in WORK (build-recipes).

EasyBuild and rattler-build come from the Python package index, into WORK/venv. The toolchain and the dependencies are those of the
system: EasyBuild gets the system toolchain and is told that the dependencies are there; of the conda recipe the requirements are left
out, and rattler-build makes a package and runs its tests. Spack is not on that index: its steps are followed with a stand-in. Takes
about 5 minutes on two idle cores. Exit code 0 if all has passed.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

from spack_stand_in import Spec, load  # noqa: E402

ROOT = Path(__file__).resolve().parents[2]
RECIPES = ROOT / "packaging"
DEPENDENCIES = "CMake,CLI11,nlohmann_json,xxHash,fmt,zstd,lz4,zlib"
JOBS = os.environ.get("JOBS", str(os.cpu_count()))
VERSION = re.search(r'SHEAF_VERSION_STRING "([0-9.]+)', (ROOT / "include" / "sheaf.h").read_text())[1]
LMOD = os.environ.get("LMOD_CMD", "/usr/share/lmod/lmod/libexec/lmod")  # which EasyBuild asks for
CONDA = """
import sys
from rattler_build import Stage0Recipe, ToolConfiguration, VariantConfig
recipe, variants, channel, out = sys.argv[1:]
for result in Stage0Recipe.from_file(recipe).run_build(VariantConfig.from_file(variants), ToolConfiguration(test_strategy="native"),
                                                       output_dir=out, channels=["file://" + channel]):
    print(result)
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
    sources, log = work / "sources", work / "easybuild.log"
    sources.mkdir(exist_ok=True)
    run(log, "git", "archive", f"--prefix=sheaf-{VERSION}/", "-o", sources / f"sheaf-{VERSION}.tar.gz", "HEAD")
    for file in sorted((RECIPES / "easybuild").glob("*.eb")):
        text = re.sub("^toolchain = .*$", "toolchain = SYSTEM", file.read_text(), flags=re.MULTILINE)
        copy = work / f"Sheaf-{VERSION}{'-tools' if 'tools' in file.name else ''}.eb"
        copy.write_text(text)
        run(log, bin_directory / "eb", copy, f"--filter-deps={DEPENDENCIES}", f"--sourcepath={sources}",
            f"--prefix={work / 'easybuild'}", "--modules-tool=Lmod", "--rebuild", f"--parallel={JOBS}",
            "--allow-use-as-root-and-accept-consequences", PATH=f"{bin_directory}:{os.environ['PATH']}", LMOD_CMD=LMOD)


def conda(work: Path, bin_directory: Path) -> None:
    """A package of the variant without MPI, whose tests are run."""
    recipe, channel, log = work / "conda", work / "channel", work / "conda.log"
    for platform in ("noarch", "linux-64"):
        (channel / platform).mkdir(parents=True, exist_ok=True)
        (channel / platform / "repodata.json").write_text('{"info":{},"packages":{},"packages.conda":{}}')
    recipe.mkdir(exist_ok=True)
    text = (RECIPES / "conda" / "recipe.yaml").read_text()
    text = re.sub(r"^requirements:.*?(?=^tests:)", "", text, flags=re.MULTILINE | re.DOTALL)
    (recipe / "recipe.yaml").write_text(text.replace("path: ../..", f"path: {ROOT}"))
    (recipe / "variants.yaml").write_text("mpi: [nompi]\n")
    shutil.copy(RECIPES / "conda" / "build.sh", recipe)
    run(log, bin_directory / "python3", "-c", CONDA, recipe / "recipe.yaml", recipe / "variants.yaml", channel, work / "packages")
    if not list((work / "packages").glob("*/*.conda")):
        raise RuntimeError(f"no package was made\n{log.read_text()[-4000:]}")


def spack(work: Path) -> None:
    package = load(RECIPES / "spack" / "repo" / "packages" / "sheaf" / "package.py")
    for name, variants in (("serial", {"mpi": False, "fortran": False, "flavour": "default"}),
                           ("tools", {"mpi": False, "fortran": False, "flavour": "tools"})):
        build, prefix, log = work / f"spack-{name}", work / f"spack-{name}-prefix", work / f"spack-{name}.log"
        arguments = package(Spec(variants | {"compression": True}, {})).cmake_args()
        run(log, "cmake", "-S", ROOT, "-B", build, "-G", "Ninja", f"-DCMAKE_INSTALL_PREFIX={prefix}", *arguments)
        run(log, "cmake", "--build", build, "-j", JOBS)
        run(log, "cmake", "--install", build)
        run(log, prefix / "bin" / "sheaf", "--version")
    # The flavour beside the ordinary library, if that is built: its installation is what test_tools_flavour.py looks at.
    if "SHEAF_BIN" in os.environ:
        run(log, sys.executable, "-B", ROOT / "tests/packaging/test_tools_flavour.py", SHEAF_TOOLS_PREFIX=str(prefix))


def main() -> int:
    work = Path(sys.argv[1] if len(sys.argv) > 1 else ROOT / "build-recipes").resolve()
    work.mkdir(parents=True, exist_ok=True)
    for log in work.glob("*.log"):
        log.unlink()
    failed = 0
    bin_directory = tools(work)
    parts = {"spack": lambda: spack(work), "conda": lambda: conda(work, bin_directory)}
    if Path(LMOD).exists():
        parts["easybuild"] = lambda: easybuild(work, bin_directory)
    else:
        print("easybuild  skipped: it needs Lmod (Debian: lmod), or LMOD_CMD that leads to it")
    parts["recipes"] = lambda: run(work / "recipes.log", sys.executable, "-B", ROOT / "tests/packaging/test_recipes.py",
                                   SHEAF_RECIPE_TOOLS=str(work / "venv"))
    if "SHEAF_BIN" not in os.environ:
        parts.pop("recipes")  # looks at an installation of the ordinary build
    for name, part in parts.items():
        begin = time.monotonic()
        try:
            part()
            said = "passed"
        except (RuntimeError, OSError) as error:
            print(error)
            said, failed = "FAILED", 1
        print(f"{name}  {said}  {time.monotonic() - begin:.0f} s", flush=True)
    return failed


if __name__ == "__main__":
    sys.exit(main())
