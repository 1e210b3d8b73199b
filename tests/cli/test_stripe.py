"""Tests `sheaf stripe` on striped files. Directories stand for the hosts."""

from __future__ import annotations

import json
import resource
import subprocess
import unittest

from tool_case import BIN, ToolCase, payload

NAME = "n0,/a.dat;n1,/a.dat;n2,/b.dat;"


class StripeCase(ToolCase):
    def setUp(self):
        super().setUp()
        self.root = self.dir / "root"
        for host in ("n0", "n1", "n2"):
            (self.root / host).mkdir(parents=True)
        self.data = payload(3, 12345)
        (self.dir / "plain").write_bytes(self.data)

    def stripe(self, command, name, *words):
        return self.succeed("sheaf", "stripe", command, name, *words, "--root", self.root)

    def refused(self, part, command, name, *words, status=1):
        return self.fail_on(part, "sheaf", "stripe", command, name, *words, "--root", self.root, status=status)

    def made(self, unit=100):
        self.stripe("import", NAME, self.dir / "plain", "--unit", unit)


class Stripe(StripeCase):
    def test_subfiles_hold_their_stripes_and_nothing_else(self):
        self.made()
        units = [self.data[i:i + 100] for i in range(0, len(self.data), 100)]
        for i, path in enumerate(("n0/a.dat", "n1/a.dat", "n2/b.dat")):
            self.assertEqual((self.root / path).read_bytes(), b"".join(units[i::3]))

    def test_cat_and_export_give_it_back(self):
        self.made()
        self.assertEqual(self.stripe("cat", NAME), self.data)
        self.assertEqual(self.stripe("cat", NAME, "--offset", 12300, "--length", 10), self.data[12300:12310])
        self.assertEqual(self.stripe("cat", NAME, "--offset", 20000), b"")
        self.stripe("export", NAME, self.dir / "back")
        self.assertEqual((self.dir / "back").read_bytes(), self.data)
        self.refused("back", "export", NAME, self.dir / "back")
        self.stripe("export", NAME, self.dir / "back", "--force")

    def test_ls(self):
        self.made()
        found = json.loads(self.stripe("ls", NAME, "--json"))
        self.assertEqual((found["size"], found["stripe_unit"], found["closed"]), (12345, 100, True))
        self.assertEqual([s["state"] for s in found["subfiles"]], ["closed"] * 3)
        self.assertIn(b"12345 bytes in 3 subfiles, stripe unit 100 bytes", self.stripe("ls", NAME))

    def test_import_refuses_what_exists(self):
        self.made()
        self.refused("File exists", "import", NAME, self.dir / "plain")
        self.stripe("import", NAME, self.dir / "plain", "--force")
        self.assertEqual(json.loads(self.stripe("ls", NAME, "--json"))["stripe_unit"], 65536)

    def test_what_an_import_replaces_stays_until_the_new_file_is_whole(self):
        self.made()
        (self.dir / "large").write_bytes(bytes(range(256)) * 4096)
        before = {path: path.read_bytes() for path in self.root.rglob("*") if path.is_file()}
        limit = lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (100000, 100000))  # noqa: E731
        command = [BIN / "sheaf", "stripe", "import", "--force", NAME, self.dir / "large", "--root", self.root]
        failed = subprocess.run([str(word) for word in command], capture_output=True, check=False, preexec_fn=limit)
        self.assertEqual(failed.returncode, 1, failed)
        self.assertEqual({path: path.read_bytes() for path in self.root.rglob("*") if path.is_file()}, before)
        self.stripe("import", NAME, self.dir / "large", "--force")
        self.assertEqual(self.stripe("cat", NAME), (self.dir / "large").read_bytes())
        self.assertEqual(len([path for path in self.root.rglob("*") if path.is_file()]), 6)

    def test_import_takes_regular_files(self):
        self.made()
        for source in ("/dev/zero", self.root):
            self.refused("regular file", "import", "--force", NAME, source)
        self.assertEqual(self.stripe("cat", NAME), self.data)

    def test_check_names_everything_that_is_wrong(self):
        self.made()
        self.assertIn(b"ok: 12345 bytes in 3 subfiles", self.stripe("check", NAME))
        with open(self.root / "n1" / "a.dat", "r+b") as file:
            file.truncate(7)
        (self.root / "n2" / "b.dat.sfio").unlink()
        said = self.refused("n1,/a.dat", "check", NAME)
        self.assertIn("short: it has 7 of 4100 bytes", said)
        self.assertIn("subfile 2 (n2,/b.dat) has no identity", said)
        (self.root / "n2" / "b.dat").unlink()
        self.assertIn("is missing", self.refused("n2,/b.dat", "check", NAME))
        self.refused("n1", "cat", NAME)

    def test_check_of_another_order_unit_and_number(self):
        self.made()
        self.refused("is subfile 1, but stands as number 0", "check", "n1,/a.dat;n0,/a.dat;n2,/b.dat;")
        self.refused("one of 3 subfiles", "check", "n0,/a.dat;n1,/a.dat;")
        self.refused("not 55", "check", "unit=55;" + NAME)

    def test_rm_removes_damaged_files_too(self):
        self.made()
        (self.root / "n0" / "a.dat").unlink()
        self.stripe("rm", NAME)
        self.assertEqual([p for p in self.root.rglob("*") if p.is_file()], [])
        self.refused("there is no striped file", "rm", NAME)
        self.refused("there is no striped file", "ls", NAME)

    def test_mistakes(self):
        self.refused("host,path", "ls", "nonsense")
        self.refused("unit", "import", NAME, self.dir / "plain", "--unit", 0, status=2)
        self.fail_on("not this machine", "sheaf", "stripe", "ls", NAME)


