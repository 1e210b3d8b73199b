#!/usr/bin/env python3
"""Random views, memory and calls: the drop-in returns the results of a model that transfers unit by unit
(differential.cpp). SHEAF_CASES: number of cases (1,000), over both kinds of MPI. SHEAF_SEED: a seed instead of
today's."""
import os
import subprocess
import sys
import tempfile
import unittest

from programs import BIN, DROP_IN, LIB, MPIS, yields

CASES = int(os.environ.get("SHEAF_CASES", "1000"))
SEED = os.environ.get("SHEAF_SEED", "1")
# Runs by kind of MPI. MPICH's waiting tasks do not yield: two tasks, and fewer cases.
RUNS = [("openmpi", 3, 0.3, {}), ("openmpi", 1, 0.15, {}), ("openmpi", 2, 0.2, {"DIFFERENTIAL_THREADS": "1"}), ("openmpi", 5, 0.1, {}),
        ("mpich", 2, 0.08, {}),
        # Several hosts, with I/O nodes, and without shared memory.
        ("openmpi", 4, 0.06, {"SHEAF_TOPOLOGY": "node=2"}),
        ("openmpi", 5, 0.06, {"SHEAF_TOPOLOGY": "node=2,ion=4", "SHEAF_CB_NODES": "3"}),
        ("openmpi", 3, 0.03, {"SHEAF_MPIIO_OFF": "shared,overlap"}),
        ("mpich", 2, 0.02, {"SHEAF_TOPOLOGY": "node=1"}),
        # Methods of exchange, and the paper's optimisations switched off, between hosts.
        ("openmpi", 4, 0.03, {"SHEAF_TOPOLOGY": "node=1", "SHEAF_EXCHANGE": "alltoallv,allreduce"}),
        ("openmpi", 4, 0.03, {"SHEAF_TOPOLOGY": "node=1", "SHEAF_EXCHANGE": "neighbours", "SHEAF_CB_NODES": "2"}),
        ("openmpi", 4, 0.03, {"SHEAF_TOPOLOGY": "node=2", "SHEAF_MPIIO_OFF": "psets,aligned,alltoall,allreduce"}),
        ("mpich", 2, 0.02, {"SHEAF_TOPOLOGY": "node=1", "SHEAF_EXCHANGE": "alltoallv,allreduce", "SHEAF_MPIIO_OFF": "aligned"}),
        ("mpich", 2, 0.02, {"SHEAF_TOPOLOGY": "node=1", "SHEAF_EXCHANGE": "neighbours", "SHEAF_MPIIO_OFF": "allreduce"})]

# On striped files: accessed by every task itself, through listeners in threads, or through a running listener on each
# host.
STRIPED = [("openmpi", 3, 0.05, {}), ("openmpi", 2, 0.05, {"SHEAF_SFIO": "thread", "SHEAF_SFIO_HOSTS": "n0,n1"}),
           ("openmpi", 3, 0.05, {"SHEAF_SFIO": "thread=node", "SHEAF_SFIO_HOSTS": "n0,n1", "SHEAF_TOPOLOGY": "node=2"}),
           ("mpich", 2, 0.02, {"SHEAF_SFIO": "thread", "SHEAF_SFIO_HOSTS": "n0,n1"})]


def under_mpis(runs):
    """Returns the runs of the table for available MPIs."""
    return [(mpi, *run[1:]) for mpi in MPIS for run in runs
            if (run[0] == "openmpi") == yields(mpi) and os.path.exists(f"{BIN}/mpiio_differential_{mpi}")]


def log_of(mpi, tasks, cases, environment, how):
    with tempfile.TemporaryDirectory(dir="/dev/shm" if os.access("/dev/shm", os.W_OK) else None) as where:
        log = os.path.join(where, "log")
        command = ["scripts/mpirun.sh", mpi, str(tasks), "env"]
        drop_in = f"LD_PRELOAD={DROP_IN}/libsheaf_mpiio.so"
        command += {"drop-in": [drop_in], "model": ["DIFFERENTIAL_MODEL=1"], "installed": ["OMPI_MCA_io=ompio"],
                    "striped": [f"{drop_in}:{LIB}/{mpi}/libsheaf_sfio.so", f"SHEAF_SFIO_ROOT={where}"]}[how]
        for host in ("n0", "n1"):
            os.mkdir(os.path.join(where, host))
        # Listeners have numbers; without a session only hosts exist.
        hosts = "#0,/;#1,/;" if "SHEAF_SFIO" in environment else "n0,/;n1,/;"
        files = f"sfio:unit=77;{hosts}" if how == "striped" else where
        command += [f"{BIN}/mpiio_differential_{mpi}", SEED, str(cases), files, log]
        subprocess.run(command, check=True, env={**os.environ, **environment}, timeout=36000)
        with open(log) as lines:
            return lines.read().splitlines()


class Differential(unittest.TestCase):
    def test_same_as_the_model(self):
        for mpi, tasks, share, environment in under_mpis(RUNS):
            cases = max(1, int(CASES * share))
            with self.subTest(mpi=mpi, tasks=tasks, environment=environment):
                model = log_of(mpi, tasks, cases, environment, "model")
                ours = log_of(mpi, tasks, cases, environment, "drop-in")
                wrong = [a.split()[0] for a, b in zip(model, ours) if a != b]
                self.assertEqual(len(ours), cases)
                self.assertEqual(wrong, [], f"seed {SEED}: these cases differ")
                # The libraries' own I/O fills holes with bytes from their buffers; only OMPIO with one task never
                # does.
                if yields(mpi) and tasks == 1:
                    self.assertEqual(ours, log_of(mpi, tasks, cases, environment, "installed"))

    def test_striped_files_are_the_same(self):
        for mpi, tasks, share, environment in under_mpis(STRIPED):
            cases = max(1, int(CASES * share))
            with self.subTest(mpi=mpi, tasks=tasks, environment=environment):
                plain = {k: v for k, v in environment.items() if not k.startswith("SHEAF_SFIO")}
                model = log_of(mpi, tasks, cases, plain, "model")
                ours = log_of(mpi, tasks, cases, environment, "striped")
                self.assertEqual(len(ours), cases)
                self.assertEqual([a.split()[0] for a, b in zip(model, ours) if a != b], [], f"seed {SEED}: these cases differ")


if __name__ == "__main__":
    sys.exit(unittest.main())
