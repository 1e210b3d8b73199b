"""Tests sheaf-figures: the driver, the modelled machine, and the trace tool of the examples."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
BIN = Path(os.environ.get("SHEAF_BIN", ROOT / "build" / "bin")).resolve()
MACHINE = [
    "block=1048576",
    "tasks_per_client=1",
    "servers=1",
    "server_write=1e6",
    "server_read=1e6",
    "client_write=1e12",
    "client_read=1e12",
    "partial=2",
    "token=0",
]


def simulate(program: str, *words: str) -> dict:
    done = subprocess.run(
        [BIN / "sheaf_simulate", program, *MACHINE, *words], capture_output=True, text=True, timeout=60
    )
    if done.returncode:
        raise AssertionError(done.stderr)
    return json.loads(done.stdout)


class Machine(unittest.TestCase):
    """The cost of a block must follow from the numbers of the modelled machine. In these tests, a block takes one
    second in each direction."""

    def test_whole_blocks_cost_their_bytes(self):
        found = simulate("task-files", "tasks=3", "bytes=2M")
        self.assertAlmostEqual(found["seconds"]["write"] + found["seconds"]["close"], 6 * 1.048576, places=3)
        self.assertLess(found["seconds"]["write"], 0.001, "tasks go on meanwhile")
        self.assertAlmostEqual(found["seconds"]["read"], 6 * 1.048576, places=3)
        self.assertEqual((found["counts"]["whole_blocks"], found["counts"]["partial_blocks"]), (6, 0))

    def test_a_client_without_a_free_buffer_waits(self):
        found = simulate("task-files", "tasks=1", "bytes=4M", "reads=0", "buffers=1")
        self.assertAlmostEqual(found["seconds"]["write"], 3 * 1.048576, places=3)

    def test_a_part_of_a_block_costs_two(self):
        found = simulate("task-files", "tasks=1", "bytes=512k", "reads=0")
        self.assertEqual((found["counts"]["whole_blocks"], found["counts"]["partial_blocks"]), (0, 1))
        self.assertAlmostEqual(found["seconds"]["close"], 2 * 1.048576, places=3)

    def test_blocks_of_two_clients_are_taken_from_each_other(self):
        apart = simulate("domains", "tasks=4", "points=6")["counts"]
        shared = simulate("domains", "tasks=4", "points=6", "off=aligned")["counts"]
        self.assertEqual((apart["whole_blocks"], apart["revoked"]), (6, 0))
        self.assertEqual((shared["whole_blocks"], shared["revoked"]), (4, 2))

    def test_creations_in_one_directory_come_one_after_the_other(self):
        one = simulate("task-files", "tasks=100", "data=0", "create=0.5", "create_alone=0.1")
        own = simulate("task-files", "tasks=100", "data=0", "create=0.5", "create_alone=0.1", "directories=1")
        self.assertAlmostEqual(one["seconds"]["open"], 99 * 0.5 + 0.1, places=6)
        self.assertAlmostEqual(own["seconds"]["open"], 0.1, places=6)

    def test_what_the_library_asks_for_is_counted(self):
        found = simulate("multifile", "tasks=64", "files=4", "bytes=1M", "reads=0")["counts"]
        self.assertEqual(found["creates"], 4)
        self.assertEqual(found["opens"] + found["opens_again"], 60, "every task but the first of its file")
        self.assertGreaterEqual(found["bytes_written"], 64 << 20)
        self.assertLess(found["bytes_written"], 65 << 20)

    def test_messages_cost_their_tasks_time(self):
        words = ["strided", "tasks=8", "bytes=1M", "piece=128k", "reads=0", "aggregators=8"]
        self.assertGreater(
            simulate(*words, "message=0.1")["seconds"]["write"], simulate(*words)["seconds"]["write"] + 0.5
        )

    def test_gathers_cost_a_broadcast_of_each_task(self):
        words = ["strided", "tasks=8", "bytes=1M", "piece=128k", "reads=0", "aggregators=8", "broadcast=1"]
        gathered, reduced = (simulate(*words, off)["seconds"]["write"] for off in ("off=allreduce", "off="))
        self.assertAlmostEqual(gathered - reduced, 2 * 8, delta=0.1, msg="two gathers: begins and ends of the ranges")

    def test_a_scaled_library_makes_the_same_requests(self):
        words = ["bt", "tasks=16", "points=64", "dumps=2", "aggregators=4", "buffer=1M", "exchange=alltoallv,allreduce"]
        for off in ("", "aligned"):
            one, eighth = (simulate(*words, f"scale={scale}", f"off={off}") for scale in (1, 8))
            # The first and last byte, which a collective call reads before the clock starts, are eight there.
            self.assertEqual(eighth["counts"].pop("bytes_read") - one["counts"].pop("bytes_read"), 2 * 7)
            self.assertEqual(one["counts"], eighth["counts"])
            for phase in ("write", "read"):
                self.assertAlmostEqual(eighth["seconds"][phase] / one["seconds"][phase], 1, delta=0.01)

    def test_contiguous_domains_share_blocks(self):
        words = ["bt", "tasks=16", "points=64", "aggregators=4", "buffer=1M", "reads=0"]
        self.assertEqual(simulate(*words)["counts"]["revoked"], 0)
        self.assertGreater(simulate(*words, "off=aligned")["counts"]["revoked"], 0)

    def test_the_throttle_of_the_library_limits_the_tasks_at_work(self):
        words = [
            "multifile",
            "tasks=64",
            "tasks_per_node=64",
            "tasks_per_client=64",
            "bytes=1M",
            "reads=0",
            "server_write=1e12",
            "client_write=1048576",
            "client_loss=524288",
        ]
        # With all tasks at work the client has half of its rate, with a quarter all of it.
        every, quarter = (simulate(*words, f"words=iotasks={limit}")["seconds"]["write"] for limit in (64, 16))
        self.assertAlmostEqual(quarter, 64, delta=2)
        self.assertGreater(every, 1.25 * quarter)

    def test_a_client_reads_ahead_at_a_regular_distance(self):
        words = ["task-files", "tasks=1", "bytes=8M", "call=1M", "servers=8", "client_read=1e12"]
        alone, ahead = (simulate(*words, f"ahead={blocks}")["seconds"]["read"] for blocks in (0, 3))
        self.assertAlmostEqual(alone, 8 * 1.048576, places=3)
        self.assertLess(ahead, 0.6 * alone)

    def test_blocks_that_leave_the_page_pool_are_read_again(self):
        words = ["task-files", "tasks=8", "tasks_per_client=8", "bytes=2M", f"fragment={512 << 10}"]
        kept, evicted = (simulate(*words, f"buffers={blocks}")["counts"] for blocks in (16, 4))
        self.assertEqual((kept["blocks_read"], kept["partial_blocks"]), (16, 0))
        self.assertEqual(evicted["blocks_read"], 2 * 16 + 16, "once per half, and before the second half is written")
        self.assertGreaterEqual(evicted["partial_blocks"], 16)

    def test_a_raid_reads_the_stripe_of_a_smaller_block(self):
        words = ["task-files", "tasks=1", "bytes=2M", "reads=0", "write_through=1"]
        fits, smaller = (simulate(*words, f"raid={stripe}")["seconds"] for stripe in (1 << 20, 4 << 20))
        self.assertAlmostEqual(fits["write"] + fits["close"], 2 * 1.048576, places=3)
        self.assertAlmostEqual(smaller["write"] + smaller["close"], 2 * (1 + 4) * 1.048576, places=3)

    def test_parts_of_blocks_written_through_cost_two(self):
        words = ["task-files", "tasks=1", "bytes=2M", "reads=0", "call=512k", "sector=1"]
        gathered, through = (simulate(*words, f"write_through={way}") for way in (0, 1))
        self.assertEqual((gathered["counts"]["whole_blocks"], through["counts"]["partial_blocks"]), (2, 4))
        self.assertAlmostEqual(through["seconds"]["write"] + through["seconds"]["close"], 4 * 1.048576, places=3)

    def test_scattered_files_share_servers(self):
        words = ["task-files", "tasks=16", "bytes=1M", "reads=0", "servers=16", "stripes=1"]
        apart, scattered = (simulate(*words, f"scattered={way}")["seconds"] for way in (0, 1))
        self.assertAlmostEqual(apart["write"] + apart["close"], 1.048576, places=3)
        self.assertGreater(scattered["write"] + scattered["close"], 1.5 * 1.048576)

    def test_mistakes_are_named(self):
        for words in (["nonsense"], ["multifile", "tasks=0"], ["multifile", "colour=1"], ["bt", "tasks=3"]):
            done = subprocess.run([BIN / "sheaf_simulate", *words], capture_output=True, text=True, timeout=60)
            self.assertNotEqual(done.returncode, 0, words)
            self.assertTrue(done.stderr, words)


class Patterns(unittest.TestCase):
    """The programs must access what the papers describe. Each test computes offsets and sizes from the description
    (Blue Gene/L, 5.1) and compares them with the trace of our program. In a loop of calls, each is one piece."""

    @staticmethod
    def trace(program: str, *words: str) -> list[list[tuple[int, int]]]:
        found = simulate(program, *words, "reads=0", "trace=1")
        return [[(offset, length) for kind, offset, length in task if kind == "write"] for task in found]

    def test_ior(self):
        tasks, calls, size = 6, 8, 1 << 20
        words = [f"tasks={tasks}", f"bytes={calls * size}", f"call={size}", "off=independent"]
        self.assertEqual(
            self.trace("contiguous", *words),
            [[(task * calls * size + i * size, size) for i in range(calls)] for task in range(tasks)],
        )
        self.assertEqual(
            self.trace("strided", f"piece={size}", *words),
            [[((i * tasks + task) * size, size) for i in range(calls)] for task in range(tasks)],
        )

    def test_bt_io(self):
        """Diagonal multi-partitioning: of q*q*q cells, task (i, j) has the q cells (z, i + z, j + z) mod q."""
        tasks, q, n = 9, 3, 10
        begins = [cell * n // q for cell in range(q + 1)]
        expected = []
        for task in range(tasks):
            rows = []
            for z in range(q):
                y, x = (task // q + z) % q, (task % q + z) % q
                rows += [
                    (((k * n + j) * n + begins[x]) * 40, (begins[x + 1] - begins[x]) * 40)
                    for k in range(begins[z], begins[z + 1])
                    for j in range(begins[y], begins[y + 1])
                ]
            expected.append(sorted(rows))
        found = self.trace("bt", f"tasks={tasks}", f"points={n}", "off=loop")
        self.assertEqual([sorted(rows) for rows in found], expected)
        self.assertEqual(sum(length for rows in found for _, length in rows), n**3 * 40)

    def test_coll_perf(self):
        """A three-dimensional array of integers, distributed in blocks: 8 tasks have 2 * 2 * 2 of them."""
        n = 4
        expected = [
            [((((x * n + i) * 2 * n + y * n + j) * 2 * n + z * n) * 4, n * 4) for i in range(n) for j in range(n)]
            for x in range(2)
            for y in range(2)
            for z in range(2)
        ]
        self.assertEqual(self.trace("coll_perf", "tasks=8", f"points={n}", "off=loop"), expected)

    def test_flash(self):
        """One variable after the other; in each, 80 blocks of 16^3 cells of a task follow those of the one before."""
        each, dumps = 80 * 16**3 * 8, 2
        found = self.trace("contiguous", "tasks=3", f"bytes={each}", f"dumps={dumps}", "off=loop")
        self.assertEqual(found, [[((dump * 3 + task) * each, each) for dump in range(dumps)] for task in range(3)])


class SwissT1(unittest.TestCase):
    def simulate(self, *words: object) -> dict:
        done = subprocess.run(
            [str(word) for word in (BIN / "sheaf_simulate_sfio", *words)], capture_output=True, text=True, timeout=60
        )
        self.assertEqual(done.returncode, 0, done.stderr)
        return json.loads(done.stdout)["MB/s"]

    def test_a_port_is_the_limit_of_two_nodes(self):
        self.assertAlmostEqual(self.simulate("network", "--network", "ethernet", "--nodes", 2)["mean"], 12.5, delta=0.5)

    def test_more_listeners_are_faster_and_single_requests_slower(self):
        words = ["write", "--network", "ethernet", "--bytes", 65536]
        one, four = (self.simulate(*words, "--nodes", n)["mean"] for n in (1, 4))
        self.assertGreater(four, 2 * one)
        self.assertLess(self.simulate(*words, "--nodes", 4, "--calls", "single")["mean"], 0.3 * four)

    def test_disks_are_the_limit_behind_a_fast_network(self):
        words = ["write", "--network", "tnet", "--nodes", 4, "--bytes", 16 << 20]
        self.assertAlmostEqual(self.simulate(*words, "--disk", 5e6)["mean"], 20, delta=1)

    def test_contention_slows_receivers_with_several_senders(self):
        words = ["write", "--network", "ethernet", "--bytes", 1 << 20, "--disk", 1e9, "--schedule", "none", "--nodes"]
        one, eight = ([self.simulate(*words, n, "--contention", c)["mean"] for c in (0, 1)] for n in (1, 8))
        self.assertAlmostEqual(one[1], one[0], delta=0.01 * one[0])
        self.assertLess(eight[1], 0.7 * eight[0])

    def test_schedules_are_faster_than_none(self):
        for words in (
            ["read", "--network", "ethernet", "--nodes", 16],
            ["write", "--network", "tnet", "--nodes", 16, "--runs", 5],
        ):
            none, local, collective = (
                self.simulate(*words, "--bytes", 4 << 20, "--schedule", schedule)["mean"]
                for schedule in ("none", "turns", "flow")
            )
            self.assertGreater(local, 1.2 * none, words)
            self.assertGreater(collective, 1.2 * none, words)


class Driver(unittest.TestCase):
    def setUp(self) -> None:
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.dir = Path(directory.name)

    def start(self, *words: object) -> subprocess.CompletedProcess:
        command = [
            sys.executable,
            "-B",
            ROOT / "bench/paper.py",
            *words,
            "--build",
            BIN.parent,
            "--dir",
            self.dir,
            "--out",
            self.dir / "out",
        ]
        return subprocess.run([str(word) for word in command], capture_output=True, text=True, timeout=120)

    def test_a_figure_gives_a_picture_values_and_what_the_paper_says(self):
        done = self.start("jugene-table1", "--quick")
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertEqual(done.stderr, "", "quiet in a pipe")
        self.assertIn("holds", done.stdout)
        result = json.loads((self.dir / "out/jugene-table1.json").read_text())
        self.assertEqual(len(result["tables"][0]["rows"]), 27, "every block, stripe and size of a request")
        self.assertEqual(len(result["claims"][0]["cells"]), 12, "the least and most of each printed range")
        self.assertIn('<img src="jugene-table1.png"', (self.dir / "out/index.html").read_text())
        self.assertTrue((self.dir / "out/jugene-table1.png").read_bytes().startswith(b"\x89PNG"))
        self.assertEqual([path.name for path in self.dir.iterdir()], ["out"], "nothing else is left")

    def test_every_figure_is_told_of(self):
        names = {line.split()[0] for line in self.start("list").stdout.splitlines()}
        rows = [line.strip("|\n ").split("|") for line in (ROOT / "docs/experiments.md").read_text().splitlines()]
        told = {
            name: row
            for row in rows
            for name in re.findall(r"`([a-z0-9-]+)`", row[0])
            if len(row) == 5 and name.startswith(("sc09-", "jugene-", "bluegene-", "sfio-"))
        }
        self.assertEqual(names - set(told), set(), "docs/experiments.md has no row with these")
        self.assertEqual(set(told) - names, set(), "docs/experiments.md tells of these, which are none")
        for name, row in told.items():
            self.assertTrue(all(cell.strip() for cell in row), f"{name}: an empty cell")

    def test_what_there_is_and_what_there_is_not(self):
        names = self.start("list").stdout.split("\n")
        self.assertGreaterEqual(len(names), 20)
        done = self.start("sc09-99")
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("'sc09-99'", done.stderr)


@unittest.skipUnless((BIN / "trace_record").exists(), "no MPI or no zlib")
class Trace(unittest.TestCase):
    """The waiting time must follow from the rules for the traced program's clock."""

    @staticmethod
    def waiting(tasks: int, threads: int, events: int) -> int:
        total = 0
        for thread in range(threads):
            clock = [0] * tasks
            for _ in range(events // 5):
                sent = [clock[r] + 1000 + r + thread for r in range(tasks)]
                total += sum(max(0, sent[r - 1] - sent[r] - 10) for r in range(tasks))
                clock = [max(sent[r] + 10, sent[r - 1]) + 10 for r in range(tasks)]
        return total

    def mpirun(self, tasks: int, *words: object) -> dict:
        command = [ROOT / "scripts/mpirun.sh", "openmpi", tasks, *words, "--json"]
        done = subprocess.run([str(word) for word in command], capture_output=True, text=True, timeout=100)
        self.assertEqual(done.returncode, 0, done.stderr)
        return json.loads(done.stdout)

    def test_other_numbers_of_tasks_find_the_same_waiting(self):
        for files, analysers in (("multifile", 3), ("tasklocal", 1)):
            with tempfile.TemporaryDirectory() as directory:
                recorded = self.mpirun(
                    4, BIN / "trace_record", "--dir", directory, "--files", files, "--events", 5000, "--threads", 2
                )
                found = self.mpirun(analysers, BIN / "trace_analyse", "--dir", directory)
                self.assertEqual(recorded["files"], 2 if files == "multifile" else 8)
                self.assertEqual((found["events"], found["messages"]), (4 * 2 * 5000, 4 * 2 * 1000))
                self.assertEqual(found["waiting_ns"], self.waiting(4, 2, 5000))
                self.assertLess(recorded["stored_bytes"], recorded["raw_bytes"] / 2)


if __name__ == "__main__":
    unittest.main()
