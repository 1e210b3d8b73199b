"""Checks that programs which use Sheaf's SION interface write the same bytes as the independent Python writer.

$SHEAF_BIN is the directory of the built programs sion_conformance_writer and
sion_conformance_writer_mpi_<MPI>. If the variable is not set, all tests are skipped. If the program of an MPI is
missing, the tests of this MPI are skipped.
"""

from __future__ import annotations

import os
import random
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

REPO = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(REPO / "python"), str(Path(__file__).resolve().parent)]

from sheaf_format import Multifile, describe, extensions, verify
from writer_case import Case, random_case, random_mapped_case

BIN = os.environ.get("SHEAF_BIN")
VECTORS = Path(os.environ.get("SHEAF_VECTORS") or REPO.parent / "shared" / "vectors")
SCRIPT_FILE = "script.txt"
SECONDS = 60


PLAIN, CHECKED = "journal=off,checksums=off", "journal=off"


def clean_environment(flags: str) -> dict[str, str]:
    """Returns this environment without variables that change how the library writes, except for `flags`."""
    own = {name: value for name, value in os.environ.items() if not name.startswith("SION_")}
    return own | {"SHEAF_FLAGS": flags}


def with_checksums(plain: bytes, identity: bytes, in_order: bool) -> bytes:
    """Returns the plain file with an added extension header and trailer, as the independent writer writes
    them."""
    with tempfile.NamedTemporaryFile() as file:
        file.write(plain)
        file.flush()
        extensions.add(file.name, identity, flags=extensions.CHECKSUMS | (extensions.IN_ORDER if in_order else 0))
        return Path(file.name).read_bytes()


class WriterTest(unittest.TestCase):
    """Runs a writer program on cases. Subclasses define how to start it."""

    def command(self, case: Case) -> list[str]:
        raise NotImplementedError

    def check(self, case: Case) -> None:
        """Checks that the program writes exactly the expected files, plain and with checksums, and that readers
        find the written data."""
        for flags in (PLAIN, CHECKED):
            self.check_with(case, flags)

    def check_with(self, case: Case, flags: str) -> None:
        with tempfile.TemporaryDirectory() as directory:
            folder = Path(directory)
            script = folder / SCRIPT_FILE
            script.write_text(case.script())
            with script.open() as text:
                run = subprocess.run(self.command(case), stdin=text, cwd=folder, env=clean_environment(flags), timeout=SECONDS,
                                     capture_output=True, text=True, check=False)
            self.assertEqual(run.returncode, 0, f"{run.stdout}{run.stderr}\n{case.script()}")
            script.unlink()
            fsblksize = None
            if case.fsblksize <= 0:
                preferred = os.stat(folder / case.name).st_blksize
                fsblksize = preferred if 0 <= preferred <= 32 << 20 else 2 << 20
            expected = case.expected(fsblksize)
            self.assertEqual(sorted(os.listdir(folder)), sorted(expected))
            for name, data in expected.items():
                found = (folder / name).read_bytes()
                if flags == CHECKED:
                    data = with_checksums(data, found[1028:1044], case.in_order)
                self.assertTrue(found == data, f"{name}: {difference(found, data)}\n{case.script()}")
            with Multifile(str(folder / case.name)) as multifile:
                describe(multifile)
                self.assertEqual({verify(physical) for physical in multifile.files}, {flags == CHECKED})
                self.assertEqual(len({(folder / name).read_bytes()[1028:1044] for name in expected}), 1)


def difference(found: bytes, expected: bytes) -> str:
    common = min(len(found), len(expected))
    offset = next((i for i in range(common) if found[i] != expected[i]), common)
    return (f"{len(found)} bytes, expected {len(expected)}; from byte {offset}: {found[offset:offset + 16].hex(' ')}, "
            f"expected {expected[offset:offset + 16].hex(' ')}")


