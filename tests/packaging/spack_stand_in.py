"""Enough of Spack to read a package.py and to carry out its steps: directives are recorded, a spec is a table of variants and
prefixes. What it does not know is an error, so a recipe cannot use what is not looked at here."""

from __future__ import annotations

import subprocess
import types
from pathlib import Path
from typing import Any


class Prefix(str):
    """A directory, whose attributes are what is in it: `prefix.bin.sheaf`."""

    def __getattr__(self, name: str) -> Prefix:
        return Prefix(f"{self}/{name}")


class Executable:
    def __init__(self, path: str) -> None:
        self.path = path

    def __call__(self, *words: str) -> None:
        subprocess.run([self.path, *words], check=True, stdout=subprocess.DEVNULL)


class Spec:
    def __init__(self, variants: dict[str, Any], prefixes: dict[str, Path]) -> None:
        self.variants, self.prefixes = variants, prefixes

    def satisfies(self, text: str) -> bool:
        if text[0] in "+~":
            return self.variants[text[1:]] is (text[0] == "+")
        name, _, value = text.partition("=")
        return self.variants[name] == value

    def __getitem__(self, name: str) -> types.SimpleNamespace:
        return types.SimpleNamespace(prefix=self.prefixes[name])


class CMakePackage:
    recorded: dict[str, list[tuple[tuple[Any, ...], dict[str, Any]]]] = {}

    def __init__(self, spec: Spec, prefix: str = "") -> None:
        self.spec, self.prefix = spec, Prefix(prefix)

    @staticmethod
    def define(name: str, value: Any) -> str:
        return f"-D{name}:STRING={value}"


def load(path: Path) -> type[CMakePackage]:
    """The class of a package.py; `recorded` has the arguments of every directive in it."""
    recorded: dict[str, list[tuple[tuple[Any, ...], dict[str, Any]]]] = {}

    def directive(name: str) -> Any:
        return lambda *words, **options: recorded.setdefault(name, []).append((words, options))

    names = {name: directive(name) for name in ("version", "variant", "depends_on", "provides", "conflicts", "license")}
    keep = {"run_after": lambda phase: lambda function: function, "on_package_attributes": lambda **_: lambda function: function}
    names |= {"CMakePackage": CMakePackage, "Executable": Executable} | keep
    text = path.read_text()
    first, _, rest = text.partition("\n")
    if first != "from spack.package import *":
        raise ValueError(f"{path}: begins with {first!r}")
    exec(compile("\n" + rest, str(path), "exec"), names)  # noqa: S102
    package = names["Sheaf"]
    package.recorded = recorded
    return package
