#!/usr/bin/env python3
"""Builds and tests Sheaf under every available MPI, and prints a table: `make mpi-test` (docs/testing.md).

One build has all MPIs. The tests of each MPI use the drop-in of a build with this MPI alone. Then each of these
drop-ins is preloaded into programs of every other MPI. A last build uses clang. The exit code is 0 if all possible
tests pass.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from pathlib import Path

import builds
import compilers
import mpis
import pairs
import report
import suites

SUITES = "c,mpiio,fortran,pairs,compilers"


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    option = parser.add_argument
    option("--build", type=Path, default=Path("build-mpis"), help="directory for all of it (build-mpis)")
    option("--only", default="", help="MPIs by the beginnings of their names, e.g. intel,openmpi-5 (all)")
    option("--suites", default=SUITES, help=f"which ({SUITES})")
    option("--jobs", type=int, default=os.cpu_count() or 1, help="of the compiler (one for each core)")
    option("--cases", type=int, default=500, help="random cases of the MPI-IO suite under each MPI (500)")
    option("--json", action="store_true", help="print the results as JSON instead of a table")
    option("--no-install", action="store_true", help="leave out MPIs that pip would have to fetch")
    return parser.parse_args()


def main() -> int:
    chosen = arguments()
    wanted = chosen.suites.split(",")
    began = time.monotonic()
    log = report.Log(chosen.build.resolve(), to=sys.stderr)
    here = mpis.at_hand(chosen.build.resolve(), chosen.only, not chosen.no_install, log)
    rows = [report.Row(mpi) for mpi in here]
    problem = ""
    try:
        build = builds.make(chosen.build.resolve(), [mpi for mpi in here if mpi.here], chosen.jobs, log)
        for row in rows:
            if row.mpi.here:
                suites.run(row, build, wanted, chosen.cases, log)
        if "pairs" in wanted:
            pairs.run(rows, build, log)
        if "compilers" in wanted:
            rows.append(compilers.clang(chosen.build.resolve(), here, chosen.jobs, log))
    except builds.BuildError as error:
        problem = str(error)
    seconds = round(time.monotonic() - began)
    if chosen.json:
        print(json.dumps(report.as_json(rows, problem, seconds), indent=1))
    else:
        print(report.as_table(rows, problem, seconds, log.directory))
    return 0 if not problem and report.passed(rows) else 1


if __name__ == "__main__":
    sys.exit(main())
