"""What the shared libraries show, and how large an installation is."""

from __future__ import annotations

import subprocess
import sys
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

from installed import BUILD, C_SERIAL, MPIS, InstalledCase  # noqa: E402

MEGABYTE = 1_000_000


def symbols(path: Path, *which: str) -> set[str]:
    out = subprocess.run(["nm", "-D", "--with-symbol-versions", *which, path], capture_output=True, text=True, check=True)
    return {line.split()[-1] for line in out.stdout.splitlines()}


def released() -> bool:
    lines = (BUILD / "CMakeCache.txt").read_text().splitlines()
    return any(line in ("CMAKE_BUILD_TYPE:STRING=Release", "CMAKE_BUILD_TYPE:STRING=") for line in lines)


class Exports(InstalledCase):
    def libraries(self) -> list[Path]:
        lib = self.prefix / "lib"
        return [lib / "libsheaf.so", lib / "libsheaf_omp.so",
                *(lib / mpi / f"libsheaf_{name}.so" for mpi in MPIS for name in ("mpi", "sfio"))]

    def needed(self) -> set[str]:
        """What the installed libraries and programs take from each other, by name and version."""
        files = [path for path in self.prefix.rglob("*") if path.is_file() and path.read_bytes()[:4] == b"\x7fELF"]
        return set().union(*(symbols(path, "--undefined-only") for path in files))

    def test_every_name_has_a_version(self):
        needed = {name.replace("@@", "@") for name in self.needed()}
        for library in self.libraries():
            for symbol in symbols(library, "--defined-only"):
                name, _, version = symbol.partition("@@")
                if name == symbol:
                    self.assertRegex(symbol, r"^SHEAF_(1|PRIVATE_[0-9.]+)(@|$)", library)  # the nodes themselves
                elif version == "SHEAF_1":
                    self.assertFalse(name.startswith("_Z"), f"{library.name} offers {name} as its interface")
                else:
                    self.assertTrue(version.startswith("SHEAF_PRIVATE_"), symbol)
                    self.assertIn(f"{name}@{version}", needed, f"{library.name}: no companion needs it")

    def test_programs_use_the_interface_alone(self):
        self.source("client.c", C_SERIAL)
        self.run_command("gcc", f"-I{self.prefix}/include", "client.c", "-o", "client", f"-L{self.prefix}/lib", "-lsheaf",
                         f"-Wl,-rpath,{self.prefix}/lib")
        used = [name for name in symbols(self.directory / "client", "--undefined-only") if "SHEAF" in name]
        self.assertTrue(used)
        self.assertTrue(all(name.endswith("@SHEAF_1") for name in used), used)
        self.works()


@unittest.skipUnless(released(), "sizes are those of a release build")
class Sizes(InstalledCase):
    def test_a_program_with_one_multifile(self):
        self.classic("gcc", "client.c", C_SERIAL, "--ser")
        # Serial or parallel, a program has the one writer and the one reader.
        self.assertLess((self.directory / "client").stat().st_size, 2 * MEGABYTE)

    def test_an_installation_for_one_mpi(self):
        others = set(MPIS[1:])
        files = [path for path in self.prefix.rglob("*") if path.is_file() and not path.is_symlink()]
        files = [path for path in files if not others & set(path.parts) and not any(mpi in path.name for mpi in others)]
        # What is loaded into programs that know nothing of Sheaf has all it needs within itself.
        apart = [path for path in files if path.name in ("libsheaf_posix.so", "sheaf-mount")]
        sizes = {path: path.stat().st_size for path in files}
        self.assertLess(sum(sizes[path] for path in files if path not in apart), 9.5 * MEGABYTE)
        self.assertLess(sum(sizes[path] for path in apart), 2.6 * MEGABYTE)


if __name__ == "__main__":
    unittest.main()
