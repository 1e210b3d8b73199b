"""Unrecognized settings of the environment are reported once, by one task of several, and recognized ones are not.
Hints come from the file named by ROMIO_HINTS, the program, and the environment; later ones override earlier ones."""
import os
import sys
import unittest
from pathlib import Path

from programs import MPIS, Programs, yields


class Settings(Programs):
    def test_what_is_not_understood_is_said_once(self):
        wrong = {"SHEAF_CB_NODES": "foo", "SHEAF_BLOCK_SIZE": "xx", "SHEAF_TOPOLOGY": "pset=4", "SHEAF_MPIIO_OFF": "reuse,everything",
                 "SHEAF_EXCHANGE": "alltoallv,pigeons"}
        right = {"SHEAF_CB_NODES": "2", "SHEAF_BLOCK_SIZE": "2M", "SHEAF_TOPOLOGY": "node=2", "SHEAF_MPIIO_OFF": "reuse,psets,alltoall,allreduce",
                 "SHEAF_EXCHANGE": "allreduce, neighbours"}
        for mpi in MPIS:
            program = self.build(f"mpicc.{mpi}", "settings.c")
            for settings in (wrong, right):
                with self.subTest(mpi=mpi, settings=settings):
                    self.run_under(mpi, 3 if yields(mpi) else 2, [program, os.path.join(self.where, "file")], environment=settings)
                    for variable in settings:
                        said = [line for line in self.said_beside.splitlines() if variable in line]
                        self.assertEqual(len(said), 1 if settings is wrong else 0, self.said_beside)
                        for line in said:
                            self.assertIn("is not understood, and ignored; expected", line)

    def test_unaligned_domains_are_refused_where_hosts_have_caches_of_their_own(self):
        for mpi in MPIS:
            program = self.build(f"mpicc.{mpi}", "settings.c")
            for kind, told in (("close-to-open", 1), ("coherent", 0)):
                with self.subTest(mpi=mpi, kind=kind):
                    settings = {"SHEAF_FS": kind, "SHEAF_TOPOLOGY": "node=1", "SHEAF_MPIIO_OFF": "aligned"}
                    self.run_under(mpi, 2, [program, os.path.join(self.where, "file")], environment=settings)
                    said = [line for line in self.said_beside.splitlines() if "SHEAF_MPIIO_OFF='aligned' has no effect" in line]
                    self.assertEqual(len(said), told, self.said_beside)

    def used(self, mpi, arguments=(), **environment):
        """Returns the values that all tasks see in both opens."""
        tasks = 3 if yields(mpi) else 2
        program = os.path.join(self.where, f"hints.{mpi}")
        if not os.path.exists(program):
            self.build(f"mpicc.{mpi}", "hints.c", name=f"hints.{mpi}")
        command = [program, os.path.join(self.where, "file"), *arguments]
        told = self.run_under(mpi, tasks, command, environment=environment)
        lines = sorted(line.split() for line in told.splitlines())
        self.assertEqual([line[0] for line in lines], sorted(2 * [str(task) for task in range(tasks)]), told)
        self.assertEqual(len({tuple(line[1:]) for line in lines}), 1, told)
        *values, self.aggregators = lines[0][1:]
        return values

    def test_hints_of_a_file_are_used_unless_the_program_gives_others(self):
        hints = Path(self.where, "hints")
        hints.write_text("# of the site\ncb_nodes 2\n\ncb_buffer_size\t1M  # bytes\nromio_cb_write enable\n"
                         "nobodys_hint 5\n")
        named = {"ROMIO_HINTS": str(hints)}
        for mpi in MPIS:
            with self.subTest(mpi=mpi):
                self.assertEqual(self.used(mpi, **named), ["2", "1048576", "enable"])
                self.assertNotIn("sheaf", self.said_beside)
                self.assertEqual(self.used(mpi, ["cb_nodes", "1"], **named), ["1", "1048576", "enable"])
                self.assertEqual(self.used(mpi, ["cb_nodes", "1"], SHEAF_CB_NODES="3", **named),
                                 ["3", "1048576", "enable"])

    def test_what_was_chosen_is_told(self):
        for mpi in MPIS:
            with self.subTest(mpi=mpi):
                nodes, size, _ = self.used(mpi, ROMIO_HINTS="/dev/null")
                self.assertGreaterEqual(int(nodes), 1)
                self.assertGreaterEqual(int(size), 4096)

    def test_the_ranks_of_aggregators_are_told(self):
        for mpi in MPIS:
            everyone, first_of_hosts = ("0,1,2", "0,2") if yields(mpi) else ("0,1", "0,1")
            for hosts, arguments, expected in (({}, (), everyone), ({"SHEAF_TOPOLOGY": "node=2"}, (), first_of_hosts),
                                               ({"SHEAF_TOPOLOGY": "node=1"}, (), everyone),
                                               ({"SHEAF_TOPOLOGY": "node=1"}, ("cb_nodes", "1"), "0")):
                with self.subTest(mpi=mpi, hosts=hosts, arguments=arguments):
                    nodes, *_ = self.used(mpi, arguments, SHEAF_FS="coherent", **hosts)
                    self.assertEqual(self.aggregators, expected)
                    if hosts.get("SHEAF_TOPOLOGY") == "node=1":
                        self.assertEqual(int(nodes), len(expected.split(",")))

    def test_a_file_of_hints_that_cannot_be_read_is_told_once(self):
        for mpi in MPIS:
            plain = self.used(mpi, ROMIO_HINTS="/dev/null")
            self.assertNotIn("ROMIO_HINTS", self.said_beside)
            for path in (os.path.join(self.where, "missing"), self.where):
                with self.subTest(mpi=mpi, path=path):
                    self.assertEqual(self.used(mpi, ROMIO_HINTS=path), plain)
                    said = [line for line in self.said_beside.splitlines() if "ROMIO_HINTS" in line]
                    self.assertEqual(len(said), 1, self.said_beside)
                    self.assertIn("is not understood, and ignored; expected a text file of hints", said[0])


if __name__ == "__main__":
    unittest.main(argv=sys.argv)
