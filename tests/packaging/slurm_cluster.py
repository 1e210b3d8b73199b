#!/usr/bin/env python3
"""slurm_cluster.py COMMAND...: runs a command with a temporary Slurm: authentication, controller and one node, all on
this machine and in a directory that is removed afterwards. Needs root and Debian's slurmctld, slurmd,
slurm-client, munge; without them prints the reason and exits with 77. With SHEAF_SLURM=1, test_docs.py takes
`srun` from here, otherwise a stand-in.
"""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path

PROGRAMS = ("munged", "slurmctld", "slurmd", "srun", "scontrol")
SECONDS = 60


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def configuration(place: Path) -> str:
    host = socket.gethostname().split(".")[0]
    return "\n".join([
        "ClusterName=test", f"SlurmctldHost={host}(127.0.0.1)", "SlurmUser=root", "SlurmdUser=root", "AuthType=auth/munge",
        f"AuthInfo=socket={place}/munge.socket", f"StateSaveLocation={place}/state", f"SlurmdSpoolDir={place}/spool",
        f"SlurmctldPort={free_port()}", f"SlurmdPort={free_port()}", "ProctrackType=proctrack/pgid", "TaskPlugin=task/none",
        "SelectType=select/cons_tres", "SelectTypeParameters=CR_CPU", "MpiDefault=pmix", "ReturnToService=2", "SwitchType=switch/none",
        f"SlurmctldPidFile={place}/slurmctld.pid", f"SlurmdPidFile={place}/slurmd.pid", f"SlurmctldLogFile={place}/slurmctld.log",
        f"SlurmdLogFile={place}/slurmd.log", "SlurmdParameters=config_overrides", "JobAcctGatherType=jobacct_gather/none",
        f"NodeName={host} NodeAddr=127.0.0.1 CPUs=8 State=UNKNOWN", "PartitionName=all Nodes=ALL Default=YES MaxTime=INFINITE State=UP", ""])


def wait_until(works, what: str, place: Path) -> None:
    end = time.monotonic() + SECONDS
    while not works():
        if time.monotonic() > end:
            logs = "".join(f"{log}:\n{log.read_text()[-2000:]}" for log in sorted(place.glob("*.log")))
            raise RuntimeError(f"{what} does not come up within {SECONDS} s\n{logs}")
        time.sleep(0.3)


def main() -> int:
    absent = [name for name in PROGRAMS if not shutil.which(name, path=f"{os.environ['PATH']}:/usr/sbin")]
    if absent or os.geteuid() != 0:
        print(f"slurm_cluster.py: skipped: {'not here: ' + ', '.join(absent) if absent else 'it needs root'}")
        return 77
    place = Path(tempfile.mkdtemp(prefix="sheaf-slurm-"))
    daemons: list[subprocess.Popen[bytes]] = []
    try:
        for name in ("state", "spool"):
            (place / name).mkdir()
        (place / "key").write_bytes(os.urandom(1024))
        (place / "key").chmod(0o400)
        (place / "slurm.conf").write_text(configuration(place))
        environment = os.environ | {"SLURM_CONF": str(place / "slurm.conf"), "PATH": f"{os.environ['PATH']}:/usr/sbin"}

        def start(*command: str) -> None:
            with (place / f"{command[0]}.out.log").open("w") as out:
                daemons.append(subprocess.Popen(command, env=environment, stdout=out, stderr=subprocess.STDOUT))

        start("munged", "--foreground", "--force", f"--key-file={place}/key", f"--socket={place}/munge.socket",
              f"--pid-file={place}/munged.pid", f"--log-file={place}/munged.log", f"--seed-file={place}/munged.seed")
        wait_until((place / "munge.socket").exists, "munged", place)
        start("slurmctld", "-D")
        start("slurmd", "-D")

        def idle() -> bool:
            done = subprocess.run(["scontrol", "show", "node"], env=environment, capture_output=True, text=True)
            return "State=IDLE" in done.stdout

        wait_until(idle, "Slurm", place)
        return subprocess.run(sys.argv[1:], env=environment | {"SHEAF_SLURM": "1"}).returncode
    finally:
        for daemon in reversed(daemons):
            daemon.terminate()
            try:
                daemon.wait(timeout=20)
            except subprocess.TimeoutExpired:
                daemon.kill()
        shutil.rmtree(place, ignore_errors=True)


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    sys.exit(main())