@unittest.skipUnless(BIN, "SHEAF_BIN is not set")
class SerialWriter(WriterTest):
    def command(self, case: Case) -> list[str]:
        return [str(Path(BIN or "") / "sion_conformance_writer")]

    def test_one_task(self) -> None:
        self.check(Case([1000], [("write", 0, 700)], 512))

    def test_nobody_writes(self) -> None:
        self.check(Case([10, 20]))

    def test_chunk_size_zero_takes_nothing(self) -> None:
        self.check(Case([0, 64], [("refuse", 0, 1), ("write", 1, 64)]))
        self.check(Case([0, 0]))

    def test_tasks_take_turns(self) -> None:
        writes = [("write", k % 3, 40 + k) for k in range(12)]
        for mode in ("wb", "wb,posix", "w,ansi"):
            self.check(Case([64, 100, 200], writes, mode=mode, globalranks=[30, 20, 10]))

    def test_a_request_that_fits_no_more_begins_the_next_chunk(self) -> None:
        self.check(Case([128], [("write", 0, 100), ("write", 0, 29), ("write", 0, 99), ("write", 0, 1)], 128))

    def test_a_request_larger_than_a_chunk_fills_chunks(self) -> None:
        self.check(Case([64, 64], [("write", 0, 10), ("write", 0, 300), ("write", 1, 65), ("write", 0, 60)]))
        self.check(Case([64], [("write", 0, 64), ("write", 0, 128), ("write", 0, 1)]))

    def test_an_ensured_chunk_counts_though_it_stays_empty(self) -> None:
        self.check(Case([128, 128], [("write", 0, 100), ("ensure", 0, 29), ("ensure", 0, 128), ("ensure", 1, 128)], 128))
        self.check(Case([64], [("refuse", 0, 65), ("write", 0, 3), ("refuse", 0, 65)]))

    def test_many_chunks(self) -> None:
        self.check(Case([1, 8], [("write", 0, 1)] * 250 + [("write", 1, 900)], 1))

    def test_direct_writes_through_stream_and_descriptor(self) -> None:
        writes = [("write", k % 2, 30) for k in range(9)]
        self.check(Case([64, 80], writes, mode="wb", via="file"))
        self.check(Case([64, 80], writes, mode="wb,posix", via="fd"))

    def test_key_value_records(self) -> None:
        records = [("record", 0, 7, 10), ("record", 0, 2**64 - 16, 10), ("record", 1, 1, 48), ("record", 0, 7, 200),
                   ("record", 0, 9, 0), ("record", 0, 8, 3), ("record", 1, 2, 4)]
        self.check(Case([64, 64], records, mode="wb,keyval=inline,keyval"))

    def test_user_data_order_is_only_a_flag(self) -> None:
        self.check(Case([64], [("write", 0, 9)], mode="wb,endianness=big"))
        self.check(Case([64], [("write", 0, 9)], mode="wb,endianness=little"))

    def test_automatic_block_size(self) -> None:
        self.check(Case([10, 5000], [("write", 1, 5000)], fsblksize=0))
        self.check(Case([10], [("write", 0, 5)], fsblksize=-1))

    def test_several_files(self) -> None:
        writes = [("write", k % 5, 40 + k) for k in range(12)]
        for mode, via in (("wb", "fwrite"), ("wb", "file"), ("wb,posix", "fd")):
            self.check(Case([64, 0, 100, 200, 1], [(word, *rest) for word, *rest in writes if rest[0] not in (1, 4)],
                            mode=mode, via=via, numfiles=2))
            self.check(Case([64] * 5, writes, mode=mode, numfiles=5, globalranks=[30, 20, -10, 0, 1]))
        records = [("record", k % 3, k, 5 * k) for k in range(20)]
        self.check(Case([64] * 3, records, mode="wb,keyval", numfiles=3))
        self.check(Case([64] * 4, numfiles=2))

    def test_random_cases(self) -> None:
        for seed in range(40):
            rng = random.Random(seed)
            with self.subTest(seed=seed):
                self.check(random_case(rng, parallel=False, ntasks=rng.randint(1, 6)))


