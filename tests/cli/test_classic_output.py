"""Checks the exact output of siondump, sionsplit and siondefrag, and which files these tools and sioncat
overwrite."""

from __future__ import annotations

import subprocess
import unittest

from tool_case import BIN, SECONDS, ToolCase, make_keyval, make_plain

from sheaf_format import Kind, MultifileSpec, TaskSpec, fill, write

RULE = "-" * 155 + "\n"
SHORT_RULE = "-" * 60 + "\n"


class Dump(ToolCase):
    def dump(self, *arguments: object) -> str:
        return self.succeed("siondump", *arguments, cwd=self.dir).decode()

    def behind_the_header(self, *options: str) -> str:
        header = self.dump("a.sion")
        whole = self.dump(*options, "a.sion")
        self.assertTrue(whole.startswith(header))
        return whole[len(header):]

    def write_blocks(self, blocks: int) -> None:
        """Writes two tasks with chunks of 256 KiB. Task 0 fills its `blocks` blocks, the last one only to the
        half. Task 1 fills a third of its first block."""
        chunk = 256 << 10
        used = fill(bytes(chunk * blocks - chunk // 2), chunk)
        tasks = [TaskSpec(chunk, 30, used), TaskSpec(chunk, 4, [bytes(87381)])]
        write(MultifileSpec("a.sion", tasks, 1024, kind=Kind.SERIAL), str(self.dir / "a.sion"))

    def test_blocks_in_mb_have_two_blanks_between_them(self) -> None:
        self.write_blocks(3)
        first = "Task 00: size=    0.62 MB glblrnk=  30 #blks= 3 lsz=    0.25 MB:"
        second = "Task 01: size=    0.08 MB glblrnk=   4 #blks= 1 lsz=    0.25 MB:"
        self.assertEqual(self.behind_the_header("-a"), (
            f"\n{RULE}{'':70}BLK000    BLK001    BLK002    \n"
            f"{first}     0.25 MB    0.25 MB    0.12 MB \n"
            f"{second}     0.08 MB    0.00 MB    0.00 MB \n"
            f"\n{RULE}"))

    def test_further_groups_of_blocks_have_no_rules_of_their_own(self) -> None:
        self.write_blocks(12)
        first = "Task 00: size=   3014656 B glblrnk=  30 #blks=12 lsz=    262144 B: "
        second = "Task 01: size=     87381 B glblrnk=   4 #blks= 1 lsz=    262144 B: "
        self.assertEqual(self.behind_the_header("-a", "-l"), (
            f"\n{RULE}{'':70}" + "".join(f"BLK{b:03}    " for b in range(10)) + "\n"
            f"{first}" + 10 * "   262144 " + "\n"
            f"{second}    87381 " + 9 * "        0 " + "\n"
            f"\n{'':70}BLK010    BLK011    \n"
            f"{first}   262144    131072 \n"
            f"{second}        0         0 \n"
            f"\n{RULE}"))

    def test_the_mapping_has_a_line_break_after_every_16_tasks(self) -> None:
        for tasks in (15, 16, 17, 32):
            write(MultifileSpec("a.sion", [TaskSpec(8, t, [b"x"], file=t // 8) for t in range(tasks)], 8),
                  str(self.dir / "a.sion"))
            entries = [f"[{t:05} -> (f{t // 8:03},t{t % 8:03})] " for t in range(tasks)]
            lines = ["".join(entries[t:t + 16]) for t in range(0, tasks, 16)]
            if tasks % 16 == 0:
                lines.append("")
            with self.subTest(tasks=tasks):
                self.assertTrue(self.dump("-m", "a.sion").endswith(
                    f"\n{SHORT_RULE}  mapping: " + "\n        ".join(lines) + f"\n{SHORT_RULE}"))


class Copying(ToolCase):
    def run_here(self, tool: str, *arguments: object) -> list[str]:
        """Returns the lines of the output, except those that depend on the host."""
        text = self.succeed(tool, *arguments, cwd=self.dir).decode()
        return [line for line in text.splitlines() if "endianness" not in line]

    def make(self) -> None:
        chunk = 640 << 10
        tasks = [TaskSpec(chunk, 7, fill(bytes(chunk + 90), chunk)), TaskSpec(100, 3, [bytes(100)])]
        write(MultifileSpec("a.sion", tasks, 1024, kind=Kind.SERIAL), str(self.dir / "a.sion"))

    def test_sionsplit(self) -> None:
        self.make()
        size = (self.dir / "a.sion").stat().st_size
        found = self.run_here("sionsplit", "-d", 3, "a.sion", "out.")
        table = next(line.split()[-1] for line in found if "varheader" in line)
        self.assertEqual(found, [
            "sionsplit: filename:                  a.sion                        ",
            "sionsplit: prefix:                    out.                          ",
            "sionsplit: sid:                       0",
            "sionsplit: filename:                  a.sion                        ",
            "sionsplit: number of tasks:           2",
            "sionsplit: number of files:           1",
            "sionsplit: number of digits:          3",
            "sionsplit: use global ranks:          0",
            "sionsplit: keyval:                    50 (SION_KEYVAL_NONE)",
            "sionsplit: fsblksize:                 1024 bytes (  0.00 MB)",
            "sionsplit: max number of chunks:      2",
            "sionsplit: datasize in file (aggr.):  655550 bytes (  0.63 MB)",
            f"sionsplit: start_of_varheader:        {table}",
            f"sionsplit: size of file:              {size} bytes (  1.25 MB)",
            "sionsplit: file usage:                49.975453%",
            "sionsplit: filename mask:             out.%03d",
            "sionsplit: filename key mask:         out.%03d_%012ld",
            "sionsplit: max chunksize:             655360 bytes (  0.62 MB)",
            "sionsplit: generating file:           out.000",
            "sionsplit:                            655360 read left=90 ",
            "sionsplit:                            655360 wrote of left=90 ",
            "sionsplit:                            90 read left=0 ",
            "sionsplit:                            90 wrote of left=0 ",
            "sionsplit: generating file:           out.001",
            "sionsplit:                            100 read left=0 ",
            "sionsplit:                            100 wrote of left=0 "])

    def test_sionsplit_of_keys(self) -> None:
        make_keyval(self.dir / "k.sion")
        found = self.run_here("sionsplit", "-g", "k.sion", "out.")
        self.assertIn("sionsplit: use global ranks:          1", found)
        self.assertIn("sionsplit: keyval:                    51 (SION_KEYVAL_INLINE)", found)
        self.assertIn("sionsplit: generating file:           out.00000_-00000000016", found)

    def test_siondefrag(self) -> None:
        self.make()
        found = self.run_here("siondefrag", "-Q", 1, "a.sion", "d.sion")
        table = next(line.split()[-1] for line in found if "varheader" in line)
        self.assertEqual(found, [
            "siondefrag: infilename:               a.sion                        ",
            "siondefrag: outfilename:              d.sion                        ",
            "siondefrag: sid:                      0",
            "siondefrag: filename:                 a.sion                        ",
            "siondefrag: nfiles:                   1",
            "siondefrag: fsblksize:                1024 bytes (  0.00 MB)",
            "siondefrag: keyval:                   50 (SION_KEYVAL_NONE)",
            "siondefrag: max number of blocks:     2",
            "siondefrag: datasize in file (aggr.): 655550 bytes (  0.63 MB)",
            f"siondefrag: start_of_varheader:       {table}",
            "siondefrag: size of chunks:           1311744 bytes (  1.25 MB)",
            "siondefrag: file usage:               49.975453%",
            "siondefrag: max chunksize:            655360 bytes (  0.62 MB)",
            "siondefrag: outsid:                   0",
            "siondefrag: fsblksize outfile:        1048576 bytes (  1.00 MB)",
            "[0]"])


class Overwriting(ToolCase):
    def test_what_exists_gives_way(self) -> None:
        path = self.dir / "a.sion"
        streams = make_plain(path)
        victim = self.dir / "x00003"
        for tool, expected in ((["sionsplit", path, self.dir / "x"], streams[3]),
                               (["siondefrag", path, victim], None),
                               (["sioncat", "-o", victim, path], b"".join(streams)),
                               (["sioncat", "--force", "-o", victim, path], b"".join(streams))):
            with self.subTest(tool=tool):
                victim.write_bytes(b"old")
                self.succeed(*tool)
                found = victim.read_bytes() if expected else self.succeed("sioncat", victim)
                self.assertEqual(found, expected or b"".join(streams))
        self.succeed("siondefrag", "-q", 1, path, path)  # in place
        self.assertEqual(self.succeed("sioncat", path), b"".join(streams))

    def test_nothing_gives_way_to_what_cannot_be_made(self) -> None:
        (self.dir / "x00003").write_bytes(b"precious")
        (self.dir / "bad").write_bytes(b"no multifile")
        bad, victim = self.dir / "bad", self.dir / "x00003"
        for tool in (["sionsplit", bad, self.dir / "x"], ["siondefrag", bad, victim],
                     ["sioncat", "-o", victim, bad]):
            self.fail_on("bad", *tool)
            self.assertEqual(victim.read_bytes(), b"precious")
        self.assertEqual(self.names(), ["bad", "x00003"])
        make_plain(self.dir / "a.sion")
        self.fail_on("directory", "sioncat", "-o", self.dir, self.dir / "a.sion")

    def test_sioncat_writes_to_devices_and_pipes(self) -> None:
        path = self.dir / "a.sion"
        streams = make_plain(path)
        self.assertEqual(self.succeed("sioncat", "-o", "/dev/null", path), b"")
        command = [BIN / "sioncat", "-o", "/dev/fd/1", path]
        piped = subprocess.run(command, stdout=subprocess.PIPE, timeout=SECONDS)
        self.assertEqual((piped.returncode, piped.stdout), (0, b"".join(streams)))
        self.fail_on("No space left", "sioncat", "-o", "/dev/full", path)


if __name__ == "__main__":
    unittest.main()
