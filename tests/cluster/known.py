"""Lists the cases that fail today, one line each: (file system, case, kind, reason), with patterns as in fnmatch.

A case of kind `always` that passes is an error, because its entry must then be removed. A case of kind `often`
fails or passes depending on a race. The list should become empty."""

KNOWN: list[tuple[str, str, str, str]] = []
