#!/usr/bin/env python3
"""One version everywhere: header, library, tools, pkg-config, CMake package, Debian, Python, changelog, citation; and
the files of a release. The recipes in packaging/ are covered by test_recipes."""

from __future__ import annotations

import re
import unittest
from pathlib import Path

from installed import ROOT, InstalledCase

HEADER = (ROOT / "include" / "sheaf.h").read_text()


def macro(name: str) -> str:
    return re.search(rf"^#define SHEAF_VERSION_{name} \"?([^\"\n]+)\"?$", HEADER, re.MULTILINE)[1]


VERSION = macro("STRING")
NUMBERS = ".".join(macro(part) for part in ("MAJOR", "MINOR", "PATCH"))
SUFFIX = VERSION.removeprefix(NUMBERS)


class Sources(unittest.TestCase):
    def first(self, pattern: str, *parts: str) -> str:
        found = re.search(pattern, ROOT.joinpath(*parts).read_text(), re.MULTILINE)
        self.assertTrue(found, f"{'/'.join(parts)} has no {pattern}")
        return found[1]

    def test_the_macros_agree(self):
        self.assertRegex(VERSION, r"^[0-9]+\.[0-9]+\.[0-9]+(-rc[0-9]+)?$")
        self.assertTrue(VERSION.startswith(NUMBERS), f"{VERSION} is not a version of {NUMBERS}")

    def test_documents_and_packages_name_this_version(self):
        self.assertEqual(self.first(r"^## \[([0-9][^]]*)\]", "CHANGELOG.md"), VERSION)
        self.assertEqual(self.first(r"^version: (\S+)$", "CITATION.cff"), VERSION)
        debian = self.first(r"^sheaf \(([^)]*)\)", "debian", "changelog")
        self.assertEqual(debian.rsplit("-", 1)[0], NUMBERS + SUFFIX.replace("-", "~"))
        python = VERSION.replace("-", "")
        self.assertEqual(self.first(r'^version = "(.*)"$', "pyproject.toml"), python)
        self.assertEqual(self.first(r'^__version__ = "(.*)"$', "python", "sheaf", "__init__.py"), python)

    def test_dates_of_the_release_agree(self):
        self.assertEqual(self.first(rf"^## \[{re.escape(VERSION)}\] - (\S+)$", "CHANGELOG.md"),
                         self.first(r"^date-released: (\S+)$", "CITATION.cff"))

    def test_licence(self):
        self.assertIn("BSD 3-Clause License", (ROOT / "LICENSE").read_text())
        self.assertEqual(self.first(r"^license: (\S+)$", "CITATION.cff"), "BSD-3-Clause")
        self.assertEqual(self.first(r"^Files: \*\nCopyright: .*\nLicense: (\S+)$", "debian", "copyright"), "BSD-3-Clause")

    def test_links_of_the_project_documents_lead_somewhere(self):
        pages = [ROOT / f"{name}.md" for name in ("README", "CHANGELOG", "CONTRIBUTING", "SECURITY")]
        pages.append(ROOT / "docs" / "releasing.md")
        for page in pages:
            for link in re.findall(r"\]\((?!https?:)([^)#]+)", page.read_text()):
                self.assertTrue((page.parent / link).exists(), f"{page.name}: {link}")


class Installation(InstalledCase):
    def test_programs_tell_the_version(self):
        self.assertEqual(self.run_command(self.prefix / "bin" / "sheaf", "--version").strip(), f"sheaf {VERSION}")
        self.assertIn(f"sheaf-{VERSION}", self.run_command(self.prefix / "bin" / "sionversion"))

    def test_header_and_library_tell_the_version(self):
        self.source("x.c", '#include <sheaf.h>\n#include <string.h>\n#include <stdio.h>\nint main(void) {\n'
                           '  puts(sheaf_version());\n  return strcmp(sheaf_version(), SHEAF_VERSION_STRING) != 0;\n}\n')
        lib = self.prefix / "lib"
        self.run_command("gcc", f"-I{self.prefix}/include", "x.c", "-o", "x", f"-L{lib}", "-lsheaf", f"-Wl,-rpath,{lib}")
        self.assertEqual(self.run_command("./x").strip(), VERSION)

    def test_build_systems_see_the_version(self):
        packages = list((self.prefix / "lib" / "pkgconfig").glob("*.pc"))
        self.assertTrue(packages)
        for package in packages:
            self.assertIn(f"\nVersion: {VERSION}\n", package.read_text(), package.name)
        text = (self.prefix / "lib" / "cmake" / "Sheaf" / "SheafConfigVersion.cmake").read_text()
        self.assertIn(f'set(PACKAGE_VERSION "{NUMBERS}")', text)


if __name__ == "__main__":
    unittest.main()
