"""Runs the suites of one MPI: programs that ctest selects by label, and tests in Python that run for this MPI
alone."""

from __future__ import annotations

import re
import sys
import xml.etree.ElementTree as xml

from builds import ROOT, Build
from mpis import Mpi
from report import Counts, Log, Row

LABELS = {"c": ("c", "sfio"), "mpiio": (), "fortran": ("fortran",)}
SCRIPTS = {"c": ("conformance/test_families",), "fortran": (),
           "mpiio": tuple(f"mpiio/test_{name}" for name in (
               "mpiio_names", "front", "behaviour", "views", "faults", "locked", "settings",
               "differential"))}


def run(row: Row, build: Build, wanted: list[str], cases: int, log: Log) -> None:
    mpi = row.mpi
    for suite in LABELS:
        if mpi.runtime_only or suite not in wanted:
            continue
        log.say(f"{mpi.name}: {suite}")
        counts = row.suites.setdefault(suite, Counts())
        for label in LABELS[suite]:
            name = f"{mpi.name}-{label}"
            counts.add(labelled(f"{mpi.built_as}-{label}", build.directory, build.environment(), log, name))
        for script in SCRIPTS[suite]:
            counts.add(told(script, mpi, build, cases, log))
        if not counts.passed and not counts.failed:
            reasons = [line for line in build.not_built if re.search(rf"\b{mpi.built_as}:", line)]
            counts.why_not = "; ".join(reasons)


def labelled(label: str, directory, environment: dict[str, str], log: Log, name: str) -> Counts:
    """Runs the tests of ctest with this label."""
    results = log.directory / f"{name}.xml"
    results.unlink(missing_ok=True)
    command = ["ctest", "--test-dir", str(directory), "-L", f"^{label}$", "--output-on-failure"]
    command += ["--output-junit", str(results)]
    code, _ = log.run(name, command, env=environment)
    counts = Counts()
    if results.exists():
        for case in xml.parse(results).getroot().iter("testcase"):
            status = case.get("status")
            counts.passed += status == "run"
            counts.skipped += status in ("disabled", "notrun")
            if status == "fail":
                counts.failed.append(case.get("name"))
    if code != 0 and not counts.failed:
        counts.failed.append(f"ctest of {name}: exit code {code}")
    return counts


def told(script: str, mpi: Mpi, build: Build, cases: int, log: Log) -> Counts:
    """Runs a test in Python. The test runs its programs under this MPI with the drop-in that was built for it."""
    more = {"SHEAF_TEST_MPIS": mpi.built_as, "SHEAF_DROP_IN": str(build.alone(mpi)),
            "SHEAF_CASES": str(cases)}
    if mpi.python:
        more["SHEAF_MPI4PY"] = mpi.python
    name = script.split("/")[-1]
    command = [sys.executable, "-B", str(ROOT / "tests" / f"{script}.py")]
    code, said = log.run(f"{mpi.name}-{name}", command, env=build.environment(**more), cwd=ROOT)
    return unittest_counts(name, code, said)


def unittest_counts(name: str, code: int, said: str) -> Counts:
    ran = re.search(r"^Ran (\d+) tests? in", said, re.MULTILINE)
    failed = sorted(set(re.findall(r"^(?:FAIL|ERROR): (\w+)", said, re.MULTILINE)))
    skipped = re.search(r"skipped=(\d+)", said)
    counts = Counts(skipped=int(skipped[1]) if skipped else 0, failed=[f"{name}.{test}" for test in failed])
    if ran:
        counts.passed = max(0, int(ran[1]) - counts.skipped - len(failed))
    if not ran or (code != 0 and not failed):
        counts.failed.append(f"{name}: exit code {code}")
    return counts
