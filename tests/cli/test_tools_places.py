"""Checks that the tools preserve symbolic links, and mode, owner and attributes of files that they replace or
copy. Also checks that they refuse files that are not regular, and that they end on signals."""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import stat
import subprocess
import sys
import time
import unittest
from collections.abc import Iterator
from pathlib import Path

from tool_case import BIN, SECONDS, ToolCase, make_plain, run

from sheaf_format import MultifileSpec, TaskSpec, write

ROOT = os.geteuid() == 0


@contextlib.contextmanager
def umask(mask: int) -> Iterator[None]:
    before = os.umask(mask)
    try:
        yield
    finally:
        os.umask(before)


def access_list(rights: int) -> bytes:
    """Returns an ACL that grants user 4711 `rights` (rwx as bits), in the format of Linux."""
    entries = [(0x01, 6, 2**32 - 1), (0x02, rights, 4711), (0x04, 0, 2**32 - 1), (0x10, rights, 2**32 - 1), (0x20, 0, 2**32 - 1)]
    return (2).to_bytes(4, "little") + b"".join(
        tag.to_bytes(2, "little") + bits.to_bytes(2, "little") + who.to_bytes(4, "little") for tag, bits, who in entries)


class Likeness(ToolCase):
    """A replacement or copy of a file must have the mode, owner and attributes of the original."""

    def mark(self, path: Path, mode: int, owner: int = 1234) -> tuple:
        if ROOT:
            os.chown(path, owner, owner + 1)
        path.chmod(mode)
        for name, value in (("user.project", b"fusion"), ("system.posix_acl_access", access_list(6))):
            with contextlib.suppress(OSError):  # file systems without extended attributes
                if mode & 0o070:
                    os.setxattr(path, name, value)
        return self.marks(path)

    def marks(self, path: Path) -> tuple:
        found = path.stat()
        attributes = {name: os.getxattr(path, name) for name in os.listxattr(path)}
        return stat.S_IMODE(found.st_mode), found.st_uid, found.st_gid, attributes

    def unclosed(self, name: str) -> Path:
        path = self.dir / name
        make_plain(path)
        for number in (path, path.with_name(path.name + ".000001")):
            with open(number, "r+b") as file:
                tasks = {path: 2}.get(number, 3)
                file.seek(1060 + 16 * tasks)
                file.write(bytes(12))
        return path

    def test_of_files_that_are_replaced(self) -> None:
        path = self.dir / "a.sion"
        make_plain(path)
        unclosed = self.unclosed("u.sion")
        old = self.dir / "old"
        for mask in (0o022, 0o077):
            for mode in (0o600, 0o640, 0o666, 0o444 if ROOT else 0o644):
                for tool in (["sheaf", "defrag", path, old], ["siondefrag", path, old], ["sheaf", "cat", "-o", old, path],
                             ["sheaf", "split", "-d", 1, "--task", 3, path, self.dir / "ol"],
                             ["sheaf", "repair", "--copy", old, unclosed]):
                    victim = self.dir / "ol3" if "split" in tool else old
                    victim.write_bytes(b"old")
                    marks = self.mark(victim, mode)
                    with umask(mask), self.subTest(tool=tool, mode=oct(mode), mask=oct(mask)):
                        result = run(*tool, "--force")
                        self.assertEqual(result.returncode, 0, result.stderr)
                        self.assertNotEqual(victim.read_bytes(), b"old")
                        self.assertEqual(self.marks(victim), marks)
                    victim.unlink()

    def test_of_files_that_are_copied(self) -> None:
        path = self.dir / "a.sion"
        make_plain(path)
        unclosed = self.unclosed("u.sion")
        first, second = self.mark(unclosed, 0o640), self.mark(unclosed.with_name("u.sion.000001"), 0o604, 2000)
        marks = self.mark(path, 0o640)
        for mask in (0o022, 0o077):
            with umask(mask):
                self.succeed("sheaf", "defrag", path, self.dir / "d")
                self.assertEqual(self.marks(self.dir / "d"), marks)
                self.assertEqual(run("sheaf", "repair", "--copy", self.dir / "r", unclosed).returncode, 0)
                self.assertEqual((self.marks(self.dir / "r"), self.marks(self.dir / "r.000001")), (first, second))
            for name in ("d", "r", "r.000001"):
                (self.dir / name).unlink()

    def test_new_outputs_that_are_no_copies_follow_the_umask(self) -> None:
        path = self.dir / "a.sion"
        make_plain(path)
        path.chmod(0o600)
        with umask(0o027):
            self.succeed("sheaf", "cat", "-o", self.dir / "c", path)
            self.succeed("sheaf", "split", path, self.dir / "s")
        for name in ("c", "s00000"):
            self.assertEqual(stat.S_IMODE((self.dir / name).stat().st_mode), 0o640)

    def test_links_stay_and_what_they_lead_to_is_replaced(self) -> None:
        far = self.dir / "far"
        far.mkdir()
        path = self.dir / "a.sion"
        streams = make_plain(path)
        for text in ("far/old", str(far / "old")):
            link = self.dir / "link"
            link.symlink_to(text)
            for there in (True, False):
                if there:
                    (far / "old").write_bytes(b"old")
                self.assertEqual(run("sheaf", "cat", "--force", "-o", link, path).returncode, 0)
                self.assertEqual(os.readlink(link), text)
                self.assertEqual((far / "old").read_bytes(), b"".join(streams))
                (far / "old").unlink()
            link.unlink()
        self.assertEqual(list(far.iterdir()), [])
        # Replaces the file in place, through a symbolic link.
        (self.dir / "packed").symlink_to("far/packed")
        self.succeed("sheaf", "defrag", path, far / "packed")
        self.succeed("sheaf", "defrag", "--force", "-q", 1, self.dir / "packed", self.dir / "packed")
        self.assertEqual(os.readlink(self.dir / "packed"), "far/packed")
        self.assertEqual(self.succeed("sheaf", "cat", far / "packed"), b"".join(streams))

    def test_other_names_of_a_replaced_file_keep_the_old_one(self) -> None:
        path = self.dir / "a.sion"
        make_plain(path)
        (self.dir / "old").write_bytes(b"old")
        os.link(self.dir / "old", self.dir / "second")
        self.succeed("sheaf", "cat", "--force", "-o", self.dir / "old", path)
        self.assertEqual((self.dir / "second").read_bytes(), b"old")


