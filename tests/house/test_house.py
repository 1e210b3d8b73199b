"""Checks properties of the source tree: modules and their dependencies, sizes of folders and files, formatting
(CONTRIBUTING.md).

    python3 -B tests/house/test_house.py
"""

import collections
import pathlib
import re
import shutil
import subprocess
import unittest

TOP = pathlib.Path(__file__).resolve().parents[2]
SRC = TOP / "src"
MAX_FILES = 25  # in a folder
MAX_LINES = 400  # in a file
MAX_COLUMNS = 110
MAX_MODULES = 12
MAX_FLOORS = 9  # modules in the longest chain of dependencies
MAX_ARROWS = 70  # pairs of modules, one of which includes headers of the other
CODE = {".c", ".cpp", ".h", ".hpp"}
# The system headers for access to files, and the folders that may include them.
SYSTEM = re.compile(r"#include\s*<(?:fcntl|unistd|sys/(?:stat|mman|uio|statfs|vfs))\.h>")
SYSTEM_FOLDERS = ("storage", "base", "api", "cli", "comm", "streams/capture", "streams/preload", "sfio/api", "mpiio/api")
MPI_FOLDERS = ("comm/mpi", "api", "cli/partest", "mpiio/api", "sfio/api", "sfio/mpiio")
# Folders below each of these call each other, so the order of folders counts them as one folder.
WHOLE = ("mpiio/api", "streams/preload", "cli")
# Modules in the namespace sheaf itself; each other module has its own, and so has each of these folders.
VOCABULARY = ("base", "storage", "comm")
NAMESPACES = ("format/codec", "multifile/saves", "streams/mount", "streams/preload", "cli/partest", "api/fortran")
# Namespaces inside that of a folder, besides those of constants.
INNER = ("sheaf::mpi", "sheaf::star", "sheaf::multifile::buddy", "sheaf::multifile::tools", "sheaf::cli::erofs",
         "sheaf::preload::state")


def tracked(*patterns):
    names = subprocess.run(["git", "-C", TOP, "ls-files", *patterns], check=True, capture_output=True, text=True)
    return [TOP / name for name in names.stdout.split("\n") if name and (TOP / name).is_file()]


def ranks():
    """Returns the folders in the order of cmake/Modules.cmake, the lowest first."""
    lists = re.findall(r"^set\(SHEAF_\w+_FOLDERS\s([^)]*)\)", (TOP / "cmake/Modules.cmake").read_text(), re.M)
    names = [name for words in lists for name in words.split()]
    return {name: number for number, name in enumerate(names)}


def modules():
    """Returns the modules in the order of cmake/Modules.cmake, the lowest first."""
    return re.search(r"^set\(SHEAF_SOURCE_MODULES\s([^)]*)\)", (TOP / "cmake/Modules.cmake").read_text(), re.M)[1].split()


def included(path):
    """Returns the headers of src/ that a file includes."""
    return [name for name in re.findall(r'#include "([^"]+)"', path.read_text()) if (SRC / name).is_file()]


def folder_of(path):
    name = path.parent.relative_to(SRC).as_posix()
    return next((whole for whole in WHOLE if name == whole or name.startswith(whole + "/")), name)


class Modules(unittest.TestCase):
    def setUp(self):
        self.arrows = collections.defaultdict(list)
        for path in sorted(SRC.rglob("*")):
            if path.suffix in CODE:
                own = path.relative_to(SRC).parts[0]
                for name in included(path):
                    if (other := name.split("/")[0]) != own:
                        self.arrows[own, other].append(f"{path.relative_to(TOP)} includes {name}")

    def test_the_top_folders_are_the_modules(self):
        self.assertEqual(set(modules()), {path.name for path in SRC.iterdir()})
        self.assertLessEqual(len(modules()), MAX_MODULES)

    def test_no_module_uses_one_above_it(self):
        rank = {name: number for number, name in enumerate(modules())}
        self.assertEqual([], [uses for (own, other), uses in self.arrows.items() if rank[other] > rank[own]])

    def test_there_are_few_arrows_and_floors(self):
        self.assertLessEqual(len(self.arrows), MAX_ARROWS)
        floors = {}
        for name in modules():
            floors[name] = 1 + max((floors[other] for own, other in self.arrows if own == name), default=0)
        self.assertLessEqual(max(floors.values()), MAX_FLOORS, floors)


