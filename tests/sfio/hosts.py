"""Hosts for the tests of striped files: network namespaces of this machine, joined by a bridge. Each has its own host
name and its own directory under the same path. `made()` returns None if the machine does not allow that."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

AGENT = """#!/bin/sh
# What a launcher calls instead of ssh: enters the host. Its options (-x and the like) mean nothing here.
while [ "${1#-}" != "$1" ]; do shift; done
host=$1
shift
for line in HOSTS; do
  [ "${line%%=*}" = "$host" ] && name=${line#*=}
done
[ -n "${name:-}" ] || { echo "no host $host" >&2; exit 1; }
exec ip netns exec "PREFIX$name" unshare --uts --mount sh -c \\
  'hostname "$1"; mount --bind "ROOT/$1" "ROOT/disk" && shift && exec sh -c "$*"' sh "$name" "$@"
"""


def run(*words):
    return subprocess.run([str(word) for word in words], capture_output=True, text=True, timeout=60)


class Hosts:
    """`names`: hosts, each with ROOT/NAME as its disk, visible there as ROOT/disk."""

    def __init__(self, names, root: Path, subnet: str):
        self.prefix = f"sf{os.getpid() % 100000}"
        self.names, self.root, self.subnet = names, root, subnet
        self.bridge = self.prefix + "b"
        self.addresses = {name: f"{subnet}.{i + 2}" for i, name in enumerate(names)}

    def make(self):
        steps = [("ip", "link", "add", self.bridge, "type", "bridge"),
                 ("ip", "address", "add", f"{self.subnet}.1/24", "dev", self.bridge), ("ip", "link", "set", self.bridge, "up")]
        for name, address in self.addresses.items():
            space, out = self.prefix + name, f"{self.prefix}{name}o"
            inside = ("ip", "-n", space)
            steps += [("ip", "netns", "add", space),
                      ("ip", "link", "add", out, "type", "veth", "peer", "name", "eth0", "netns", space),
                      ("ip", "link", "set", out, "master", self.bridge, "up"),
                      (*inside, "address", "add", f"{address}/24", "dev", "eth0"), (*inside, "link", "set", "eth0", "up"),
                      (*inside, "link", "set", "lo", "up"),
                      ("ip", "netns", "exec", space, "unshare", "--uts", "--mount", "hostname", name)]
        for step in steps:
            if run(*step).returncode != 0:
                return False
        for name in [*self.names, "disk"]:
            (self.root / name).mkdir(parents=True, exist_ok=True)
        agent = AGENT.replace("HOSTS", " ".join(f"{a}={n}" for n, a in self.addresses.items()))
        self.agent = self.root / "agent"
        self.agent.write_text(agent.replace("PREFIX", self.prefix).replace("ROOT", str(self.root)))
        self.agent.chmod(0o755)
        return True

    def kill(self):
        """Kills all processes on the hosts: those that a launcher started there survive the launcher."""
        for name in self.names:
            for process in run("ip", "netns", "pids", self.prefix + name).stdout.split():
                run("kill", "-9", process)

    def remove(self):
        self.kill()
        for name in self.names:
            run("ip", "netns", "delete", self.prefix + name)
        run("ip", "link", "delete", self.bridge)

    def received(self, name):
        """Returns bytes that a host received over its network."""
        out = run("cat", f"/sys/class/net/{self.prefix}{name}o/statistics/tx_bytes").stdout
        return int(out)


def made(names, root, subnet):
    hosts = Hosts(names, root, subnet)
    try:
        if hosts.make():
            return hosts
    except (OSError, subprocess.TimeoutExpired):
        pass
    hosts.remove()
    return None
