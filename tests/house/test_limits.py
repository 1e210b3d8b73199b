"""Checks the limits of functions and classes in src/, include/ and python/ (CONTRIBUTING.md).

    python3 -B tests/house/test_limits.py          # the limits
    python3 -B tests/house/test_limits.py --list   # what exceeds them

scripts/lizard.sh measures functions: cyclomatic complexity, and parameters in C++. declarations.py measures classes.

Complexity: at most MAX_COMPLEX functions have a cyclomatic complexity over MAX_COMPLEXITY.

Parameters: a function has at most MAX_PARAMETERS. In Python only positional ones count, without self and cls. Exempt,
since others define their arguments:
- functions that a C header in include/ declares, and the classes of SIONlib's C++ interface (include/sion_cxx_*.hpp);
- Fortran bindings (src/api/fortran), and entry points that a macro SHEAF_* defines;
- functions in the folder of one of these that implement it with the same arguments: it has at least MAX_PARAMETERS, and
  at most one parameter of the implementation has another name. The case of letters does not count.

Classes: a class or struct has at most MAX_METHODS methods and MAX_MEMBERS data members, and at most MAX_CLASS_FILES files
define it and its member functions. Nested types count by themselves. Overloads, constructors and destructors are methods;
functions that are defaulted, deleted or only friends are not. Static data are no members. Exempt:
- from the limit of members, structs of plain data, such as the fields of a record or the options of a call: all their
  methods are const or static, except `combine`, which names the reduction of each field;
- SIONlib's C++ interface.
"""

import ast
import csv
import dataclasses
import functools
import os
import pathlib
import re
import subprocess
import sys
import unittest

import declarations

TOP = pathlib.Path(__file__).resolve().parents[2]
MAX_COMPLEXITY = 15  # of most functions
MAX_COMPLEX = 20  # functions above it
MAX_PARAMETERS = 6
MAX_METHODS = 30
MAX_MEMBERS = 12
MAX_CLASS_FILES = 3


@dataclasses.dataclass
class Function:
    place: str  # file and line
    name: str
    complexity: int
    parameters: list

    file = property(lambda self: self.place.split(":")[0])
    folder = property(lambda self: self.file.rpartition("/")[0])


def name_of(path):
    return path.relative_to(TOP).as_posix()


def parameters_in(signature):
    """Returns the names of the parameters in a signature in C++, in lower case; "" for those without a name."""
    inside = signature.partition("(")[2].rpartition(")")[0]
    while (shorter := re.sub(r"<[^<>]*>|\([^()]*\)|\[[^][]*\]", " ", inside)) != inside:
        inside = shorter
    names = [re.search(r"(\w*)\s*$", part.partition("=")[0])[1].lower() for part in inside.split(",")]
    return [] if names in ([""], ["void"]) else names


@functools.lru_cache
def functions():
    """Returns the functions that lizard finds."""
    environment = {**os.environ, "PYTHON": sys.executable}
    done = subprocess.run([TOP / "scripts/lizard.sh", "--csv", "src", "include", "python"], cwd=TOP, capture_output=True,
                          text=True, env=environment)
    if done.returncode:
        raise AssertionError(f"lizard failed\n{done.stderr}")
    return [Function(f"{row[6]}:{row[9]}", row[7].split("::")[-1], int(row[1]), parameters_in(row[8]))
            for row in csv.reader(done.stdout.splitlines())]


def interface():
    """Returns the names of the functions that the C headers in include/ declare."""
    return {name for path in sorted((TOP / "include").rglob("*.h"))
            for name in re.findall(r"\b(\w+)\s*\([^;{]*\)\s*;", declarations.code_of(path))}


def has_given_parameters(function, declared):
    return (function.place.startswith(("src/api/fortran/", "include/sion_cxx_")) or function.name.startswith("SHEAF_")
            or function.name in declared)


def complex_functions(found):
    return sorted(f"{function.complexity} {function.name} ({function.place})" for function in found
                  if function.complexity > MAX_COMPLEXITY)


