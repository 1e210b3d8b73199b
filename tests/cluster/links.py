"""Limits the links of a rack's hosts to a rate, and measures their traffic and the idle time of the processors."""

import dataclasses
import pathlib
import re
import sys
import threading
import time

from rack import Rack

COPY = pathlib.Path(__file__).with_name("tcp_copy.py")
FRAME = 1514  # bytes of a full Ethernet frame without a checksum
PAYLOAD = 1448  # bytes of data in it


def bits_per_second(rate: str) -> float:
    """Returns the number for a rate in the notation of tc, such as 200mbit."""
    found = re.fullmatch(r"([\d.]+)([kmg]?)bit", rate)
    if not found:
        raise ValueError(f"{rate}: not a rate such as 200mbit")
    return float(found[1]) * {"": 1, "k": 1e3, "m": 1e6, "g": 1e9}[found[2]]


@dataclasses.dataclass
class Link:
    """Bytes and packets that a host has sent and received."""

    out_bytes: float = 0
    in_bytes: float = 0
    out_packets: float = 0
    in_packets: float = 0

    def busiest(self) -> float:
        return max(self.out_bytes, self.in_bytes)

    def since(self, before: "Link", part: float = 1) -> "Link":
        """Returns `part` of the traffic since `before`."""
        old, new = dataclasses.astuple(before), dataclasses.astuple(self)
        return Link(*((b - a) * part for a, b in zip(old, new)))

    def plus(self, other: "Link") -> "Link":
        return Link(*(a + b for a, b in zip(dataclasses.astuple(self), dataclasses.astuple(other))))


@dataclasses.dataclass
class Sample:
    time: float  # time.monotonic()
    links: dict[str, Link]
    busy: float  # ticks of all processors since the start of the machine
    idle: float  # likewise; work of processes with a raised nice value counts as idle time

    def between(self, later: "Sample", at: float) -> "Sample":
        """Returns the interpolated sample at time `at`."""
        part = min(max((at - self.time) / max(later.time - self.time, 1e-9), 0), 1)
        links = {host: link.plus(later.links[host].since(link, part)) for host, link in self.links.items()}
        return Sample(
            at, links, self.busy + (later.busy - self.busy) * part, self.idle + (later.idle - self.idle) * part
        )


class Links:
    """The links between the hosts of a rack and its switch."""

    def __init__(self, rack: Rack):
        self.rack = rack
        self.rate = 0.0  # bits per second in each direction; 0: not limited

    def limit(self, rate: float) -> None:
        """Limits both directions of each link to `rate` bits per second."""
        self.rate = rate
        tbf = f"root tbf rate {int(rate)}bit burst 64kb latency 100ms"
        for number, host in enumerate(self.rack.hosts, 1):
            self.rack.rack(f"tc qdisc replace dev p{number} {tbf}")
            self.rack.on(host, f"tc qdisc replace dev eth0 {tbf}")

    def limit_to_reachable(self, rate: float) -> None:
        """Limits the links to `rate`. Lowers the rate until a plain copy from each host to the next one, all at the
        same time, reaches 90 % of the rate."""
        self.limit(rate)
        while self.copy_rate() < 0.9 * self.rate:
            self.limit(self.rate * 0.8)

    def copy_rate(self) -> float:
        """Returns the bits per second, headers included, of the slowest of the simultaneous copies."""
        size = int(self.rate / 8)
        hosts = len(self.rack.hosts)
        seconds: list[float] = []

        def copy(number: int) -> None:
            target = f"10.77.0.{(number + 1) % hosts + 1}"
            words = f"{sys.executable} -B {COPY} {target} {size}"
            seconds.append(float(self.rack.on(self.rack.hosts[number], words)))

        threads = [threading.Thread(target=copy, args=(number,)) for number in range(hosts)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        if len(seconds) < hosts:
            raise RuntimeError("a copy between hosts has failed")
        return 8 * size / max(seconds) * FRAME / PAYLOAD

    def sample(self) -> Sample:
        """Reads the counters. The switch's end of a host's link receives what the host sends."""
        links = {}
        for line in pathlib.Path(f"/proc/{self.rack.init}/net/dev").read_text().splitlines():
            name, _, rest = line.partition(":")
            if re.fullmatch(r"p\d+", name.strip()):
                count = list(map(int, rest.split()))
                links[self.rack.hosts[int(name.strip()[1:]) - 1]] = Link(count[0], count[8], count[1], count[9])
        ticks = list(map(int, pathlib.Path("/proc/stat").read_text().splitlines()[0].split()[1:9]))
        idle = ticks[1] + ticks[3] + ticks[4]  # nice, idle, iowait
        return Sample(time.monotonic(), links, sum(ticks) - idle, idle)


class Recorder:
    """Samples the counters of the links every few milliseconds while it is entered."""

    interval = 0.01  # seconds

    def __init__(self, links: Links):
        self.links = links
        self.samples: list[Sample] = []
        self.ended = threading.Event()
        self.thread = threading.Thread(target=self.record)

    def __enter__(self) -> "Recorder":
        self.thread.start()
        return self

    def __exit__(self, *_) -> None:
        self.ended.set()
        self.thread.join()
        self.samples.append(self.links.sample())

    def record(self) -> None:
        while not self.ended.is_set():
            self.samples.append(self.links.sample())
            self.ended.wait(self.interval)

    def at(self, moment: float) -> Sample:
        later = next((i for i, s in enumerate(self.samples) if s.time >= moment), len(self.samples) - 1)
        return self.samples[max(later - 1, 0)].between(self.samples[later], moment)

    def traffic(self, begin: float, end: float) -> tuple[dict[str, Link], float]:
        """Returns the traffic of each link and the idle share of the processors between two moments."""
        first, last = self.at(begin), self.at(end)
        ticks = last.busy + last.idle - first.busy - first.idle
        idle = (last.idle - first.idle) / ticks if ticks > 0 else 0.0
        return {host: last.links[host].since(first.links[host]) for host in last.links}, idle