class MpiWriter:
    """Tests that run under every MPI with at most `most` processes."""

    mpi = ""
    most = 0

    def setUp(self) -> None:
        if not self.program().exists():
            self.skipTest(f"{self.program().name} was not built")

    def program(self) -> Path:
        return Path(BIN or "") / f"sion_conformance_writer_mpi_{self.mpi}"

    def command(self, case: Case) -> list[str]:
        return [str(REPO / "scripts/mpirun.sh"), self.mpi, str(case.ntasks), str(self.program()), SCRIPT_FILE]

    def try_case(self, chunks: list[int], operations: list, fsblksize: int = 64, **others) -> None:
        if len(chunks) <= self.most:
            self.check(Case(chunks, operations, fsblksize, others.pop("mode", "bw"), parallel=True, **others))

    def test_one_file(self) -> None:
        self.try_case([100] * 2, [("write", 0, 90), ("write", 1, 100), ("write", 1, 40)])
        self.try_case([1, 511, 512, 513, 0, 5000], [("write", 5, 4000), ("write", 0, 100), ("refuse", 4, 1)], 512)

    def test_several_files(self) -> None:
        self.try_case([100, 200], [("write", 1, 300), ("write", 0, 20)], numfiles=2)
        self.try_case([100] * 5, [("write", 4, 90), ("write", 4, 90), ("write", 0, 1)], 128, numfiles=2)

    def test_one_file_per_group(self) -> None:
        self.try_case([30, 40], [("write", 0, 30), ("write", 1, 41)], 16, groups=[1, 0])
        self.try_case([30] * 5, [("write", rank, 10 + rank) for rank in range(5)], 16, groups=[7, 3, 7, 3, 5])

    def test_key_value_records(self) -> None:
        records = [("record", 0, 7, 10), ("record", 1, 1, 200), ("record", 0, 7, 0), ("record", 0, 2**40, 70)]
        self.try_case([64, 64], records, mode="bw,keyval")

    def test_collective_writes_enlarge_the_last_chunk_of_a_group(self) -> None:
        writes = [("collwrite", *[150] * 6), ("collwrite", *[10 * rank for rank in range(6)]), ("collwrite", *[120] * 6)]
        self.try_case([200] * 6, writes, 256, mode="bw,collective,collsize=3")
        self.try_case([100, 100], [("collwrite", 70, 71), ("collwrite", 20, 60)], mode="bw,collective,collsize=2")
        self.try_case([100, 100], [("collwrite", 70, 71)], mode="bw,collective")
        self.try_case([0, 0], [("collwrite", 0, 0)], mode="bw,collective")

    def test_collective_writes_larger_than_a_chunk_are_split(self) -> None:
        for mode in ("bw,collective,collsize=2", "bw,collective,cmerge,collsize=2"):
            self.try_case([100, 50], [("collwrite", 700, 0), ("collwrite", 20, 500)], mode=mode)

    def test_tasks_write_on_their_own_between_collective_calls(self) -> None:
        operations = [("write", 1, 30), ("collwrite", 40, 50), ("ensure", 0, 90), ("write", 0, 40), ("collwrite", 10, 0)]
        self.try_case([100, 100], operations, mode="bw,collective")
        self.try_case([100, 100], operations, mode="bw,collective", via="file")
        self.try_case([100, 100], [("write", 1, 30), ("collwrite", 40, 50), ("write", 0, 40), ("collwrite", 10, 0)],
                      mode="bw,collective,cmerge")

    def test_merged_writes_go_to_the_collector(self) -> None:
        writes = [("collwrite", *[150] * 6), ("collwrite", *[10 * rank for rank in range(6)]), ("collwrite", *[120] * 6)]
        self.try_case([200] * 6, writes, 256, mode="bw,collective,cmerge,collsize=3")
        self.try_case([100, 100], [("collwrite", 70, 71), ("collwrite", 20, 60)], mode="bw,collective,cmerge,collsize=2")

    def test_buddy_copies(self) -> None:
        self.try_case([100] * 4, [("collwrite", 70, 71, 72, 73)], mode="bw,buddy", groups=[0, 0, 1, 1])
        self.try_case([100] * 2, [("collwrite", 70, 71)], mode="bw,buddy", groups=[0, 1])
        self.try_case([100] * 6, [("collwrite", *[90] * 6)] * 5, mode="bw,buddy", groups=[0, 1, 1, 2, 2, 2])
        self.try_case([100] * 2, [("collwrite", 300, 0), ("write", 1, 5)], mode="bw,buddy", groups=[0, 0])

    def test_golden_collective_files(self) -> None:
        if self.most < 6 or not VECTORS.is_dir():
            self.skipTest("needs six processes and the golden files")
        sizes = [[150] * 6, [10 * rank for rank in range(6)], [120] * 6]
        for name, mode in (("coll", "bw,collective,collsize=3"), ("cmerge", "bw,collective,collsize=3,cmerge")):
            case = Case([200] * 6, [("collwrite", *size) for size in sizes], 256, mode, parallel=True, name=f"{name}.sion")
            self.check(case)
            self.assertTrue(case.expected()[case.name] == (VECTORS / name / case.name).read_bytes(), name)
        case = Case([100] * 4, [("collwrite", 70, 71, 72, 73)], 64, "bw,buddy", parallel=True, groups=[0, 0, 1, 1],
                    name="buddy.sion")
        self.check(case)
        for name, data in case.expected().items():
            self.assertTrue(data == (VECTORS / "buddy" / name).read_bytes(), name)

    def test_random_cases(self) -> None:
        for seed in range(6):
            rng = random.Random(f"mpi {seed}")
            with self.subTest(seed=seed):
                self.check(random_case(rng, parallel=True, ntasks=rng.randint(1, self.most)))


