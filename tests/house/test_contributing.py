"""Checks the developer setup: presets, workflows, hooks of git, the container, editor support (CONTRIBUTING.md).

    SHEAF_BIN=build/bin python3 -B tests/house/test_contributing.py
"""

import json
import os
import pathlib
import re
import shlex
import subprocess
import sys
import tempfile
import unittest

TOP = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(os.environ["SHEAF_BIN"]).resolve().parent if "SHEAF_BIN" in os.environ else None
WORKFLOWS = sorted((TOP / ".github/workflows").glob("*"))
# Besides make targets, steps of jobs may only use these actions of GitHub, at a commit, with the version beside it.
ACTION = re.compile(r"actions/(checkout|cache|upload-artifact)@[0-9a-f]{40}  # v\d+\.\d+\.\d+")


def text(name):
    return (TOP / name).read_text()


def make_targets():
    return {name for line in re.findall(r"^([a-z][\w -]*):", text("Makefile"), re.M) for name in line.split()}


def values(yaml, key):
    """Returns the values of `key`, one per line in this project's YAML style, with their comments."""
    return re.findall(rf"^ *(?:- )?{key}: *(.*)$", yaml, re.M)


def commands(workflow):
    """Returns the commands of a workflow's steps, once for each value of a matrix."""
    found = []
    for command in values(workflow.read_text(), "run"):
        matrix = re.search(r"\$\{\{ matrix\.(\w+) \}\}", command)
        choices = re.findall(rf"^ +{matrix[1]}: \[(.*)\]$", workflow.read_text(), re.M) if matrix else []
        found += [command.replace(matrix[0], choice) for line in choices for choice in line.split(", ")] if matrix else [command]
    return found


def presets(kind):
    return json.loads(text("CMakePresets.json"))[kind]


def committed(*patterns):
    names = subprocess.run(["git", "-C", TOP, "ls-files", *patterns], check=True, capture_output=True, text=True)
    return [TOP / name for name in names.stdout.splitlines() if (TOP / name).is_file()]


class Presets(unittest.TestCase):
    def test_each_kind_of_build_has_one(self):
        listed = subprocess.run(["cmake", "--list-presets"], cwd=TOP, capture_output=True, text=True)
        self.assertEqual(0, listed.returncode, listed.stderr)
        self.assertLessEqual({"dev", "release", "asan", "tsan", "openmpi", "mpich"}, set(re.findall(r'"([\w-]+)"', listed.stdout)))

    def test_cache_variables_are_options_of_the_project(self):
        lists = "\n".join(path.read_text() for path in [TOP / "CMakeLists.txt", *(TOP / "cmake").glob("*.cmake")])
        names = {name for preset in presets("configurePresets") for name in preset.get("cacheVariables", {})}
        known = set(re.findall(r"(?:option|set)\((SHEAF_\w+)", lists))
        self.assertEqual(set(), {name for name in names if name.startswith("SHEAF_")} - known)

    def test_make_clean_removes_their_directories(self):
        cleaned = re.search(r"^clean:\n\t@rm -rf (.*)$", text("Makefile"), re.M).group(1).split()
        visible = [preset["name"] for preset in presets("configurePresets") if not preset.get("hidden")]
        self.assertEqual([], [name for name in visible if f"build-{name}" not in cleaned])

    def test_documents_name_those_there_are(self):
        names = {preset["name"] for preset in presets("configurePresets")}
        pages = [TOP / "CONTRIBUTING.md", TOP / "Makefile", *(TOP / "docs").glob("*.md"), *(TOP / ".devcontainer").iterdir()]
        used = {name for page in pages for name in re.findall(r"--preset ([a-z][\w-]*)", page.read_text())}
        self.assertIn("dev", used)
        self.assertEqual(set(), used - names)


class Workflows(unittest.TestCase):
    def test_each_step_is_a_make_target_or_a_pinned_action(self):
        self.assertTrue(WORKFLOWS)
        targets, wrong = make_targets(), []
        for path in WORKFLOWS:
            for command in commands(path):
                words = shlex.split(command)
                if words[:1] != ["make"] or len(words) < 2 or words[1] not in targets or not all("=" in word for word in words[2:]):
                    wrong.append(f"{path.name}: run: {command}")
            for action in values(path.read_text(), "uses"):
                if not ACTION.fullmatch(action):
                    wrong.append(f"{path.name}: uses: {action}")
        self.assertEqual([], wrong)

    def test_one_runs_what_ci_run_runs(self):
        own = re.search(r"^(make \w+) && exit 0$", text(".ci/run"), re.M).group(1)
        self.assertIn(own, [command for path in WORKFLOWS for command in commands(path)])

    def test_build_test_mpis_sanitizers_tidy_wheels_and_documents_have_jobs(self):
        run = {shlex.split(command)[1] for path in WORKFLOWS for command in commands(path)}
        self.assertLessEqual({"benches", "test", "mpi-test", "asan", "tsan", "tidy", "wheel", "docs-test"}, run)


