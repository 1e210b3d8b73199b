"""The only exception of this package for files that are not valid multifiles."""


class FormatError(Exception):
    """A file violates a rule of docs/format.md. `finding` describes the violation; `path` is the physical
    file."""

    def __init__(self, path: str, finding: str) -> None:
        super().__init__(f"{path}: {finding}")
        self.path = path
        self.finding = finding