class NoRegularFiles(ToolCase):
    """Every tool must refuse pipes, sockets, directories and devices without waiting. No process has the other
    end of the pipe open, so an ordinary open would wait."""

    def places(self) -> dict[str, str]:
        pipe, where, name = self.dir / "pipe", self.dir / "directory", self.dir / "socket"
        os.mkfifo(pipe)
        where.mkdir()
        server = socket.socket(socket.AF_UNIX)
        self.addCleanup(server.close)
        server.bind(str(name))
        return {str(pipe): "is a pipe, not a regular file", str(name): "is a socket, not a regular file",
                str(where): "Is a directory", "/dev/zero": "is a device, not a regular file"}

    def test_every_tool_refuses_them_at_once(self) -> None:
        out = self.dir / "out"
        tools = [["sheaf", "dump"], ["sheaf", "dump", "--json"], ["sheaf", "info"], ["sheaf", "verify"], ["sheaf", "repair"],
                 ["sheaf", "repair", "--dry-run"], ["sheaf", "repair", "--copy", out], ["sheaf", "cat"], ["sheaf", "cat", "-t", 0],
                 ["sheaf", "cat", "-o", out], ["siondump"], ["sioncat"]]
        behind = [["sheaf", "split"], ["sheaf", "defrag"], ["sionsplit"], ["siondefrag"]]
        for place, reason in self.places().items():
            before = self.names()
            for words in [[*tool, place] for tool in tools] + [[*tool, place, out] for tool in behind]:
                said = self.fail_on(place, *words)
                self.assertIn(reason, said, words)
                self.assertLessEqual(said.count("\n"), 3, words)
            if reason != "Is a directory":
                self.assertIn("Not a directory", self.fail_on(place, "sheaf", "leftovers", place))
            self.assertEqual(self.names(), before)

    def test_nor_do_they_write_to_them(self) -> None:
        path = self.dir / "a.sion"
        make_plain(path)
        for place in self.places():
            before = self.names()
            for words in (["sheaf", "cat", "-o", place, path], ["sheaf", "defrag", path, place], ["siondefrag", path, place],
                          ["sheaf", "repair", "--copy", place, path]):
                self.fail_on(place, *words, "--force")
            self.assertEqual(self.names(), before)

    def test_as_members_of_a_set(self) -> None:
        path = self.dir / "a.sion"
        make_plain(path)
        (self.dir / "a.sion.000001").unlink()
        os.mkfifo(self.dir / "a.sion.000001")
        for words in (["sheaf", "verify", path], ["sheaf", "info", path], ["sheaf", "cat", path], ["sheaf", "repair", path],
                      ["siondump", path]):
            self.assertIn("is a pipe", self.fail_on("a.sion.000001", *words))

    def test_stripes(self) -> None:
        for place in self.places():
            if place == "/dev/zero":
                continue
            self.fail_on(place, "sheaf", "stripe", "import", place, f"localhost,{self.dir}/s0;")
            self.fail_on(place, "sheaf", "stripe", "cat", f"localhost,{place};")
        self.assertFalse([name for name in self.names() if name.startswith("s0")])


