"""Tests of the tools flavour, a Sheaf library with prefixed names for tracing libraries. A program that uses the
ordinary library can link such a tracing library.

By default, the flavour is made from the objects of this build. If SHEAF_TOOLS_PREFIX is set, it names the directory of
an installation with -DSHEAF_FLAVOUR=tools. That installation is then tested, including its classic names, sionconfig
and environment variables.
"""

from __future__ import annotations

import os
import re
import subprocess
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
BUILD = Path(os.environ.get("SHEAF_BIN", ROOT / "build" / "bin")).resolve().parent
INSTALLED = os.environ.get("SHEAF_TOOLS_PREFIX")
INTERFACE = ROOT / "tests" / "conformance" / "public_interface.txt"
SECONDS = 120

# The same calls for the program and for the tracing library; the headers map them to different names.
STREAM = """
static int opened(char *name) {
  int ntasks = 1, nfiles = 1, rank = 0, *ranks = &rank;
  sion_int64 chunk = 100, *chunks = &chunk;
  sion_int32 block = 512;
  return sion_open(name, "wb", &ntasks, &nfiles, &chunks, &block, &ranks, NULL);
}
"""
APP = """
#include <stdio.h>
#include "sion.h"
int trace_begin(void);
int trace_event(const char *what);
int trace_end(void);
""" + STREAM + """
int main(void) {
  int i, sid, own = trace_begin();
  sid = opened("app.sion");
  if (sid < 0 || own < 0) return 1;
  for (i = 0; i < 1000; i++)
    if (sion_fwrite("data", 1, 4, sid) != 4 || trace_event("event;")) return 2;
  if (sion_close(sid) != SION_SUCCESS || trace_event("closed")) return 3;
  if (sion_close(sid) == SION_SUCCESS) return 4; /* not the other's */
  return trace_end();
}
"""
TRACER = """
#include <stdio.h>
#include <string.h>
#include "sion.h"
""" + STREAM + """
static int sid = -1;
int trace_begin(void) { return sid = opened("trace.sion"); }
int trace_event(const char *what) { return sion_fwrite(what, 1, strlen(what), sid) != strlen(what); }
int trace_end(void) { return sion_close(sid) != SION_SUCCESS; }
"""


def run(*command: object, cwd: Path | None = None, **environment: str) -> str:
    done = subprocess.run([str(word) for word in command], cwd=cwd, capture_output=True, text=True, timeout=SECONDS,
                          env=os.environ | environment)
    if done.returncode != 0:
        raise AssertionError(f"{command}: exit code {done.returncode}\n{done.stdout}{done.stderr}")
    return done.stdout


def names(file: Path, *options: str) -> set[str]:
    return {line.split()[-1].split("@")[0] for line in run("nm", *options, file).splitlines() if len(line.split()) >= 2}


