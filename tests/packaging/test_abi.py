#!/usr/bin/env python3
"""The binary interface equals the committed one (packaging/abi), and the comparison detects forbidden changes
(docs/releasing.md)."""

from __future__ import annotations

import platform
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

from installed import BUILD, ROOT

sys.path.insert(0, str(ROOT / "packaging" / "abi"))
import abi  # noqa: E402


def obstacle() -> str:
    if not shutil.which("abidw"):
        return "abidw is not installed (Debian: abigail-tools)"
    if platform.machine() != "x86_64":
        return f"the descriptions are those of x86_64, not of {platform.machine()}"
    cache = (BUILD / "CMakeCache.txt").read_text().splitlines()
    if "SHEAF_ABI_TYPES:BOOL=ON" not in cache:
        return "this build has no debug information of the interface (SHEAF_ABI_TYPES)"
    if "SHEAF_SYSTEM_LAYOUT:BOOL=ON" in cache:
        return "libraries for an MPI have other names in the system layout"
    if not any(line == "SHEAF_SANITIZE:STRING=" for line in cache):
        return "libraries with sanitizers have more symbols"
    return ""


WHY_NOT = obstacle()


@unittest.skipIf(WHY_NOT, WHY_NOT)
class Interface(unittest.TestCase):
    def test_every_library_is_as_committed(self):
        for name, library in abi.libraries(BUILD).items():
            with self.subTest(library=name):
                self.assertTrue(library.exists(), f"{library} is not built")
                change = abi.difference(abi.committed(name).read_text(), abi.describe(library))
                self.assertEqual(change, "", f"\n{change}\nIf that is allowed (docs/releasing.md): packaging/abi/renew.sh {BUILD}")

    def test_what_is_described_is_compared(self):
        described = {path.stem for path in abi.HERE.glob("*.abixml")}
        of_mpi = (f"{name}-{mpi}" for mpi in abi.MPIS for name in abi.OF_MPI)
        self.assertEqual(described, {*abi.SERIAL, *of_mpi})

    def test_a_library_that_is_not_built_is_asked_for(self):
        with tempfile.TemporaryDirectory() as place:
            build = Path(place)
            (build / "mpi").mkdir()
            (build / "mpi" / "all").write_text("mpich mpich /usr/bin/mpicc.mpich\n")
            without = ("libsheaf", "libsheaf_omp", "libsheaf_mpi-mpich", "libsheaf_sfio-mpich")
            for fortran, names in (("/usr/bin/f95", (*abi.SERIAL, *(f"{name}-mpich" for name in abi.OF_MPI))),
                                   ("NOTFOUND", without)):
                (build / "CMakeCache.txt").write_text(f"CMAKE_Fortran_COMPILER:STRING={fortran}\n")
                self.assertEqual(set(abi.libraries(build)), set(names))
            with self.assertRaisesRegex(SystemExit, "not built: .*libsheaf_omp.so"):
                abi.renew(build)

    def test_descriptions_know_the_types(self):
        text = abi.committed("libsheaf").read_text()
        for name in ("class-decl name='_sion_io_stat_struct' size-in-bits=", "function-decl name='sion_generic_paropen'"):
            self.assertTrue(f"<{name}" in text, name)
        self.assertFalse("SHEAF_PRIVATE" in text)


HEADER = """
struct io { long bytes; int calls;%s };
"""
BEFORE = HEADER % "" + """
int sheaf_stat(struct io *out, int task) { out->calls = task; return 0; }
int sheaf_other(void) { return 0; }
"""
CHANGES = {
    "a function is gone": BEFORE.replace("int sheaf_other(void) { return 0; }", ""),
    "a function is new": BEFORE + "int sheaf_new(void) { return 0; }\n",
    "a parameter has another type": BEFORE.replace("int task", "long task"),
    "a result has another type": BEFORE.replace("int sheaf_other", "long sheaf_other"),
    "a struct has a new member": BEFORE.replace(HEADER % "", HEADER % " long more;"),
    "members have changed places": BEFORE.replace("long bytes; int calls;", "int calls; long bytes;"),
}


@unittest.skipIf(WHY_NOT, WHY_NOT)
class Comparison(unittest.TestCase):
    """Compares small libraries before and after every kind of change."""

    def describe(self, text: str, node: str = "SHEAF_1") -> str:
        with tempfile.TemporaryDirectory() as place:
            source, versions, library = (Path(place) / name for name in ("x.c", "x.map", "libx.so"))
            source.write_text(text)
            versions.write_text(f"{node} {{ global: *; }};\n")
            subprocess.run(["gcc", "-g", "-shared", "-fPIC", f"-Wl,--version-script={versions}", "-o",
                            library, source], check=True)
            headers = abi.OPTIONS
            abi.OPTIONS = tuple(option for option in headers if option != "--drop-private-types")
            try:
                return abi.describe(library)
            finally:
                abi.OPTIONS = headers

    def test_nothing_has_changed(self):
        self.assertEqual(abi.difference(self.describe(BEFORE), self.describe(BEFORE.replace("= task", "= -task"))), "")

    def test_every_kind_of_change_is_noticed(self):
        before = self.describe(BEFORE)
        for what, after in CHANGES.items():
            with self.subTest(what):
                self.assertNotEqual(abi.difference(before, self.describe(after)), "")

    def test_names_without_a_version_are_noticed(self):
        self.assertNotEqual(abi.difference(self.describe(BEFORE), self.describe(BEFORE, node="")), "")

    def test_a_function_that_the_real_library_loses_is_named(self):
        library = abi.libraries(BUILD)["libsheaf"]
        fewer = [name for name in abi.interface(library) if name != "sion_fwrite"]
        change = abi.difference(abi.committed("libsheaf").read_text(), abi.describe(library, fewer))
        self.assertIn("sion_fwrite", change)


if __name__ == "__main__":
    unittest.main()