class Folders(unittest.TestCase):
    def test_no_folder_has_too_many_files(self):
        count = collections.Counter(path.parent for path in SRC.rglob("*") if path.is_file())
        self.assertEqual({}, {str(folder): n for folder, n in count.items() if n > MAX_FILES})

    def test_folders_use_only_what_is_below_them(self):
        rank = ranks()
        upward = []
        for path in sorted(SRC.rglob("*")):
            if path.suffix not in CODE:
                continue
            own = folder_of(path)
            if own not in rank:
                continue
            for name in included(path):
                other = SRC / name
                if folder_of(other) == own:
                    continue
                if rank.get(folder_of(other), 1 << 30) > rank[own]:
                    upward.append(f"{path.relative_to(TOP)} includes {name}")
        self.assertEqual([], upward)

    def test_every_folder_with_code_of_the_core_is_listed(self):
        listed = set(ranks())
        # Compiled separately, or in place of other folders.
        beside = {"api/fortran", "mpiio/api/front", "cli/partest", "cli/demo", "cli/absent", "streams/absent"}
        found = {path.parent.relative_to(SRC).as_posix() for path in SRC.rglob("*.cpp")}
        self.assertEqual(set(), found - listed - beside)

    def test_files_beside_users_files_are_created_in_one_place(self):
        # These files may create files too: files that a user names, sidecar files, and a scratch file of
        # `sheaf doctor`.
        creates = {"storage/beside.cpp", "storage/probes.cpp", "mpiio/file/across_hosts.cpp", "sfio/service/subfiles.cpp"}
        inside = ("storage/posix/", "storage/decorators/", "storage/retries", "storage/store.hpp")
        found = set()
        for path in sorted(SRC.rglob("*.cpp")):
            name = path.relative_to(SRC).as_posix()
            if not name.startswith(inside) and re.search(r"Access::fresh\b", path.read_text()):
                found.add(name)
        self.assertEqual(creates, found)

    def test_the_system_and_mpi_are_called_where_they_may_be(self):
        wrong = []
        for path in sorted(SRC.rglob("*")):
            if path.suffix in CODE:
                folder = path.parent.relative_to(SRC).as_posix()
                text = path.read_text()
                if SYSTEM.search(text) and not folder.startswith(SYSTEM_FOLDERS):
                    wrong.append(f"{path.relative_to(TOP)}: headers of the operating system")
                if re.search(r"#include\s*<mpi\.h>", text) and not folder.startswith(MPI_FOLDERS):
                    wrong.append(f"{path.relative_to(TOP)}: mpi.h")
        self.assertEqual([], wrong)


