"""Recipes of Spack, EasyBuild and conda (packaging/README.md): they name this version, existing options, and files of
an installation. EasyBuild and rattler-build read their recipes if they are installed (SHEAF_RECIPE_TOOLS, a
virtual environment of Python with easybuild-framework, easybuild-easyblocks and py-rattler-build).
build_recipes.py carries them out.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

from installed import MPIS, ROOT, InstalledCase  # noqa: E402
from spack_stand_in import Spec, load  # noqa: E402

RECIPES = ROOT / "packaging"
SPACK = RECIPES / "spack" / "repo" / "packages" / "sheaf" / "package.py"
EASYBUILD = sorted((RECIPES / "easybuild").glob("*.eb"))
CONDA = RECIPES / "conda" / "recipe.yaml"
LMOD = os.environ.get("LMOD_CMD", "/usr/share/lmod/lmod/libexec/lmod")  # required by EasyBuild
TOOLS = Path(os.environ.get("SHEAF_RECIPE_TOOLS", "/nonexistent")) / "bin"
VERSION = re.search(r'SHEAF_VERSION_STRING "([^"]+)', (ROOT / "include" / "sheaf.h").read_text())[1]
VARIANTS = [{"mpi": mpi, "fortran": mpi, "flavour": flavour, "compression": mpi, "mount": mpi}
            for mpi, flavour in ((True, "default"), (False, "default"), (False, "tools"))]


def options_of(text: str) -> set[str]:
    return set(re.findall(r"-D(\w+)", text))


def known_options() -> set[str]:
    text = "".join(file.read_text() for file in [ROOT / "CMakeLists.txt", *sorted((ROOT / "cmake").glob("*.cmake"))])
    return set(re.findall(r"(?:option|set)\((SHEAF_\w+)", text)) | {"CMAKE_BUILD_TYPE", "CMAKE_INSTALL_PREFIX", "CMAKE_Fortran_COMPILER"}


def easyconfig(path: Path) -> dict:
    found: dict = {"SOURCELOWER_TAR_GZ": "sheaf-%(version)s.tar.gz", "SHLIB_EXT": "so"}
    exec(compile(path.read_text(), str(path), "exec"), found)  # noqa: S102, as EasyBuild does
    return found


def spack_arguments(variants: dict) -> list[str]:
    return load(SPACK)(Spec(variants, "/opt/mpi/latest/bin/mpicc")).cmake_args()


class Recipes(InstalledCase):
    def test_they_name_this_version(self):
        package, archive = load(SPACK), f"sheaf-{VERSION}.tar.gz"
        self.assertEqual([words for words, _ in package.recorded["version"]], [(VERSION,)])
        self.assertEqual(package.url, f"file://{os.getcwd()}/{archive}")
        conda = re.search(r"^  version: (\S+)$", CONDA.read_text(), re.MULTILINE)[1]
        self.assertEqual(conda, VERSION.replace("-", ""))
        self.assertEqual([easyconfig(path)["version"] for path in EASYBUILD], [VERSION] * 2)
        readme = (RECIPES / "README.md").read_text()
        made = f"git archive --prefix=sheaf-{VERSION}/ -o {archive} "
        for words in (made, *(path.name for path in EASYBUILD)):
            self.assertIn(words, readme)
        for path in EASYBUILD:
            found = easyconfig(path)
            toolchain = found["toolchain"]
            self.assertEqual(path.stem, f"{found['name']}-{found['version']}-{toolchain['name']}-{toolchain['version']}"
                                        f"{found.get('versionsuffix', '')}")

    def test_options_exist(self):
        given = options_of("".join(path.read_text() for path in [*EASYBUILD, RECIPES / "conda" / "build.sh"]))
        for variants in VARIANTS:
            given |= options_of(" ".join(spack_arguments(variants)))
        self.assertGreater(given, {"SHEAF_MPIS", "SHEAF_FLAVOUR"})
        self.assertEqual(given - known_options(), set())

    def test_spack_tells_what_a_variant_is(self):
        self.assertEqual(spack_arguments(VARIANTS[0]), [
            "-DSHEAF_COMPRESSION:BOOL=ON", "-DSHEAF_MOUNT:BOOL=ON",
            "-DSHEAF_MPIS:STRING=/opt/mpi/latest/bin/mpicc"])
        self.assertEqual(spack_arguments(VARIANTS[1]), [
            "-DSHEAF_COMPRESSION:BOOL=OFF", "-DSHEAF_MOUNT:BOOL=OFF", "-DSHEAF_MPIS:STRING=none",
            "-DCMAKE_Fortran_COMPILER:STRING=NOTFOUND"])
        self.assertEqual(spack_arguments(VARIANTS[2]), [
            "-DSHEAF_COMPRESSION:BOOL=OFF", "-DSHEAF_FLAVOUR:STRING=tools"])

    def test_spack_provides_sionlib_and_refuses_what_cannot_be(self):
        recorded = load(SPACK).recorded
        self.assertEqual(recorded["provides"], [(("sionlib",), {"when": "flavour=default"})])
        self.assertEqual({options.get("when") for words, options in recorded["conflicts"] if "%" not in words[0]}, {"flavour=tools"})
        variants = {words[0] for words, _ in recorded["variant"]}
        for words, options in recorded["depends_on"]:
            self.assertIn(options.get("when", "+mpi").lstrip("+~").split("=")[0], variants, words)

    @unittest.skipUnless(MPIS, "no MPI: the recipe is for one")
    def test_an_installation_has_what_easybuild_looks_for(self):
        found = next(easyconfig(path) for path in EASYBUILD if "tools" not in path.name)
        paths = found["sanity_check_paths"]
        self.assertEqual([name for name in paths["files"] + paths["dirs"] if not (self.prefix / name).exists()], [])
        self.environment |= {"PATH": f"{self.prefix}/bin:{self.environment['PATH']}"}
        for command in found["sanity_check_commands"]:
            self.run_command("sh", "-ec", command)

    def test_an_installation_passes_the_tests_of_the_conda_package(self):
        lines = re.findall(r"^ +- ((?:sheaf|sionconfig|test) .*)$", CONDA.read_text(), re.MULTILINE)
        self.assertGreater(len(lines), 5)
        self.environment |= {"PATH": f"{self.prefix}/bin:{self.environment['PATH']}", "PREFIX": str(self.prefix)}
        for line in lines:
            if MPIS or "mpi" not in line and "partest" not in line:
                self.run_command("sh", "-ec", line)

    @unittest.skipUnless((TOOLS / "eb").exists() and Path(LMOD).exists(), "no EasyBuild where SHEAF_RECIPE_TOOLS says, or no Lmod")
    def test_easybuild_reads_its_files(self):
        script = ("import sys; from easybuild.tools.options import set_up_configuration; "
                  "set_up_configuration(args=['--allow-use-as-root-and-accept-consequences'], silent=True)\n"
                  "from easybuild.framework.easyconfig.easyconfig import EasyConfig\n"
                  "for path in sys.argv[1:]:\n  ec = EasyConfig(path, validate=True); print(ec.full_mod_name, ec.easyblock)")
        self.environment |= {"PATH": f"{TOOLS}:{self.environment['PATH']}", "LMOD_CMD": LMOD}
        for path in EASYBUILD:
            said = self.run_command(TOOLS / "python3", "-c", script, path)
            self.assertIn(f"Sheaf/{path.stem.removeprefix('Sheaf-')} CMakeMake", said)

    @unittest.skipUnless((TOOLS / "python3").exists(), "rattler-build is not here: SHEAF_RECIPE_TOOLS does not lead to it")
    def test_rattler_build_renders_every_variant(self):
        script = ("import json, sys\nfrom rattler_build import Stage0Recipe, VariantConfig\n"
                  "config = VariantConfig.from_file(sys.argv[2])\n"
                  "for one in Stage0Recipe.from_file(sys.argv[1]).render(config): print(json.dumps(one.recipe.to_dict()))")
        said = self.run_command(TOOLS / "python3", "-c", script, CONDA, CONDA.parent / "variants.yaml")
        recipes = [json.loads(line) for line in said.splitlines()]
        strings = sorted(recipe["build"]["string"].split("_h")[0] for recipe in recipes)
        self.assertEqual(strings, ["mpi_mpich", "mpi_nompi", "mpi_openmpi"])
        for recipe in recipes:
            mpi = re.match("mpi_([a-z]+)", recipe["build"]["string"])[1]
            self.assertEqual(mpi in str(recipe["requirements"]["run"]), mpi != "nompi", recipe["requirements"])


if __name__ == "__main__":
    unittest.main()
