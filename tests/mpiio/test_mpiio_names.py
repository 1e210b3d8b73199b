#!/usr/bin/env python3
"""Every MPI_File_ and PMPI_File_ name of each installed MPI library, and MPI_Register_datarep, is ours: one left out would
hand our file handle to the MPI library. The drop-in exports nothing else, and names its MPI library as needed."""
import os
import re
import subprocess
import unittest

LIBRARIES = {"openmpi": "libmpi.so", "mpich": "libmpich.so"}
BUILD = os.path.dirname(os.environ.get("SHEAF_BIN", "build/bin"))
OURS = re.compile(r"P?MPI_(File_\w+|Register_datarep\w*)$")


def exported(library):
    text = subprocess.run(["nm", "-D", "--defined-only", library], capture_output=True, text=True, check=True).stdout
    return {line.split()[-1].split("@")[0] for line in text.splitlines() if line.split()[-2] in "TWVi"}


def needed(library):
    text = subprocess.run(["readelf", "-d", library], capture_output=True, text=True, check=True).stdout
    return re.findall(r"NEEDED.*\[(.+)\]", text)


class EntryPoints(unittest.TestCase):
    def drop_ins(self):
        found = [(mpi, f"{BUILD}/lib/libsheaf_mpiio_{mpi}.so") for mpi in LIBRARIES]
        return [(mpi, path) for mpi, path in found if os.path.exists(path)]

    def test_every_name_is_ours(self):
        for mpi, path in self.drop_ins():
            (library,) = [name for name in needed(path) if name.startswith(LIBRARIES[mpi])]
            where = subprocess.run(["ldd", path], capture_output=True, text=True, check=True).stdout
            real = re.search(rf"{re.escape(library)} => (\S+)", where).group(1)
            theirs = {name for name in exported(real) if OURS.match(name)}
            self.assertGreater(len(theirs), 100, mpi)
            self.assertEqual(theirs - exported(path), set(), mpi)

    def test_nothing_else_is_exported(self):
        for mpi, path in self.drop_ins():
            others = {name for name in exported(path) if not OURS.match(name)}
            self.assertEqual(others, {"MPI_Errhandler_free", "PMPI_Errhandler_free", "MPI_Error_string", "PMPI_Error_string"}, mpi)

    def test_both_names_have_one_body(self):
        for mpi, path in self.drop_ins():
            names = exported(path)
            self.assertEqual({name for name in names if name.startswith("P")},
                             {"P" + name for name in names if name.startswith("M")}, mpi)


if __name__ == "__main__":
    unittest.main()
