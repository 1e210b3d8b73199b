#!/usr/bin/env python3
"""Every MPI_File_ and PMPI_File_ name of each installed MPI library, and MPI_Register_datarep, is defined by the
drop-in: a missing one would pass its file handle to the MPI library. Besides these, the drop-in exports only the
functions that complete requests. Neither it nor an engine lists an MPI library as needed, since the program has one.
Every engine has every function."""
import os
import re
import subprocess
import tempfile
import unittest

from programs import DROP_IN, MPIS, interface_of

OURS = re.compile(r"P?MPI_(File_\w+|Register_datarep\w*)$")
COMPLETING = ("wait", "waitall", "waitany", "waitsome", "test", "testall", "testany", "testsome", "request_get_status",
              "request_get_status_all", "request_get_status_any", "request_get_status_some")
FORTRAN = ("mpi_{}_", "pmpi_{}_", "mpi_{}_f08_", "pmpi_{}_f08_", "pmpir_{}_f08_")


def exported(library):
    text = subprocess.run(["nm", "-D", "--defined-only", library], capture_output=True, text=True, check=True).stdout
    return {line.split()[-1].split("@")[0] for line in text.splitlines() if line.split()[-2] in "TWVi"}


def needed(library):
    text = subprocess.run(["readelf", "-d", library], capture_output=True, text=True, check=True).stdout
    return re.findall(r"NEEDED.*\[(.+)\]", text)


def library_of(mpi):
    """Returns the MPI library that programs of this MPI are linked to."""
    with tempfile.TemporaryDirectory() as where:
        source = os.path.join(where, "x.c")
        with open(source, "w") as file:
            file.write("#include <mpi.h>\nint main(void) { return MPI_Finalize(); }\n")
        program = source[:-2]
        subprocess.run([f"mpicc.{mpi}", source, "-o", program], check=True)
        said = subprocess.run(["ldd", program], capture_output=True, text=True, check=True).stdout
    return re.search(r"libmpi(?:ch|_abi)?\.so\S* => (\S+)", said).group(1)


class EntryPoints(unittest.TestCase):
    front = os.path.join(DROP_IN, "libsheaf_mpiio.so")

    def test_every_name_is_ours(self):
        for mpi in MPIS:
            theirs = {name for name in exported(library_of(mpi)) if OURS.match(name)}
            self.assertGreater(len(theirs), 100, mpi)
            self.assertEqual(theirs - exported(self.front), set(), mpi)

    def test_nothing_else_is_exported(self):
        others = {name for name in exported(self.front) if not OURS.match(name)}
        shared = {"Errhandler_free", "Error_string", *(name.capitalize() for name in COMPLETING)}
        fortran = {form.format(name) for name in COMPLETING for form in FORTRAN}
        self.assertEqual(others, {f"{prefix}MPI_{name}" for name in shared for prefix in ("", "P")} | fortran)

    def test_completing_calls_of_the_library_are_ours(self):
        for mpi in MPIS:
            theirs = {name for name in exported(library_of(mpi)) if re.match(r"P?MPI_(Wait|Test|Request_get_status)[a-z_]*$", name)}
            self.assertEqual(theirs - exported(self.front), {"MPI_Test_cancelled", "PMPI_Test_cancelled"}, mpi)

    def test_engines_have_all_functions_and_no_mpi(self):
        names = {name for name in exported(self.front) if name.startswith("P")}
        self.assertEqual({name for name in exported(self.front) if name.startswith("M")}, {name[1:] for name in names})
        for mpi in MPIS:
            engine = os.path.join(DROP_IN, "sheaf", f"libsheaf_mpiio_{interface_of(mpi)}.so")
            self.assertEqual(exported(engine), names | {f"sheaf_mpiio_{hook}" for hook in ("begin", "begin_fortran", "end_fortran")}, mpi)
            for library in (engine, self.front):
                self.assertEqual([name for name in needed(library) if "mpi" in name], [], library)


if __name__ == "__main__":
    unittest.main()
