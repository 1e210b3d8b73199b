"""The cases: each runs programs on several hosts and checks the files that they leave. A failed case raises
Wrong with figures."""

import functools
import hashlib
import subprocess
import threading
import time
from collections.abc import Callable

from context import BIN, LIB, MODES, Context, Wrong, brief, seeded
from rack import Rack, die_with_parent

TASKS = 6
LEASES = {
    "SHEAF_LEASE_TIMES": "1000,4000"
}  # heartbeat and timeout in ms: the time that a repair waits for a job that may live
PLACEMENTS = ("round", "block")
Case = Callable[[Context], None]
ALL: dict[str, Case] = {}


def case(name: str) -> Callable[[Case], Case]:
    def add(function: Case) -> Case:
        ALL[name] = function
        return function

    return add


MODE_NAMES = (
    "plain plain-512 plain-large plain-large-512 unbuffered bare flushed durable files files-node"
    " atomic compress keyval mapped collective"
    " collective-large collective-2 collective-durable collective-compress merged buddy"
).split()
MPIIO_NAMES = "sync-read set-size remade shared-pages gaps shared-pointer atomic interleaved-rows".split()


def read_back(mode: str, file, shift: int, placement: str, context: Context) -> None:
    """Checks every byte of the file. On a difference, the error says whether a second read after 3 s
    succeeds."""
    program = [MODES, "read", mode, file, shift]
    try:
        context.must(TASKS, program, placement)
    except Wrong as error:
        time.sleep(3)
        context.fs.fresh()
        code = context.mpirun(TASKS, program, placement)[0]
        raise Wrong(f"{'late, right after 3 s' if code == 0 else 'lost'}: {error}") from None


def written_and_read(mode: str, placement: str, context: Context) -> None:
    """Writes, and checks that another run finds every byte with every task on another host."""
    file = context.directory() / "data"
    context.must(TASKS, [MODES, "write", mode, file, 0], placement)
    context.fs.fresh()
    read_back(mode, file, 1 if placement == "round" else 2, placement, context)


def appended(mode: str, placement: str, context: Context) -> None:
    """Writes one half and appends the other half with tasks on other hosts. Then a third run, with each task on
    yet another host, must read every byte."""
    file = context.directory() / "data"
    shift = 1 if placement == "round" else 2
    for what, by in (("half", 0), ("append", shift)):
        context.must(TASKS, [MODES, what, mode, file, by], placement)
        context.fs.fresh()
    read_back(mode, file, 2 * shift, placement, context)


def read_by_the_same_run(mode: str, context: Context) -> None:
    """Writes and closes, and then reads in the same run. Skips file systems where the kernel trusts its cached
    sizes."""
    if context.fs.name == "fuse2":
        return
    context.must(TASKS, [MODES, "both", mode, context.directory() / "data", 0])


for mode_name in MODE_NAMES:
    for place in PLACEMENTS:
        ALL[f"modes/{mode_name}/{place}"] = functools.partial(written_and_read, mode_name, place)
for mode_name in ("plain", "files", "collective", "compress", "keyval"):
    for place in PLACEMENTS:
        ALL[f"append/{mode_name}/{place}"] = functools.partial(appended, mode_name, place)
for mode_name in ("plain", "collective", "merged", "mapped", "compress"):
    ALL[f"same-run/{mode_name}"] = functools.partial(read_by_the_same_run, mode_name)


@case("names/remade")
def remade(context: Context) -> None:
    """Removes a multifile on one host and writes its name again by all tasks, in several runs."""
    file = context.directory() / "data"
    for number in range(4):
        context.must(TASKS, [MODES, "write", "plain", file, number])
        context.fs.fresh()
        context.must(TASKS, [MODES, "read", "plain", file, number + 1])
        context.rack.on(context.rack.hosts[number % 3], f"rm {file}")


