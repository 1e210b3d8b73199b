"""Programs find an installation in every common way: sionconfig, library names, CMake package, pkg-config."""

from __future__ import annotations

import os
import shutil
import sys
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

from installed import (C_MPI, C_OMP, C_OMPI, C_SERIAL, CXX_MPI, CXX_SERIAL, F77_MPI, F77_OMP, F77_OMPI,  # noqa: E402
                       F77_SERIAL, F90_MPI, F90_OMP, F90_OMPI, F90_SERIAL, FORTRAN, MPIS, ROOT,
                       InstalledCase)

FIND_SIONLIB = """
cmake_minimum_required(VERSION 3.16)
project(client C)
find_path(SIONLIB_INCLUDE sion.h HINTS ${SIONLIB_ROOT}/include NO_DEFAULT_PATH REQUIRED)
foreach(name sionmpi_64 siongen_64 sionser_64 sioncom_64 sioncom_64_lock_none)
  find_library(SIONLIB_${name} ${name} HINTS ${SIONLIB_ROOT}/lib NO_DEFAULT_PATH REQUIRED)
  list(APPEND libraries ${SIONLIB_${name}})
endforeach()
add_executable(client client.c)
target_include_directories(client PRIVATE ${SIONLIB_INCLUDE})
target_compile_definitions(client PRIVATE SION_MPI)
target_link_libraries(client PRIVATE ${libraries})
"""

FIND_SHEAF = """
cmake_minimum_required(VERSION 3.16)
project(client LANGUAGES)
enable_language(@LANGUAGE@)
find_package(Sheaf 1.0 REQUIRED COMPONENTS @COMPONENTS@ CONFIG)
add_executable(client @SOURCE@)
target_link_libraries(client PRIVATE @TARGET@)
"""

CXX_NEW = """
#include <iostream>
#include <sheaf/multifile.hpp>
int main() {
  {
    sheaf::MultifileWriter out("new.sion", {{.chunk_size = 100}});
    out.write(4711);
  }
  sheaf::MultifileReader in("new.sion");
  if (in.get<int>() == 4711) std::cout << "works" << std::endl;
}
"""


