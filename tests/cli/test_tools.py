"""Tests the `sheaf` command and the classic tools on multifiles of an independent writer."""

from __future__ import annotations

import os
import signal
import subprocess
import time
import unittest
from pathlib import Path

from tool_case import BIN, SECONDS, ToolCase, make_keyval, make_plain, payload, run

from sheaf_format import KEYVAL_INLINE, Kind, Multifile, MultifileSpec, TaskSpec, cut, fill, write
from sheaf_format.keyval import encode as encode_records


class OwnFiles(ToolCase):
    def test_streams_of_files_of_both_byte_orders(self) -> None:
        for order in ("little", "big"):
            path = self.dir / f"{order}.sion"
            streams = make_plain(path, order)
            for tool in (["sheaf", "split", "-d", 2], ["sionsplit", "-d", 2]):
                self.succeed(*tool, path, self.dir / "t")  # the second tool replaces the output of the first
                self.assertEqual([(self.dir / f"t{rank:02}").read_bytes() for rank in range(5)], streams)
            for rank in range(5):
                (self.dir / f"t{rank:02}").unlink()
            self.assertEqual(self.succeed("sheaf", "cat", path), b"".join(streams))
            self.assertEqual(self.succeed("sheaf", "cat", "-t", 4, "-b", 1, path), streams[4][128:256])
            self.assertEqual(self.succeed("sioncat", "-t", 4, "-b", 1, path), streams[4][128:256])
            self.succeed("sheaf", "cat", "-o", self.dir / f"all.{order}", path)
            self.assertEqual((self.dir / f"all.{order}").read_bytes(), b"".join(streams))
            self.succeed("sheaf", "verify", path)

    def test_key_value_split_joins_the_values_of_each_key(self) -> None:
        for order in ("little", "big"):
            path, prefix = self.dir / f"{order}.sion", self.dir / f"{order}."
            records = make_keyval(path, order)
            self.succeed("sheaf", "split", path, prefix)
            expected: dict[str, bytes] = {}
            for rank, mine in enumerate(records):
                for key, value in mine:
                    signed = key - 2**64 if key >= 2**63 else key
                    name = f"{order}.{rank:05}_{signed:012}"
                    expected[name] = expected.get(name, b"") + value
            found = {p.name: p.read_bytes() for p in self.dir.iterdir() if p.name.startswith(f"{order}.0")}
            self.assertEqual(found, expected)

    def test_large_values_and_more_keys_than_descriptors(self) -> None:
        records = [(key % 300, payload(key, 3)) for key in range(600)] + [(1000, payload(9, 700_000))]
        path = self.dir / "many.sion"
        stream = encode_records(records, "little")
        write(MultifileSpec("many.sion", [TaskSpec(400_000, 0, fill(stream, 400_000))], 16, keyval_mode=KEYVAL_INLINE),
              str(path))
        self.succeed("sheaf", "split", path, self.dir / "k")
        self.assertEqual((self.dir / "k00000_000000000005").read_bytes(), payload(5, 3) + payload(305, 3))
        self.assertEqual((self.dir / "k00000_000000001000").read_bytes(), payload(9, 700_000))
        self.assertEqual(len(self.names()), 302)

    def test_split_by_global_rank_and_of_chosen_tasks(self) -> None:
        path = self.dir / "a.sion"
        streams = make_plain(path)
        self.succeed("sheaf", "split", "-g", "--task", "0,3", "--task", 4, path, self.dir / "g")
        self.assertEqual([n for n in self.names() if n.startswith("g")], ["g00010", "g00013", "g00014"])
        self.assertEqual((self.dir / "g00013").read_bytes(), streams[3])
        self.fail_on("tasks 0 to 4", "sheaf", "split", "--task", 5, path, self.dir / "h")
        twins = self.dir / "twins.sion"
        write(MultifileSpec("twins.sion", [TaskSpec(8, 3, [b"a"]), TaskSpec(8, 3, [b"b"])], 8), str(twins))
        self.fail_on("same global rank 3", "sheaf", "split", "-g", twins, self.dir / "h")
        self.assertFalse([n for n in self.names() if n.startswith("h")])

    def test_nothing_is_overwritten_without_force(self) -> None:
        path = self.dir / "a.sion"
        streams = make_plain(path)
        victim = self.dir / "x00003"
        for tool in (["sheaf", "split", path, self.dir / "x"], ["sheaf", "defrag", path, victim],
                     ["sheaf", "cat", "-o", victim, path]):
            victim.write_bytes(b"precious")
            said = self.fail_on("x00003", *tool)
            self.assertIn("--force", said)
            self.assertEqual(victim.read_bytes(), b"precious")
            self.assertEqual(len(self.names()), 3, tool)  # the set and the victim
            result = run(*tool, "--force")
            self.assertEqual(result.returncode, 0, result.stderr)
            self.assertNotEqual(victim.read_bytes(), b"precious")
            for name in set(self.names()) - {"a.sion", "a.sion.000001", "x00003"}:
                (self.dir / name).unlink()
        self.fail_on("directory", "sheaf", "cat", "--force", "-o", self.dir, path)
        self.fail_on("regular file", "sheaf", "cat", "--force", "-o", "/dev/null", path)
        self.succeed("sheaf", "defrag", "--force", "-q", 1, path, path)  # in place
        self.assertEqual(self.succeed("sheaf", "cat", path), b"".join(streams))

    def test_a_split_that_fails_or_is_interrupted_leaves_nothing(self) -> None:
        path = self.dir / "many.sion"
        write(MultifileSpec("many.sion", [TaskSpec(8, rank, [b"%d" % rank]) for rank in range(30_000)], 8), str(path))
        for number in (signal.SIGINT, signal.SIGTERM):
            process = subprocess.Popen([str(BIN / "sheaf"), "split", str(path), str(self.dir / "out")],
                                       stderr=subprocess.PIPE)
            deadline = time.monotonic() + SECONDS
            while len(self.names()) < 20 and time.monotonic() < deadline and process.poll() is None:
                time.sleep(0.001)
            process.send_signal(number)
            _, said = process.communicate(timeout=SECONDS)
            self.assertEqual(process.returncode, -number, said)
            self.assertEqual(self.names(), ["many.sion"])
        self.fail_on("nowhere", "sheaf", "split", path, self.dir / "nowhere" / "x")

    def test_holes_stay_holes(self) -> None:
        path, size = self.dir / "sparse.sion", 8 << 20
        write(MultifileSpec("sparse.sion", [TaskSpec(size, 0), TaskSpec(size, 1)], 4096), str(path))
        with open(path, "r+b") as file:  # changes the block sizes: task 0 wrote only its first and last bytes
            with Multifile(str(path)) as multifile:
                offset, meta2 = multifile.blocks(0)[0][0], multifile.files[0].start_of_meta2
            file.seek(offset)
            file.write(b"first")
            file.seek(offset + size - 4)
            file.write(b"last")
            file.seek(meta2 + 16)
            file.write(size.to_bytes(8, "little") + size.to_bytes(8, "little"))
        self.succeed("sheaf", "split", path, self.dir / "s")
        self.succeed("sheaf", "defrag", path, self.dir / "d.sion")
        self.assertEqual([(self.dir / f"s0000{r}").stat().st_size for r in range(2)], [size, size])
        self.assertEqual((self.dir / "s00000").read_bytes(), b"first" + bytes(size - 9) + b"last")
        if path.stat().st_blocks * 512 < 1 << 20:  # only if the file system supports holes
            for name in ("s00000", "s00001", "d.sion"):
                self.assertLess((self.dir / name).stat().st_blocks * 512, 1 << 20, name)
        self.assertEqual(self.succeed("sheaf", "cat", "-t", 0, self.dir / "d.sion"), (self.dir / "s00000").read_bytes())

    def test_verify_finds_what_the_readers_do_not_look_at(self) -> None:
        path = self.dir / "a.sion"
        make_plain(path)
        (self.dir / "a.sion.000001").rename(self.dir / "kept")
        self.fail_on("a.sion.000001: unreadable", "sheaf", "verify", path)
        (self.dir / "kept").rename(self.dir / "a.sion.000001")
        data = bytearray(path.read_bytes())
        data[-8:] = data[-16:-8]  # two tasks at one place of the mapping
        path.write_bytes(data)
        self.fail_on("as another task before", "sheaf", "verify", path)
        chunk = self.dir / "kv.sion"
        write(MultifileSpec("kv.sion", [TaskSpec(16, 0, cut(bytes(80), [80])), TaskSpec(96, 1)], 16,
                            keyval_mode=KEYVAL_INLINE), str(chunk))
        self.fail_on("key-value file", "sheaf", "verify", chunk)

    def test_more_than_ten_blocks_are_shown_in_groups(self) -> None:
        path = self.dir / "a.sion"
        write(MultifileSpec("a.sion", [TaskSpec(8, 0, fill(bytes(100), 8))], 8, kind=Kind.SERIAL), str(path))
        text = self.succeed("siondump", "-a", path).decode()
        self.assertIn("BLK009    \n", text)
        self.assertIn("BLK010    BLK011    BLK012    \n", text)
        self.assertEqual(text.count("Task 00:"), 2)


if __name__ == "__main__":
    unittest.main()