@case("names/known")
def known_before(context: Context) -> None:
    """Reads a multifile on every host before other hosts change it in place. An open after the change must see
    the change, whatever the host has cached."""
    if believes_itself(context):
        return
    file = context.directory() / "data"
    context.must(TASKS, [MODES, "half", "plain", file, 0])
    context.fs.fresh()
    for host in context.rack.hosts:
        context.tool(host, "dump", file)
    context.must(TASKS, [MODES, "append", "plain", file, 1])
    for host in context.rack.hosts:
        context.tool(host, "verify", file)
    context.must(TASKS, [MODES, "read", "plain", file, 2])


@case("names/replaced")
def replaced(context: Context) -> None:
    """Writes the same name several times, from different hosts, in place or as a replacement file."""
    file = context.directory() / "data"
    for number, mode in enumerate(("plain", "atomic", "collective", "atomic", "compress")):
        context.must(TASKS, [MODES, "write", mode, file, number])
        context.fs.fresh()
        context.must(TASKS, [MODES, "read", mode, file, number + 1])


@case("names/at-once")
def made_at_once(context: Context) -> None:
    """Creates multifiles on all hosts in one directory at the same time."""
    where = context.directory()
    jobs = [
        subprocess.Popen(
            context.command(
                2,
                ["bash", "-c", f"for i in 1 2 3; do {MODES} write plain {where}/{host} 0; done"],
                hosts=[host],
            ),
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            stdin=subprocess.DEVNULL,
            preexec_fn=die_with_parent,
        )
        for host in context.rack.hosts
    ]
    for job in jobs:
        job.communicate(timeout=60)
    context.fs.fresh()
    for host in context.rack.hosts:
        context.must(2, [MODES, "read", "plain", where / host, 1])


