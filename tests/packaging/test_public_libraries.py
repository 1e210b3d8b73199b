"""The libraries named by sionconfig provide every public function: programs that use all functions link and run."""

from __future__ import annotations

import sys
import unittest
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "conformance")]

from installed import FORTRAN, MPIS, InstalledCase  # noqa: E402
from test_public_interface import LISTED, PENDING, program, wanted  # noqa: E402

FAMILIES = {"com": ("common", "debug"), "ser": ("common", "debug", "serial"), "gen": ("common", "debug", "generic"),
            "omp": ("common", "debug", "serial", "generic", "omp", "undeclared"),
            "mpi": ("common", "debug", "serial", "generic", "mpi", "undeclared"),
            "ompi": ("common", "debug", "serial", "generic", "mpi", "ompi", "undeclared")}
LOCKS = ([], ["--threadsafe"])


class Libraries(InstalledCase):
    def all_are_there(self, compiler, interface, families, language="--c"):
        for more in LOCKS:
            name = "x.c" if language == "--c" else "x.cpp"
            self.classic(compiler, name, program(families), f"--{interface}", language, *more)
            self.run_command("./client")

    def test_serial_and_threads(self):
        for interface in ("com", "ser", "gen"):
            self.all_are_there("gcc -std=c99 -Wno-address", interface, FAMILIES[interface])
        self.all_are_there("gcc -std=c99 -fopenmp -Wno-address", "omp", FAMILIES["omp"])
        self.all_are_there("g++ -fopenmp -Wno-address", "omp", FAMILIES["omp"], "--cxx")

    def test_mpi_and_hybrid(self):
        for mpi in MPIS:
            self.all_are_there(f"mpicc.{mpi} -Wno-address", "mpi", FAMILIES["mpi"])
            self.all_are_there(f"mpicc.{mpi} -fopenmp -Wno-address", "ompi", FAMILIES["ompi"])
            self.all_are_there(f"mpicxx.{mpi} -Wno-address", "mpi", FAMILIES["mpi"], "--cxx")

    def test_shared_libraries(self):
        """Every function is in the dynamic symbol tables, for programs that load or name the libraries themselves."""
        from test_public_interface import name_of
        offered = {"libsheaf.so": ("common", "serial", "generic", "debug", "undeclared"), "libsheaf_omp.so": ("omp",)}
        offered |= {f"{mpi}/libsheaf_mpi.so": ("mpi", "ompi") for mpi in MPIS}
        for library, families in offered.items():
            lines = self.run_command("nm", "-D", "--defined-only", self.prefix / "lib" / library).splitlines()
            symbols = {line.split()[2].split("@")[0] for line in lines if line.split()[1] == "T"}
            self.assertEqual([n for family in families for n in map(name_of, wanted(family)) if n not in symbols], [], library)

    @unittest.skipUnless(FORTRAN, "no Fortran")
    def test_fortran_routines(self):
        routines = [name for name in wanted("fortran")]
        serial = [name for name in routines if "mpi" not in name]
        for compiler, interface, names in [("gcc", "ser", serial)] + [(f"mpicc.{mpi} -fopenmp", "mpi", routines) for mpi in MPIS]:
            text = "".join(f"extern void {name}_(void);\n" for name in names) + "int main(void) {\n  int missing = 0;\n"
            text += "".join(f"  missing += {name}_ == 0;\n" for name in names) + "  return missing;\n}\n"
            cflags = self.config("--cflags", f"--{interface}").split()
            self.run_command(*compiler.split(), "-Wno-address", *cflags, self.source("x.c", text), "-o", "client",
                             *self.config("--libs", f"--{interface}", "--f77").split())
            self.run_command("./client")


class Names(InstalledCase):
    def test_libraries_and_modules(self):
        files = [f"lib/{name}" for name in LISTED["libraries"] if FORTRAN or "_f77" not in name and "_f90" not in name]
        files += [f"include/mod_64/{name}.mod" for name in LISTED["modules"] if FORTRAN and name not in PENDING]
        self.assertEqual([name for name in files if not (self.prefix / name).exists()], [])

    def test_every_option_of_sionconfig_is_taken(self):
        script = self.prefix / "bin" / "sionconfig"
        for option in LISTED["sionconfig"]:
            code = {"--mic": 42, "-h": 1, "--help": 1}.get(option, 0)
            printed = self.run_command(script, option, code=code)
            self.assertEqual(bool(printed), option in ("--cflags", "--libs", "--path", "-V", "-v", "--version", "-h", "--help"),
                             option)


if __name__ == "__main__":
    unittest.main()
