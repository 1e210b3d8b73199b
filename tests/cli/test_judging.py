"""Tests the judging of the papers' figures (bench/figures/judging.py) and the page about them (page.py)."""

from __future__ import annotations

import json
import sys
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "bench"))

from figures.judging import (
    EXPLAINED,
    FAILS,
    HOLDS,
    TOLERANCE,
    Cause,
    at_least,
    at_most,
    between,
    claim,
    near,
    sentence,
    tally,
    verdict,
)  # noqa: E402
from figures.page import write_page  # noqa: E402


class Cells(unittest.TestCase):
    def verdicts(self, *cells: dict) -> list[str]:
        return [cell["verdict"] for cell in cells]

    def test_a_printed_value_holds_within_the_tolerance_on_both_sides(self):
        self.assertEqual(
            self.verdicts(*(near("x", 100, 100 * factor) for factor in (1 / TOLERANCE, 1, TOLERANCE))), [HOLDS] * 3
        )
        self.assertEqual(self.verdicts(near("x", 100, 101 * TOLERANCE), near("x", 100, 99 / TOLERANCE)), [FAILS] * 2)
        self.assertEqual(self.verdicts(near("x", 100, 120, tolerance=1.1)), [FAILS])

    def test_bounds_hold_on_their_own_side_only(self):
        self.assertEqual(
            self.verdicts(at_least("x", 3, 3), at_least("x", 3, 2.99), at_most("x", 10, 10), at_most("x", 10, 10.1)),
            [HOLDS, FAILS, HOLDS, FAILS],
        )
        self.assertEqual(
            self.verdicts(between("x", 10, 15, 10), between("x", 10, 15, 15.1), between("x", 10, 15, 9.9)),
            [HOLDS, FAILS, FAILS],
        )

    def test_only_a_run_that_changes_the_cause_explains_a_cell(self):
        runs = []

        def varied(value: float) -> Cause:
            return Cause("a cause", "changed", lambda: runs.append(value) or value)

        held = at_least("x", 3, 5, cause=varied(7))
        self.assertEqual((held["verdict"], runs), (HOLDS, []), "nothing runs if the cell holds")
        explained, wrong, unknown = (
            at_least("x", 3, 2, cause=varied(4)),
            at_least("x", 3, 2, cause=varied(2.5)),
            at_least("x", 3, 2),
        )
        self.assertEqual(self.verdicts(explained, wrong, unknown), [EXPLAINED, FAILS, FAILS])
        self.assertEqual(explained["value"], 2, "the value stays that of the figure")
        self.assertEqual(
            (explained["cause"]["value"], explained["cause"]["confirmed"], wrong["cause"]["confirmed"]),
            (4, True, False),
        )
        self.assertIn("a cause; changed: 4", sentence(explained))

    def test_the_worst_cell_decides(self):
        good, explained, bad = near("x", 1, 1), at_least("x", 3, 2, cause=Cause("", "", lambda: 3)), near("x", 1, 9)
        self.assertEqual(verdict([claim("a", [good])]), HOLDS)
        self.assertEqual(verdict([claim("a", [good, explained])]), EXPLAINED)
        self.assertEqual(verdict([claim("a", [good]), claim("b", [explained, bad])]), FAILS)
        self.assertEqual(verdict([]), HOLDS)
        self.assertEqual(tally([claim("a", [good, explained, bad, good])]), {HOLDS: 2, EXPLAINED: 1, FAILS: 1})


class Page(unittest.TestCase):
    def test_the_page_has_every_figure_and_what_does_not_hold(self):
        with tempfile.TemporaryDirectory() as name:
            cells = [
                near("first <cell>", 100, 101),
                at_least("second cell", 3, 2, "times", Cause("rain", "no rain", lambda: 4)),
            ]
            result = {
                "name": "sc09-3",
                "paper": "SC'09",
                "title": "files & more",
                "form": "quick",
                "date": "2000-01-01",
                "machine": "2 cores",
                "panels": [],
                "tables": [],
                "claims": [claim("a claim", cells)],
            }
            Path(name, "sc09-3.json").write_text(json.dumps(result))
            Path(name, "sc09-3.png").write_bytes(b"")
            page = write_page(Path(name), ["sc09-4", "sc09-3"]).read_text()
        self.assertIn('<img src="sc09-3.png" alt="files &amp; more">', page)
        self.assertIn("first &lt;cell&gt;", page)
        wrong = page[page.index("What does not hold") : page.index("<section")]
        self.assertIn("second cell", wrong)
        self.assertIn("rain; no rain: 4 times", wrong)
        self.assertNotIn("first", wrong)


if __name__ == "__main__":
    unittest.main()