class ClassicLines(InstalledCase):
    def test_the_patterns_of_file_are_there(self):
        self.assertEqual((self.prefix / "share/misc/sheaf.magic").read_bytes(), (ROOT / "packaging/sheaf.magic").read_bytes())

    def test_serial_programs(self):
        clients = [("gcc -std=c99 -Wall -Werror", "x.c", C_SERIAL, "--c"), ("g++ -Wall", "x.cpp", CXX_SERIAL, "--cxx")]
        if shutil.which("clang-16"):
            clients.append(("clang-16", "x.c", C_SERIAL, "--c"))
        if FORTRAN:
            clients += [("gfortran -Wall", "x.f", F77_SERIAL, "--f77"),
                        ("gfortran -Wall -Wextra -Werror", "x.f90", F90_SERIAL, "--f90")]
        for compiler, name, text, language in clients:
            for more in ([], ["--threadsafe"]):
                with self.subTest(compiler=compiler, more=more):
                    self.classic(compiler, name, text, "--ser", language, *more)
                    self.works()

    def test_mpi_programs_of_every_mpi_with_the_same_line(self):
        for mpi in MPIS:
            clients = [(f"mpicc.{mpi}", "x.c", C_MPI, "--c"), (f"mpicxx.{mpi}", "x.cpp", CXX_MPI, "--cxx")]
            if FORTRAN:
                clients += [(f"mpif77.{mpi}", "x.f", F77_MPI, "--f77"),
                            (f"mpif90.{mpi} -Wall", "x.f90", F90_MPI, "--f90")]
            for compiler, name, text, language in clients:
                with self.subTest(compiler=compiler):
                    self.classic(compiler, name, text, "--mpi", language)
                    self.works(mpi)

    def test_mpi_programs_that_name_the_libraries_themselves(self):
        lib = self.prefix / "lib"
        for mpi in MPIS:
            for libraries in (["-lsheaf_mpi", "-lsheaf"], ["-lsheaf_mpi"]):
                with self.subTest(mpi=mpi, libraries=libraries):
                    self.run_command(f"mpicc.{mpi}", f"-I{self.prefix}/include", self.source("x.c", C_MPI), "-o", "client",
                                     f"-L{lib}", *libraries, f"-Wl,-rpath,{lib}")
                    self.works(mpi)

    def test_openmp_programs(self):
        clients = [("gcc", "x.c", C_OMP, "--c")]
        if FORTRAN:
            clients += [("gfortran -Wall", "x.f", F77_OMP, "--f77"),
                        ("gfortran -Wall -Wextra -Werror", "x.f90", F90_OMP, "--f90")]
        for compiler, name, text, language in clients:
            with self.subTest(language=language):
                self.classic(f"{compiler} -fopenmp", name, text, "--omp", language)
                self.works()

    def test_hybrid_programs_of_every_mpi_with_the_same_line(self):
        for mpi in MPIS:
            clients = [(f"mpicc.{mpi}", "x.c", C_OMPI, "--c")]
            if FORTRAN:
                clients += [(f"mpif77.{mpi}", "x.f", F77_OMPI, "--f77"),
                            (f"mpif90.{mpi} -Wall", "x.f90", F90_OMPI, "--f90")]
            for compiler, name, text, language in clients:
                with self.subTest(compiler=compiler):
                    self.classic(f"{compiler} -fopenmp", name, text, "--ompi", language)
                    self.works(mpi)

    def test_linkers(self):
        for linker in ("bfd", "gold", "lld", "mold"):
            if shutil.which(f"ld.{linker}"):
                for mpi in MPIS:
                    with self.subTest(linker=linker, mpi=mpi):
                        self.classic(f"mpicc.{mpi}", "x.c", C_MPI, "--mpi", flags=[f"-fuse-ld={linker}"])
                        self.works(mpi)

    def test_serial_program_with_the_libraries_of_the_mpi_interface(self):
        source = self.source("x.c", C_SERIAL)
        self.run_command(f"mpicc.{MPIS[0]}", *self.config("--cflags", "--ser").split(), source, "-o", "client",
                         *self.config("--libs", "--mpi").split())
        self.works()

    def test_static_program(self):
        self.classic("gcc -static", "x.c", C_SERIAL, "--ser")
        self.works()


