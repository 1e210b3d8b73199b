"""Checks that every routine of the Fortran interface is in the libraries under all its names, and that a test calls
it.

    test_entry_points.py --libraries LIB... --programs PROGRAM...

The script looks for the entry points of FORTRAN 77 among the symbols that the libraries define and that the test
programs import. It looks for the names of the modules in the sources of the tests, which compile only with correct
names."""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
import unittest
from pathlib import Path

HERE = Path(__file__).resolve().parent
SPEC = Path(os.environ.get("SHEAF_SPEC", HERE.parents[1].parent / "shared" / "spec" / "sion-api.md"))

SERIAL = """open open_rank close feof seek ensure_free_space flush get_chunksizes get_globalranks get_mapping_spec
get_mapping get_locations get_current_locations get_fileno get_file_endianness get_file_endianess get_endianness
get_endianess endianness_swap_needed bytes_avail_in_block get_position swap write fwrite read fread paropen_omp
parclose_omp""".split()
MPI = "paropen_mpi parclose_mpi coll_fwrite_mpi coll_fread_mpi paropen_ompi parclose_ompi".split()
# Routines that the description of the SION interface has in C only.
OWN = """bytes_avail_in_chunk get_bytes_written get_bytes_read get_number_of_files get_location_arrays dup dedup fwrite_key
fread_key seek_key fread_key_iterator_reset fread_key_iterator_next key_full_scan key_list_iterator_reset
key_list_iterator_next key_get_stat get_keyval_mode""".split()
OWN_MPI = "paropen_mapped_mpi parclose_mapped_mpi parreinit_mpi".split()
SAVES = "parclose_async save_of save_test save_wait save_error save_progress save_free latest".split()
SAVES_MPI = ["save_wait_mpi"]
WITH_DATA = "write fwrite read fread coll_fwrite_mpi coll_fread_mpi".split()
TYPES_77 = "integer character real double complex logical".split()
TYPES_90 = "integer integer8 real double_precision complex logical character".split()
C_ONLY = "paropen_multi_mpi paropen_multi_ompi".split()

arguments = argparse.Namespace(libraries=[], programs=[])


def symbols(options: str, paths: list[str]) -> set[str]:
    lines = subprocess.run(["nm", *options.split(), *paths], check=True, capture_output=True, text=True).stdout
    return set(re.findall(r"\b(f(?:sion|sheaf)_\w+)\b", lines))


def with_mpi() -> bool:
    return any("libsheaf_fortran_mpi" in path for path in arguments.libraries)


class EntryPoints(unittest.TestCase):
    def setUp(self) -> None:
        self.routines = SERIAL + OWN + (MPI + OWN_MPI if with_mpi() else [])
        self.saves = {f"fsheaf_{name}" for name in SAVES + (SAVES_MPI if with_mpi() else [])}

    def names_77(self) -> set[str]:
        names = {f"fsion_{name}_" for name in self.routines} | {f"{name}_" for name in self.saves}
        return names | {f"fsion_{name}_{kind}_" for name in WITH_DATA if name in self.routines for kind in TYPES_77}

    def names_c(self) -> set[str]:
        names = {f"fsion_{name}_c_" for name in self.routines + (C_ONLY if with_mpi() else [])}
        return names | {f"{name}_c_" for name in self.saves}

    def test_the_libraries_define_every_name_and_no_other(self):
        self.assertEqual(symbols("-D --defined-only", arguments.libraries), self.names_77() | self.names_c())

    def test_every_entry_point_of_fortran_77_is_called(self):
        called = symbols("-D --undefined-only", arguments.programs)
        self.assertEqual(self.names_77() - called, set())
        if with_mpi():
            self.assertEqual({f"fsion_{name}_c_" for name in C_ONLY} - called, set())

    def test_every_name_of_the_modules_is_called(self):
        sources = [p for p in HERE.iterdir() if p.suffix.lower() == ".f90"]
        text = "\n".join(path.read_text().lower() for path in sources)
        called = set(re.findall(r"(f(?:sion|sheaf)_\w+)\s*[(,]", text))
        names = {f"fsion_{name}" for name in self.routines} | self.saves
        names |= {f"fsion_{name}_{kind}" for name in [*WITH_DATA, "swap"] if name in self.routines for kind in TYPES_90}
        self.assertEqual(names - called, set())

    @unittest.skipUnless(SPEC.exists(), "no description of the interface here")
    def test_the_list_is_that_of_the_description(self):
        section = SPEC.read_text().split("\n## 26.")[1].split("\n## ")[0]
        table = "".join(line for line in section.splitlines() if line.startswith(("| `fsion", "Functions:")))
        described = {name for name in re.findall(r"fsion_(\w+)", table)}
        self.assertEqual(described, set(SERIAL + MPI))


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--libraries", nargs="+", required=True)
    parser.add_argument("--programs", nargs="+", required=True)
    arguments = parser.parse_args()
    unittest.main(argv=[sys.argv[0]])
