"""Renames that move plain files into a set: the file with the new name is complete, and no data is lost."""

from __future__ import annotations

import errno
import os
import re
import shutil
import subprocess
import unittest

from capture_case import BIN, SECONDS, CaptureCase


class Moves(CaptureCase):
    @unittest.skipUnless(os.geteuid() == 0, "takes another user")
    def test_a_file_that_cannot_leave_its_directory_replaces_none(self) -> None:
        (self.work / "ro").mkdir()
        for path in (self.dir, self.work, self.work / "ro"):
            path.chmod(0o777)
            os.chown(path, 65534, 65534)
        script = ("import os\n"
                  "def write(path, text):\n"
                  "    with open(path, 'w') as file: file.write(text)\n"
                  "write('ro/x', 'new'); write('cap.1', 'precious'); os.chmod('ro', 0o555)\n"
                  "for name in ('cap.1', 'cap.2'):\n"
                  "    try: os.rename('ro/x', name)\n"
                  "    except PermissionError: print('refused')\n"
                  "print(open('ro/x').read(), open('cap.1').read())\n")
        command = [BIN / "sheaf", "run", "--capture", "cap.*:set.sion", "--", "python3", "-c", script]
        try:
            done = subprocess.run(command, cwd=self.work, capture_output=True, text=True, timeout=SECONDS,
                                  user=65534, group=65534)
        except PermissionError:
            self.skipTest("the programs are not for every user")
        self.assertEqual(done.stdout, "refused\nrefused\nnew precious\n", done.stderr)
        self.assertEqual(self.names(), ["cap.1"])

    def test_a_captured_file_takes_the_longest_name(self) -> None:
        name = "x" * 255
        self.run_captured("sh", "-ec", f"echo text > cap.1; mv cap.1 {name}")
        self.assertEqual((self.work / name).read_text(), "text\n")
        self.assertEqual([path.name for path in self.work.glob("x*")], [name])

    def test_a_directory_takes_its_files_out_of_the_pattern(self) -> None:
        script = ("import os\n"
                  "os.makedirs('out/deep')\n"
                  "for name in ('out/cap.1', 'out/deep/cap.2', 'out/plain'): open(name, 'w').write(name)\n"
                  "held = open('out/cap.1', 'a')\n"
                  "os.rename('out', 'old')\n"
                  "print(held.write(' and more'), os.path.exists('out'), sorted(os.listdir('old')))\n")
        done = self.run_captured("python3", "-c", script, options=("--capture", "out/**:other.sion"))
        self.assertEqual(done.stdout, "9 False ['cap.1', 'deep', 'plain']\n")
        self.assertEqual((self.work / "old/cap.1").read_text(), "out/cap.1 and more")
        self.assertEqual((self.work / "old/deep/cap.2").read_text(), "out/deep/cap.2")
        self.assertFalse((self.work / "other.sion").exists())

    def test_a_directory_takes_its_files_into_another_set(self) -> None:
        script = ("import os\n"
                  "os.mkdir('a')\n"
                  "for i in range(20): open(f'a/cap.{i}', 'w').write(f'text {i}')\n"
                  "os.rename('a', 'b')\n"
                  "print([open(f'b/cap.{i}').read() for i in range(20)] == [f'text {i}' for i in range(20)])\n")
        done = self.sheaf("run", "--capture", "a/*:a.sion", "--capture", "b/*:b.sion", "--", "python3", "-c", script)
        self.assertEqual(done.stdout, "True\n")
        self.assertEqual(sorted(self.names("b.sion")), sorted(f"b/cap.{i}" for i in range(20)))

    def test_a_directory_with_the_set_itself_is_copied(self) -> None:
        done = self.sheaf("run", "--capture", "out/cap.*:out/set.sion", "--", "sh", "-c",
                          "mkdir out; echo 1 > out/cap.1; python3 -c 'import os; os.rename(\"out\", \"old\")' || mv out old; cat old/cap.1",
                          check=False)
        self.assertIn("Invalid cross-device link", done.stderr)
        self.assertEqual(done.stdout, "1\n", done.stderr)

    def test_a_directory_with_the_set_alone_stays(self) -> None:
        done = self.sheaf("run", "--capture", "files/cap.*:sets/a.sion", "--", "sh", "-c",
                          "mkdir files sets; mv sets set2; mv set2 sets; echo 1 > files/cap.1; mv sets set2; cat files/cap.1")
        self.assertIn("Device or resource busy", done.stderr)
        self.assertEqual(done.stdout, "1\n", done.stderr)
        self.assertEqual(len(done.stderr.splitlines()), 1)

    @unittest.skipUnless(shutil.which("strace"), "strace makes calls fail")
    def test_a_directory_stays_where_one_of_its_files_cannot_go(self) -> None:
        """If the disk is full for the n-th record, all names are the old ones, or all are the new ones.

        Repeated for every record of the container."""
        script = ("import os\n"
                  "try: os.rename('cap.dir', 'cap.now')\n"
                  "except OSError as error: print(error.errno)\n")
        files = [str(i) for i in range(100, 300)]
        setup = "mkdir cap.dir; for i in $(seq 100 299); do echo $i > cap.dir/cap.$i; done"
        outcomes = set()
        for n in range(1, 20):
            shutil.rmtree(self.work)
            self.work.mkdir()
            pattern = ("--capture", "**cap.*:../set.sion")
            self.sheaf("run", "--keep-containers", *pattern, "--", "sh", "-c", setup)
            container, = self.dir.glob("set.sion.container.*")
            log = self.dir / "log"
            done = self.sheaf("run", "--keep-containers", *pattern, "--", "strace", "-f", "-qq", "-o", log, "-P", container, "-e",
                              "trace=pwrite64,pwritev", "-e", "signal=none", "-e", f"inject=pwrite64,pwritev:error=ENOSPC:when={n}", "python3", "-c", script)
            shown = self.sheaf("run", *pattern, "--", "sh", "-c", "cat cap.*/cap.*; ls").stdout.split()
            self.assertEqual(shown, files + (["cap.dir"] if done.stdout else ["cap.now"]))
            outcomes.add(done.stdout)
            for path in self.dir.glob("set.sion*"):
                path.unlink()
            if "(INJECTED)" not in log.read_text():
                break
        self.assertEqual(outcomes, {"", f"{errno.ENOSPC}\n"})

    @unittest.skipUnless(shutil.which("strace"), "strace makes calls wait")
    def test_threads_that_rename_to_one_name_at_once(self) -> None:
        script = ("import os, threading\n"
                  "def move(letter):\n"
                  "    try: os.rename(letter, 'cap.1')\n"
                  "    except OSError as error: print(letter, error)\n"
                  "threads = [threading.Thread(target=move, args=(letter,)) for letter in 'ab']\n"
                  "for thread in threads: thread.start()\n"
                  "for thread in threads: thread.join()\n"
                  "text = open('cap.1').read()\n"
                  "print(sorted(os.listdir('.')), text == text[0] * {'a': 1 << 20, 'b': 1 << 19}[text[0]])\n")
        (self.work / "a").write_text("a" * (1 << 20))
        (self.work / "b").write_text("b" * (1 << 19))
        done = self.run_captured("strace", "-f", "-qq", "-o", self.dir / "trace", "-P", self.work / "a", "-P",
                                 self.work / "b", "-e", "trace=pread64", "-e",
                                 "inject=pread64:delay_enter=300000", "python3", "-c", script)
        self.assertIn("(DELAYED)", (self.dir / "trace").read_text())
        self.assertRegex(done.stdout, r"\['cap.1', 'set.sion.container.[^ ]*'\] True\n")
        self.assertEqual(self.names(), ["cap.1"])

    @unittest.skipUnless(shutil.which("strace"), "strace makes calls fail")
    def test_each_file_is_there_once_whatever_fails(self) -> None:
        """Each file exists exactly once, even if there is no space for further records.

        The records are those of the temporary name, the attributes, and the name itself."""
        script = ("import os, sys\n"
                  "for i in range(12):\n"
                  "    open(f'plain.{i}', 'w').close()\n"
                  "    try: os.rename(f'plain.{i}', f'cap.{i}' + '_' * int(sys.argv[1]))\n"
                  "    except OSError as error: print(i, error.errno)\n")
        under_temporary_names = 0
        for length in range(100, 220, 10):
            with self.subTest(length=length):
                shutil.rmtree(self.work)
                self.work.mkdir()
                self.sheaf("run", "--keep-containers", "--capture", "cap.*:set.sion", "--", "sh", "-c",
                           "echo > cap.first")
                container, = self.work.glob("set.sion.container.*")
                done = self.run_captured("strace", "-f", "-qq", "-o", self.dir / "trace", "-P", container,
                                         "-e", "trace=pwrite64", "-e", "inject=pwrite64:error=ENOSPC:when=3",
                                         "python3", "-c", script, length)
                self.assertIn("(INJECTED)", (self.dir / "trace").read_text())
                names = self.names() + os.listdir(self.work)
                found = [name for name in names if re.match(r"(cap|plain)\.\d", name)]
                numbers = sorted(int(name.split(".")[1].rstrip("_")) for name in found)
                self.assertEqual(numbers, list(range(12)), found)
                failed = [name.split(".")[1].rstrip("_") for name in found if ".sheaf." in name]
                self.assertEqual(done.stdout, "".join(f"{i} {errno.ENOSPC}\n" for i in failed))
                under_temporary_names += len(failed)
        self.assertGreater(under_temporary_names, 0)


if __name__ == "__main__":
    unittest.main()
