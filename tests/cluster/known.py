"""Cases that fail today, one line each: (file system, case, how, why), patterns as of fnmatch. `always`: an
error as soon as it passes ("take it off the list"); `often`: what a race decides. The list is to become
empty."""

KNOWN: list[tuple[str, str, str, str]] = []
