"""Tests `sheaf defrag -n` and `siondefrag -n`, which convert a multifile of any number of physical files to one of
several physical files."""

from __future__ import annotations

import json
import os
import unittest
from pathlib import Path

from tool_case import MultifileSpec, TaskSpec, ToolCase, fill, make_keyval, make_plain, run, write

import sheaf_format


class DefragFiles(ToolCase):
    def files_of(self, name: str) -> list[str]:
        return sorted(path.name for path in self.dir.iterdir() if path.name.startswith(name))

    def expect_streams(self, path: Path, nfiles: int, streams: list[bytes], first_rank: int = 10) -> None:
        """Checks that the tools and the independent reader find the streams."""
        self.succeed("sheaf", "verify", path)
        self.assertEqual(json.loads(self.succeed("sheaf", "info", "--json", path))["physical_files"], nfiles)
        self.assertEqual(self.succeed("sioncat", path), b"".join(streams))
        self.assertEqual(self.files_of(path.name), [path.name] + [f"{path.name}.{k:06}" for k in range(1, nfiles)])
        with sheaf_format.Multifile(str(path)) as multifile:
            self.assertEqual([b"".join(multifile.stream(task)) for task in range(len(streams))], streams)
            self.assertEqual([(task.file, task.lrank) for task in multifile.tasks],
                             [(min(t // (len(streams) // nfiles), nfiles - 1),
                               t - min(t // (len(streams) // nfiles), nfiles - 1) * (len(streams) // nfiles))
                              for t in range(len(streams))])
            for number, physical in enumerate(multifile.files):
                self.assertEqual((physical.header.nfiles, physical.header.filenumber), (nfiles, number))
                self.assertEqual(physical.maxblocks, 1)
                own = [first_rank + task.rank for task in multifile.tasks if task.file == number]
                self.assertEqual(list(physical.globalranks), own)

    def test_streams_stay(self) -> None:
        for order in ("little", "big"):
            source = self.dir / f"{order}.sion"
            streams = make_plain(source, order, tasks=7)
            for number, options in ((2, []), (3, ["-q", 1]), (7, ["-q", 4096]), (3, ["--compress=zstd"])):
                with self.subTest(order=order, number=number, options=options):
                    out = self.dir / "out"
                    self.succeed("sheaf", "defrag", "--force", "-n", number, *options, source, out)
                    if not options or options[0] == "-q":
                        self.expect_streams(out, number, streams)
                    else:
                        self.succeed("sheaf", "verify", out)
                        self.assertEqual(self.succeed("sheaf", "cat", out), b"".join(streams))
                    one = self.dir / "one"
                    self.succeed("siondefrag", out, one)
                    self.assertEqual(self.succeed("sheaf", "cat", one), b"".join(streams))

    def test_of_records(self) -> None:
        source, out = self.dir / "k.sion", self.dir / "out"
        make_keyval(source)
        self.succeed("siondefrag", "-n", 3, source, out)
        self.succeed("sheaf", "verify", out)
        self.assertEqual(self.succeed("siondump", "-K", out).count(b"key="), self.succeed("siondump", "-K", source).count(b"key="))

    def test_checksums_stay(self) -> None:
        source, out = self.dir / "a.sion", self.dir / "out"
        streams = make_plain(source)
        for path in (source, self.dir / "a.sion.000001"):
            sheaf_format.extensions.add(str(path), bytes(range(16)))
        self.succeed("sheaf", "defrag", "-n", 2, source, out)
        self.expect_streams(out, 2, streams)
        with sheaf_format.Multifile(str(out)) as multifile:
            self.assertEqual({sheaf_format.verify(physical) for physical in multifile.files}, {True})
        member = self.dir / "out.000001"
        data = bytearray(member.read_bytes())
        data[1280] ^= 1
        member.write_bytes(data)
        self.fail_on("out.000001", "sheaf", "verify", out)

    def test_in_place_and_back(self) -> None:
        path = self.dir / "a.sion"
        streams = make_plain(path, tasks=6)
        os.chmod(path, 0o640)
        for number in (3, 1, 6, 2, 3):
            self.succeed("siondefrag", "-n", number, path, path)
            self.assertEqual(self.succeed("sheaf", "cat", path), b"".join(streams), number)
            self.assertEqual(path.stat().st_mode & 0o777, 0o640)
        self.expect_streams(path, 3, streams)

    def test_refusals_leave_nothing(self) -> None:
        source = self.dir / "a.sion"
        make_plain(source)
        before = self.files_of("")
        self.fail_on("5 tasks, which cannot be in 6 physical files", "sheaf", "defrag", "-n", 6, source, self.dir / "out")
        (self.dir / "out.000001").write_bytes(b"precious")
        self.fail_on("out.000001", "sheaf", "defrag", "-n", 2, source, self.dir / "out")
        self.assertEqual((self.dir / "out.000001").read_bytes(), b"precious")
        (self.dir / "out.000001").unlink()
        self.fail_on("--help", "sheaf", "defrag", "-n", 0, source, self.dir / "out", status=2)
        long = self.dir / ("n" * 240) / ("n" * 240) / ("n" * 240) / ("n" * 240)
        long.parent.mkdir(parents=True)
        self.fail_on("too long", "sheaf", "defrag", "-n", 2, source, long)
        damaged = self.dir / "a.sion.000001"
        damaged.write_bytes(damaged.read_bytes()[:1300])
        self.assertNotEqual(run("sheaf", "defrag", "-n", 2, source, self.dir / "out").returncode, 0)
        self.assertEqual([name for name in self.files_of("") if not name.startswith("nn")], before)

    def test_fewer_than_one_are_one(self) -> None:
        source, out = self.dir / "a.sion", self.dir / "out"
        write(MultifileSpec("a.sion", [TaskSpec(100, 0, fill(b"data", 128))], 128), str(source))
        for number in (0, -3, 1):
            self.succeed("siondefrag", "-n", number, source, out)
            self.assertEqual(self.files_of("out"), ["out"])


if __name__ == "__main__":
    unittest.main()
