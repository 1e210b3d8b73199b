"""Cases of captured files. Programs on several hosts use the same names in turn and close their files before the
next turn. Each program must find the bytes that the others have closed. Then the containers are gathered into one
multifile."""

import json
import subprocess

from cases import believes_itself, case
from context import BIN, Context, Wrong, seeded
from rack import die_with_parent

PRELOAD = BIN.parent / "lib" / "libsheaf_posix.so"
AGENT = r"""
import json, os, sys
kept = {}
def do(what, name, text):
    if what in ("wb", "ab"):
        with open(name, what) as file: return file.write(text.encode())
    if what == "keep":  # stays open, and what was written is closed by another descriptor
        file = kept.get(name) or kept.setdefault(name, open(name, "ab", buffering=0))
        done = file.write(text.encode())
        os.close(os.dup(file.fileno()))
        return done
    if what == "drop":
        for file in kept.values(): file.close()
        return kept.clear()
    if what == "read":
        with open(name, "rb") as file: return file.read().decode()
    if what == "rename": return os.rename(name, text)
    if what == "remove": return os.remove(name)
    return sorted(os.listdir(name))
for line in sys.stdin:
    try: answer = [0, do(*json.loads(line))]
    except OSError as error: answer = [error.errno, None]
    print(json.dumps(answer), flush=True)
"""


class Agent:
    """A program with captured files on one host."""

    def __init__(self, context: Context, host: str, rule: str, script: str):
        self.host = host
        words = f"env LD_PRELOAD={PRELOAD} SHEAF_CAPTURE={rule} python3 -u {script}"
        self.job = subprocess.Popen(
            [*context.rack.enter(), str(context.rack.state / "rsh"), host, words],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            preexec_fn=die_with_parent,
        )

    def do(self, what: str, name: str, text: str = "") -> object:
        self.job.stdin.write(json.dumps([what, name, text]) + "\n")
        self.job.stdin.flush()
        line = self.job.stdout.readline()
        if not line:
            raise Wrong(f"the program on {self.host} has ended at {what} {name}")
        error, answer = json.loads(line)
        return -error if error else answer

    def end(self) -> None:
        self.job.stdin.close()
        self.job.wait(timeout=30)


def expect(agent: Agent, step: int, what: str, found: object, wanted: object) -> None:
    if found != wanted:
        raise Wrong(f"step {step}, {agent.host}: {what} gives {str(found)[:60]!r}, not {str(wanted)[:60]!r}")


def turn(agent: Agent, step: int, where: str, model: dict[str, str], random) -> None:
    """Makes one random change through a program."""
    name = f"f.{random.randrange(6)}"
    text = f"{step} " * random.choice((1, 40, 3000))
    what = random.choice(("wb", "wb", "ab", "keep", "keep", "rename", "remove"))
    if what in ("rename", "remove"):
        agent.do("drop", "")
        other = f"f.{random.randrange(6)}"
        found = agent.do(what, f"{where}/{name}", f"{where}/{other}")
        expect(agent, step, f"{what} {name}", found, None if name in model else -2)
        if name in model:
            moved = model.pop(name)
            if what == "rename":
                model[other] = moved
        return
    expect(agent, step, f"{what} {name}", agent.do(what, f"{where}/{name}", text), len(text))
    model[name] = text if what == "wb" else model.get(name, "") + text


@case("capture/turns")
def turns(context: Context) -> None:
    """Checks that all hosts find the files that one host has closed, whatever the other hosts have cached."""
    if context.fs.name == "ext4":
        return  # on a file system of one host, the library rarely checks for containers of other hosts
    where = context.directory()
    random = seeded("capture/turns")
    context.rack.on("h1", f"mkdir {where}/out")
    (context.rack.state / "agent.py").write_text(AGENT)
    words = (f"'{where}/out/f.*:{where}/f.sion'", str(context.rack.state / "agent.py"))
    fresh = believes_itself(context)  # hosts that must mount again before they see changes
    model: dict[str, str] = {}
    agents: list[Agent] = []
    for step in range(8 if fresh else 40):
        if not agents:
            agents = [Agent(context, host, *words) for host in context.rack.hosts]
        turn(random.choice(agents), step, f"{where}/out", model, random)
        if fresh:
            for agent in agents:
                agent.end()
            context.fs.fresh()
            agents = [Agent(context, host, *words) for host in context.rack.hosts]
        for agent in random.sample(agents, 2):
            expect(agent, step, "listing", agent.do("list", f"{where}/out"), sorted(model))
            for name, text in model.items():
                expect(agent, step, f"reading {name}", agent.do("read", f"{where}/out/{name}"), text)
    for agent in agents:
        agent.end()
    context.fs.fresh()
    context.tool("h2", "defrag", where / "f.sion", where / "f.sion")
    context.fs.fresh()
    for name, text in model.items():
        if context.tool("h3", "cat", "--name", f"out/{name}", where / "f.sion") != text:
            raise Wrong(f"{name} is another one in the multifile")