def content(task: int, size: int) -> bytes:
    """Returns the bytes that modes.c writes."""
    return bytes(
        (31 + 17 * (task + 1) + 5 * at + at // 251 + at // 65521 + (at * 2654435761 >> 13)) & 255
        for at in range(size)
    )


def tools(mode: str, placement: str, context: Context) -> None:
    """Runs the tools on hosts that wrote nothing or only a part of a multifile."""
    where = context.directory()
    file = where / "data"
    context.must(TASKS, [MODES, "write", mode, file, 0], placement)
    context.fs.fresh()
    context.tool("h2", "verify", file)
    context.tool("h3", "dump", file)
    context.tool("h3", "defrag", file, where / "defragmented")
    context.rack.on("h2", f"mkdir {where}/parts")
    context.tool("h2", "split", file, f"{where}/parts/t")
    context.fs.fresh()
    context.tool("h1", "verify", where / "defragmented")
    sizes = {"plain": 4 * 3000, "files": 12 * 3333, "collective": 12 * 3000}
    wanted = sorted(hashlib.sha256(content(task, sizes[mode])).hexdigest() for task in range(TASKS))
    found = sorted(
        line.split()[0] for line in context.rack.on("h3", f"sha256sum {where}/parts/*").splitlines()
    )
    if found != wanted:
        raise Wrong(
            f"split: {len(set(wanted) - set(found))} of {TASKS} tasks' bytes differ, {len(found)} files"
        )


for mode_name in ("plain", "files", "collective"):
    ALL[f"tools/{mode_name}"] = functools.partial(tools, mode_name, "round")


def believes_itself(context: Context) -> bool:
    """Returns whether the kernel writes back whole pages and trusts its cached sizes (docs/sharedfile.md,
    Several hosts)."""
    return context.fs.name == "fuse2"


def generated(tasks: int, seed: int, first: int, count: int, timeout: float, context: Context) -> None:
    """Makes random MPI-IO calls on the shared file system. Every host must get the results that the same calls
    get on a local directory."""
    if believes_itself(context):
        return
    program = BIN / "mpiio_differential_openmpi"
    local = context.rack.state / f"model-{seed}-{first}"
    local.mkdir(exist_ok=True)
    logs = [local / "model.log", local / "ours.log"]
    if not logs[0].exists():
        context.must(
            tasks,
            [program, seed, count, local, logs[0], first],
            env={"DIFFERENTIAL_MODEL": 1},
            timeout=timeout,
        )
    logs[1].unlink(missing_ok=True)
    where = context.directory()
    problem = ""
    try:
        code, output = context.mpirun(
            tasks,
            [program, seed, count, where, logs[1], first],
            env={"LD_PRELOAD": LIB / "libsheaf_mpiio.so"},
            timeout=timeout,
        )
        problem = f"exit {code}: {brief(output)}" if code else ""
    except Exception as error:  # the results before the failure count as well
        problem = str(error)
    ours = logs[1].read_text().splitlines() if logs[1].exists() else []
    wanted = logs[0].read_text().splitlines()
    differing = [line.split()[0] for line, other in zip(wanted, ours) if line != other]
    if differing or problem or len(ours) != count:
        raise Wrong(
            f"{len(differing)} of {len(ours)} cases differ ({' '.join(differing[:12])});"
            f" {count - len(ours)} not run; {problem}"
        )


for begin in range(0, 100, 20):
    ALL[f"mpiio/generated/{begin}"] = functools.partial(generated, 4, 1, begin, 20, 240)


def add_long(first: int, count: int) -> list[str]:
    """Adds random MPI-IO cases, from number `first` on, 40 of them under one name. Returns the names."""
    part = 40
    names = []
    for begin in range(first, first + count, part):
        names.append(f"mpiio/long/{begin}")
        ALL[names[-1]] = functools.partial(generated, 4, 2, begin, part, 6 * part)
    return names


add_long(0, 40)


def mpiio(name: str, placement: str, context: Context) -> None:
    if believes_itself(context):
        return
    context.must(
        TASKS,
        [BIN / "cluster_mpiio", name, context.directory()],
        placement,
        env={"LD_PRELOAD": LIB / "libsheaf_mpiio.so"},
    )


def datasets(kind: str, context: Context) -> None:
    """Random datasets of HDF5 or variables of PnetCDF, which opens a file again on each task for independent data."""
    program = BIN / f"mpiio_datasets_{kind}_openmpi"
    if believes_itself(context) or not program.exists():
        return
    context.must(
        TASKS,
        [program, 1, 100, context.directory()],
        env={"LD_PRELOAD": LIB / "libsheaf_mpiio.so"},
        timeout=240,
    )


for kind_of_dataset in ("hdf5", "pnetcdf"):
    ALL[f"mpiio/datasets/{kind_of_dataset}"] = functools.partial(datasets, kind_of_dataset)


for mpiio_name in MPIIO_NAMES:
    for place in PLACEMENTS:
        ALL[f"mpiio/{mpiio_name}/{place}"] = functools.partial(mpiio, mpiio_name, place)


def await_ready(job: subprocess.Popen, rack: Rack) -> None:
    """Waits until kill_writer has opened its first multifile."""
    too_late = threading.Timer(30, rack.sweep)  # ends the output
    too_late.start()
    lines = []
    try:
        while not lines or lines[-1] != "ready":
            line = job.stdout.readline()
            if not line:
                raise Wrong(f"did not begin: {brief(chr(10).join(lines))}")
            lines.append(line.strip())
    finally:
        too_late.cancel()


def lost_host(words: str, how: str, number: int, context: Context) -> None:
    """Kills all tasks and the launcher on one host, or cuts its network, while the other hosts write. The tasks
    of the other hosts must end in time. A surviving host must find all flushed bytes, both before and after it
    repairs the files."""
    rng = seeded(f"{words} {how} {number}")
    tasks, where, rack = 4, context.directory(), context.rack
    books = rack.state / f"ledgers-{where.name}"
    books.mkdir()
    for task in range(tasks):  # on a local disk, which no host loses
        (books / f"ledger.{task}").touch()
        rack.on("h1", f"ln -s {books}/ledger.{task} {where}/ledger.{task}")
    flushes = ["flushes"] if context.fs.name != "ext4" else []  # complete chunks count as well
    program = [BIN / "kill_writer_openmpi", where, rng.randrange(10**6), words, *flushes]
    command = context.command(tasks, program, env=LEASES)
    job = subprocess.Popen(
        command,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        preexec_fn=die_with_parent,
        text=True,
        errors="replace",
    )
    try:
        await_ready(job, rack)
        time.sleep(rng.random() * 1.5)
        victim = rng.choice(rack.hosts)
        if how == "cut":
            rack.cut_off(victim)
            time.sleep(2)
        if how == "cut":
            rack.sweep()
            rack.cut_off(victim, False)
            time.sleep(3)
        else:
            rack.sweep(victim)
        began = time.time()
        try:
            job.communicate(timeout=30)
        except subprocess.TimeoutExpired:
            rack.sweep()
            raise Wrong(f"the others had not ended after {time.time() - began:.0f} s") from None
    finally:
        rack.sweep()
        job.kill()
        job.wait()
        if how == "cut":
            rack.cut_off(victim, False)
    context.fs.fresh()
    reader = rng.choice([host for host in rack.hosts if host != victim])
    said = ""  # output of the repairs
    for when in ("unrepaired", "repaired"):
        check = f"{BIN}/kill_check {where} {tasks} {when}"
        command = [*rack.enter(), str(rack.state / "rsh"), reader, check]
        code, output = rack.outcome(command, 60)
        if code != 0:
            time.sleep(3)
            found = "lost" if rack.outcome(command, 60)[0] else "late, right after 3 s"
            raise Wrong(f"{found}: {victim} killed, {when}, read on {reader}: {brief(output)}{said}")
        repair = (
            f"for m in {where}/m[0-9]*; do case $m in *.*) ;; *)"
            f" SHEAF_LEASE_TIMES={LEASES['SHEAF_LEASE_TIMES']} {BIN}/sheaf repair $m 2>&1 || echo failed;;"
            " esac; done;"
            " true"
        )
        said = f"; repair: {rack.outcome([*rack.enter(), str(rack.state / 'rsh'), reader, repair], 120)[1][-1000:]}"


def add_rounds(first: int, count: int) -> list[str]:
    """Adds `count` cases in which a host is killed, from number `first` on, for each way of writing in turn.
    Returns the names of the cases."""
    names = []
    for number in range(first, first + count):
        for words in ("", "durable", "collective", "collective,durable", "compress=zstd"):
            names.append(f"lost/tasks/{words or 'plain'}/{number}")
            ALL[names[-1]] = functools.partial(lost_host, words, "kill", number)
    return names


add_rounds(0, 4)
for kill_words in ("", "durable"):
    ALL[f"lost/network/{kill_words or 'plain'}"] = functools.partial(lost_host, kill_words, "cut", 0)


def full(mode: str, context: Context) -> None:
    """Writes to a nearly full volume. The run must report a clear error, or another run must read every byte.
    The file that fills the volume is text, because a file system may store zeros without using space."""
    small = Context.of(context.fs.name, 96)
    try:
        where = small.directory()
        small.rack.on(
            "h1",
            f"cd {where}; for i in 1 2 3; do yes | dd of=filler$i bs=64k iflag=fullblock conv=fsync"
            " count=$(($(df --output=avail -k . | tail -1) / 64)); done; truncate -s -2M filler1; sync",
            check=False,
        )
        time.sleep(1)
        code, output = small.mpirun(TASKS, [MODES, "write", mode, where / "data", 0])
        if code == 2:
            if not any(why in output for why in ("o space left", "No space", "Disk quota exceeded")):
                raise Wrong(f"the error does not say why: {brief(output)}")
            return
        if code != 0:
            raise Wrong(f"exit {code}: {brief(output)}")
        small.fs.fresh()
        small.must(TASKS, [MODES, "read", mode, where / "data", 1])
    finally:
        small.rack.down()


for mode_name in ("plain-large", "collective-large"):
    ALL[f"full/{mode_name}"] = functools.partial(full, mode_name)
