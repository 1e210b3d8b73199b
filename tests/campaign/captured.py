"""Runs a case of the campaign over captured files, in two jobs of `sheaf run` (captured.cpp).

    captured.py run DIR LEDGERS SEED 1

Then captured programs without failures copy the files that they find."""
from __future__ import annotations

import os
import pathlib
import subprocess
import sys

BIN = pathlib.Path(os.environ["SHEAF_BIN"])
FILES = 3


def captured(where: pathlib.Path, *command: object, preload: str | None = None) -> subprocess.CompletedProcess:
    environment = {name: value for name, value in os.environ.items() if name != "LD_PRELOAD"} | ({"LD_PRELOAD": preload} if preload else {})
    words = [str(word) for word in (BIN / "sheaf", "run", "--capture", "cap.*:set.sion", "--", *command)]
    return subprocess.run(words, cwd=where, env=environment, capture_output=True, text=True, check=False)


def main() -> None:
    cases, ledgers, seed = pathlib.Path(sys.argv[2]), sys.argv[3], sys.argv[4]
    for turn in ("undisturbed", "disturbed"):
        where = cases / seed / turn
        where.mkdir(parents=True)
        (where / "bystander").write_text("not of this program")
        captured(where, BIN / "campaign_captured", turn, cases, ledgers, seed, preload=str(BIN / "libfailing_calls.so"))
        copying = "; ".join(f"[ ! -e cap.{number} ] || cp cap.{number} multifile.{number}" for number in range(FILES))
        done = captured(where, "sh", "-c", copying)
        if done.stderr and os.environ.get("CAMPAIGN_TALKS"):
            print(done.stderr)


if __name__ == "__main__":
    main()
