"""Simulates several hosts on one machine by namespaces for network addresses, names, processes and mounts.

A Rack is one set of namespaces, which has the network switch and runs mpirun. Each host is a nested set of
namespaces. All processes are descendants of the first process of the rack. That process ends in down() or when
its creator is killed. The kernel then ends its descendants and removes the mounts and networks. The rack's
directory remains until another rack is created.

Requires root, iproute2 and util-linux."""

import ctypes
import os
import pathlib
import shlex
import shutil
import signal
import subprocess
import time
from collections.abc import Sequence

ROOT = pathlib.Path(os.environ.get("SHEAF_CLUSTER_DIR", "/var/tmp/sheaf-cluster"))
NAMESPACES = ["--net", "--mount", "--uts", "--ipc", "--pid"]
DIE_WITH_PARENT = 1  # PR_SET_PDEATHSIG

LIBC = ctypes.CDLL(None, use_errno=True)


def die_with_parent() -> None:
    LIBC.prctl(DIE_WITH_PARENT, signal.SIGKILL, 0, 0, 0)


def begun(pid: int) -> str:
    """Returns the start time of a process, or an empty string if there is no such process. Start time and number
    together identify a process."""
    try:
        text = pathlib.Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return ""
    fields = text.rpartition(")")[2].split()
    return "" if fields[0] == "Z" else fields[19]


def alive(file: pathlib.Path) -> bool:
    try:
        pid, since = file.read_text().split()
    except (OSError, ValueError):
        return False
    return begun(int(pid)) == since


def identity(pid: int) -> str:
    return f"{pid} {begun(pid)}"


class TimedOut(Exception):
    """A command has timed out; the processes of its hosts have been killed."""


