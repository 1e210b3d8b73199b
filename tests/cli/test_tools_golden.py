"""Runs the `sheaf` command and the classic tools on the golden files, and compares the results with the manifests
and recorded output."""

from __future__ import annotations

import json
import re
import sys
import unittest
from pathlib import Path

from tool_case import VECTORS, ToolCase, damaged, digest, golden, run, without_checksums

from sheaf_format import Multifile, describe


@unittest.skipUnless(VECTORS.is_dir(), "no golden files")
class GoldenFiles(ToolCase):
    @staticmethod
    def comparable(text: str) -> list[str]:
        return [line for line in text.splitlines() if not re.search("endianness|SIONlib version|siondump: sid:", line)]

    def test_siondump_prints_what_it_always_has(self) -> None:
        for name, path, manifest in golden():
            keyval = manifest["keyvalmode"] == 51
            for options, expected in ((["-a", "-l", "-m", "-M", *(["-K"] if keyval else [])], "siondump.txt"),
                                      *([(["-k"], "siondump-k.txt")] if keyval else [])):
                for tool in (["siondump"], ["sheaf", "dump"]):
                    with self.subTest(name=name, tool=tool, options=options):
                        out = self.succeed(*tool, *options, path.name, cwd=path.parent).decode()
                        text = (path.parent / expected).read_text()
                        self.assertEqual(self.comparable(out), self.comparable(text))

    def test_cat_and_split_give_every_stream(self) -> None:
        for name, path, manifest in golden():
            prefix = self.dir / f"{name}."
            self.assertEqual(self.succeed("sheaf", "split", path, prefix), b"")
            joined = b""
            for task in manifest["tasks"]:
                with self.subTest(name=name, rank=task["rank"]):
                    stream = self.succeed("sheaf", "cat", "--task", task["rank"], path)
                    joined += stream
                    self.assertEqual(digest(stream), task["sha256"])
                    if "records" not in task:
                        self.assertEqual(Path(f"{prefix}{task['rank']:05}").read_bytes(), stream)
            self.assertEqual(self.succeed("sioncat", path), joined)

    def test_defrag_keeps_streams_ranks_and_modes(self) -> None:
        for name, path, manifest in golden():
            for size in (None, 1, 1000):
                with self.subTest(name=name, size=size):
                    out = self.dir / f"{name}.{size}"
                    self.succeed("sheaf", "defrag", *([] if size is None else ["-q", size]), path, out)
                    with Multifile(str(out)) as result:
                        found = describe(result)
                    self.assertEqual([(t["globalrank"], t["sha256"], t["blockcount"]) for t in found["tasks"]],
                                     [(t["globalrank"], t["sha256"], 1) for t in manifest["tasks"]])
                    for field in ("userdata_byte_order", "keyvalmode", "ntasks"):
                        self.assertEqual(found[field], manifest[field])
                    unit = size or manifest["fsblksize"]
                    self.assertEqual([t["chunksize"] for t in found["tasks"]],
                                     [-(-t["length"] // unit) * unit for t in manifest["tasks"]])

    def test_siondefrag_gives_the_golden_bytes(self) -> None:
        run("siondefrag", "-q", 1, VECTORS / "blocks" / "blocks.sion", "defrag1.sion", cwd=self.dir)
        found, wanted = self.dir / "defrag1.sion", VECTORS / "defrag1" / "defrag1.sion"
        if sys.byteorder == "little":
            self.assertEqual(found.read_bytes(), wanted.read_bytes())
            return
        order = ("metadata_byte_order", "endianness_word_hex_bytes")  # the metadata have the byte order of the host
        with Multifile(str(found)) as ours, Multifile(str(wanted)) as golden_file:
            self.assertEqual(*({key: value for key, value in without_checksums(describe(file)).items() if key not in order}
                               for file in (ours, golden_file)))

    def test_json_is_what_the_independent_reader_finds(self) -> None:
        for name, path, _ in golden():
            with self.subTest(name=name), Multifile(str(path)) as multifile:
                self.assertEqual(json.loads(self.succeed("sheaf", "dump", "--json", "-K", path)),
                                 without_checksums(describe(multifile)))

    def test_good_files_pass_verify_and_info(self) -> None:
        for name, path, manifest in golden():
            with self.subTest(name=name):
                report = json.loads(self.succeed("sheaf", "verify", "--json", path))
                self.assertTrue(report["ok"])
                summary = json.loads(self.succeed("sheaf", "info", "--json", path))
                self.assertEqual((summary["tasks"], summary["physical_files"], summary["data_bytes"]),
                                 (manifest["ntasks"], manifest["nfiles"],
                                  sum(t["length"] for t in manifest["tasks"])))
                self.succeed("sheaf", "info", path)

    def test_damaged_files_are_refused_by_every_tool(self) -> None:
        self.assertTrue(damaged())
        for path in damaged():
            with self.subTest(path=path.name):
                for tool in (["sheaf", "verify"], ["sheaf", "verify", "--json"], ["sheaf", "split", path, self.dir / "x"],
                             ["sheaf", "defrag", path, self.dir / "y"], ["sionsplit", path, self.dir / "x"],
                             ["siondefrag", path, self.dir / "y"], ["sheaf", "dump", "-K"], ["siondump", "-K"],
                             ["sheaf", "dump", "--json", "-K"]):
                    self.fail_on(path.name, *(tool if path in tool else [*tool, path]))
                if path.name != "kv_badlen.sion":  # metadata and bytes of this file are valid
                    for tool in (["sheaf", "dump"], ["siondump"], ["sheaf", "info"], ["sheaf", "cat"], ["sioncat"]):
                        self.fail_on(path.name, *tool, path)
        self.assertEqual(self.names(), [])

    def test_verify_tells_unclosed_from_damaged(self) -> None:
        for path in damaged():
            states = {f["state"] for f in
                      json.loads(run("sheaf", "verify", "--json", path).stdout)["multifiles"][0]["files"]}
            expected = {"bad_magic": "foreign", "future_version": "foreign", "missing_part": "unreadable",
                        "neverclosed": "unclosed", "neverclosed_nodata": "unclosed"}.get(path.stem, "damaged")
            self.assertEqual(states - {"complete"}, {expected}, path.name)

    def test_a_record_that_is_too_long_is_named_with_task_and_offset(self) -> None:
        said = self.fail_on("kv_badlen.sion", "sheaf", "split", VECTORS / "damaged" / "kv_badlen.sion", self.dir / "x")
        self.assertRegex(said, "task 0.*byte 0 .*1000000 bytes.*287")


if __name__ == "__main__":
    unittest.main()
