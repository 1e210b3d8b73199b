"""The subset of Spack that reads a package.py and carries out its steps. Directives are recorded. A spec is a table
of variants and an MPI, known only by its wrapper: Spack's may be anywhere below a prefix. Unknown features are
errors, so a recipe cannot use a feature that is not tested here."""

from __future__ import annotations

import subprocess
import types
from pathlib import Path
from typing import Any


class Prefix(str):
    """A directory with its contents as attributes: `prefix.bin.sheaf`."""

    def __getattr__(self, name: str) -> Prefix:
        return Prefix(f"{self}/{name}")


class Executable:
    def __init__(self, path: str) -> None:
        self.path = path

    def __call__(self, *words: str) -> None:
        subprocess.run([self.path, *words], check=True, stdout=subprocess.DEVNULL)


class Spec:
    def __init__(self, variants: dict[str, Any], mpicc: str | None) -> None:
        self.variants, self.packages = variants, {"mpi": types.SimpleNamespace(mpicc=mpicc)} if mpicc else {}

    def satisfies(self, text: str) -> bool:
        if text[0] in "+~":
            return self.variants[text[1:]] is (text[0] == "+")
        name, _, value = text.partition("=")
        return self.variants[name] == value

    def __getitem__(self, name: str) -> types.SimpleNamespace:
        return self.packages[name]


class CMakePackage:
    url = ""
    recorded: dict[str, list[tuple[tuple[Any, ...], dict[str, Any]]]] = {}

    def __init__(self, spec: Spec, prefix: str = "") -> None:
        self.spec, self.prefix = spec, Prefix(prefix)

    @staticmethod
    def define(name: str, value: Any) -> str:
        if isinstance(value, bool):
            return f"-D{name}:BOOL={'ON' if value else 'OFF'}"
        return f"-D{name}:STRING={value}"

    def define_from_variant(self, name: str, variant: str) -> str:
        return self.define(name, self.spec.variants[variant])


def load(path: Path) -> type[CMakePackage]:
    """Loads the class of a package.py; `recorded` has the arguments of every directive in it."""
    recorded: dict[str, list[tuple[tuple[Any, ...], dict[str, Any]]]] = {}

    def directive(name: str) -> Any:
        return lambda *words, **options: recorded.setdefault(name, []).append((words, options))

    names = {name: directive(name) for name in ("version", "variant", "depends_on", "provides", "conflicts", "license")}
    keep = {"run_after": lambda phase: lambda function: function, "on_package_attributes": lambda **_: lambda function: function}
    names |= {"CMakePackage": CMakePackage, "Executable": Executable} | keep
    text = path.read_text()
    if text.count("\nfrom spack.package import *\n") != 1:
        raise ValueError(f"{path}: does not import spack.package")
    text = text.replace("from spack.package import *", "", 1)
    exec(compile(text, str(path), "exec"), names)  # noqa: S102
    package = names["Sheaf"]
    package.recorded = recorded
    return package