class ToolsFlavour(unittest.TestCase):
    @classmethod
    def setUpClass(cls) -> None:
        cls.scratch = tempfile.TemporaryDirectory()
        cls.addClassCleanup(cls.scratch.cleanup)
        cls.dir = Path(cls.scratch.name)
        if INSTALLED:
            prefix = Path(INSTALLED)
            cls.libraries = next(path.parent for path in prefix.glob("lib*/liblsheaf.a"))  # lib or lib64
            cls.archive, cls.include = cls.libraries / "liblsheaf.a", [prefix / "include"]
            return
        objects = cls.dir / "objects"
        objects.mkdir()
        run("ar", "x", BUILD / "archive" / "lib" / "libsheaf.a", cwd=objects)
        cls.archive, cls.include = cls.dir / "liblsheaf.a", [cls.dir, ROOT / "include"]
        run(ROOT / "packaging" / "tools_flavour.sh", cls.archive, cls.dir / "sion_libversion_rep.h", ROOT / "include",
            *sorted(objects.iterdir()))
        # An installation has the ordinary headers and its own sion_libversion_rep.h, which renames the calls.
        for header in (ROOT / "include").iterdir():
            if header.is_file() and header.name != "sion_libversion_rep.h":
                (cls.dir / header.name).symlink_to(header)

    def compile(self, name: str, source: str, *options: object) -> Path:
        (self.dir / f"{name}.c").write_text(source)
        run("cc", "-Wall", "-Werror", "-fPIC", *options, "-c", self.dir / f"{name}.c", "-o", self.dir / f"{name}.o")
        return self.dir / f"{name}.o"

    def tracer(self) -> Path:
        return self.compile("tracer", TRACER, *(f"-I{path}" for path in self.include))

    def test_no_name_is_the_ordinary_librarys(self) -> None:
        own = names(self.archive, "-g", "--defined-only")
        self.assertGreater(len(own), 80)
        self.assertEqual({name for name in own if not re.match(r"_?l(sion|sheaf)_", name)}, set())
        ordinary = names(BUILD / "lib" / "libsheaf.so", "-D", "--defined-only")
        ordinary |= names(BUILD / "archive" / "lib" / "libsheaf.a", "-g", "--defined-only")
        self.assertEqual(own & ordinary, set())

    def test_every_call_has_its_other_name(self) -> None:
        ordinary = {name for name in names(BUILD / "lib" / "libsheaf.so", "-D", "--defined-only")
                    if re.match(r"_?(sion|sheaf)_", name)}
        self.assertGreater(len(ordinary), 80)
        renamed = {re.sub(r"^(_?)(sion|sheaf)_", r"\1l\2_", name) for name in ordinary}
        self.assertEqual(names(self.archive, "-g", "--defined-only"), renamed)

    def test_headers_declare_the_other_names(self) -> None:
        declared = sorted(set(re.findall(r"\b(?:sion|sheaf)_\w+(?=\()", " ".join(
            (ROOT / "include" / name).read_text() for name in ("sion_common.h", "sion_generic.h", "sion_serial.h", "sheaf.h")))))
        declared = [name for name in declared if name in INTERFACE.read_text() or name.startswith("sheaf_")]
        self.assertGreater(len(declared), 60)
        source = '#include <stdio.h>\n#include "sion.h"\n#include "sheaf.h"\nvoid *all[] = {'
        object_ = self.compile("all", source + ", ".join(f"(void *){name}" for name in declared) + "};\n",
                               *(f"-I{path}" for path in self.include))
        used = names(object_, "-u")
        self.assertEqual(len(used), len(declared))
        self.assertEqual({name for name in used if not name.startswith("l")}, set())

    def check_program(self, program: Path, **environment: str) -> tuple[bytes, bytes]:
        run(program, cwd=self.dir, **environment)
        tool = BUILD / "bin" / "sheaf"
        for name, content in (("app.sion", "data" * 1000), ("trace.sion", "event;" * 1000 + "closed")):
            run(tool, "verify", self.dir / name)
            self.assertEqual(run(tool, "cat", self.dir / name), content)
        return (self.dir / "app.sion").read_bytes()[:4], (self.dir / "trace.sion").read_bytes()[:4]

    def link(self, name: str, *words: object) -> Path:
        app = self.compile("app", APP, f"-I{ROOT / 'include'}")
        run("cc", app, *words, "-lstdc++", "-lm", "-o", self.dir / name)
        return self.dir / name

    def test_both_in_one_program_statically(self) -> None:
        ordinary = BUILD / "archive" / "lib" / "libsheaf.a"
        self.check_program(self.link("one", self.tracer(), self.archive, ordinary))
        self.check_program(self.link("other", self.tracer(), ordinary, self.archive))

    def test_a_shared_tracing_library_beside_the_shared_library(self) -> None:
        library = self.dir / "libtracer.so"
        run("cc", "-shared", self.tracer(), self.archive, "-lstdc++", "-lm", "-o", library)
        path = f"-Wl,-rpath,{self.dir}:{BUILD / 'lib'}"
        self.check_program(self.link("shared", library, f"-L{BUILD / 'lib'}", "-lsheaf", path))

    @unittest.skipUnless(INSTALLED, "no installation of the tools flavour: SHEAF_TOOLS_PREFIX is not set")
    def test_an_installation(self) -> None:
        prefix = Path(str(INSTALLED))
        for name in ("com", "gen", "ser", "com_64_lock_none", "com_64_lock_pthreads"):
            whole = name if "64" in name else f"{name}_64"
            self.assertTrue((self.libraries / f"liblsion{whole}.a").exists(), name)
        config = prefix / "bin" / "sionconfig"
        for interface, library in (("--ser", "-llsionser_64 "), ("--gen", "-llsiongen_64 "), ("--com", "")):
            self.assertEqual(run(config, "--libs", interface).strip(),
                             f"-L{self.libraries} {library}-llsioncom_64 -llsioncom_64_lock_none")
            words = run(config, "--libs", interface).split()
            tracer = self.compile("tracer", TRACER, *run(config, "--cflags", interface).split())
            self.check_program(self.link("classic", tracer, *words, BUILD / "archive" / "lib" / "libsheaf.a"))

    @unittest.skipUnless(INSTALLED, "no installation of the tools flavour: SHEAF_TOOLS_PREFIX is not set")
    def test_each_has_its_environment(self) -> None:
        program = self.link("environment", self.tracer(), self.archive, BUILD / "archive" / "lib" / "libsheaf.a")
        plain, encoded = b"sion", b"\x89SHF"
        self.assertEqual(self.check_program(program), (plain, plain))
        self.assertEqual(self.check_program(program, SHEAF_FLAGS="compress=lz4"), (encoded, plain))
        self.assertEqual(self.check_program(program, LSHEAF_FLAGS="compress=lz4"), (plain, encoded))


if __name__ == "__main__":
    unittest.main()