class MappedWriter(WriterTest):
    """Tests of mapped writing with `processes` processes."""

    mpi = ""
    processes = 2

    def setUp(self) -> None:
        if not self.program().exists():
            self.skipTest(f"{self.program().name} was not built")

    def program(self) -> Path:
        return Path(BIN or "") / f"sion_conformance_writer_mapped_mpi_{self.mpi}"

    def command(self, case: Case) -> list[str]:
        return [str(REPO / "scripts/mpirun.sh"), self.mpi, str(self.processes), str(self.program()), SCRIPT_FILE]

    def test_one_file(self) -> None:
        self.check(Case([100, 0, 64], [("write", 0, 90), ("write", 2, 200), ("refuse", 1, 1)], places=[(0, 2), (0, 0), (0, 1)],
                        owners=[0, 1, 0]))

    def test_the_golden_vector(self) -> None:
        case = self.golden_case()
        self.check(case)
        if not VECTORS.is_dir():
            self.skipTest("the golden files are not there")
        for name, data in case.expected().items():
            self.assertTrue(data == (VECTORS / "mapped" / name).read_bytes(), name)

    @staticmethod
    def golden_case() -> Case:
        lengths = [[250], [51], [52], [453, 400], [54], [55], [756, 700]]
        operations = [("write", task, length) for task, sizes in enumerate(lengths) for length in sizes]
        return Case([100 * (rank + 1) for rank in range(7)], operations, 256, name="mapped.sion", numfiles=3,
                    places=[(2, 1), (0, 0), (1, 0), (0, 1), (2, 0), (2, 2), (1, 1)], owners=[0, 1, 0, 1, 0, 1, 0])

    def test_random_cases(self) -> None:
        for seed in range(12):
            rng = random.Random(f"mapped {seed}")
            with self.subTest(seed=seed):
                self.check(random_mapped_case(rng, rng.randint(1, 9), self.processes))


@unittest.skipUnless(BIN, "SHEAF_BIN is not set")
class OpenMpiMappedWriter(MappedWriter):
    mpi, processes = "openmpi", 4


@unittest.skipUnless(BIN, "SHEAF_BIN is not set")
class MpichMappedWriter(MappedWriter):
    mpi = "mpich"


del MappedWriter  # only the subclasses are tests


@unittest.skipUnless(BIN, "SHEAF_BIN is not set")
class OpenMpiWriter(MpiWriter, WriterTest):
    mpi, most = "openmpi", 6


@unittest.skipUnless(BIN, "SHEAF_BIN is not set")
class MpichWriter(MpiWriter, WriterTest):
    mpi, most = "mpich", 2  # waiting processes of MPICH never yield the processor


if __name__ == "__main__":
    unittest.main()