class Rack:
    """A set of `hosts` hosts named h1, h2, ... With `keep` the hosts outlive this process, until down()."""

    def __init__(self, hosts: int = 3, keep: bool = False, name: str = ""):
        remove_stale()
        self.state = ROOT / (name or f"{os.getpid()}-{time.time_ns() % 10**9}")
        self.hosts = [f"h{i + 1}" for i in range(hosts)]
        self.shared = self.state / "par"  # mount point of the file system on each host
        self.infrastructure: set[int] = set()
        self.keep = keep
        self.init = 0
        self.holder: subprocess.Popen | None = None

    @staticmethod
    def kept(name: str) -> "Rack":
        """Returns a running rack that an earlier process created with `keep`."""
        rack = Rack(0, True, name)
        rack.init = int((rack.state / "init").read_text().split()[0])
        rack.hosts = (rack.state / "names").read_text().split()
        rack.infrastructure = set(map(int, (rack.state / "infrastructure").read_text().split()))
        return rack

    def up(self) -> None:
        self.state.mkdir(parents=True)
        self.shared.mkdir()
        names = ["127.0.0.1 localhost", "10.77.0.254 rack"]
        names += [f"10.77.0.{i + 1} {host}" for i, host in enumerate(self.hosts)]
        (self.state / "etc-hosts").write_text("\n".join(names) + "\n")
        (self.state / "names").write_text(" ".join(self.hosts))
        (self.state / "owner").write_text(identity(os.getpid()))
        self.holder = subprocess.Popen(
            [
                "unshare",
                *NAMESPACES,
                "--fork",
                "--kill-child",
                "--mount-proc",
                "--propagation",
                "private",
                "bash",
                "-c",
                f"hostname rack; mount --bind {self.state}/etc-hosts /etc/hosts;"
                " mount -t tmpfs tmpfs /dev/shm;"
                f" touch {self.state}/is-up; while :; do sleep 1000 & wait; done",
            ],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            preexec_fn=None if self.keep else die_with_parent,
            start_new_session=True,
        )
        self.wait_for(self.state / "is-up")
        self.init = int(pathlib.Path(f"/proc/{self.holder.pid}/task/{self.holder.pid}/children").read_text())
        (self.state / "init").write_text(identity(self.init))
        self.rack(
            "ip link set lo up; ip link add br0 type bridge; ip addr add 10.77.0.254/24 dev br0;"
            " ip link set br0 up"
        )
        for number, host in enumerate(self.hosts, 1):
            self.begin_host(number, host)
        agent = self.state / "rsh"  # runs in the rack, so process numbers are those of the rack
        agent.write_text(
            "#!/bin/bash\nh=$1; shift\n"
            f"exec nsenter -t $(cat {self.state}/$h/pid) {' '.join(NAMESPACES)} bash -c \"$*\"\n"
        )
        agent.chmod(0o755)

    def begin_host(self, number: int, host: str) -> None:
        where = self.state / host
        where.mkdir()
        inside = (
            f"hostname {host}; mount -t tmpfs tmpfs /dev/shm; ip link set lo up; touch {where}/is-up;"
            " while :; do sleep 1000 & wait; done"
        )
        self.rack(f"""
            setsid unshare {' '.join(NAMESPACES)} --fork --kill-child --mount-proc --propagation private \\
                bash -c {shlex.quote(inside)} >/dev/null 2>&1 </dev/null &
            until [ -e {where}/is-up ]; do sleep 0.02; done
            cat /proc/$!/task/$!/children > {where}/pid
            ip link add p{number} type veth peer name eth0 netns $(cat {where}/pid)
            ip link set p{number} master br0 up""")
        self.on(host, f"ip addr add 10.77.0.{number}/24 dev eth0; ip link set eth0 up")

    def wait_for(self, path: pathlib.Path, seconds: float = 20) -> None:
        end = time.time() + seconds
        while not path.exists():
            if time.time() > end:
                raise RuntimeError(f"no {path}: are namespaces allowed here?")
            time.sleep(0.02)

    def enter(self) -> list[str]:
        return ["nsenter", "-t", str(self.init), *NAMESPACES]

    def rack(self, script: str, check: bool = True, timeout: float = 60) -> str:
        """Runs a shell script in the namespaces of mpirun and returns its output."""
        return self.command([*self.enter(), "bash", "-c", "set -e\n" + script], check, timeout)

    def on(self, host: str, script: str, check: bool = True, timeout: float = 60) -> str:
        return self.command(
            [
                *self.enter(),
                f"{self.state}/rsh" if (self.state / "rsh").exists() else "bash",
                *(
                    [host, script]
                    if (self.state / "rsh").exists()
                    else [
                        "-c",
                        f"nsenter -t $(cat {self.state}/{host}/pid) {' '.join(NAMESPACES)}"
                        f" bash -c {shlex.quote(script)}",
                    ]
                ),
            ],
            check,
            timeout,
        )

    def command(self, command: Sequence[str], check: bool, timeout: float) -> str:
        code, output = self.outcome(command, timeout)
        if check and code != 0:
            raise RuntimeError(f"{command[-1].strip()}: exit {code}\n{output}")
        return output

    def outcome(self, command: Sequence[str], timeout: float) -> tuple[int, str]:
        """Runs a command and returns its exit code and output. On a timeout, kills all programs of the rack."""
        job = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            start_new_session=True,
            preexec_fn=die_with_parent,
        )
        try:
            output = job.communicate(timeout=timeout)[0]
        except subprocess.TimeoutExpired:
            self.sweep()
            job.kill()
            output = job.communicate()[0]
            raise TimedOut(f"not ended after {timeout:.0f} s\n{output[-2000:]}") from None
        return job.returncode, output

    def processes(self) -> dict[int, int]:
        """Returns the processes of the rack and its hosts: a map from their number in this process's namespace
        to their number in their own namespace."""
        namespace = os.stat(f"/proc/{self.init}/ns/pid").st_ino
        found = {}
        for entry in os.scandir("/proc"):
            if not entry.name.isdigit():
                continue
            try:
                numbers = next(
                    line for line in open(f"/proc/{entry.name}/status") if line.startswith("NSpid:")
                ).split()[1:]
                if len(numbers) < 2 or not self.below(int(entry.name), namespace):
                    continue
            except (OSError, StopIteration):
                continue
            found[int(entry.name)] = int(numbers[-1])
        return found

    def below(self, pid: int, namespace: int) -> bool:
        while pid > 1:
            if pid == self.init or os.stat(f"/proc/{pid}/ns/pid").st_ino == namespace:
                return True
            pid = int(pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])
        return False

    def ready(self) -> None:
        """Declares all running processes part of the cluster. sweep() ends only processes that start later."""
        self.infrastructure = set(self.processes())
        (self.state / "infrastructure").write_text(" ".join(map(str, self.infrastructure)))

    def sweep(self, host: str = "") -> int:
        """Kills all processes of a host (or of all hosts) that are not part of the cluster. Returns their
        number."""
        only = self.host_namespace(host) if host else 0
        killed = 0
        for pid in self.processes():
            try:
                if pid in self.infrastructure or pid == os.getpid():
                    continue
                if only and os.stat(f"/proc/{pid}/ns/pid").st_ino != only:
                    continue
                os.kill(pid, signal.SIGKILL)
                killed += 1
            except OSError:
                pass
        return killed

    def host_namespace(self, host: str) -> int:
        inner = (self.state / host / "pid").read_text().strip()
        return int(self.rack(f"stat -Lc %i /proc/{inner}/ns/pid"))

    def cut_off(self, host: str, off: bool = True) -> None:
        self.rack(f"ip link set p{self.hosts.index(host) + 1} {'down' if off else 'up'}")

    def down(self) -> None:
        if self.init and alive(self.state / "init"):
            try:
                os.kill(self.init, signal.SIGKILL)
            except ProcessLookupError:
                pass
        if self.holder:
            self.holder.wait()
        end = time.time() + 20
        while self.init and begun(self.init) and time.time() < end:
            time.sleep(0.05)
        shutil.rmtree(self.state, ignore_errors=True)


def remove_stale() -> None:
    """Removes the racks of killed runs, which have no owner. Racks that were created with `keep` stay."""
    for state in ROOT.glob("*"):
        keeps = (state / "kept").exists()
        if alive(state / "owner") or (keeps and alive(state / "init")):
            continue
        try:
            if time.time() - state.stat().st_mtime < 2:
                continue  # just being created
        except OSError:
            continue
        if alive(state / "init"):
            os.kill(int((state / "init").read_text().split()[0]), signal.SIGKILL)
            time.sleep(0.5)
        shutil.rmtree(state, ignore_errors=True)
