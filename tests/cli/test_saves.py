"""Tests `sheaf saves` with records written from docs/format.md, section 21, and `sheaf latest`."""

from __future__ import annotations

import json
import os
import struct
import subprocess
import sys
import time
import unittest

from tool_case import BIN, ROOT, ToolCase, make_plain, payload, run

from sheaf_format import MultifileSpec, TaskSpec, write
from sheaf_format.hashing import xxh3

CAPTURED, WRITTEN, SYNCED, COMPLETE, FAILED = range(1, 6)
NO_SPACE = 28
TEMPORARY = "sheaf-tmp.1111111111111111"


def sealed(unit: bytes) -> bytes:
    unit = unit.ljust(248, b"\0")
    return unit + struct.pack("<Q", xxh3(unit))


def slot(state: int, task: int = -1, captured: int = 0, written: int = 0, code: int = 0, number: int = 0,
         message: str = "") -> bytes:
    return sealed(struct.pack("<8sIIiiQqq160siq12s", b"\x89ShfSvs\n", state, code, number, task, 1, captured, written,
                              message.encode(), -1, 0, b""))


def record(tasks: list[bytes], host: int = 0, hosts: int = 1, age: float = 0) -> bytes:
    since = int(1e6 * (time.time() - age))
    head = struct.pack("<8sIiQ16siiiIqQB", b"\x89ShfSvr\n", 1, 1, 0x1111111111111111, b"identity".ljust(16), host, hosts,
                       len(tasks), 0, since, xxh3(b""), 0)
    return b"".join([sealed(head), slot(CAPTURED), *tasks])


class Saves(ToolCase):
    def put(self, name: str, *records: bytes) -> None:
        """Writes an unfinished save with the records of hosts 0, 1, ..."""
        write(MultifileSpec(name, [TaskSpec(100, 0, [payload(1, 50)])], 128), str(self.dir / f"{name}.{TEMPORARY}"))
        for host, content in enumerate(records):
            (self.dir / f"{name}.{TEMPORARY}.save.{host:06}").write_bytes(content)

    def listed(self, status: int = 0) -> list[dict]:
        result = run("sheaf", "saves", "--json", self.dir)
        self.assertEqual((result.returncode, result.stderr), (status, b""), result)
        return json.loads(result.stdout)

    def printed(self, status: int = 0) -> list[str]:
        result = run("sheaf", "saves", self.dir)
        self.assertEqual((result.returncode, result.stderr), (status, b""), result)
        return result.stdout.decode().splitlines()

    def test_there_is_none(self) -> None:
        make_plain(self.dir / "x.sion")
        (self.dir / "x.sion.save.000000").write_bytes(record([slot(CAPTURED, 0)]))  # of no temporary name
        self.assertEqual(self.listed(), [])
        self.assertEqual(self.printed(), [f"0 saves in {self.dir}"])
        self.assertEqual(self.succeed("sheaf", "saves", cwd=self.dir), b"0 saves in .\n")
        self.fail_on("none", "sheaf", "saves", self.dir / "none")
        self.fail_on("many", "sheaf", "saves", "too", "many", status=2)

    def test_a_save_that_a_later_program_can_finish(self) -> None:
        self.put("x.sion", record([slot(SYNCED, 0, 3 << 20, 3 << 20), slot(SYNCED, 1, 1 << 20, 1 << 20)], age=100))
        (found,) = self.listed()
        self.assertEqual((found["state"], found["name"], found["temporary"]),
                         ("complete", f"{self.dir}/x.sion", f"{self.dir}/x.sion.{TEMPORARY}"))
        self.assertEqual((found["bytes"], found["written"], found["hosts"], found["tasks"], found["error"]),
                         (4 << 20, 4 << 20, 1, 2, ""))
        self.assertTrue(100 <= found["age"] < 1000, found)
        self.assertAlmostEqual(found["rate"], found["written"] / found["age"])
        line, count = self.printed()
        self.assertRegex(line, r"/x\.sion: complete, \d+ s, 4\.0 MiB of 4\.0 MiB, [\d.]+ KiB/s$")
        self.assertEqual(count, f"1 save in {self.dir}")

    def test_lost_saves(self) -> None:
        whole, part = slot(SYNCED, 0, 100, 100), slot(WRITTEN, 1, 100, 70)
        self.put("a.sion", record([whole, part]))
        self.put("b.sion", record([whole], hosts=2), record([part], 1, 2))
        self.put("c.sion", record([whole], hosts=2))  # the record of the other host is missing
        self.put("d.sion", record([whole])[:-1] + b"?")  # torn by a kill: counts as captured
        self.put("e.sion", b"?" + record([whole])[1:])
        found = {os.path.basename(save["name"]): save for save in self.listed(status=1)}
        self.assertEqual({save["state"] for save in found.values()}, {"lost"})
        self.assertEqual(sorted(found), [f"{letter}.sion" for letter in "abcde"])
        self.assertEqual((found["a.sion"]["written"], found["b.sion"]["bytes"], found["b.sion"]["tasks"]), (170, 200, 2))
        self.assertEqual([found[f"{letter}.sion"]["hosts"] for letter in "abc"], [1, 2, 2])

    def test_finish(self) -> None:
        whole, part = slot(SYNCED, 0, 100, 100), slot(WRITTEN, 1, 100, 70)
        self.put("whole.sion", record([whole]))
        self.put("part.sion", record([whole, part]))
        result = run("sheaf", "saves", "--finish", self.dir)
        self.assertEqual((result.returncode, result.stderr), (0, b""), result)
        self.assertEqual(os.listdir(self.dir), ["whole.sion"])
        self.succeed("sheaf", "verify", self.dir / "whole.sion")
        self.assertEqual(self.printed(), [f"0 saves in {self.dir}"])

    def test_a_failed_save(self) -> None:
        failed = slot(FAILED, 7, 100, 50, 5, NO_SPACE, "no space \x1b[2J left")
        self.put("x.sion", record([slot(SYNCED, 0, 100, 100), failed]))
        (found,) = self.listed(status=1)
        self.assertEqual(found["state"], "failed")
        self.assertIn("task 7: no space", found["error"])
        line = self.printed(status=1)[0]
        self.assertIn("failed, ", line)
        self.assertIn("no space \\x1b[2J left", line)

    def test_saves_of_a_living_job(self) -> None:
        program = ("import sys, sheaf\nf = sheaf.open(sys.argv[1], 'w', words='async')\nprint(flush=True)\n"
                   "sys.stdin.read()\nf.abandon()")
        path = self.dir / "x.sion"
        environment = os.environ | {"PYTHONPATH": str(ROOT / "python"), "SHEAF_LIBRARY": str(BIN.parent / "lib")}
        with subprocess.Popen([sys.executable, "-B", "-c", program, path], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                              env=environment) as job:
            job.stdout.readline()
            (found,) = self.listed()
            self.assertEqual((found["state"], found["name"], found["bytes"]), ("writing", str(path), 0))
            self.assertEqual(self.printed()[0], f"{path}: writing")
            self.put("x.sion", record([slot(WRITTEN, 0, 10, 10), slot(CAPTURED, 1, 10)]))
            self.assertEqual(sorted(save["state"] for save in self.listed()), ["captured", "writing"])
            self.put("x.sion", record([slot(WRITTEN, 0, 10, 10), slot(WRITTEN, 1, 10, 10)]))
            self.assertEqual(sorted(save["state"] for save in self.listed()), ["local", "writing"])
            for left in self.dir.glob(f"x.sion.{TEMPORARY}*"):
                left.unlink()
            job.communicate()
        self.assertEqual(self.listed(), [])


