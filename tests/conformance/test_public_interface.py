"""Checks that every entry of public_interface.txt is in the headers with the documented type and value, and
that a test uses it.

tests/packaging/test_public_libraries.py tests the libraries under the names that sionconfig prints."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import tempfile
import unittest
from pathlib import Path

from public_interface import RETURNED, extract, name_of, read_list, read_pending

ROOT = Path(__file__).resolve().parents[2]
TESTS = ROOT / "tests"
DESCRIPTION = Path(os.environ.get("SHEAF_SPEC") or ROOT.parent / "shared" / "spec") / "sion-api.md"
FAMILIES = ("common", "serial", "generic", "mpi", "omp", "ompi", "debug", "undeclared")
# Functions in sion*.h that SIONlib does not have (docs/api-sion.md), and the function that the macro DPRINTTS
# calls.
ADDITIONS = {"sion_fprintf", "sion_vfprintf", "sion_print_time_stamp"}
MPI_COMPILERS = [compiler for compiler in ("mpicc.openmpi", "mpicc.mpich") if shutil.which(compiler)]
LISTED = read_list()
PENDING = read_pending()


def wanted(section: str) -> list[str]:
    return [entry for entry in LISTED[section] if (name_of(entry) if section in FAMILIES else entry) not in PENDING]


def pointer_to(prototype: str) -> str:
    """Returns C code that defines a pointer of the documented type and sets it to the function."""
    name = name_of(prototype)
    returned, arguments = re.fullmatch(rf"({RETURNED}) ?{name}(\(.*\))", prototype).groups()
    return f"{returned} (*const use_{name}){arguments} = {name};"


def program(families: tuple[str, ...]) -> str:
    """Returns a C program that uses every function of the given families. It first undefines the debugging
    macros, which would otherwise replace functions of the same names."""
    lines = ["#include <stddef.h>", "#include <stdint.h>"]
    lines += ["#include <mpi.h>"] if "mpi" in families or "ompi" in families else []
    lines += ['#include "sion.h"', '#include "sion_debug.h"', '#include "sion_file.h"', '#include "sion_printts.h"']
    prototypes = [p for family in families for p in wanted(family)]
    lines += ["#ifdef __cplusplus", 'extern "C" {', "#endif", *[p + ";" for p in wanted("undeclared")],
              "#ifdef __cplusplus", "}", "#endif", *map(pointer_to, prototypes), "int main(void) {", "  int missing = 0;"]
    lines += [f"  missing += use_{name_of(p)} == NULL;" for p in prototypes]
    return "\n".join([*lines, "  return missing;", "}", ""])


def compile_text(text: str, command: list[str], name: str) -> str:
    """Compiles `text` and returns the messages of the compiler."""
    with tempfile.TemporaryDirectory() as place:
        source = Path(place) / name
        source.write_text(text)
        done = subprocess.run([*command, "-I", ROOT / "include", "-c", source, "-o", Path(place) / "x.o"],
                              capture_output=True, text=True)
        return done.stderr if done.returncode else ""


def own_lines(preprocessed: str) -> str:
    """Returns the lines that come from headers of this project."""
    own, lines = False, []
    for line in preprocessed.splitlines():
        if marker := re.match(r'# \d+ "(.*?)"', line):
            own = marker.group(1).startswith(str(ROOT / "include"))
        elif own:
            lines.append(line)
    return "\n".join(lines)


def sources(*places: str) -> str:
    own = {"test_public_interface.py", "public_interface.py"}
    files = [f for place in places for f in sorted((ROOT / place).rglob("*"))
             if f.suffix in (".c", ".cpp", ".h", ".hpp", ".f90", ".F90", ".f", ".py") and f.name not in own]
    return "\n".join(f.read_text() for f in files)


class Description(unittest.TestCase):
    @unittest.skipUnless(DESCRIPTION.exists(), "the description of the interface is not here")
    def test_the_list_is_that_of_the_description(self):
        self.maxDiff = None
        self.assertEqual(LISTED, extract(DESCRIPTION.read_text()))

    def test_the_list_is_complete_in_itself(self):
        counts = {family: len(LISTED[family]) for family in FAMILIES}
        self.assertEqual(counts, {"common": 53, "serial": 3, "generic": 21, "mpi": 14, "omp": 2, "ompi": 2, "debug": 10,
                                  "undeclared": 2})

    def test_what_is_pending_is_on_the_list(self):
        known = {name_of(e) if section in FAMILIES else e for section, entries in LISTED.items() for e in entries}
        self.assertEqual(PENDING - known, set())


class Headers(unittest.TestCase):
    def test_functions_have_the_documented_types(self):
        every = FAMILIES[:-1]
        for compiler in MPI_COMPILERS:
            for language, standard in (("x.c", "-std=c99"), ("x.cpp", "-std=c++11")):
                command = [compiler if language == "x.c" else compiler.replace("mpicc", "mpicxx"), standard, "-Wall", "-Werror",
                           "-Wno-address", "-DSION_OMP", "-DOMPI_SKIP_MPICXX", "-DMPICH_SKIP_MPICXX"]
                self.assertEqual(compile_text(program(every), command, language), "")

    def test_functions_without_mpi(self):
        for define, families in ((None, ("common", "serial", "generic")), ("-DSION_OMP", ("common", "omp"))):
            command = ["gcc", "-std=c99", "-Wall", "-Werror", "-Wno-address"] + ([define] if define else [])
            self.assertEqual(compile_text(program((*families, "debug")), command, "x.c"), "")

    def test_which_functions_are_visible_when(self):
        cases = {"": (77, None), "-DSION_OMP": (79, None), "-DSION_MPI": (93, "mpi"), "-DSION_OMPI": (79, "mpi")}
        for define, (count, mpi) in cases.items():
            if mpi and not MPI_COMPILERS:
                continue
            with tempfile.TemporaryDirectory() as place:
                source = Path(place) / "x.c"
                source.write_text('#include "sion.h"\n')
                compiler = MPI_COMPILERS[0] if mpi else "gcc"
                text = subprocess.run([compiler, *([define] if define else []), "-I", ROOT / "include", "-E", source],
                                      capture_output=True, text=True, check=True).stdout
            names = {name_of(p) for family in FAMILIES for p in LISTED[family]}
            pending = {n for n in PENDING if n in names}
            seen = {n for n in names - pending if re.search(rf"\b{n}\(", text)}
            shown = {name_of(p) for family in visible(define) for p in LISTED[family]}
            self.assertEqual(seen, shown - pending, define)
            self.assertEqual(len(shown), count, define)

    def test_headers_declare_only_documented_functions(self):
        """The headers must declare no undocumented function of SIONlib, because programs declare such functions
        themselves, with types of their own."""
        text = '#include "sion.h"\n#include "sion_debug.h"\n#include "sion_file.h"\n#include "sion_printts.h"\n'
        for compiler, defines in (("gcc", []), *((c, ["-DSION_OMP", "-DSION_MPI"]) for c in MPI_COMPILERS)):
            done = subprocess.run([compiler, *defines, "-I", ROOT / "include", "-E", "-x", "c", "-"], input=text,
                                  capture_output=True, text=True, check=True)
            declared = set(re.findall(r"(?<!\w)(_?sion_\w+) ?\(", own_lines(done.stdout)))
            documented = {name_of(p) for family in FAMILIES[:-1] for p in LISTED[family]}
            self.assertEqual(declared - documented - ADDITIONS, set(), f"{compiler} {defines}")

    def test_programs_that_declare_undocumented_functions_themselves_compile(self):
        text = '#include "sion.h"\nchar *_sion_buddy_role_to_str(unsigned int flag);\n'
        self.assertEqual(compile_text(text, ["gcc", "-std=c99", "-Werror"], "x.c"), "")

    def test_constants_have_the_documented_values(self):
        lines = ['#include "sion.h"']
        for entry in LISTED["constants"]:
            name, value = entry.split(" ", 1)
            lines.append(f"#ifndef {name}\n#error {name} is missing\n#endif")
            if value != "any":
                lines.append(f'_Static_assert({name} == {value}, "{entry}");')
        self.assertEqual(compile_text("\n".join(lines) + "\n", ["gcc", "-std=c11"], "x.c"), "")

    def test_types(self):
        text = """
            #include "sion.h"
            static sion_key_stat_t key = {.key = 1u, .num_blocks = 2, .total_size = 3};
            struct _sion_key_stat_struct *same_key = &key;
            sion_int32 *a = (int *)0; sion_uint32 *b = (unsigned *)0;
            sion_int64 *c = (long long *)0; sion_uint64 *d = (unsigned long long *)0;
            DPRINTF((1, "a")) DPRINTFP((1, "f", 0, "a")) DPRINTTS(1, "a") DPRINTFTS2(1, "a")
            #if !defined _SION_LINUX || !defined sion_int64
            #error a macro is missing
            #endif
        """
        if "sion_get_io_info" not in PENDING:
            text += """
            static sion_io_stat_t io = {.nfiles = 1, .names = (const char **)0, .sizes = (size_t *)0, .roles = (int *)0};
            struct _sion_io_stat_struct *same_io = &io;
            """
        self.assertEqual(compile_text(text, ["gcc", "-std=c11", "-Werror"], "x.c"), "")

    def test_classes_have_the_documented_members(self):
        for entry in LISTED["cxx"]:
            owner, member = entry.rsplit("::", 1)
            header = {"SION_Base": "base", "sionlib::serial::SIONFile": "serial", "sionlib::mpi::SIONFile": "mpi"}[owner]
            text = (ROOT / "include" / f"sion_cxx_{header}.hpp").read_text()
            self.assertRegex(text, re.escape(member) + r"\(", entry)


def visible(define: str) -> tuple[str, ...]:
    always = ("common", "serial", "generic")
    return {"": always, "-DSION_OMP": (*always, "omp"), "-DSION_MPI": (*always, "mpi", "ompi"),
            "-DSION_OMPI": (*always, "ompi")}[define]


class Tests(unittest.TestCase):
    """Checks that every public entry has a test."""

    def test_every_function_is_called(self):
        text = sources("tests")
        names = [name_of(p) for family in FAMILIES for p in wanted(family)]
        self.assertEqual([n for n in names if not re.search(rf"(?<!\w){n}\(", text)], [])

    def test_every_function_of_a_handle_is_called_with_an_invalid_one(self):
        text = sources("tests")
        places = "\n".join((TESTS / "api" / name).read_text() for name in ("invalid_handle_test.cpp", "keyval_arguments_test.cpp"))
        names = [name_of(p) for family in FAMILIES for p in wanted(family) if re.search(r"\bint sid\b", p)]
        missing = [n for n in names if not re.search(rf"(?<!\w){n}\((?:[^;()]*, )?sid\b", places)
                   and not re.search(rf"(?<!\w){n}\((?:[^;()]*, )?-1[,)]", text)]
        self.assertEqual(missing, [])

    def test_every_fortran_routine_is_called(self):
        text = sources("tests/fortran", "tests/packaging").lower()
        self.assertEqual([n for n in wanted("fortran") if not re.search(rf"\b{n}(_\w+)? *\(", text)], [])
        self.assertEqual([n for n in wanted("modules") if not re.search(rf"use +{n}\b", text)], [])

    def test_every_member_is_called(self):
        text = sources("tests/cxx", "tests/mpi", "tests/packaging")
        missing = [e for e in LISTED["cxx"]
                   if not re.search(re.escape(e.rsplit("::", 1)[1].removeprefix("operator")) + r"(\(|.)", text)]
        self.assertEqual(missing, [])

    def test_every_word_of_the_open_mode_occurs(self):
        text = sources("tests")
        words = {w.replace("=N", "=").replace("=X", "=").replace("=L", "=") for w in wanted("words")}
        self.assertEqual([w for w in sorted(words) if not re.search(rf'[",]\s*{w}', text)], [])

    def test_every_variable_of_the_environment_occurs(self):
        text = sources("tests")
        self.assertEqual([v for v in wanted("environment") if not re.search(rf"\b{v}\b", text)], [])

    def test_every_option_of_the_tools_occurs(self):
        text = sources("tests/cli")
        missing = []
        for entry in wanted("tools"):
            tool, option = entry.split()[:2]
            if tool == "partest":
                continue  # tests/cli/test_partest_options.py
            if not re.search(rf'"{tool}"', text) or not re.search(rf'"{option}', text):
                missing.append(entry)
        self.assertEqual(missing, [])


if __name__ == "__main__":
    unittest.main()