def many_parameters():
    """Returns the numbers of parameters over the limit, by function."""
    found, declared, over = [each for each in functions() if not each.place.startswith("python/")], interface(), {}
    given = [(each.folder, set(each.parameters)) for each in found
             if has_given_parameters(each, declared) and len(each.parameters) >= MAX_PARAMETERS]
    for function in found:
        own = set(function.parameters)
        implements = any(folder == function.folder and len(own - names) <= 1 for folder, names in given)
        if len(function.parameters) > MAX_PARAMETERS and not has_given_parameters(function, declared) and not implements:
            over[f"{function.name} in {function.file}"] = len(function.parameters)
    for path in sorted((TOP / "python").rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
                names = [argument.arg for argument in [*node.args.posonlyargs, *node.args.args]]
                number = len(names) - (names[:1] in (["self"], ["cls"]))
                if number > MAX_PARAMETERS:
                    name = f"{node.name} in {name_of(path)}"
                    over[name] = max(number, over.get(name, 0))
    return over


@functools.lru_cache
def classes():
    paths = [path for folder in ("src", "include") for path in sorted((TOP / folder).rglob("*"))
             if path.suffix in (".hpp", ".h", ".cpp") and not path.name.startswith("sion_cxx_")]
    return declarations.classes_of(paths)


def is_plain_data(found):
    return found.kind == "struct" and all(
        re.search(r"^static\b|\bcombine\(|\)\s*const\b", method) for method in found.methods)


def large_classes():
    """Returns, for each limit of a class, the numbers over it by class."""
    over = {"methods": {}, "members": {}, "files": {}}
    for found in classes():
        numbers = {"methods": (len(found.methods), MAX_METHODS), "files": (len(found.files), MAX_CLASS_FILES)}
        if not is_plain_data(found):
            numbers["members"] = (len(found.members), MAX_MEMBERS)
        for limit, (number, most) in numbers.items():
            if number > most:
                over[limit][found.name] = number
    return over


class Limits(unittest.TestCase):
    maxDiff = None

    def test_few_functions_are_complex(self):
        self.assertGreater(len(functions()), 5000)
        over = complex_functions(functions())
        self.assertLessEqual(len(over), MAX_COMPLEX, "\n" + "\n".join(over))

    def test_functions_have_few_parameters(self):
        self.assertEqual({}, many_parameters())

    def test_classes_are_small(self):
        self.assertGreater(len(classes()), 800)
        for limit, over in large_classes().items():
            with self.subTest(limit):
                self.assertEqual({}, over)


class Scanner(unittest.TestCase):
    """The measurement of classes itself, on a class with every kind of member."""

    SOURCE = r"""
    // class Comment { int a; };
    namespace n { enum class Kind { one, two };
    class SHEAF_EXPORT Wide final : public Base<int, 2> {
     public:
      Wide() : a_{1}, b_(2) { if (a_) { b_ = 3; } }
      explicit Wide(int a);
      Wide(const Wide&) = delete;
      ~Wide() override;
      bool operator==(const Wide&) const = default;
      bool operator<(const Wide& other) const { return a_ < other.a_; }
      template <class F> void each(F&& call) const { call("}"); }
      [[nodiscard]] std::function<void(int)> call(int (*with)(int, int)) const;
      friend void swap(Wide& a, Wide& b);
      using Map = std::map<int, int>;
      struct Inner { int x = 0; int y{f(1, 2)}; void g(); };
      static int made;
     private:
      int a_, b_ = g(1, 2);
      alignas(64) std::array<int, 3> c_{{1, 2, 3}};
      std::function<void(int)> d_;
      int (*e_)(int, int) = nullptr;
      struct { int first; } f_;
      const Kind kind_ = Kind::one;
    };
    struct Row { int64_t a, b; bool empty() const { return a < b; } };
    }
    """

    def test_methods_and_members_are_counted(self):
        with_definitions = self.SOURCE + "n::Wide::~Wide() {}\nvoid n::Wide::Inner::g() { int x{1}; }\nvoid h(Wide& w) { w.each(1); }\n"
        found, definitions = [], []
        declarations.scan(TOP / "a.hpp", declarations.without_noise(with_definitions), found, definitions)
        self.assertEqual({"Wide": (6, 7), "Inner": (1, 2), "Row": (1, 2)},
                         {each.name: (len(each.methods), len(each.members)) for each in found})
        self.assertEqual(["Wide", "Inner"], [owner for owner, _ in definitions])
        self.assertEqual({"Row"}, {each.name for each in found if is_plain_data(each)})


def list_all():
    over = complex_functions(functions())
    print(f"complex functions: {len(over)}", *over, sep="\n  ")
    for limit, found in {"parameters": many_parameters(), **large_classes()}.items():
        print(f"{limit}:", *(f"{number} {name}" for name, number in found.items()), sep="\n  ")


if __name__ == "__main__":
    list_all() if sys.argv[1:] == ["--list"] else unittest.main()
