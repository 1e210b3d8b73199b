"""Blocks of code in Markdown, and what the comment above each says about how it is run.

    <!-- snippet: frame=mpi.c -->        put into snippets/mpi.c, built and run as the head of that file says
    <!-- snippet: frame=stripe.sh -->    the same for a shell
    <!-- snippet: except=build,MPI -->   a session; lines that begin so differ from machine to machine
    <!-- snippet: wrapped -->            a session; long lines of the output are wrapped in the text
    <!-- snippet: synopsis -->           of a tool, which knows the options
    <!-- snippet: skip, a reason -->     is not run

Sessions are commands behind "$ " and what they print, which is compared.
A session without a comment is run beside the golden multifiles. Any other block without one is
unaccounted for.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path

FRAMES = Path(__file__).resolve().parent / "snippets"
COMMENT = re.compile(r"^<!-- snippet: (.*) -->$")


@dataclass
class Block:
    page: str
    line: int
    text: str
    words: dict[str, str] = field(default_factory=dict)

    @property
    def is_session(self) -> bool:
        return self.text.startswith("$ ")

    @property
    def frame(self) -> str | None:
        return self.words.get("frame", "vectors.sh" if self.is_session and "skip" not in self.words else None)

    @property
    def accounted(self) -> bool:
        return bool(self.frame or "synopsis" in self.words or self.words.get("skip"))

    def __str__(self) -> str:
        return f"{self.page}:{self.line}"


def words_of(comment: str) -> dict[str, str]:
    if comment.startswith("skip"):
        return {"skip": comment.partition(",")[2].strip()}
    return dict(word.partition("=")[::2] for word in comment.split())


def blocks(page: str, text: str) -> list[Block]:
    """Returns fenced and indented blocks, except text that is indented below an item of a list."""
    found: list[Block] = []
    lines = text.split("\n")
    words: dict[str, str] = {}
    number = 0
    in_list = False
    while number < len(lines):
        line = lines[number]
        start = number
        number += 1
        if comment := COMMENT.match(line):
            words = words_of(comment[1])
            continue
        if not line.strip():
            continue
        if line.startswith("```"):
            while not lines[number].startswith("```"):
                number += 1
            found.append(Block(page, start + 1, "\n".join(lines[start + 1:number]), words))
            number += 1
        elif line.startswith("    ") and not in_list:
            while number < len(lines) and (lines[number].startswith("    ") or not lines[number].strip()):
                number += 1
            body = "\n".join(each[4:] for each in lines[start:number]).rstrip()
            found.append(Block(page, start + 1, body, words))
        else:
            in_list = bool(re.match(r"[-*] |\d+\. ", line)) or (in_list and line.startswith(" "))
        words = {}
    return found


def framed(block: Block) -> str:
    """Returns the block in its frame. Its #include lines are moved to those of the frame."""
    frame = (FRAMES / block.frame).read_text()
    if block.frame.endswith(".sh"):
        return frame.replace("@SNIPPET@", session(block.text) if block.is_session else block.text)
    lines = block.text.split("\n")
    includes = "\n".join(line for line in lines if line.startswith("#include"))
    body = "\n".join(line for line in lines if not line.startswith("#include"))
    return frame.replace("@INCLUDES@", includes).replace("@SNIPPET@", body)


def session(text: str) -> str:
    """Returns a script that prints the commands of a session and their output as the page shows them."""
    script = ["set +e"]
    for command in commands(text):
        quoted = command.replace("'", "'\\''")
        script += [f"echo '$ {quoted}'", f"{{ {command}\n}} 2>&1", "code=$?",
                   '[ $code = 0 ] || echo "(exit code $code)"']
    return "\n".join(script)


def commands(text: str) -> list[str]:
    return [line[2:] for line in text.split("\n") if line.startswith("$ ")]


def comparable(block: Block, output: str) -> list[str]:
    """Returns the lines of an output that must be as printed. If the block is marked as wrapped, returns the parts
    between commas, without blanks."""
    machine = tuple(word for word in block.words.get("except", "").split(",") if word)
    lines = [line.rstrip() for line in output.split("\n") if line.strip() and not line.startswith(machine)]
    return "".join("".join(lines).split()).split(",") if "wrapped" in block.words else lines


def recipe(block: Block) -> list[str]:
    """Returns the lines `build:` and `run:` in the comment at the head of a frame."""
    frame = (FRAMES / block.frame).read_text()
    return re.findall(r"^.*\b(?:build|run): (.*?)(?: \*/)?$", frame, re.MULTILINE)
