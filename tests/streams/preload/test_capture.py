"""`sheaf run`: captured files behave like those of the file system, are complete at the end, and lose no data."""

from __future__ import annotations

import hashlib
import os
import random
import shutil
import signal
import subprocess
import time
import unittest

from capture_case import BIN, SECONDS, CaptureCase, sheaf


class Capture(CaptureCase):
    def test_links_of_directories_that_others_change(self) -> None:
        for name in ("out", "work"):
            (self.work / name).mkdir()
        script = ("import os, subprocess\n"
                  "os.symlink('work', 'cur')\n"
                  "print(os.access('cur/cap.1', os.F_OK))\n"
                  "subprocess.run(['ln', '-sfn', 'out', 'cur'], check=True)\n"
                  "open('cur/cap.1', 'w').write('text')\n"
                  "print(open('out/cap.1').read())\n"
                  "subprocess.run(['true'], cwd='/')\n"
                  "print(open('cur/cap.1').read())\n")
        done = self.sheaf("run", "--capture", "out/cap.*:set.sion", "--", "python3", "-c", script)
        self.assertEqual(done.stdout, "False\ntext\ntext\n")
        self.assertEqual(self.names(), ["out/cap.1"])

    def test_readers_of_what_an_earlier_run_has_left(self) -> None:
        """Inherited and early opened descriptors read the data of an earlier run and data written later."""
        self.run_captured("sh", "-c", "echo first > cap.a")
        script = ("import os, subprocess\n"
                  "reader = os.open('cap.a', os.O_RDONLY)\n"
                  "subprocess.run(['cat'], stdin=reader)\n"
                  "writer = os.open('cap.a', os.O_WRONLY | os.O_APPEND)\n"
                  "os.write(writer, b'second')\n"
                  "print(os.fstat(reader).st_size, os.pread(reader, 100, 0))\n"
                  "os.unlink('cap.a')\n"
                  "print(os.fstat(reader).st_nlink, flush=True)\n")
        done = self.run_captured("python3", "-c", script)
        self.assertEqual(done.stdout, "first\n12 b'first\\nsecond'\n0\n")

    def test_no_call_answers_otherwise_than_on_the_file_system(self) -> None:
        plain = self.dir / "plain"
        plain.mkdir()
        expected = subprocess.run([BIN / "posix_cases"], cwd=plain, capture_output=True, text=True, timeout=SECONDS).stdout
        found = self.sheaf("run", "--capture", "**cap.*:../set.sion", "--", BIN / "posix_cases")
        self.assertEqual(found.stdout.splitlines(), expected.splitlines())
        self.assertEqual(found.stderr, "")
        self.assertGreater(len(expected.splitlines()), 1500)
        self.assertEqual(list(self.work.iterdir()), [])

    def test_files_are_one_multifile_with_names(self) -> None:
        self.run_captured(BIN / "posix_files", "make", ".", 4, 50)
        self.assertEqual(sorted(os.listdir(self.work)), ["set.sion"])
        self.assertEqual(sorted(self.names()), sorted(f"cap.{p}.{i}" for p in range(4) for i in range(50)))
        self.assertEqual(self.content("cap.3.7"), chr(ord("a") + (3 * 31 + 7) % 26) * 1024)
        self.sheaf("verify", "set.sion")

    def test_later_programs_find_the_files_and_change_them(self) -> None:
        self.run_captured("sh", "-c", "echo one > cap.a; echo other > cap.b")
        self.run_captured("sh", "-c", "cat cap.a > result; echo two >> cap.a; rm cap.b; ls > listing; mv cap.a cap.c")
        self.assertEqual((self.work / "result").read_text(), "one\n")
        self.assertEqual((self.work / "listing").read_text(), "cap.a\nlisting\nresult\nset.sion\nset.sion.container."
                         + (self.work / "listing").read_text().split("container.")[1])
        self.assertEqual(self.names(), ["cap.c"])
        self.assertEqual(self.content("cap.c"), "one\ntwo\n")

    def test_groups_of_a_pattern_name_the_set(self) -> None:
        self.sheaf("run", "--capture", r"(*).*.part:\1.sion", "--", "sh", "-c", "for i in 1 2 3; do echo $i > a.$i.part; done; "
                   "echo b > b.9.part; ls *.part > found")
        self.assertEqual((self.work / "found").read_text(), "a.1.part\na.2.part\na.3.part\nb.9.part\n")
        self.assertEqual(self.names("a.sion"), ["a.1.part", "a.2.part", "a.3.part"])
        self.assertEqual(self.content("b.9.part", "b.sion"), "b\n")

    def test_files_of_before_stay_plain_and_are_told_of(self) -> None:
        (self.work / "cap.old").write_text("old ")
        done = self.run_captured("sh", "-c", "echo more >> cap.old; echo new > cap.new")
        self.assertIn("1 plain file matches", done.stderr)
        self.assertIn("cap.old", done.stderr)
        self.assertEqual((self.work / "cap.old").read_text(), "old more\n")
        self.assertEqual(self.names(), ["cap.new"])

    def test_two_jobs_on_one_pattern(self) -> None:
        jobs = [subprocess.Popen([BIN / "sheaf", "run", "--capture", "cap.*:set.sion", "--", "sh", "-c",
                                  f"for i in 1 2 3 4 5 6 7 8; do echo {job} > cap.{job}.$i; echo {job} >> cap.both; sleep 0.05; done"],
                                 cwd=self.work, stderr=subprocess.PIPE) for job in "xy"]
        for job in jobs:
            self.assertEqual(job.wait(SECONDS), 0, job.stderr.read())
            job.stderr.close()
        self.assertEqual(len(self.names()), 17)
        self.assertEqual(sorted(self.content("cap.both").split()), ["x"] * 8 + ["y"] * 8)

    def test_patterns_that_clash_are_refused(self) -> None:
        for words, said in ((("--capture", "a.*:x.sion", "--capture", "a.*:y.sion"), "two sets"),
                            (("--capture", r"a.*:\1.sion"), "group"), (("--capture", "a.*"), "PATTERN:SET")):
            done = self.sheaf("run", *words, "--", "true", check=False)
            self.assertEqual(done.returncode, 1)
            self.assertIn(said, done.stderr)

    def test_a_place_that_no_preload_can_name_is_refused(self) -> None:
        place = self.dir / "a place with blanks"
        for name in ("bin/sheaf", "lib/libsheaf.so.1", "lib/libsheaf_posix.so"):
            (place / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(BIN.parent / name, place / name)
        command = [place / "bin/sheaf", "run", "--capture", "*.txt:x.sion", "--", "true"]
        done = subprocess.run(command, cwd=self.work, capture_output=True)
        self.assertEqual(done.returncode, 1)
        self.assertIn(b"without them", done.stderr)

    def test_a_static_program_is_told_of(self) -> None:
        source = self.work / "static.c"
        source.write_text('#include <stdio.h>\nint main(void) { return !fopen("cap.static", "w"); }\n')
        if subprocess.run(["cc", "-static", "-o", self.work / "static", source], capture_output=True).returncode != 0:
            self.skipTest("no static C library")
        for command in (["./static"], ["sh", "-c", "./static; ./static"]):
            done = self.run_captured(*command)
            self.assertEqual(done.stderr.count("linked statically"), 1, done.stderr)
            self.assertIn("cap.static", done.stderr)

    def test_a_view_shows_a_set_as_a_directory(self) -> None:
        (self.work / "out").mkdir()
        self.sheaf("run", "--capture", "out/cap.*:set.sion", "--", "sh", "-c", "echo one > out/cap.1; echo two > out/cap.2")
        done = self.sheaf("run", "--view", "set.sion:seen", "--", "sh", "-c",
                          "cat seen/out/cap.*; ls seen/out; echo x > seen/out/cap.1 || rm seen/out/cap.2 || echo refused")
        self.assertEqual(done.stdout, "one\ntwo\ncap.1\ncap.2\nrefused\n")
        self.assertIn("Read-only", done.stderr)
        self.assertFalse((self.work / "seen").exists())
        done = self.sheaf("run", "--view", "set.sion:seen", "--", "tar", "cf", "all.tar", "-C", "seen", ".")
        done = subprocess.run(["tar", "tf", self.work / "all.tar"], capture_output=True, text=True)
        self.assertEqual(sorted(done.stdout.split()), ["./", "./out/", "./out/cap.1", "./out/cap.2"])

    def test_a_view_shows_what_a_mount_would(self) -> None:
        """A view shows the same as a mount: tasks without names, several multifiles, streams of files elsewhere."""
        tasks = [bytes([t]) * 50_000 * t for t in range(3)]
        with sheaf.open(self.work / "tasks.sion", "w", tasks=3, chunk_size=4096) as made:
            for task, content in enumerate(tasks):
                made[task].write(content)
        far = self.dir.resolve() / "far"
        far.mkdir()
        self.sheaf("run", "--capture", f"{self.dir.resolve()}/**cap.*:named.sion", "--", "sh", "-c", f"echo one > cap.1; echo two > {far}/cap.2")
        script = ("import os, sys\n"
                  "for at in range(3): print(os.path.getsize(f'seen/task.00000{at}'), sum(open(f'seen/task.00000{at}', 'rb').read()))\n"
                  "f = open('seen/task.000002', 'rb'); f.seek(99_990); print(len(f.read()), f.seek(0, os.SEEK_DATA))\n"
                  "print(sorted(os.listdir('seen')), os.path.exists('seen/task.3'), os.access('seen/task.000001', os.W_OK))\n")
        done = self.sheaf("run", "--view", "tasks.sion:seen", "--", "python3", "-c", script)
        self.assertEqual(done.stdout.splitlines(), [f"{len(content)} {sum(content)}" for content in tasks]
                         + ["10 0", "['task.000000', 'task.000001', 'task.000002'] False False"])
        both = ("--view", "tasks.sion:seen", "--view", "named.sion:seen")
        found = self.sheaf("run", *both, "--", "find", "seen", "-type", "f").stdout.split()
        self.assertEqual(sorted(found), sorted([f"seen/tasks.sion/task.00000{t}" for t in range(3)]
                                               + ["seen/named.sion/cap.1", f"seen/named.sion{far}/cap.2"]))
        done = self.sheaf("run", *both, "--", "sh", "-c", f"cat seen/named.sion/cap.1 seen/named.sion{far}/cap.2; cmp -n 40000 "
                          "seen/tasks.sion/task.000001 /dev/zero; sha1sum < seen/tasks.sion/task.000002 | cut -c1-40", check=False)
        self.assertEqual(done.stdout.splitlines()[:2], ["one", "two"])
        self.assertEqual(done.stdout.splitlines()[-1], hashlib.sha1(tasks[2]).hexdigest())
        self.assertFalse((self.work / "seen").exists())
        damaged = bytearray((self.work / "tasks.sion").read_bytes())
        damaged[damaged.index(tasks[1][:4096]) + 100] ^= 1
        (self.work / "tasks.sion").write_bytes(damaged)
        done = self.sheaf("run", "--view", "tasks.sion:seen", "--", "cat", "seen/task.000001", check=False)
        self.assertIn("Input/output error", done.stderr)

    def test_what_is_written_after_another_process_renames_the_file_is_in_its_new_place(self) -> None:
        script = ("import os, subprocess\n"
                  "def move(a, b): subprocess.run(['mv', a, b], check=True)\n"
                  "log, at = open('cap.log', 'ab', buffering=0), os.open('cap.log', os.O_RDWR)\n"
                  "log.write(b'one '); move('cap.log', 'plain.log')\n"
                  "log.write(b'two '); os.pwrite(at, b'O', 0)\n"
                  "assert os.pread(at, 100, 0) == b'One two ' and os.fstat(at).st_size == 8\n"
                  "subprocess.run(['sh', '-c', 'printf three'], stdout=log, check=True)\n"
                  "assert open('plain.log').read() == 'One two three', open('plain.log').read()\n"
                  "with open('cap.set', 'w') as f:\n"
                  "    f.write('one '); f.flush(); move('cap.set', 'other.set'); f.write('two '); f.flush()\n"
                  "    move('other.set', 'plain.set'); f.write('three')\n"
                  "f = open('cap.lost', 'w'); move('cap.lost', 'plain.lost'); os.rename('plain.lost', 'elsewhere')\n"
                  "try: f.write('x'); f.flush(); assert False\n"
                  "except OSError as error: assert error.errno == 116, error\n"
                  "os._exit(0)\n")
        self.run_captured("python3", "-c", script, options=("--capture", "other.*:other.sion"))
        self.assertEqual((self.work / "plain.log").read_text(), "One two three")
        self.assertEqual((self.work / "plain.set").read_text(), "one two three")
        self.assertEqual([name for name in os.listdir(self.work) if "sheaf" in name], [])

    def test_a_file_that_is_renamed_while_it_is_written_has_every_line(self) -> None:
        for round_number in range(int(os.environ.get("KILL_ROUNDS", "5"))):
            with self.subTest(round_number):
                job = subprocess.Popen([BIN / "sheaf", "run", "--capture", "cap.*:set.sion", "--", "sh", "-c",
                                        f"'{BIN}/posix_files' log cap.log & sleep 0.0{random.randint(0, 9)}; "
                                        "until mv cap.log plain.log 2>/dev/null; do :; done; sleep 0.05; kill $!; wait"],
                                       cwd=self.work, stdout=subprocess.PIPE)
                told = job.communicate(timeout=SECONDS)[0].split()
                kept = (self.work / "plain.log").read_bytes().split()
                self.assertEqual(kept[:len(told)], told)
                self.assertLessEqual(len(kept), len(told) + 1)
                self.assertGreater(len(told), 0)

    def test_what_a_killed_program_wrote_is_there(self) -> None:
        for round_number in range(int(os.environ.get("KILL_ROUNDS", "5"))):
            with self.subTest(round_number):
                self.check_kill(f"cap.log{round_number}")

    def check_kill(self, name: str) -> None:
        job = subprocess.Popen([BIN / "sheaf", "run", "--capture", "cap.*:set.sion", "--", "sh", "-c",
                                f"'{BIN}/posix_files' log {name} & echo $! >&2; wait"], cwd=self.work, stdout=subprocess.PIPE,
                               stderr=subprocess.PIPE)
        writer = int(job.stderr.readline())
        told = [job.stdout.readline().strip()]
        time.sleep(random.uniform(0, 0.3))
        os.kill(writer, signal.SIGKILL)
        told += job.stdout.read().split()
        job.wait(SECONDS)
        job.stdout.close()
        job.stderr.close()
        kept = self.content(name).split()
        self.assertGreaterEqual(len(kept), len(told))
        self.assertLessEqual(len(kept), len(told) + 1)
        self.assertEqual(kept, [str(i).encode().decode() for i in range(len(kept))])

    def test_a_full_disk_is_an_error_and_keeps_what_was_written(self) -> None:
        if os.geteuid() != 0 or subprocess.run(["unshare", "-m", "true"], capture_output=True).returncode != 0:
            self.skipTest("no rights to mount")
        script = ('mount -t tmpfs -o size=1m none . && "$0" run --keep-containers --capture "cap.*:set.sion" -- sh -c '
                  '\'echo first > cap.a; head -c 4000000 /dev/zero > cap.big; echo "code $?"; cat cap.a\'')
        done = subprocess.run(["unshare", "-m", "sh", "-c", f"cd '{self.work}' && mkdir full && cd full && {script}", BIN / "sheaf"],
                              capture_output=True, text=True, timeout=SECONDS)
        self.assertIn("No space left", done.stderr)
        self.assertIn("code 1", done.stdout)
        self.assertIn("first", done.stdout)

    def test_files_that_were_handed_on_leave_nothing_behind(self) -> None:
        script = ("import os, resource\n"
                  "before = os.listdir('/dev/shm')\n"
                  "resource.setrlimit(resource.RLIMIT_NOFILE, (2000, 2000))\n"
                  "os.close(os.open('cap.a', os.O_RDWR | os.O_CREAT))\n"
                  "def wait(child): assert os.waitpid(child, 0)[1] == 0\n"
                  "def spawn(): wait(os.posix_spawn('/bin/true', ['true'], {}))\n"
                  "def shell(): assert os.system(':') == 0\n"
                  "def execute():\n"
                  "    if (child := os.fork()): wait(child)\n"
                  "    else: os.execv('/bin/true', ['true'])\n"
                  "for hand_on in [spawn, shell, execute] * 4:\n"
                  "    for fd in (all := [os.open('cap.a', os.O_RDONLY) for _ in range(800)]): os.set_inheritable(fd, fd % 2 == 0)\n"
                  "    hand_on()\n"
                  "    for fd in all: os.close(fd)\n"
                  "slots = [os.stat('/dev/shm/' + name).st_blocks for name in set(os.listdir('/dev/shm')).difference(before)\n"
                  "         if name.endswith('.slots')]\n"
                  "print(max(slots) * 512 // 4096)\n")
        self.assertLess(int(self.run_captured("python3", "-c", script).stdout), 3000)

    def test_a_descriptor_that_only_a_child_has_is_not_given_to_another_file(self) -> None:
        script = ("import os, subprocess\n"
                  "with open('cap.child', 'w') as f:\n"
                  "    child = subprocess.Popen(['sh', '-c', 'read word; echo $word'], stdin=subprocess.PIPE, stdout=f)\n"
                  "for _ in range(10):\n"
                  "    files = [os.open('cap.other', os.O_RDWR | os.O_CREAT) for _ in range(500)]\n"
                  "    subprocess.run(['true'], check=True)\n"
                  "    for fd in files: os.close(fd)\n"
                  "child.communicate(b'late\\n')\n"
                  "assert child.returncode == 0 and open('cap.child').read() == 'late\\n' and open('cap.other').read() == ''\n")
        self.run_captured("python3", "-c", script)

    def test_what_is_written_to_a_descriptor_by_its_name_harms_no_other(self) -> None:
        script = ("exec 3>cap.x; /bin/echo one >&3; echo msg >> /proc/$$/fd/3; /bin/echo two >&3; exec 4>>cap.z; "
                  "sh -c \"echo far >> /proc/$$/fd/4\"; cat /proc/$$/fd/4; /bin/echo three >&3; /bin/echo four > cap.y")
        self.assertEqual(self.run_captured("bash", "-c", script).stdout, "far\n")
        self.assertEqual(self.content("cap.x"), "one\ntwo\nthree\n")
        self.assertEqual(self.content("cap.y"), "four\n")

    def test_a_limit_of_the_size_of_files_does_not_end_programs_that_open_some(self) -> None:
        for limit in (100_000, 64, 8):
            done = self.run_captured("bash", "-c", f"ulimit -f {limit}; echo {limit} > cap.{limit}; cat cap.{limit}")
            self.assertEqual(done.stdout, f"{limit}\n")
        self.assertEqual(self.names(), ["cap.100000"])

    @unittest.skipUnless(os.geteuid() == 0, "takes another user")
    def test_names_in_a_directory_without_permission_stay(self) -> None:
        (self.work / "ro").mkdir()
        for path in (self.dir, self.work, self.work / "ro"):
            path.chmod(0o777)
            os.chown(path, 65534, 65534)
        script = ("cd ro; echo p > ../plain; echo in > cap.in; echo out > ../cap.out; chmod 555 .; "
                  "for c in 'rm -f cap.in' 'mv cap.in cap.new' 'mv ../cap.out cap.in' 'mv cap.in ..' 'mv ../plain cap.new'; do "
                  "$c 2>/dev/null && echo $c; done; cat ../plain cap.in; rm ../cap.out")
        command = [BIN / "sheaf", "run", "--capture", "**cap.*:set.sion", "--", "sh", "-c", script]
        try:
            done = subprocess.run(command, cwd=self.work, capture_output=True, text=True, timeout=SECONDS, user=65534, group=65534)
        except PermissionError:
            self.skipTest("the programs are not for every user")
        self.assertEqual(done.stdout, "p\nin\n", done.stderr)
        self.assertEqual(self.names(), ["ro/cap.in"])

    def test_one_at_a_time_has_an_exclusive_lock_and_nobody_beside_it_a_shared_one(self) -> None:
        script = ("import fcntl, os, random, sys\n"
                  "plain = os.open('plain', os.O_RDWR | os.O_CREAT)\n"
                  "def count(by):\n"
                  "    n = int(os.pread(plain, 20, 0) or 0) + by\n"
                  "    os.pwrite(plain, b'%20d' % n, 0)\n"
                  "    return n\n"
                  "children = []\n"
                  "for number in range(4):\n"
                  "    children.append(os.fork())\n"
                  "    if children[-1]: continue\n"
                  "    random.seed(number)\n"
                  "    f, got = os.open('cap.lock', os.O_RDWR | os.O_CREAT), 0\n"
                  "    while got < 400:\n"
                  "        kind = random.choice([fcntl.LOCK_EX, fcntl.LOCK_SH])\n"
                  "        try: fcntl.flock(f, kind | random.choice([0, fcntl.LOCK_NB]))\n"
                  "        except BlockingIOError: continue\n"
                  "        got += 1\n"
                  "        if kind == fcntl.LOCK_EX: assert count(1) == 1 and count(-1) == 0\n"
                  "        else: assert int(os.pread(plain, 20, 0) or 0) == 0\n"
                  "        if random.random() < 0.7: fcntl.flock(f, fcntl.LOCK_UN)\n"
                  "    os._exit(0)\n"
                  "sys.exit(any([os.waitpid(child, 0)[1] for child in children]))\n")
        self.run_captured("python3", "-c", script)

    def build_with_destructor(self, work: str, main: str) -> None:
        """Builds ./main, which runs `main`, with a library that runs `work` at the end."""
        source = self.work / "late.c"
        source.write_text("#include <stdio.h>\n#include <unistd.h>\n"
                          f"__attribute__((destructor)) static void late(void) {{ {work} }}\n")
        library = self.work / "liblate.so"
        if subprocess.run(["cc", "-shared", "-fPIC", "-o", library, source], capture_output=True).returncode != 0:
            self.skipTest("no compiler")
        source.with_name("main.c").write_text(f"#include <stdio.h>\nint main(void) {{ {main} return 0; }}\n")
        subprocess.run(["cc", "-o", self.work / "main", self.work / "main.c", "-Wl,--no-as-needed", library, f"-Wl,-rpath,{self.work}"],
                       check=True)

    def test_a_destructor_opens_a_file_when_the_program_has_ended(self) -> None:
        self.build_with_destructor('FILE* f = fopen("cap.late", "w"); if (!f) perror("cap.late"); '
                                   'else { fputs("written at the end\\n", f); fclose(f); }',
                                   'fclose(fopen("cap.first", "w"));')
        done = self.run_captured("./main")
        self.assertEqual(done.stderr, "")
        self.assertEqual(self.content("cap.late"), "written at the end\n")

    def test_others_go_on_behind_what_a_destructor_writes(self) -> None:
        self.build_with_destructor('if (write(1, "late line\\n", 10) != 10) perror("late");', "")
        self.run_captured("sh", "-c", "(./main; ./main; echo end) > cap.out")
        self.assertEqual(self.content("cap.out"), "late line\nlate line\nend\n")

    def test_what_the_library_says_is_in_the_captured_standard_error(self) -> None:
        self.run_captured("sh", "-c", "exec 2>cap.err; echo x > bad.1; echo y > bad.2",
                          options=("--capture", "bad.*:nowhere/set.sion"))
        said = self.content("cap.err")
        self.assertRegex(said, "^sheaf: '.*nowhere/set.sion' cannot .* made as .*plain file.*\n$")
        self.assertEqual((self.work / "bad.1").read_text(), "x\n")

    def test_nothing_stays_in_shared_memory(self) -> None:
        before = set(os.listdir("/dev/shm"))
        self.run_captured("sh", "-c", "for i in 1 2 3; do echo $i > cap.$i; done; cat cap.1 | sort > cap.4")
        left = {name for name in set(os.listdir("/dev/shm")) - before if name.startswith("sheaf-capture")}
        for _ in range(300):  # concurrent tests have some, too, until they end
            left &= set(os.listdir("/dev/shm"))
            if not left:
                return
            time.sleep(0.1)
        self.fail(f"{left} has stayed")

    def test_python_sees_captured_files(self) -> None:
        script = ("import os, shutil, pathlib, subprocess, tempfile\n"
                  "with open('cap.p', 'w') as f: f.write('text\\n' * 1000)\n"
                  "assert os.path.getsize('cap.p') == 5000 and os.path.exists('cap.p')\n"
                  "shutil.copy2('cap.p', 'cap.q'); os.replace('cap.q', 'cap.r')\n"
                  "assert sorted(os.listdir('.')) == ['cap.p', 'cap.r'] + sorted(n for n in os.listdir('.') if 'set' in n)\n"
                  "with open('cap.out', 'wb') as f: subprocess.run(['echo', 'child'], stdout=f, check=True)\n"
                  "assert pathlib.Path('cap.out').read_text() == 'child\\n'\n"
                  "assert [p.name for p in sorted(pathlib.Path('.').glob('cap.*'))] == ['cap.out', 'cap.p', 'cap.r']\n")
        self.run_captured(shutil.which("python3"), "-c", script)
        self.assertEqual(sorted(self.names()), ["cap.out", "cap.p", "cap.r"])


if __name__ == "__main__":
    unittest.main()
