"""Cases that fail today, one line each: (file system, case, kind, reason), with patterns as of fnmatch.

Kind `always`: an error as soon as the case passes, because the entry must then be removed. Kind `often`: a
race decides. The list is to become empty."""

KNOWN: list[tuple[str, str, str, str]] = []