class Names(unittest.TestCase):
    maxDiff = None

    def test_namespaces_follow_folders(self):
        folders = {f"{name}/": "sheaf" if name in VOCABULARY else "sheaf::" + name.split("/")[-1]
                   for name in (*NAMESPACES, *modules())}
        wrong, seen = [], 0
        for path in sorted(SRC.rglob("*")):
            if path.suffix not in CODE:
                continue
            name = path.relative_to(SRC).as_posix()
            expected = next(folders[folder] for folder in folders if name.startswith(folder))
            for space in re.findall(r"^\s*namespace (sheaf(?:::\w+)*) \{", path.read_text(), re.M):
                seen += 1
                inside = space in INNER or space.endswith("_constants")
                if (space.rpartition("::")[0] if inside else space) != expected:
                    wrong.append(f"{path.relative_to(TOP)}: {space}")
        self.assertGreater(seen, 700)
        self.assertEqual([], wrong)

    def test_retired_names_do_not_return(self):
        table = (TOP / "docs/glossary.md").read_text().split("## Renames that are done")[1].split("\n## ")[0]
        rows = [row.split("|")[1:3] for row in table.split("\n") if row.startswith("| `")]
        # Names with a qualification, such as "`Hosts` of the journal", may be in use elsewhere.
        plain = [old.strip() for old, _ in rows if re.fullmatch(r"(`\w+`(, )?)+", old.strip())]
        retired = {name for old in plain for name in re.findall(r"\w+", old)}
        self.assertGreater(len(retired), 20)
        back = []
        for path in tracked("src", "tests", "bench"):
            if path.suffix in CODE and "frozen" not in path.parts:
                code = re.sub(r'//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"', " ", path.read_text(), flags=re.S)
                back += [f"{path.relative_to(TOP)}: {name}" for name in sorted(retired & set(re.findall(r"\w+", code)))]
                back += [f"{path.relative_to(TOP)}: {name}" for name in re.findall(r"\b(?:most|least|longest)_\w+", code)]
        self.assertEqual([], back)

    def test_no_type_name_is_defined_in_two_files(self):
        # Classes, structures and enumerations, nested ones included. Aliases count where they are not local to a test
        # or a benchmark.
        kind = r"(?:[ ]*(?:template\s*<[^>]*>\s*)?(?:struct|class|enum class|enum)|using)"
        defined = re.compile(rf"^{kind}\s+(?:alignas\(\w+\)\s+|SHEAF_EXPORT\s+)*(?:\w+::)*([A-Z]\w*)\s*(?:final\s*)?(?::(?!:)[^;{{]*)?[{{=]", re.M)
        places = collections.defaultdict(set)
        for path in tracked("src", "include", "tests", "bench"):
            if path.suffix in CODE and "frozen" not in path.parts:
                text = path.read_text()
                if path.relative_to(TOP).parts[0] in ("tests", "bench"):
                    text = re.sub(r"^\s*using .*", "", text, flags=re.M)
                for name in defined.findall(text):
                    places[name].add(path.relative_to(TOP).as_posix())
        self.assertGreater(len(places), 500)
        # The two C++ interfaces of the format, serial and MPI, have classes of the same names on purpose. Error is the
        # exception of the library and that of its C++ interface.
        places.pop("Error")
        twice = {name: sorted(found) for name, found in places.items()
                 if len(found) > 1 and not all(path.startswith("include/") for path in found)}
        self.assertEqual({}, twice)

    def test_paths_and_types_that_documents_name_exist(self):
        files = {path.relative_to(TOP).as_posix() for path in tracked()}
        known = {part for name in files for part in (name, name.rsplit(".", 1)[0])} | {
            parent.as_posix() for name in files for parent in pathlib.PurePosixPath(name).parents}
        words = set()
        for path in tracked("src", "include", "tests", "bench", "python", "examples", "cmake"):
            if path.suffix in CODE | {".py", ".cmake", ".txt", ".map", ".f90"} and "frozen" not in path.parts:
                words |= set(re.findall(r"\w+", path.read_text(errors="replace")))
        missing = []
        for page in [*tracked("docs/architecture.md", "docs/internals-*.md"), TOP / "CONTRIBUTING.md"]:
            for name in re.findall(r"`([\w:/.]+)`", re.sub(r"```.*?```", "", page.read_text(), flags=re.S)):
                if "/" in name and name.split("/")[0] in modules():
                    name = "src/" + name
                if name.split("/")[0] in ("src", "tests", "docs", "include", "cmake", "bench", "scripts") and "/" in name:
                    if name.rstrip("/") not in known:
                        missing.append(f"{page.name}: {name}")
                elif re.fullmatch(r"[A-Z]\w+(::\w+)*", name) and not set(name.split("::")) <= words:
                    missing.append(f"{page.name}: {name}")
        self.assertEqual([], missing)


class Files(unittest.TestCase):
    def test_a_file_is_a_thought(self):
        lines = {path: path.read_text().count("\n") for path in tracked("src", "include") if path.suffix in CODE}
        self.assertEqual({}, {str(path): n for path, n in lines.items() if n > MAX_LINES})

    def test_lines_fit(self):
        wide = []
        for path in tracked("src", "include", "tests", "bench", "examples"):
            if path.suffix in CODE and "frozen" not in path.parts:
                # Lines that are excluded from formatting, such as a line of mountinfo, may be longer.
                text = re.sub(r"clang-format off.*?clang-format on", "", path.read_text(), flags=re.S)
                wide += [f"{path}: {line[:60]}" for line in text.split("\n") if len(line) > MAX_COLUMNS and "http" not in line]
        self.assertEqual([], wide)

    @unittest.skipUnless(shutil.which("clang-format-16"), "clang-format 16 is not installed")
    def test_c_and_cpp_are_formatted(self):
        files = [path for path in tracked("*.cpp", "*.hpp", "*.h", "*.c") if "frozen" not in path.parts and "snippets" not in path.parts]
        done = subprocess.run(["clang-format-16", "--dry-run", *files], capture_output=True, text=True)
        wrong = sorted({line.split(":")[0] for line in done.stderr.split("\n") if "warning:" in line})
        self.assertEqual([], wrong, "run `make format`")


if __name__ == "__main__":
    unittest.main()
