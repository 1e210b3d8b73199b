"""The one exception of this package for files that are not sound multifiles."""


class FormatError(Exception):
    """A file breaks a rule of docs/format.md. `finding` says which one; `path` is the physical file it was found in."""

    def __init__(self, path: str, finding: str) -> None:
        super().__init__(f"{path}: {finding}")
        self.path = path
        self.finding = finding