class Hooks(unittest.TestCase):
    def subject_check(self, message):
        with tempfile.NamedTemporaryFile("w", suffix=".txt") as file:
            file.write(message)
            file.flush()
            return subprocess.run([TOP / "scripts/commit-subject.py", file.name], capture_output=True, text=True)

    def test_they_are_local_and_their_scripts_exist(self):
        config = text(".pre-commit-config.yaml")
        self.assertEqual({"local"}, set(values(config, "repo")))
        missing = []
        for command in values(config, "entry"):
            program, *arguments = shlex.split(command)
            files = [word for word in arguments if word.endswith((".py", ".sh"))]
            if "/" in program:
                files.append(program)
                if not os.access(TOP / program, os.X_OK):
                    missing.append(f"{program} cannot be executed")
            missing += [name for name in files if not (TOP / name).is_file()]
            if "test_house.py" in command:
                defined = re.findall(r"^ *(?:class|def) (\w+)", text("tests/house/test_house.py"), re.M)
                tests = [word for word in arguments if word[0].isupper()]
                missing += [test for test in tests if not set(test.split(".")) <= set(defined)]
        self.assertEqual([], missing)

    def test_a_subject_names_the_module_in_72_characters(self):
        self.assertEqual(0, self.subject_check("journal: " + "x" * 63 + "\n\nWhy.\n# comment of git\n").returncode)
        self.assertEqual(0, self.subject_check("set, collective: compile without unity builds\n").returncode)
        self.assertEqual(0, self.subject_check('Revert "an old subject"\n').returncode)
        for message, fault in (("journal: " + "x" * 64, "73 characters"), ("Report damaged slots", "module"),
                               ("journal: report damaged slots.", "period"), ("journal: report\nWhy.", "second line")):
            done = self.subject_check(message + "\n")
            self.assertEqual(1, done.returncode, message)
            self.assertIn(fault, done.stderr)


class Editors(unittest.TestCase):
    def test_columns_are_those_of_the_formatter(self):
        columns = re.search(r"ColumnLimit: (\d+)", text(".clang-format")).group(1)
        self.assertIn(f"max_line_length = {columns}\n", text(".editorconfig"))

    @unittest.skipUnless(BUILD, "SHEAF_BIN is not set")
    def test_they_know_how_each_source_is_compiled(self):
        configured = (BUILD / "CMakeCache.txt").read_text()
        if not re.search(r"SHEAF_TESTS:\w+=ON", configured) or not (BUILD / "mpi/all").is_file():
            self.skipTest("a build without tests or without an MPI")
        patterns = ["*.c", "*.cpp"]
        if re.search(r"CMAKE_Fortran_COMPILER:\w+=/", configured):
            patterns += ["*.f", "*.F", "*.f90", "*.F90"]
        with tempfile.TemporaryDirectory() as directory:
            output = pathlib.Path(directory, "compile_commands.json")
            subprocess.run([sys.executable, "-B", TOP / "scripts/compile_commands.py", BUILD, output], check=True)
            entries = {entry["file"]: entry for entry in json.loads(output.read_text())}
        self.assertEqual([], [str(path) for path in committed(*patterns) if str(path) not in entries])
        for name, entry in entries.items():
            self.assertIn(name, shlex.split(entry["command"]))
            self.assertNotIn("cmake_pch", entry["command"])


class Container(unittest.TestCase):
    def test_it_installs_what_the_script_knows(self):
        container = json.loads(text(".devcontainer/devcontainer.json"))
        recipe = text(".devcontainer/" + container["build"]["dockerfile"])
        self.assertIn("COPY scripts/install-deps.sh", recipe)
        kind = re.search(r"install-deps\.sh (\w+)", recipe).group(1)
        self.assertRegex(text("scripts/install-deps.sh"), rf'!= {kind} \]')

    def test_ci_has_the_same_image(self):
        image = re.search(r"^FROM (\S+)$", text(".devcontainer/Dockerfile"), re.M).group(1)
        self.assertEqual({image}, {name for path in WORKFLOWS for name in values(path.read_text(), "image")})


if __name__ == "__main__":
    unittest.main()