class Foreign(StripeCase):
    """The tool must refuse files that are not subfiles, and names that lead out of the root directory."""

    def setUp(self):
        super().setUp()
        (self.dir / "secret").write_bytes(b"kept")
        (self.root / "n0" / "notes").write_bytes(b"kept")
        (self.root / "n0" / "link").symlink_to(self.dir / "secret")

    def kept(self):
        self.assertEqual((self.dir / "secret").read_bytes(), b"kept")
        self.assertEqual((self.root / "n0" / "notes").read_bytes(), b"kept")

    def test_names_do_not_lead_out_of_the_root(self):
        before = sorted(str(p) for p in self.dir.rglob("*"))
        for name in ("n0,/../../secret;", "n0,../../secret;", "n0,/link;", "../..,/secret;", "..,/secret;"):
            part = name[:-1].split(",")[0 if name.startswith("..") else 1]
            for command in ("ls", "check", "cat", "rm"):
                self.refused(part, command, name)
            self.refused(part, "import", name, self.dir / "plain")
            self.refused(part, "import", name, self.dir / "plain", "--force")
        self.refused("names may not have '..' in them", "ls", "n0,/../../secret;")
        self.refused("leads out of", "ls", "n0,/link;")
        self.kept()
        self.assertEqual(sorted(str(p) for p in self.dir.rglob("*")), before)

    def test_rm_removes_nothing_but_subfiles(self):
        self.refused("is no subfile of a striped file", "rm", "n0,/notes;")
        self.made()
        self.refused("nothing was changed", "rm", NAME + "n0,/notes;")
        self.refused("nothing was changed", "import", "n1,/a.dat;n0,/notes;", self.dir / "plain", "--force")
        self.kept()
        self.assertEqual(self.stripe("cat", NAME), self.data)

    def test_a_file_in_the_place_of_an_identity_stays(self):
        (self.root / "n0" / "new.sfio").write_bytes(b"notes")
        self.refused("is no identity", "import", "n0,/new;", self.dir / "plain")
        self.assertEqual((self.root / "n0" / "new.sfio").read_bytes(), b"notes")
        self.assertFalse((self.root / "n0" / "new").exists())


if __name__ == "__main__":
    unittest.main()
