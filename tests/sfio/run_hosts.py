"""Striped files over several hosts (hosts.py): run_hosts.py MPI DIRECTORY_OF_PROGRAMS [TEST ...]. Messages use TCP.
If the machine allows no network namespaces, hosts are directories (SHEAF_SFIO_ROOT) and messages use any
transport."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
import time
import unittest
from pathlib import Path

from hosts import made

ROOT = Path(__file__).resolve().parents[2]
MPI = sys.argv[1]
BIN = Path(sys.argv[2]).resolve()
SUBNET = f"10.{231 if MPI == 'openmpi' else 232}.{os.getpid() % 250}"
SECONDS = 240
END_SECONDS = 5  # limit for the end of a successful program


class SeveralHosts(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.place = tempfile.TemporaryDirectory()
        cls.addClassCleanup(cls.place.cleanup)
        cls.root = Path(cls.place.name)
        cls.hosts = made(["n0", "n1"], cls.root, SUBNET)
        if cls.hosts:
            cls.addClassCleanup(cls.hosts.remove)
        else:
            print("no network namespaces here: hosts are directories", file=sys.stderr)

    def setUp(self):
        for name in ("n0", "n1"):
            (self.root / name).mkdir(exist_ok=True)

    def launch(self, parts, **variables):
        """Launches a program. `parts`: hosts of the tasks and the words of a program, several for an MPMD launch."""
        environment = {k: v for k, v in os.environ.items() if not k.startswith("SHEAF_")}
        environment |= {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"} | variables
        if self.hosts and MPI == "openmpi":
            net = f"{SUBNET}.0/24"
            command = ["mpirun.openmpi", "--oversubscribe", "--bind-to", "none", "--mca", "plm_rsh_agent", self.hosts.agent,
                       "--mca", "plm_rsh_no_tree_spawn", "1", "--mca", "oob_tcp_if_include", net, "--mca", "btl_tcp_if_include",
                       net, "--mca", "btl", "self,tcp", "--mca", "mpi_yield_when_idle", "1"]
            for name in variables:
                command += ["-x", name]
        elif self.hosts:
            command = ["mpirun.mpich", "-launcher", "ssh", "-launcher-exec", self.hosts.agent, "-localhost", f"{SUBNET}.1",
                       "-hosts", ",".join(self.hosts.addresses.values())]
            environment["UCX_TLS"] = "tcp,self"  # UCX would detect that all hosts are this machine
        else:
            environment |= {"SHEAF_SFIO_ROOT": str(self.root)}
            command = [ROOT / "scripts" / "mpirun.sh", MPI]
        for i, (names, *words) in enumerate(parts):
            command += [":"] if i else []
            if not self.hosts:
                command += (["-np"] if i else []) + [len(names)]
            elif MPI == "openmpi":
                command += ["--host", ",".join(f"{self.hosts.addresses[n]}:{names.count(n)}" for n in dict.fromkeys(names)),
                            "-np", len(names)]
            else:  # distributes its hosts in turn
                command += ["-np", len(names)]
            command += words
        # With several hosts MPICH 4.0 occasionally hangs in MPI_Finalize, even in programs of MPI_Alltoall alone. All
        # output is complete by then.
        may_hang = self.hosts and MPI == "mpich"
        with open(self.root / "said", "w+") as log:
            task = subprocess.Popen([str(word) for word in command], env=environment, stdout=log, stderr=log, start_new_session=True)
            code = self.until_it_ends(task, log.name, END_SECONDS if may_hang else SECONDS)
        said = (self.root / "said").read_text()
        if code is None and may_hang and "works" in said:
            print("MPI_Finalize of MPICH hung", file=sys.stderr)
            return said
        self.assertEqual(code, 0, f"{command} {'hangs' if code is None else ''}\n{said}")
        return said

    def until_it_ends(self, task, log, most):
        """Returns the exit code. None for a launch that has not ended `most` seconds after it printed that it works, or
        SECONDS after its start."""
        start, end = time.monotonic(), None
        while (code := task.poll()) is None:
            now = time.monotonic()
            if end is None and "works" in Path(log).read_text():
                end = now + most
            if now > min(end or now, start + SECONDS):
                os.killpg(task.pid, signal.SIGKILL)
                if self.hosts:
                    self.hosts.kill()
                task.wait()
                return None
            time.sleep(0.02)
        return code

    def subfile(self, host, path):
        return (self.root / host / path).read_bytes()

    def names(self):
        """Returns the names of the program's listeners, and the disk from their point of view."""
        return ("", str(self.root / "disk")) if self.hosts else ("n0,n1", "")

    def test_a_listener_program_on_every_host(self):
        if self.hosts and MPI == "mpich":
            # Programs of MPI_Alltoall alone wait as well, about every second time.
            self.skipTest("more than two tasks of MPICH 4.0 on several hosts often wait for the launcher in MPI_Finalize")
        given, disk = self.names()
        before = [self.hosts.received(n) for n in ("n0", "n1")] if self.hosts else []
        said = self.launch([(["n0", "n1"], BIN / "sfio-hosts", disk), (["n0", "n1"], BIN / "sheaf-iod")],
                           **({"SHEAF_SFIO_HOSTS": given} if given else {}))
        self.assertIn("works", said)
        self.check_subfiles()
        if self.hosts:  # half of every task's megabyte is on the other host, and is read back
            after = [self.hosts.received(n) for n in ("n0", "n1")]
            for a, b in zip(after, before):
                self.assertGreater(a - b, 1 << 20)

    def test_a_thread_on_every_host(self):
        given, disk = self.names()
        said = self.launch([(["n0", "n1"], BIN / "sfio-hosts", disk)], SHEAF_SFIO="thread",
                           **({"SHEAF_SFIO_HOSTS": given} if given else {}))
        self.assertIn("works", said)
        self.check_subfiles()

    def check_subfiles(self):
        """Checks figure 4 of the paper and the stripes of the large file, each on its own host's disk."""
        self.assertEqual(self.subfile("n0", "fig4"), b"Hellod!*Heorld!o*Wor")
        self.assertEqual(self.subfile("n1", "fig4"), b"*Worlllo*W*Hellld!*")
        whole = b"".join(bytes([97 + task]) * (1 << 20) for task in range(2))
        for i, host in enumerate(("n0", "n1")):
            units = [whole[at:at + 200] for at in range(200 * i, len(whole), 400)]
            self.assertEqual(self.subfile(host, "large"), b"".join(units))


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *sys.argv[3:]])
