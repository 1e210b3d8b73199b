"""The MPI that the CMake package selects for a project: the only one, or that of its compiler or libraries."""

from __future__ import annotations

import re
import shutil
import subprocess
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PROJECT = """cmake_minimum_required(VERSION 3.25)
project(choice LANGUAGES NONE)
set(CMAKE_C_COMPILER "{compiler}")
set(MPI_C_LIBRARIES "{libraries}")
find_package(Sheaf REQUIRED CONFIG PATHS {prefix} NO_DEFAULT_PATH)
message(STATUS "takes <${{Sheaf_MPI}}>")
if(NOT TARGET Sheaf::mpi)
  message(FATAL_ERROR "there is no Sheaf::mpi")
endif()
"""
ONEAPI = "/opt/intel/oneapi/compiler/2024.0/bin/icx"
# Installed MPIs, compiler and MPI library of the project, selected MPI.
CASES = (("intelmpi", ONEAPI, "/opt/intel/oneapi/mpi/2021/lib/libmpi.so", "intelmpi"),
         ("intelmpi", "/usr/bin/gcc", "/apps/software/impi/2021/lib/libmpi.so", "intelmpi"),
         ("mpich", "/sw/compilers/gcc-13/bin/gcc", "/opt/mpi/lib/libmpi.so", "mpich"),
         ("openmpi;intelmpi", ONEAPI, "/opt/intel/oneapi/mpi/2021/lib/libmpi.so", "intelmpi"),
         ("openmpi;mpich", "/sw/compilers/gcc-13/bin/gcc", "/apps/impi/2021/lib/libmpi.so", "mpich"),
         ("openmpi;mpich", "/usr/bin/mpicc.mpich", "", "mpich"),
         ("openmpi;mpich", "/usr/bin/gcc", "/usr/lib/x86_64-linux-gnu/openmpi/lib/libmpi.so", "openmpi"))


COMPILES = """cmake_minimum_required(VERSION 3.16)
project(program CXX)
{order}
add_library(program OBJECT program.cpp)
target_link_libraries(program Sheaf::mpi)
"""
FIND_MPI = "find_package(MPI REQUIRED)"
FIND_SHEAF = "find_package(Sheaf REQUIRED CONFIG {components} PATHS {prefix} NO_DEFAULT_PATH)"


class Installation(unittest.TestCase):
    def install(self, place: Path, mpis: str) -> Path:
        """Installs the package of the given MPIs, with empty libraries."""
        prefix = place / "prefix"
        fields = {"package_to_prefix": "../../..", "SHEAF_LIB": "lib", "SHEAF_MPI_LIB": "lib",
                  "SHEAF_MPIS": mpis, "SHEAF_MODULES": "include/mod_64"}
        (prefix / "include").mkdir(parents=True)
        for mpi in ("", *mpis.split(";")):
            (prefix / "lib" / mpi).mkdir(parents=True, exist_ok=True)
            for name in ("libsheaf.so", "libsheaf_omp.so", "libsheaf_mpi.so"):
                (prefix / "lib" / mpi / name).touch()
        config = prefix / "lib" / "cmake" / "Sheaf" / "SheafConfig.cmake"
        config.parent.mkdir(parents=True)
        text = (ROOT / "packaging" / "cmake" / "SheafConfig.cmake.in").read_text()
        config.write_text(re.sub(r"@(\w+)@", lambda match: fields[match[1]], text))
        return prefix


class Choice(Installation):
    def taken(self, place: Path, mpis: str, compiler: str, libraries: str) -> str:
        prefix = self.install(place, mpis)
        project = PROJECT.format(compiler=compiler, libraries=libraries, prefix=prefix)
        (place / "CMakeLists.txt").write_text(project)
        done = subprocess.run(["cmake", "-S", place, "-B", place / "build"], capture_output=True, text=True,
                              timeout=120)
        self.assertEqual(0, done.returncode, done.stderr)
        return re.search("takes <(.*)>", done.stdout)[1]

    def test_each_case(self):
        for mpis, compiler, libraries, right in CASES:
            with self.subTest(mpis=mpis, compiler=compiler), tempfile.TemporaryDirectory() as place:
                self.assertEqual(right, self.taken(Path(place), mpis, compiler, libraries))


@unittest.skipUnless(shutil.which("mpicxx"), "no MPI for C++")
class Program(Installation):
    def test_it_finds_mpi_h_with_sheaf_mpi_alone(self):
        for order in ((FIND_MPI, FIND_SHEAF), (FIND_SHEAF.replace("{components}", "COMPONENTS mpi"),)):
            with self.subTest(order=order), tempfile.TemporaryDirectory() as directory:
                place = Path(directory)
                lines = "\n".join(order).format(prefix=self.install(place, "openmpi;mpich"), components="")
                (place / "CMakeLists.txt").write_text(COMPILES.format(order=lines))
                (place / "program.cpp").write_text("#include <mpi.h>\nMPI_Comm all = MPI_COMM_WORLD;\n")
                for command in (["cmake", "-S", place, "-B", place / "build"], ["cmake", "--build", place / "build"]):
                    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
                    self.assertEqual(0, done.returncode, done.stdout + done.stderr)


if __name__ == "__main__":
    unittest.main()
