"""Finds the classes of C++ sources with their methods and data members, and the files that define member functions.

A scanner of braces and declarations, not a parser: it reads the style of this project, without macros that expand to
unbalanced braces.
"""

import dataclasses
import pathlib
import re

# Raw strings, strings, characters, comments, and directives with their continued lines.
NOISE = re.compile(r'//[^\n]*|/\*.*?\*/|R"(?P<tag>[^(\s]*)\(.*?\)(?P=tag)"|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])+\''
                   r"|^[ \t]*#(?:\\\n|[^\n])*", re.S | re.M)
# Parts of a declaration that do not decide what it declares.
IGNORED = re.compile(r"\[\[.*?\]\]|\b(?:alignas|decltype|explicit|__attribute__)\s*\((?:[^()]|\([^()]*\))*\)|\bSHEAF_EXPORT\b", re.S)
LABEL = re.compile(r"^\s*(?:(?:public|private|protected)\s*:(?!:)\s*)+")
TYPE = re.compile(r"^(?:template\b.*?>\s*)?(?:typedef\s+)?(class|struct|union)\b\s*(?:SHEAF_EXPORT\s+)?((?:\w+::)*\w+)?", re.S)
NOT_MEMBERS = re.compile(r"^(?:using|typedef|friend|static_assert|enum|namespace|extern)\b")


@dataclasses.dataclass
class Class:
    name: str
    kind: str
    path: pathlib.Path
    methods: list = dataclasses.field(default_factory=list)
    members: list = dataclasses.field(default_factory=list)
    files: set = dataclasses.field(default_factory=set)  # that define the class or a member function


def without_noise(text):
    """Returns source text without comments, directives and contents of literals."""
    text = re.sub(r"(?<=[0-9a-fA-F])'(?=[0-9a-fA-F])", "", text)
    return NOISE.sub(lambda found: '""' if found[0][0] in "\"R'" else " ", text)


def code_of(path):
    return without_noise(path.read_text())


def end_of(text, start):
    """Returns the position after the bracket that closes the one at `start`."""
    depth = 0
    for found in re.compile(r"[][(){}]").finditer(text, start):
        depth += 1 if found[0] in "([{" else -1
        if depth == 0:
            return found.end()
    return len(text)


def without_parentheses(text):
    while (shorter := re.sub(r"\([^()]*\)", " ", text)) != text:
        text = shorter
    return text


def without_templates(text):
    """Returns a declaration without what is in angle brackets."""
    text = re.sub(r"->|<=>|<=|>=|<<", " ", text)
    while (shorter := re.sub(r"<[^<>;]*>", " ", text)) != text:
        text = shorter
    return text


def is_function(declaration):
    if re.search(r"\boperator\b", declaration):
        return True
    before = without_templates(declaration).split("=")[0]
    return "(" in before and not re.search(r"\(\s*\*", before.partition("(")[1] + before.partition("(")[2][:3])


def statements(text):
    """Yields each declaration of a scope and the contents of its block; "" if it ends with a semicolon."""
    start = at = 0
    while found := re.compile(r"[;{(\[]").search(text, at):
        at = found.start()
        declaration = LABEL.sub("", text[start:at]).strip()
        if found[0] == ";":
            if declaration:
                yield declaration, ""
            start = at = at + 1
        elif found[0] in "([":
            at = end_of(text, at)
        else:
            end = end_of(text, at)
            plain = IGNORED.sub(" ", declaration).strip()
            initializers = re.search(r"\)\s*(?:noexcept\s*)?:(?!:)", plain)
            if TYPE.match(plain) and not is_function(plain) or NOT_MEMBERS.match(plain):
                # A type, which may have declarators after the block, or a namespace.
                rest = re.match(r"[^;{}()]*;", text[end:])
                yield declaration, text[at + 1:end - 1]
                if rest and TYPE.match(plain):
                    if rest[0] != ";":
                        yield "auto " + rest[0][:-1], ""
                    end += len(rest[0])
                start = at = end
            elif is_function(plain) and not (initializers and re.search(r"[\w>]\s*$", plain)):
                yield declaration, text[at + 1:end - 1] or " "
                start = at = end
            else:  # initial value
                text = text[:at] + " " * (end - at) + text[end:]
                at = end


def scan(path, text, classes, definitions):
    for declaration, block in statements(text):
        plain = IGNORED.sub(" ", declaration).strip()
        named = TYPE.match(plain)
        if block and named and not is_function(plain):
            if named[1] != "union" and named[2]:
                classes.append(class_of(path, named[1], named[2].split("::")[-1], block))
            scan(path, block, classes, definitions)
        elif block and re.match(r"(?:inline\s+)?namespace\b|extern\b", plain):
            scan(path, block, classes, definitions)
        elif block and (owner := re.search(r"(\w+)\s*::\s*(?:~?\w+|operator\b[^(]*)\s*$",
                                           without_templates(plain).partition("(")[0])):
            definitions.append((owner[1], path))


def class_of(path, kind, name, block):
    found = Class(name, kind, path, files={path})
    for declaration, body in statements(block):
        plain = re.sub(r"^template\s*<.*?>\s*(?=\w)", "", IGNORED.sub(" ", declaration).strip(), flags=re.S)
        if NOT_MEMBERS.match(plain) or TYPE.match(plain) and (body or re.fullmatch(r"(?:class|struct|union)\s+\w+", plain)):
            continue
        if is_function(plain):
            if not re.search(r"=\s*(?:default|delete)$", plain):
                found.methods.append(plain)
        elif not re.search(r"\bstatic\b", plain):
            found.members += without_templates(without_parentheses(plain)).split(",")
    return found


def classes_of(paths):
    """Returns the classes that the files define."""
    classes, definitions = [], []
    for path in paths:
        scan(path, code_of(path), classes, definitions)
    for found in classes:
        found.files |= {path for owner, path in definitions if owner == found.name}
    return classes