class BuildSystems(InstalledCase):
    def cmake(self, text, source, client, *options):
        self.source("CMakeLists.txt", text)
        self.source(source, client)
        self.run_command("cmake", "-S", ".", "-B", "out", *options)
        self.run_command("cmake", "--build", "out")

    def package(self, target, source, client, *options, components="", language="C"):
        text = FIND_SHEAF
        for name, value in (("@COMPONENTS@", components), ("@LANGUAGE@", language), ("@SOURCE@", source),
                            ("@TARGET@", target)):
            text = text.replace(name, value)
        self.cmake(text, source, client, f"-DCMAKE_PREFIX_PATH={self.prefix}", *options)

    def test_find_module_of_the_original(self):
        for mpi in MPIS:
            with self.subTest(mpi=mpi):
                self.setUp()
                self.cmake(FIND_SIONLIB, "client.c", C_MPI, f"-DSIONLIB_ROOT={self.prefix}",
                           f"-DCMAKE_C_COMPILER=mpicc.{mpi}")
                self.works(mpi, "out/client")

    def test_cmake_package(self):
        self.package("Sheaf::sheaf", "x.c", C_SERIAL)
        self.works(program="out/client")

    def test_cmake_package_static(self):
        self.package("Sheaf::sheaf_static", "x.c", C_SERIAL)
        self.works(program="out/client")

    def test_cmake_package_for_new_cxx(self):
        self.package("Sheaf::sheaf", "x.cpp", CXX_NEW, "-DCMAKE_CXX_STANDARD=20", language="CXX")
        self.works(program="out/client")

    def test_cmake_package_takes_the_mpi_of_the_compiler(self):
        for mpi in MPIS:
            with self.subTest(mpi=mpi):
                self.setUp()
                self.package("Sheaf::mpi", "x.c", C_MPI, f"-DCMAKE_C_COMPILER=mpicc.{mpi}", components="mpi")
                self.works(mpi, "out/client")

    @unittest.skipUnless(FORTRAN, "no Fortran")
    def test_cmake_package_for_fortran(self):
        self.package("Sheaf::fortran", "x.f90", F90_SERIAL, components="fortran", language="Fortran")
        self.works(program="out/client")
        for mpi in MPIS:
            with self.subTest(mpi=mpi):
                self.setUp()
                self.package("Sheaf::fortran_mpi", "x.f90", F90_MPI, f"-DCMAKE_Fortran_COMPILER=mpif90.{mpi}",
                             components=f"{mpi} fortran", language="Fortran")
                self.works(mpi, "out/client")

    def test_cmake_package_for_openmp(self):
        clients = [("Sheaf::omp", "x.c", C_OMP, "C")]
        if FORTRAN:
            clients.append(("Sheaf::fortran_omp", "x.f90", F90_OMP, "Fortran"))
        for target, name, text, language in clients:
            with self.subTest(target=target):
                self.setUp()
                self.package(target, name, text, f"-DCMAKE_{language}_FLAGS=-fopenmp", language=language)
                self.works(program="out/client")

    @unittest.skipUnless(FORTRAN, "no Fortran")
    def test_cmake_package_for_hybrid_fortran(self):
        for mpi in MPIS:
            with self.subTest(mpi=mpi):
                self.setUp()
                self.package("Sheaf::fortran_mpi", "x.f90", F90_OMPI, f"-DCMAKE_Fortran_COMPILER=mpif90.{mpi}",
                             "-DCMAKE_Fortran_FLAGS=-fopenmp", components=f"{mpi} fortran", language="Fortran")
                self.works(mpi, "out/client")

    def test_cmake_package_refuses_what_is_not_there(self):
        self.source("CMakeLists.txt", FIND_SHEAF.replace("@COMPONENTS@", "unheard-of").replace("@LANGUAGE@", "C"))
        self.run_command("cmake", "-S", ".", "-B", "out", f"-DCMAKE_PREFIX_PATH={self.prefix}", code=1)

    @unittest.skipUnless(shutil.which("pkg-config"), "no pkg-config")
    def test_pkg_config(self):
        self.environment["PKG_CONFIG_PATH"] = str(self.prefix / "lib" / "pkgconfig")
        clients = [("gcc", "sheaf", "x.c", C_SERIAL, None), ("gcc -fopenmp", "sheaf-omp", "x.c", C_OMP, None)]
        clients += [(f"mpicc.{mpi}", f"sheaf-mpi-{mpi}", "x.c", C_MPI, mpi) for mpi in MPIS]
        if FORTRAN:
            clients.append(("gfortran", "sheaf-fortran", "x.f90", F90_SERIAL, None))
            clients.append(("gfortran -fopenmp", "sheaf-fortran-omp", "x.f90", F90_OMP, None))
            clients += [(f"mpif90.{mpi}", f"sheaf-fortran-mpi-{mpi}", "x.f90", F90_MPI, mpi) for mpi in MPIS]
            clients += [(f"mpif90.{mpi} -fopenmp", f"sheaf-fortran-mpi-{mpi}", "x.f90", F90_OMPI, mpi) for mpi in MPIS]
        for compiler, package, name, text, mpi in clients:
            with self.subTest(package=package):
                flags = self.run_command("pkg-config", "--cflags", "--libs", package).split()
                self.run_command(*compiler.split(), self.source(name, text), "-o", "client", *flags)
                self.works(mpi)


