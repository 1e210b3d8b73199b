"""SHEAF_TRACE writes a time line per task, in the format of Chrome's trace events."""
import collections
import glob
import json
import os
import shutil
import subprocess
import sys
import tempfile
import unittest

from programs import BIN, LIB, MPIS, Programs, yields

PATTERN = "strided-4096"  # 16 MiB at most, in records of 4 KiB


class TimeLines(Programs):
    def traced(self, mpi, **environment):
        """Writes and reads a pattern with one task per host. Returns the events of each task, and the names of the
        lanes."""
        self.run_pattern(mpi, **environment)
        self.bytes = (16 << 20) // self.tasks // 4096 * 4096 * self.tasks
        events, names = collections.defaultdict(list), {}
        for path in glob.glob(os.path.join(self.where, "trace.*")):
            with open(path) as file:
                for event in json.load(file):
                    if event["ph"] == "X":
                        events[event["pid"]].append(event)
                    elif event["name"] == "process_name":
                        names[event["pid"]] = event["args"]["name"]
            os.remove(path)
        return events, names

    def run_pattern(self, mpi, **environment):
        self.tasks = 3 if yields(mpi) else 2
        command = [os.path.join(BIN, f"mpiio_patterns_{mpi}"), PATTERN, os.path.join(self.where, "data"), "1"]
        self.run_under(mpi, self.tasks, command, environment={"SHEAF_MPIIO_OFF": "shared", **environment})

    def named(self, events, name):
        return [event for lane in events.values() for event in lane if event["name"] == name]

    def test_every_task_has_a_lane_with_the_steps_of_the_exchange(self):
        for mpi in MPIS:
            with self.subTest(mpi=mpi):
                events, names = self.traced(mpi, SHEAF_TRACE=os.path.join(self.where, "trace"))
                self.assertEqual(sorted(name.split(" on ")[0] for name in names.values()),
                                 [f"task {rank}" for rank in range(self.tasks)])
                self.assertEqual(len(events), self.tasks)
                for lane in events.values():
                    count = collections.Counter(event["name"] for event in lane)
                    self.assertEqual((count["collective write"], count["collective read"]), (1, 1), count)
                    for step in ("reduce summary", "plan", "pack", "send round", "await round", "unpack", "reduce outcome"):
                        self.assertGreater(count[step], 0, step)
                    self.assertEqual(count["send round"], count["await round"])

    def test_file_requests_have_offset_and_bytes(self):
        for mpi in MPIS:
            with self.subTest(mpi=mpi):
                events, _ = self.traced(mpi, SHEAF_TRACE=os.path.join(self.where, "trace"))
                for kind in ("write", "read"):
                    end = 0
                    requests = [event["args"] for event in self.named(events, kind)]
                    for request in sorted(requests, key=lambda one: one["offset"]):
                        self.assertEqual(request["offset"], end, kind)
                        end += request["bytes"]
                    self.assertEqual(end, self.bytes, kind)
                    self.assertEqual(sum(event["args"]["bytes"] for event in self.named(events, f"collective {kind}")),
                                     self.bytes)

    def test_steps_lie_inside_their_call(self):
        for mpi in MPIS:
            with self.subTest(mpi=mpi):
                events, _ = self.traced(mpi, SHEAF_TRACE=os.path.join(self.where, "trace"))
                for lane in events.values():
                    spans = {event["name"]: (event["ts"], event["ts"] + event["dur"]) for event in lane
                             if event["name"].startswith("collective")}
                    self.assertLessEqual(spans["collective write"][1], spans["collective read"][0])
                    for event in lane:
                        for step, call in (("pack", "collective write"), ("unpack", "collective read")):
                            if event["name"] == step:
                                self.assertGreaterEqual(event["ts"] + 0.5, spans[call][0])
                                self.assertLessEqual(event["ts"] + event["dur"], spans[call][1] + 0.5)

    def test_no_file_without_the_variable(self):
        for mpi in MPIS[:1]:
            self.assertEqual(self.traced(mpi), ({}, {}))

    def test_a_full_disk_is_reported_and_harms_no_data(self):
        full = os.path.join(self.where, "full")
        os.mkdir(full)
        mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=4k", "tmpfs", full], capture_output=True, text=True,
                                 check=False)
        if mounted.returncode != 0:
            self.skipTest(f"cannot mount a tmpfs: {mounted.stderr.strip()}")
        try:
            for mpi in MPIS[:1]:
                self.run_pattern(mpi, SHEAF_TRACE=os.path.join(full, "trace"))
                self.assertIn("SHEAF_TRACE: the time line is incomplete: cannot write", self.said_beside)
                self.assertIn("No space left on device", self.said_beside)
        finally:
            subprocess.run(["umount", full], check=True)

    def test_no_file_can_be_created(self):
        for mpi in MPIS[:1]:
            self.run_pattern(mpi, SHEAF_TRACE=os.path.join(self.where, "absent", "trace"))
            self.assertIn("no file with this name can be created", self.said_beside)


WRITES = """
import os, sys
sys.path.insert(0, os.environ["PYTHON_PACKAGE"])
import sheaf
def writes(name):
    with sheaf.open(name, "w", tasks=1, chunk_size=4 << 20) as f:
        f[0].write(bytes(2 << 20))
writes("before")
"""
FORKS = """
child = os.fork()
if child == 0:
    writes("child")
    sys.exit(0)
assert os.waitpid(child, 0)[1] == 0
writes("after")
"""


class Processes(unittest.TestCase):
    """Programs without MPI."""

    def setUp(self):
        self.where = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, self.where)

    def events_of(self, program, *host):
        """Runs a Python program with SHEAF_TRACE. Returns the events of its only file, and the name of the file."""
        subprocess.run([*host, sys.executable, "-B", "-c", program], check=True, cwd=self.where,
                       env={**os.environ, "SHEAF_TRACE": "trace", "SHEAF_LIBRARY": os.path.join(LIB, "libsheaf.so"),
                            "PYTHON_PACKAGE": os.path.abspath("python")})
        names = [name for name in os.listdir(self.where) if name.startswith("trace")]
        self.assertEqual(len(names), 1, names)
        with open(os.path.join(self.where, names[0])) as file:
            return json.load(file), names[0]

    def test_forked_children_record_nothing(self):
        once = self.events_of(WRITES)[0]
        for name in os.listdir(self.where):
            os.remove(os.path.join(self.where, name))
        several = self.events_of(WRITES + FORKS)[0]
        count = [sum(event["name"] == "write" for event in events) for events in (once, several)]
        self.assertGreater(count[0], 0)
        self.assertEqual(count[1], 2 * count[0])

    def test_any_host_name(self):
        own_name = ["unshare", "--uts"]
        if subprocess.run([*own_name, "true"], capture_output=True, check=False).returncode != 0:
            self.skipTest("cannot change the name of the host")
        renames = "import socket\nsocket.sethostname('a\"b\\\\c/d')\n"
        events, name = self.events_of(renames + WRITES, *own_name)
        self.assertRegex(name, r"^trace\.a_b_c_d\.\d+\.json$")
        self.assertRegex(events[0]["args"]["name"], r"^process \d+ on a_b_c_d$")


if __name__ == "__main__":
    unittest.main()