class Signals(ToolCase):
    """A signal must end a tool in any phase, and the tool must leave no incomplete output."""

    NUMBERS = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)

    def end(self, process: subprocess.Popen, number: int) -> None:
        process.send_signal(number)
        _, said = process.communicate(timeout=SECONDS)
        self.assertEqual(process.returncode, -number, said)

    def many(self) -> Path:
        path = self.dir / "many.sion"
        write(MultifileSpec("many.sion", [TaskSpec(8, rank, [b"%d" % rank]) for rank in range(30_000)], 8), str(path))
        return path

    def test_while_it_waits_for_who_reads_its_output(self) -> None:
        path = self.many()
        for tool in (["sheaf", "dump", "-a", path], ["sheaf", "cat", path], ["siondump", "-a", path],
                     ["sheaf", "dump", "--json", path], ["sionsplit", path, self.dir / "out"],
                     ["siondefrag", "-v", path, self.dir / "out"]):
            for number in self.NUMBERS:
                with self.subTest(tool=tool, signal=number):
                    process = subprocess.Popen([str(BIN / tool[0]), *map(str, tool[1:])], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
                    deadline = time.monotonic() + SECONDS
                    while self.sleeps_not(process) and time.monotonic() < deadline:
                        time.sleep(0.01)
                    self.end(process, number)
                    self.assertEqual(self.names(), ["many.sion"])

    @staticmethod
    def sleeps_not(process: subprocess.Popen) -> bool:
        """Returns whether the process still runs and is not blocked in a write to a full pipe. The output of cat
        is too short to fill a pipe."""
        if process.poll() is not None:
            return False
        place = Path(f"/proc/{process.pid}/wchan")
        try:
            return "pipe" not in place.read_text()
        except OSError:
            return False

    def test_while_it_writes(self) -> None:
        path = self.many()
        for tool in (["defrag", path, self.dir / "out"], ["split", path, self.dir / "out"], ["cat", "-o", self.dir / "out", path],
                     ["repair", "--copy", self.dir / "out", path]):
            for number in self.NUMBERS:
                with self.subTest(tool=tool, signal=number):
                    self.interrupt(tool, number)

    def interrupt(self, tool: list, number: int) -> None:
        """Sends a signal while the tool works. Tries again if the tool was done before the signal."""
        for _ in range(300):
            process = subprocess.Popen([str(BIN / "sheaf"), *map(str, tool)], stderr=subprocess.PIPE)
            deadline = time.monotonic() + SECONDS
            while not any(".part" in name for name in self.names()) and process.poll() is None and time.monotonic() < deadline:
                pass
            process.send_signal(number)
            _, said = process.communicate(timeout=SECONDS)
            if process.returncode == -number:
                self.assertEqual(self.names(), ["many.sion"])
                return
            self.assertEqual(process.returncode, 0, said)
            for name in set(self.names()) - {"many.sion"}:
                (self.dir / name).unlink()
        self.fail("the tool was always faster")

    def test_a_second_one_ends_it_at_once(self) -> None:
        """A second signal must end the tool at once if the tool has not yet reacted to the first. The test stops
        the process, so that it cannot react."""
        process = subprocess.Popen([str(BIN / "sheaf"), "split", str(self.many()), str(self.dir / "out")], stderr=subprocess.PIPE)
        while len(self.names()) < 20 and process.poll() is None:
            time.sleep(0.001)
        process.send_signal(signal.SIGSTOP)
        process.send_signal(signal.SIGTERM)
        process.send_signal(signal.SIGHUP)
        process.send_signal(signal.SIGCONT)
        process.communicate(timeout=SECONDS)
        self.assertIn(process.returncode, (-signal.SIGTERM, -signal.SIGHUP))


if __name__ == "__main__":
    unittest.main(argv=sys.argv)
