"""Simulates losses of power on ext4, xfs and btrfs by copies of disk images, taken while programs write
multifiles. Requires root.

A program writes one multifile after another (campaign/process.cpp, "write") on a loop device and keeps
ledgers on another file system. At random moments this script stops the program, and copies the backing file of
the device and the ledgers. It mounts each copy, and campaign_check compares the multifiles with the ledgers."""
from __future__ import annotations

import os
import pathlib
import random
import shutil
import signal
import subprocess
import tempfile
import time

from processes import BIN, Skipped, run_quietly

KINDS = {"ext4": (["-q", "-F"], 64, ""), "xfs": (["-q"], 320, "nouuid"), "btrfs": (["-q", "--mixed"], 128, "")}  # mkfs options, MiB, mount options
CASES = 1500  # more than a program writes during one run
CHECKED = 200  # number of latest cases that are checked
KEPT = BIN.parent / "campaign-images"
PATH = os.environ.get("PATH", "") + ":/usr/sbin:/sbin"


def call(*command: object) -> subprocess.CompletedProcess:
    return subprocess.run([str(word) for word in command], capture_output=True, text=True, env={**os.environ, "PATH": PATH}, check=False)


class Disk:
    """A file system on a loop device."""

    def __init__(self, image: pathlib.Path, where: pathlib.Path, options: str) -> None:
        self.where = where
        attached = call("losetup", "--find", "--show", image)
        if attached.returncode != 0:
            raise Skipped(f"no loop device: {attached.stderr.strip()}")
        self.device = attached.stdout.strip()
        mounted = call("mount", *(["-o", options] if options else []), self.device, where)
        if mounted.returncode != 0:
            call("losetup", "--detach", self.device)
            raise RuntimeError(f"cannot mount {image}: {mounted.stderr.strip()}")

    def written(self) -> tuple[str, str]:
        """Returns the number of completed write requests, and of transfers in flight."""
        fields = pathlib.Path(f"/sys/block/{os.path.basename(self.device)}/stat").read_text().split()
        return fields[6], fields[8]

    def close(self) -> None:
        if call("umount", self.where).returncode != 0:
            call("umount", "-l", self.where)
        call("losetup", "--detach", self.device)


def is_stopped(pid: int) -> bool:
    """Returns whether all threads of a program are stopped. A system call in progress ends first."""
    states = [pathlib.Path(path).read_text().rpartition(")")[2].split()[0] for path in pathlib.Path(f"/proc/{pid}/task").glob("*/stat")]
    return all(state in "TtZX" for state in states)


def copy_at_rest(disk: Disk, image: pathlib.Path, copy: pathlib.Path) -> None:
    """Copies the image. Repeats the copy until no write reaches the device meanwhile, so that the copy has the
    state of one moment."""
    while True:
        before = disk.written()
        subprocess.run(["cp", "--sparse=auto", image, copy], check=True)
        if before[1] == "0" and disk.written() == before:
            return


def take_images(kind: str, seeds: list[int], root: pathlib.Path) -> None:
    """Runs a program, and copies the image and the ledgers to root/SEED.img and root/SEED.ledgers for each
    seed."""
    make, size, _ = KINDS[kind]
    image, where, ledgers = root / "image", root / "on", root / "ledgers"
    with open(image, "wb") as file:
        file.truncate(size << 20)
    made = call(f"mkfs.{kind}", *make, image)
    if made.returncode != 0:
        raise RuntimeError(made.stderr)
    where.mkdir()
    ledgers.mkdir()
    draw = random.Random(seeds[0])
    first = 1 + 10_000 * seeds[0]
    disk = Disk(image, where, "")
    try:
        for seed in range(first, first + CASES):
            (where / str(seed)).mkdir()
        os.sync()
        program = BIN / ("campaign_openmp" if seeds[0] % 3 == 0 else "campaign_serial")
        writer = subprocess.Popen([str(word) for word in (program, "write", where, ledgers, first, CASES)], stdin=subprocess.DEVNULL,
                                  stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            for seed in seeds:
                time.sleep(draw.uniform(0.005, 0.08))
                if draw.random() < 0.5:
                    subprocess.run(["sync", "-f", where], check=False)
                    time.sleep(draw.uniform(0, 0.02))
                writer.send_signal(signal.SIGSTOP)
                while writer.poll() is None and not is_stopped(writer.pid):
                    time.sleep(0.001)
                if writer.poll():
                    raise RuntimeError(f"the program ended early, exit code {writer.returncode}")
                copy_at_rest(disk, image, root / f"{seed}.img")
                shutil.copytree(ledgers, root / f"{seed}.ledgers")
                writer.send_signal(signal.SIGCONT)
        finally:
            writer.kill()
            writer.wait()
    finally:
        disk.close()
    image.unlink()


def check_image(kind: str, seed: int, first: int, root: pathlib.Path) -> str | None:
    where, image, ledgers = root / "copy", root / f"{seed}.img", root / f"{seed}.ledgers"
    where.mkdir(exist_ok=True)
    begun = [int(path.name.partition(".")[0]) for path in ledgers.iterdir()]
    last = max(begun, default=first)
    start = max(first, last - CHECKED + 1)
    kept = KEPT / f"{kind}-{seed}"
    if not image.exists():
        return "there is no image"
    before = root / "before.img"
    subprocess.run(["cp", "--sparse=auto", image, before], check=True)
    try:
        disk = Disk(image, where, KINDS[kind][2])
    except RuntimeError as error:
        return str(error)
    try:
        done = run_quietly([BIN / "campaign_check", "images", where, ledgers, start, last - start + 1], {}, 300)
    finally:
        disk.close()
    image.unlink()
    if done.code == 0:
        return None
    shutil.rmtree(kept, ignore_errors=True)
    kept.mkdir(parents=True)
    shutil.move(before, kept / "image")
    shutil.copytree(ledgers, kept / "ledgers")
    options = f"loop,{KINDS[kind][2]}".rstrip(",")
    return (f"{done.output.strip() or done.code}; the image is kept: mount -o {options} {kept}/image /mnt && "
            f"{BIN}/campaign_check images /mnt {kept}/ledgers {start} {last - start + 1}")


def run(kind: str, seeds: list[int]) -> dict[int, str]:
    """Runs one program, takes an image for each seed during the run, and returns the violations by seed."""
    if os.geteuid() != 0:
        raise Skipped("mounting needs root")
    if not shutil.which(f"mkfs.{kind}", path=PATH):
        raise Skipped(f"no mkfs.{kind}")
    if not os.path.exists("/dev/loop-control"):
        raise Skipped("no loop devices")
    root = pathlib.Path(tempfile.mkdtemp(prefix="sheaf-images-", dir="/dev/shm" if os.path.isdir("/dev/shm") else None))
    try:
        take_images(kind, seeds, root)
        found = {seed: check_image(kind, seed, 1 + 10_000 * seeds[0], root) for seed in seeds}
        return {seed: what for seed, what in found.items() if what}
    except RuntimeError as error:
        return {seeds[0]: str(error)}
    finally:
        shutil.rmtree(root, ignore_errors=True)