class Tree(InstalledCase):
    def test_holds_what_build_systems_look_for(self):
        names = [f"lib/libsion{name}_64.a" for name in
                 ("com", "ser", "gen", "mpi", "omp", "ompi", "ser_cxx", "mpi_cxx")]
        names += ["lib/libsioncom_64_lock_none.a", "lib/libsioncom_64_lock_pthreads.a", "include/sion.h"]
        names += [f"bin/{name}" for name in
                  ("sheaf", "siondump", "sionsplit", "siondefrag", "sioncat", "sionversion", "sionconfig")]
        if MPIS:
            names += ["bin/sheaf-partest", "bin/partest", "bin/ompi_partest"]
        if FORTRAN:
            names += [f"lib/libsion{part}_{language}_64.a" for part in ("ser", "mpi") for language in ("f77", "f90")]
            names += ["include/sion_f77.h"]
            names += [f"include/mod_64/sion_f90{family}.mod" for family in ("", "_saves", "_omp", "_mpi", "_ompi")]
        self.assertEqual([name for name in names if not (self.prefix / name).exists()], [])

    def test_benchmark_of_every_mpi(self):
        for mpi in MPIS:
            for name in ("sheaf-partest", "partest", "ompi_partest"):
                with self.subTest(mpi=mpi, name=name):
                    self.run_command(ROOT / "scripts" / "mpirun.sh", mpi, 2, self.prefix / "bin" / name, "-s", "10k")
            self.environment["SHEAF_MPI"] = mpi
            self.assertIn("--localsize", self.run_command(self.prefix / "bin" / "partest", "--help"))
            del self.environment["SHEAF_MPI"]
        self.environment["SHEAF_MPI"] = "nonesuch"
        self.run_command(self.prefix / "bin" / "partest", "--help", code=2)

    def test_a_copy_of_a_tool_starts_anywhere(self):
        for name in ("sheaf", "siondump", "sionsplit", "siondefrag", "sioncat", "sionversion"):
            with self.subTest(name=name):
                shutil.copy(self.prefix / "bin" / name, self.directory / name)
                # The classic tools end with 1 after -V, as those of SIONlib do; a program without its library with 127.
                option, code = ("--version", 0) if name == "sheaf" else ("-V", 0 if name == "sionversion" else 1)
                self.run_command(self.directory / name, option, code=code)
        (self.directory / "out").mkdir()
        self.run_command(self.directory / "sheaf", "run", "--capture", "out/*:captured.sion", "--", "sh", "-c", "echo text >out/file")
        self.assertEqual(self.run_command(self.directory / "sheaf", "cat", "--name", "out/file", "captured.sion"), "text\n")

    def test_staging_directory(self):
        stage = self.directory / "stage"
        self.environment["DESTDIR"] = str(stage)
        from installed import BUILD
        self.run_command("cmake", "--install", BUILD, "--prefix", "/opt/sheaf")
        script = stage / "opt" / "sheaf" / "bin" / "sionconfig"
        self.assertEqual(self.run_command(script, "--path").strip(), "/opt/sheaf")
        run_path = self.run_command("readelf", "-d", stage / "opt" / "sheaf" / "bin" / "sheaf")
        self.assertIn("[$ORIGIN/../lib:/opt/sheaf/lib]", run_path)
        self.run_command("cmake", "--install", BUILD, "--prefix", "/opt/sheaf")
        self.assertEqual(self.run_command("readelf", "-d", stage / "opt" / "sheaf" / "bin" / "sheaf"), run_path)
        self.assertTrue(os.access(stage / "opt" / "sheaf" / "lib" / "libsioncom_64.a", os.R_OK))

    def test_a_prefix_too_long_for_a_run_path(self):
        stage = self.directory / "stage"
        self.environment["DESTDIR"] = str(stage)
        from installed import BUILD
        prefix = "/" + "/".join(["opt" * 60] * 3)
        self.run_command("cmake", "--install", BUILD, "--prefix", prefix)
        self.assertIn("[$ORIGIN/../lib]", self.run_command("readelf", "-d", f"{stage}{prefix}/bin/sheaf"))


if __name__ == "__main__":
    unittest.main()
