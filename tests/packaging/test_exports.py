"""Exported symbols of the shared libraries, and the size of an installation."""

from __future__ import annotations

import re
import subprocess
import sys
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

from installed import BUILD, C_SERIAL, F90_SERIAL, FORTRAN, MPIS, InstalledCase  # noqa: E402

MEGABYTE = 1_000_000


def symbols(path: Path, *which: str) -> set[str]:
    out = subprocess.run(["nm", "-D", "--with-symbol-versions", *which, path], capture_output=True, text=True, check=True)
    return {line.split()[-1] for line in out.stdout.splitlines()}


def released() -> bool:
    lines = (BUILD / "CMakeCache.txt").read_text().splitlines()
    return any(line in ("CMAKE_BUILD_TYPE:STRING=Release", "CMAKE_BUILD_TYPE:STRING=") for line in lines)


class Exports(InstalledCase):
    def libraries(self) -> list[Path]:
        lib = self.prefix / "lib"
        serial, of_mpi = ["sheaf", "sheaf_omp"], ["sheaf_mpi", "sheaf_sfio"]
        if FORTRAN:
            serial += ["sheaf_fortran", "sheaf_fortran_omp"]
            of_mpi += ["sheaf_fortran_mpi", "sheaf_fortran_sfio"]
        return [*(lib / f"lib{name}.so" for name in serial),
                *(lib / mpi / f"lib{name}.so" for mpi in MPIS for name in of_mpi)]

    def needed(self) -> set[str]:
        """Returns the symbols that installed libraries and programs import from each other, by name and version."""
        files = [path for path in self.prefix.rglob("*") if path.is_file() and path.read_bytes()[:4] == b"\x7fELF"]
        return set().union(*(symbols(path, "--undefined-only") for path in files))

    def test_every_name_has_a_version(self):
        needed = {name.replace("@@", "@") for name in self.needed()}
        for library in self.libraries():
            for symbol in symbols(library, "--defined-only"):
                name, _, version = symbol.partition("@@")
                if name == symbol:
                    # Version definitions themselves.
                    self.assertRegex(symbol, r"^SHEAF_(1|PRIVATE_[0-9.]+)(@|$)", library)
                elif version == "SHEAF_1":
                    private = name.startswith(("_Z", "sheaf_private_"))
                    self.assertFalse(private, f"{library.name} offers {name} as its interface")
                else:
                    self.assertTrue(version.startswith("SHEAF_PRIVATE_"), symbol)
                    self.assertIn(f"{name}@{version}", needed, f"{library.name}: no companion needs it")

    def test_threads_end_without_destructors_of_objects(self):
        """Threads register no destructors of objects.

        The C library would end the program if a registration failed (base/thread_value)."""
        for path in self.prefix.rglob("*"):
            if path.is_symlink() or not path.is_file() or path.read_bytes()[:4] != b"\x7fELF":
                continue
            imported = symbols(path, "--undefined-only")
            self.assertFalse([name for name in imported if name.startswith("__cxa_thread_atexit")], path)
            if ".so" in path.name:
                flags = subprocess.run(["readelf", "-d", path], capture_output=True, text=True, check=True).stdout
                self.assertIn("NODELETE", flags, path)

    def test_programs_use_the_interface_alone(self):
        clients = [("gcc", "client.c", C_SERIAL, "include", "-lsheaf")]
        if FORTRAN:
            clients.append(("gfortran", "client.f90", F90_SERIAL, "include/mod_64", "-lsheaf_fortran"))
        for compiler, name, text, include, library in clients:
            self.run_command(compiler, f"-I{self.prefix}/{include}", self.source(name, text), "-o", "client",
                             f"-L{self.prefix}/lib", library, f"-Wl,-rpath,{self.prefix}/lib")
            open_names = symbols(self.directory / "client", "--undefined-only")
            used = [name for name in open_names if re.search("sheaf|sion", name)]
            self.assertTrue(used)
            self.assertTrue(all(name.endswith("@SHEAF_1") for name in used), used)
            self.works()


@unittest.skipUnless(released(), "sizes are those of a release build")
class Sizes(InstalledCase):
    def test_a_program_with_one_multifile(self):
        self.classic("gcc", "client.c", C_SERIAL, "--ser")
        # Serial or parallel, a program has the same single writer and reader.
        self.assertLess((self.directory / "client").stat().st_size, 2.4 * MEGABYTE)

    def test_an_installation_for_one_mpi(self):
        others = set(MPIS[1:])
        files = [path for path in self.prefix.rglob("*") if path.is_file() and not path.is_symlink()]
        files = [path for path in files if not others & set(path.parts) and not any(mpi in path.name for mpi in others)]
        # Libraries loaded into programs without Sheaf contain all of their dependencies.
        apart = [path for path in files if path.name in ("libsheaf_posix.so", "sheaf-mount")]
        sizes = {path: path.stat().st_size for path in files}
        self.assertLess(sum(sizes[path] for path in files if path not in apart), 11 * MEGABYTE)
        self.assertLess(sum(sizes[path] for path in apart), 2.7 * MEGABYTE)


if __name__ == "__main__":
    unittest.main()
