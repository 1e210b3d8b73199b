#!/usr/bin/env python3
"""Code and commands of the documentation, as printed, against an installation (see snippets.py)."""

from __future__ import annotations

import os
import re
import runpy
import shutil
import unittest
from pathlib import Path

import snippets
from installed import BUILD, MPIS, ROOT, InstalledCase
from snippets import Block

DOCS = ROOT / "docs"
VECTORS = Path(os.environ.get("SHEAF_VECTORS") or ROOT.parent / "shared" / "vectors").resolve()
PAGES = [*sorted(DOCS.glob("api-*.md")), *(DOCS / f"{name}.md" for name in ("adopting", "building", "experiments", "tuning")),
         *sorted((DOCS / "tools").glob("*.md"))]
WRITTEN = [ROOT / "README.md", *sorted(DOCS.rglob("*.md"))]
BLOCKS = [block for page in PAGES for block in snippets.blocks(str(page.relative_to(ROOT)), page.read_text())]
SERIAL = ("serial.c", "vectors.sh", "stripe.sh", "repair.sh", "adopt-tools.sh", "adopt-doctor.sh",
          "mount.sh")  # frames without MPI
HELPERS = ("linked.c", "program.c", "unclosed.c", "endless.c", "hdf5.c", "pnetcdf.c", "profiling.c", "traced.c",
           "tracer.c", "writer.c")  # compiled by shell frames
CAN_MOUNT = os.access("/dev/fuse", os.W_OK) and (os.geteuid() == 0 or shutil.which("fusermount3"))
STAND_INS = ("srun",)  # programs that this machine lacks


class Accounts(unittest.TestCase):
    def test_every_block_is_run_or_says_why_not(self):
        self.assertEqual([str(block) for block in BLOCKS if not block.accounted], [])

    def test_every_frame_exists_and_is_used(self):
        named = {block.frame for block in BLOCKS if block.frame}
        files = {file.name for file in snippets.FRAMES.iterdir() if not file.name.startswith(".")}
        self.assertEqual(named | {*HELPERS, *STAND_INS}, files)

    def test_blocks_of_all_kinds_are_found(self):
        page = ("text\n\n```c\nint x;\n```\n\n* item\n\n      not code\n\ntext\n\n"
                "    $ true\n\n    (exit code 1)\n\n<!-- snippet: skip, a sample -->\n    out\n\n"
                "<!-- snippet: skip -->\n```sh\nls\n```\n")
        found = snippets.blocks("page", page)
        self.assertEqual([(block.line, block.accounted) for block in found],
                         [(3, False), (13, True), (18, True), (21, False)])

    def test_the_readme_has_what_its_own_test_runs(self):
        text = (ROOT / "README.md").read_text()
        self.assertEqual(re.findall(r"^```(\w+)", text, re.MULTILINE), ["c", "fortran", "python", "sh", "sh"])
        self.assertEqual([block.text.split() for block in snippets.blocks("README.md", text)][0],
                         ["make", "demo", "make", "test"])

    def test_lines_and_cells_of_tables_fit_a_screen(self):
        wide = []
        for page in WRITTEN:
            for number, line in enumerate(page.read_text().split("\n"), 1):
                cells = re.split(r"(?<!\\)\|", line)[1:-1] if line.startswith("|") else []
                if any(len(cell.strip()) > 200 for cell in cells) or not cells and len(line) > 120:
                    wide.append(f"{page.relative_to(ROOT)}:{number}")
        self.assertEqual(wide, [])

    def test_every_page_ends_with_where_to_continue(self):
        self.assertEqual([str(page) for page in WRITTEN if "\n## Next\n" not in page.read_text()], [])

    def test_the_picture_is_what_its_script_draws(self):
        draw = runpy.run_path(str(DOCS / "figures" / "streams.py"))["draw"]
        self.assertEqual(draw(), (DOCS / "figures" / "streams.svg").read_text())


