"""Lists the public interface: functions, constants, words, variables, options, names.

    public_interface.py DESCRIPTION      prints the list for a description of the interface

public_interface.txt in this directory is the list for release 1.7 of the SION interface, with section titles in
brackets and one entry per line. If the description is available, a test compares it with the list. All other
tests use only the list.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

LIST = Path(__file__).resolve().with_name("public_interface.txt")

RETURNED = r"(?:char|int|void|FILE|size_t|sion_int64|sion_io_stat_t|sion_file_check_par_args_mpi) ?\*?"
PROTOTYPE = re.compile(rf"({RETURNED}) ?(_?sion_\w+)\((.*)\)")
SERIAL = ("sion_open", "sion_open_rank", "sion_close")


def read_list(path: Path = LIST) -> dict[str, list[str]]:
    """Returns the entries of a list, by section."""
    sections: dict[str, list[str]] = {}
    for line in path.read_text().splitlines():
        if line.startswith("["):
            current = sections.setdefault(line.strip("[]"), [])
        elif line and not line.startswith("#"):
            current.append(line)
    return sections


def read_pending() -> set[str]:
    """Returns the names of the entries that the library does not have yet."""
    return set(read_list(LIST.with_name("public_interface_pending.txt")).get("pending", []))


def name_of(prototype: str) -> str:
    return PROTOTYPE.fullmatch(prototype).group(2)


def family_of(name: str, debugging: set[str]) -> str:
    if name in debugging:
        return "debug"
    for suffix in ("ompi", "omp", "mpi"):
        if name.endswith(f"_{suffix}"):
            return suffix
    if name.startswith(("sion_generic_", "sion_coll_")):
        return "generic"
    return "serial" if name in SERIAL else "common"


def quoted(text: str) -> list[str]:
    """Returns the texts between backquotes, with single blanks."""
    return [" ".join(span.split()) for span in re.findall(r"`([^`]*)`", text)]


def rows(text: str) -> list[list[str]]:
    """Returns the cells of all tables in a text, without the table heads."""
    found = [[cell.strip() for cell in line.strip().strip("|").split(" | ")]
             for line in text.splitlines() if line.startswith("|")]
    heads = {i - 1 for i, row in enumerate(found) if row and set("".join(row)) <= set("-| ")}
    return [row for i, row in enumerate(found) if i not in heads and i - 1 not in heads]


def expand(names: list[str]) -> list[str]:
    """Returns complete names. In a list `A_B`, `_C`, the second name is A_C."""
    full: list[str] = []
    for name in names:
        if name.startswith("_") and not name.startswith("_SION"):
            stem = full[0] if not full[0].endswith("_BLK") else full[0][: -len("_BLK")]
            name = stem + name
        full.append(name)
    return full


def functions(chapters: dict[str, str]) -> dict[str, list[str]]:
    debugging = {m.group(2) for row in rows(chapters["22"]) for m in map(PROTOTYPE.fullmatch, quoted(row[0])) if m}
    undeclared = {m.group(2) for line in chapters["22"].splitlines() if line.startswith("Exported without")
                  for m in map(PROTOTYPE.fullmatch, quoted(line)) if m}
    found: dict[str, str] = {}
    for text in chapters.values():
        for span in quoted(text):
            if m := PROTOTYPE.fullmatch(span):
                found.setdefault(m.group(2), span)
    families: dict[str, list[str]] = {}
    for name, prototype in sorted(found.items()):
        family = "undeclared" if name in undeclared else family_of(name, debugging)
        families.setdefault(family, []).append(prototype)
    return families


def constants(chapter: str) -> list[str]:
    found = []
    for row in rows(chapter.split("### Constants")[1]):
        cells = [cell for cell in row if cell]
        for names, value in zip(cells[0::2], cells[1::2]):
            plain = [v.strip() for v in value.replace("`", "").split(",")]
            for i, name in enumerate(expand(quoted(names))):
                number = plain[min(i, len(plain) - 1)].removesuffix(" (no parentheses)")
                found.append(f"{name} {number}" if re.match(r"[-0-9]", number) else f"{name} any")
    return found


def words(chapter: str) -> list[str]:
    return list(dict.fromkeys(word.rstrip("=") for row in rows(chapter) for word in quoted(row[0])))


def environment(chapter: str) -> list[str]:
    found = []
    for row in rows(chapter):
        names = quoted(row[0])
        stem = "SION_MSA_COLLECTOR_HOSTNAME" if "MSA" in names[0] else "SION_DEBUG"
        found += [stem + name if name.startswith("_") else name for name in names]
        found += [name for name in quoted(row[-1]) if name.startswith("SION_HINT")]
    return found


def tools(chapter: str) -> list[str]:
    found = []
    for heading in re.findall(r"^### (sion\w+)(.*)$", chapter, re.M):
        found += [f"{heading[0]} {option}" for option in re.findall(r"\[(-\w(?: \w+)?)\]", heading[1])]
    for row in rows(chapter.split("### partest")[1]):
        short = [f"partest {o}" for o in quoted(row[0]) if o.startswith("-")]
        short += [f"partest {m}" for o in quoted(row[0]) for m in re.findall(r"-\w", o)[1:]]
        found += [re.sub(r"(-\w \w+).*", r"\1", o) for o in short]
        found += [f"partest {o}" for o in quoted(row[1])]
    return list(dict.fromkeys(found))


def fortran(chapter: str) -> list[str]:
    routines = [name for row in rows(chapter.split("### Routines")[1]) for name in quoted(row[0]) if re.fullmatch(r"fsion_\w+", name)]
    return list(dict.fromkeys(routines + re.findall(r"(fsion_\w+)\(sid\)`", chapter)))


def cxx(chapter: str) -> list[str]:
    """Returns Class::member for all public members."""
    found: list[str] = []
    for part in re.split(r"(?=`class )", chapter)[1:]:
        owner = re.match(r"`class ([\w:]+)", part).group(1)
        body = " ".join(span for span in quoted(part.split("Protected data")[0]) if ";" in span or "operator" in span)
        members = re.findall(r"([a-z]\w*)\(|(operator[<>]+)", body)
        found += [f"{owner}::{a or b}" for a, b in members if not re.match(r"sion_|sizeof|data$", a)]
    return list(dict.fromkeys(found))


def extract(description: str) -> dict[str, list[str]]:
    parts = re.split(r"^## (\d+)\. ", description, flags=re.M)
    chapters = dict(zip(parts[1::2], parts[2::2]))
    sections = functions(chapters)
    sections["constants"] = constants(chapters["2"])
    sections["words"] = words(chapters["4"])
    sections["environment"] = environment(chapters["5"])
    libraries = chapters["25"].split("Installed tree")[0]
    sections["libraries"] = [name for row in rows(libraries) for name in quoted(row[0]) if name.endswith(".a")]
    config = chapters["25"].split("### sionconfig")[1].split("`--path` prints")[0]
    sections["sionconfig"] = [o for row in rows(config) for o in quoted(row[0]) if re.fullmatch(r"--?\w+", o)]
    sections["modules"] = [quoted(row[0])[0] for row in rows(chapters["26"].split("FORTRAN 77:")[0])]
    sections["fortran"] = fortran(chapters["26"])
    sections["cxx"] = cxx(chapters["27"])
    sections["tools"] = tools(chapters["28"])
    return sections


def main() -> None:
    print("# What a program, a build system or a script can see of the SION interface, release 1.7.6.")
    print("# Made by public_interface.py; test_public_interface.py and tests/packaging/test_public_libraries.py use it.")
    for section, entries in extract(Path(sys.argv[1]).read_text()).items():
        print(f"\n[{section}]", *entries, sep="\n")


if __name__ == "__main__":
    main()
