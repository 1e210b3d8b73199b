#!/usr/bin/env python3
"""build_recipes.py [WORK [PART...]]: carries out the recipes of EasyBuild, conda and Spack as far as this machine
allows, in WORK (build-recipes). PARTS: spack, conda, easybuild, recipes; by default all.

EasyBuild and rattler-build come from the Python package index, into WORK/venv. The toolchain and the dependencies
are those of the system. EasyBuild looks for easyconfigs of all dependencies in the toolchains of the recipes, then
gets the system toolchain and treats the dependencies as installed. The requirements of the conda recipe are
removed; rattler-build makes a package for each installed MPI and one without MPI, and runs their tests. Spack is
not on that index: a stand-in follows its steps, with Makefiles like Spack's, and a program that uses SIONlib is
built and run with the installation. Exits with 0 if everything passes.
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
PACKAGES = "easybuild-framework easybuild-easyblocks easybuild-easyconfigs py-rattler-build"
JOBS = os.environ.get("JOBS", str(os.cpu_count()))
VERSION = re.search(r'SHEAF_VERSION_STRING "([^"]+)', (ROOT / "include" / "sheaf.h").read_text())[1]
MPIS = [mpi for mpi in ("openmpi", "mpich") if shutil.which(f"mpicc.{mpi}")]
LMOD = os.environ.get("LMOD_CMD", "/usr/share/lmod/lmod/libexec/lmod")  # required by EasyBuild
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
    """Returns the directory of the programs of a virtual environment with EasyBuild and rattler-build."""
    complete = work / "venv" / "complete"
    if not complete.exists() or complete.read_text() != PACKAGES:
        run(work / "venv.log", sys.executable, "-m", "venv", work / "venv")
        run(work / "venv.log", work / "venv/bin/pip", "install", "-q", *PACKAGES.split())
        complete.write_text(PACKAGES)
    return work / "venv" / "bin"


def easybuild(work: Path, bin_directory: Path) -> None:
    sources, log = work / "sources", work / "easybuild.log"
    sources.mkdir(exist_ok=True)
    run(log, "git", "archive", f"--prefix=sheaf-{VERSION}/", "-o", sources / f"sheaf-{VERSION}.tar.gz", "HEAD")
    files = sorted((RECIPES / "easybuild").glob("*.eb"))
    words = (bin_directory / "eb", f"--prefix={work / 'easybuild'}", "--modules-tool=Lmod",
             "--allow-use-as-root-and-accept-consequences")
    environment = {"PATH": f"{bin_directory}:{os.environ['PATH']}", "LMOD_CMD": LMOD}
    run(log, *words, "--dry-run", "--robot", *files, **environment)
    for file in files:
        text = re.sub("^toolchain = .*$", "toolchain = SYSTEM", file.read_text(), flags=re.MULTILINE)
        copy = work / f"Sheaf-{VERSION}{'-tools' if 'tools' in file.name else ''}.eb"
        copy.write_text(text)
        run(log, *words, copy, f"--filter-deps={DEPENDENCIES}", f"--sourcepath={sources}", "--rebuild",
            f"--parallel={JOBS}", **environment)
    tried_as_tools(log, work / "easybuild" / "software" / "Sheaf" / f"{VERSION}-tools")


def conda(work: Path, bin_directory: Path) -> None:
    """Builds a package of each variant and runs its tests."""
    recipe, channel, packages, log = work / "conda", work / "channel", work / "packages", work / "conda.log"
    for platform in ("noarch", "linux-64"):
        (channel / platform).mkdir(parents=True, exist_ok=True)
        (channel / platform / "repodata.json").write_text('{"info":{},"packages":{},"packages.conda":{}}')
    recipe.mkdir(exist_ok=True)
    shutil.rmtree(packages, ignore_errors=True)
    text = (RECIPES / "conda" / "recipe.yaml").read_text()
    text = re.sub(r"^requirements:.*?(?=^tests:)", "", text, flags=re.MULTILINE | re.DOTALL)
    # Scripts get a clean environment: settings for faster compilers, such as ccache, pass through the recipe.
    quicker = "".join(f"\n      {name}: {value}" for name, value in os.environ.items()
                      if re.match("CCACHE_|CMAKE_.*_LAUNCHER$", name))
    text = text.replace("\n      mpi: ${{ mpi }}", "\n      mpi: ${{ mpi }}" + quicker)
    (recipe / "recipe.yaml").write_text(text.replace("path: ../..", f"path: {ROOT}"))
    variants = ["nompi", *MPIS]
    (recipe / "variants.yaml").write_text(f"mpi: [{', '.join(variants)}]\n")
    shutil.copy(RECIPES / "conda" / "build.sh", recipe)
    run(log, bin_directory / "python3", "-c", CONDA, recipe / "recipe.yaml", recipe / "variants.yaml", channel, packages)
    made = sorted(re.search(r"mpi_([a-z]+)_", path.name)[1] for path in packages.glob("*/*.conda"))
    if made != sorted(variants):
        raise RuntimeError(f"packages of {made} were made, not of {variants}\n{log.read_text()[-4000:]}")


def spack(work: Path) -> None:
    package = load(RECIPES / "spack" / "repo" / "packages" / "sheaf" / "package.py")
    variants: dict[str, dict] = {"tools": {"mpi": False, "fortran": False, "flavour": "tools"}}
    if MPIS:
        variants["default"] = {"mpi": True, "fortran": True, "flavour": "default"}
    prefixes = {name: work / f"spack-{name}-prefix" for name in variants}
    for name, chosen in variants.items():
        build, log = work / f"spack-{name}", work / f"spack-{name}.log"
        mpicc = shutil.which(f"mpicc.{MPIS[0]}") if MPIS else None
        spec = Spec(chosen | {"compression": True, "mount": False}, mpicc)
        made = package(spec, str(prefixes[name]))
        where = [f"-DCMAKE_INSTALL_PREFIX={prefixes[name]}"]
        if name == "tools":
            where.append("-DCMAKE_INSTALL_LIBDIR=lib64")  # EasyBuild does not define it
        run(log, "cmake", "-S", ROOT, "-B", build, "-G", "Unix Makefiles", *where, *made.cmake_args())
        run(log, "cmake", "--build", build, "-j", JOBS)
        run(log, "cmake", "--install", build)
        if name == "default":
            made.written_file_is_right()
            documented(log, "adopt-sionlib", SHEAF_INSTALLED=str(prefixes[name]), SHEAF_INSTALLED_MPIS=MPIS[0])
    tried_as_tools(work / "spack-tools.log", prefixes["tools"])


def tried_as_tools(log: Path, prefix: Path) -> None:
    """Tests an installation of the tools flavour next to the ordinary library, if that is built."""
    if "SHEAF_BIN" in os.environ:
        run(log, sys.executable, "-B", ROOT / "tests/packaging/test_tools_flavour.py", SHEAF_TOOLS_PREFIX=str(prefix))
        documented(log, "adopt-tools", SHEAF_TOOLS_PREFIX=str(prefix))


def documented(log: Path, frame: str, **environment: str) -> None:
    """Runs the lines of docs/adopting.md in this frame."""
    test = (ROOT / "tests/packaging/test_docs.py", "Documentation.test_blocks")
    run(log, sys.executable, "-B", *test, SHEAF_FRAMES=frame, **environment)


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
        parts.pop("recipes")  # examines an installation of the ordinary build
    chosen = sys.argv[2:] or list(parts)
    for name, part in parts.items():
        if name not in chosen:
            continue
        begin = time.monotonic()
        try:
            part()
            said = "passed"
        except (RuntimeError, OSError, subprocess.SubprocessError) as error:
            print(error)
            said, failed = "FAILED", 1
        print(f"{name}  {said}  {time.monotonic() - begin:.0f} s", flush=True)
    return failed


if __name__ == "__main__":
    sys.exit(main())
