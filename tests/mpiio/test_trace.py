"""SHEAF_TRACE writes a time line per task, in the format of Chrome's trace events."""
import collections
import glob
import json
import os
import unittest

from programs import BIN, MPIS, Programs, yields

PATTERN = "strided-4096"  # 16 MiB at most, in records of 4 KiB


class TimeLines(Programs):
    def traced(self, mpi, **environment):
        """Writes and reads a pattern with one task per host. Returns the events of each task, and the names of the
        lanes."""
        self.tasks = 3 if yields(mpi) else 2
        command = [os.path.join(BIN, f"mpiio_patterns_{mpi}"), PATTERN, os.path.join(self.where, "data"), "1"]
        self.run_under(mpi, self.tasks, command, environment={"SHEAF_MPIIO_OFF": "shared", **environment})
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


if __name__ == "__main__":
    unittest.main()