class Latest(ToolCase):
    def put(self, name: str, age: float) -> None:
        make_plain(self.dir / name)
        for path in self.dir.glob(f"{name}*"):
            os.utime(path, (time.time() - age,) * 2)

    def latest(self, pattern: str) -> str:
        return self.succeed("sheaf", "latest", self.dir / pattern).decode()

    def test_the_newest_is_printed(self) -> None:
        self.put("step.9.sion", 10)
        self.put("step.10.sion", 20)
        self.put("other.sion", 0)
        self.assertEqual(self.latest("step.*.sion"), f"{self.dir}/step.9.sion\n")
        self.assertEqual(self.latest("step.??.sion"), f"{self.dir}/step.10.sion\n")
        self.assertEqual(self.latest("step.1[0-9].sion"), f"{self.dir}/step.10.sion\n")
        self.assertEqual(self.latest("other.sion"), f"{self.dir}/other.sion\n")
        self.assertEqual(json.loads(self.succeed("sheaf", "latest", "--json", self.dir / "step.*")),
                         {"path": f"{self.dir}/step.9.sion"})
        self.assertEqual(self.succeed("sheaf", "latest", "step.*", cwd=self.dir), b"step.9.sion\n")

    def test_what_is_incomplete_does_not_count(self) -> None:
        self.put("step.1.sion", 10)
        self.put("step.2.sion", 5)
        (self.dir / "step.2.sion.000001").unlink()
        (self.dir / "step.3.sion").write_bytes((self.dir / "step.1.sion").read_bytes()[:600])
        (self.dir / "step.4.sion").write_bytes(b"something else")
        (self.dir / "step.5.sion").mkdir()
        self.put(f"step.6.sion.{TEMPORARY}", 0)
        self.assertEqual(self.latest("step.*"), f"{self.dir}/step.1.sion\n")

    def test_none_matches(self) -> None:
        self.assertIn("no durable multifile", self.fail_on("step.*.sion", "sheaf", "latest", self.dir / "step.*.sion"))
        result = run("sheaf", "latest", "--json", self.dir / "step.*.sion")
        self.assertEqual((result.returncode, json.loads(result.stdout)), (1, {"path": None}))
        self.fail_on("none", "sheaf", "latest", self.dir / "none" / "*.sion")
        self.fail_on("PATTERN", "sheaf", "latest", status=2)


if __name__ == "__main__":
    unittest.main()
