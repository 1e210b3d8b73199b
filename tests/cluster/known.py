"""Cases that fail today, one line each: (file system, case, how, why), patterns as of fnmatch. `always`: an
error as soon as it passes ("take it off the list"); `often`: what a race decides. The list is to become
empty."""

PAGES = "tasks of several hosts write into one page, and the host that writes back last wins"
APPEND = "bytes that another host has appended are not found, or do not fit their checksums"
REPLACED = "a name that other hosts write again is taken for one that somebody has completed"
SIZE = "MPI_File_get_size differs between hosts after set_size"
STALE = "a name that was removed and made anew cannot be opened: Stale file handle"
MIXED = "collective and single calls of several hosts on one region: bytes differ from the model, or it hangs"
POINTER = "records written at the shared pointer are overwritten or not found"
LOST = "what was flushed is not found after the tasks of a host were killed"
FILLER = "a command has not ended after 60 s, maybe the test's own filling; nobody has looked into it yet"

KNOWN: list[tuple[str, str, str, str]] = [
    ("fuse2", "modes/plain-512/round", "always", PAGES),
    ("fuse2", "modes/unbuffered/round", "always", PAGES),
    ("fuse2", "modes/bare/round", "always", PAGES),
    ("fuse2", "modes/flushed/round", "always", PAGES),
    ("fuse2", "modes/durable/round", "always", PAGES),
    ("fuse2", "modes/compress/round", "always", PAGES),
    ("fuse2", "modes/*", "often", PAGES),
    ("fuse2", "append/*", "often", PAGES),
    ("fuse2", "names/replaced", "often", PAGES),
    ("fuse2", "mpiio/generated/*", "often", MIXED),
    ("fuse2-through", "mpiio/shared-pointer/*", "often", POINTER),
    ("gluster*", "append/plain/*", "often", APPEND),
    ("gluster*", "append/files/*", "often", APPEND),
    ("gluster*", "names/replaced", "often", REPLACED),
    ("gluster", "mpiio/set-size/*", "often", SIZE),
    ("moosefs", "mpiio/set-size/*", "often", SIZE),
    ("gluster", "mpiio/remade/*", "often", STALE),
    ("gluster*", "mpiio/shared-p*", "often", POINTER),
    ("gluster-strict", "mpiio/generated/*", "always", MIXED),
    ("gluster", "mpiio/generated/*", "often", MIXED),
    ("moosefs", "mpiio/generated/*", "often", MIXED),
    ("gluster*", "lost/tasks/plain/*", "often", LOST),
    ("moosefs", "full/*", "often", FILLER),
]