class Documentation(InstalledCase):
    def setUp(self):
        super().setUp()
        shims = self.directory / "shims"  # the first MPI under the names in the pages, for any number of tasks
        shims.mkdir()
        mpi = MPIS[0] if MPIS else "none"
        for name in ("mpicc", "mpicxx"):
            (shims / name).write_text(f'#!/bin/sh\nexec {name}.{mpi} "$@"\n')
        (shims / "mpirun").write_text(f'#!/bin/sh\nshift\nexec {ROOT}/scripts/mpirun.sh {mpi} "$@"\n')
        for name in STAND_INS if "SHEAF_SLURM" not in os.environ else ():  # slurm_cluster.py provides the real one
            shutil.copy(snippets.FRAMES / name, shims)
        for shim in shims.iterdir():
            shim.chmod(0o755)
        path = [str(shims), str(self.prefix / "bin"), str(BUILD / "mpi"), self.environment["PATH"]]
        self.environment |= {"PATH": ":".join(path), "PREFIX": str(self.prefix), "VECTORS": str(VECTORS),
                             "MPI": mpi, "ROOT": str(ROOT), "BUILD": str(BUILD), "PKG_CONFIG_PATH": str(self.prefix / "lib" / "pkgconfig")}

    def run_block(self, block: Block):
        text = snippets.framed(block).replace("$LIB/openmpi/", f"$LIB/{self.environment['MPI']}/")
        if not block.frame.endswith(".sh"):
            self.source("app" + Path(block.frame).suffix, text)
            for line in snippets.recipe(block):
                self.run_command("bash", "-ec", line)
            return
        for helper in HELPERS:
            shutil.copy(snippets.FRAMES / helper, self.directory)
        output = self.run_command("bash", "-ec", text)
        if block.is_session:
            printed = snippets.comparable(block, block.text)
            self.assertEqual(snippets.comparable(block, output), printed, str(block))

    def runnable(self, block: Block) -> bool:
        if not block.frame or block.frame in ("vectors.sh", "mount.sh") and not VECTORS.exists():
            return False
        if block.frame == "mount.sh" and not (CAN_MOUNT and (BUILD / "bin" / "sheaf-mount").exists()):
            return False
        if block.frame == "sfio.c" and not shutil.which("pkg-config"):
            return False
        return bool(MPIS) or block.frame in SERIAL

    def test_blocks(self):
        frames = os.environ.get("SHEAF_FRAMES", "")  # frames to run, by the beginnings of their names
        for block in filter(self.runnable, BLOCKS):
            if not block.frame.startswith(frames):
                continue
            with self.subTest(block=str(block)):
                self.setUp()
                self.run_block(block)

    def test_what_is_set_on_file_systems_is_what_the_library_knows(self):
        known = "".join(file.read_text() for file in (ROOT / "src" / "cli" / "doctor.cpp", DOCS / "tuning.md"))
        rows = re.findall(r"^\| (Lustre|NFS|BeeGFS) \| (.*) \|$", (DOCS / "adopting.md").read_text(), re.MULTILINE)
        self.assertEqual(len(rows), 3)
        for system, advice in rows:
            for words in re.findall("`([^`]*)`", advice):
                with self.subTest(system=system, words=words):
                    self.assertIn(words.removesuffix(" DIR"), known)

    def test_wrong_blocks_fail(self):
        for frame, text in (("serial.c", "int sid = sion_opened();"), ("serial.c", "int sid = -1;"),
                            ("stripe.sh", "sheaf stripe nothing"), ("stripe.sh", "$ wc -c <plain\n13894")):
            with self.subTest(text=text), self.assertRaises(AssertionError):
                self.run_block(Block("page", 1, text, {"frame": frame}))

    def test_options_in_synopses_and_sentences_exist(self):
        lines = [(str(block), line) for block in BLOCKS if "synopsis" in block.words
                 for line in re.split(r"\n(?=sheaf )", block.text)]
        for page in PAGES:
            lines += [(page.name, line) for line in re.findall(r"`(sheaf [^`]*--[^`]*)`", page.read_text())]
        known: dict[str, str] = {}
        for where, line in lines:
            command = line.split(" -- ")[0].split()[1]
            if not re.fullmatch("[a-z]+", command):
                continue
            if command not in known:
                known[command] = self.run_command("sheaf", command, "--help")
            for option in re.findall(r"(?<![\w-])--[a-z][a-z-]*", line.split(" -- ")[0]):
                with self.subTest(where=where, line=line):
                    self.assertRegex(known[command], rf"{option}\b")


if __name__ == "__main__":
    unittest.main()
