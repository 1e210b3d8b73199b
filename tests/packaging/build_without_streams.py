#!/usr/bin/env python3
"""build_without_streams.py [WORK]: builds and installs Sheaf with SHEAF_STREAMS=OFF in WORK (build-without-streams),
then writes, reads and verifies a multifile with the installation. Exits with 0 if everything passes.
"""

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PROGRAM = r"""
#include <sion.h>
#include <stdio.h>
#include <string.h>
int main(int argc, char** argv) {
  int ntasks = 2, nfiles = 1, ranks[] = {0, 1};
  int* ranks_at = ranks;
  sion_int64 chunks[] = {100, 100};
  sion_int64* chunks_at = chunks;
  sion_int32 block = 512;
  const int sid = sion_open(argv[argc - 1], "bw", &ntasks, &nfiles, &chunks_at, &block, &ranks_at, NULL);
  if (sid < 0) return 1;
  for (int task = 0; task < 2; ++task)
    if (sion_seek(sid, task, SION_CURRENT_BLK, SION_CURRENT_POS) != SION_SUCCESS || sion_fwrite("hello", 1, 5, sid) != 5) return 1;
  return sion_close(sid) != SION_SUCCESS;
}
"""


def call(*words, **options):
    return subprocess.run([str(word) for word in words], check=True, text=True, **options)


def main() -> int:
    work = Path(sys.argv[1] if len(sys.argv) > 1 else ROOT / "build-without-streams").resolve()
    prefix = work / "prefix"
    call("cmake", "-S", ROOT, "-B", work, "-G", "Ninja", "-DSHEAF_STREAMS=OFF", "-DSHEAF_MPIS=none", "-DSHEAF_DEVELOPER=ON",
         f"-DCMAKE_INSTALL_PREFIX={prefix}", stdout=subprocess.DEVNULL)
    call("cmake", "--build", work, "-j", os.environ.get("JOBS", "2"))
    call("cmake", "--install", work, stdout=subprocess.DEVNULL)
    installed = {path.name for path in prefix.rglob("*")}
    assert not {"libsheaf_posix.so", "sheaf-mount"} & installed, "parts of the streams are installed"

    (work / "program.c").write_text(PROGRAM)
    flags = [word for kind in ("--cflags", "--libs")
             for word in call(prefix / "bin/sionconfig", "--ser", kind, capture_output=True).stdout.split()]
    call("cc", work / "program.c", "-o", work / "program", *flags, f"-Wl,-rpath,{prefix}/lib")
    file = work / "two.sion"
    call(work / "program", file)
    sheaf = prefix / "bin/sheaf"
    call(sheaf, "verify", file)
    call(sheaf, "info", file, stdout=subprocess.DEVNULL)
    assert call(sheaf, "cat", "--task", "1", file, capture_output=True).stdout == "hello"
    refused = subprocess.run([sheaf, "ls", file], capture_output=True, text=True)
    assert refused.returncode == 1 and "SHEAF_STREAMS=OFF" in refused.stderr, refused.stderr
    print("build_without_streams: passed")
    return 0


if __name__ == "__main__":
    sys.exit(main())
