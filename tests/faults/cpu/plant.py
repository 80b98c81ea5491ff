#!/usr/bin/env python3
"""Plants the faults of a list in copies of the optimized CPU code.

usage: plant.py LIST SOURCES COPIES    writes the copies
       plant.py LIST                   prints the table FAULTS.md

Each fault replaces a text that must occur exactly once in its file; blanks and line breaks do not
count. An original that ends with ';' is a statement, any other an expression. The copies hold both,
and the number plsh_planted chooses at run time.
"""

import pathlib
import re
import sys


class Fault:
    def __init__(self, name):
        self.name = name
        self.fields = {}
        self.original = ""
        self.faulty = ""


def read_list(path):
    faults = []
    for number, line in enumerate(path.read_text().splitlines(), 1):
        if not line or line.startswith("#"):
            continue
        if line.startswith("["):
            faults.append(Fault(line[1:-1]))
        elif line.startswith("- "):
            faults[-1].original += line[2:] + "\n"
        elif line.startswith("+ "):
            faults[-1].faulty += line[2:] + "\n"
        elif match := re.fullmatch(r"(file|what|found by): (.+)", line):
            faults[-1].fields[match[1]] = match[2]
        else:
            sys.exit(f"{path}:{number}: not a line of a fault: {line}")
    names = [fault.name for fault in faults]
    for fault in faults:
        if len(fault.fields) != 3 or not fault.original or not fault.faulty:
            sys.exit(f"{path}: {fault.name} lacks something")
        if names.count(fault.name) != 1:
            sys.exit(f"{path}: there is more than one {fault.name}")
    return faults


def place(fault, text):
    """Where the original of a fault lies in a text."""
    pattern = r"\s+".join(re.escape(word) for word in fault.original.split())
    found = [match.span() for match in re.finditer(pattern, text)]
    if len(found) != 1:
        sys.exit(f"{fault.name}: its text occurs {len(found)} times in {fault.fields['file']}, not "
                 f"once; the code has changed, so change the list:\n{fault.original}")
    return found[0]


def chosen(number, faulty, original):
    if original.endswith(";"):
        return f"{{ if (plsh_planted == {number}) {{ {faulty} }} else {{ {original} }} }}"
    return f"(plsh_planted == {number} ? ({faulty}) : ({original}))"


def planted(text, faults):
    """A text with (number, fault) planted, several at the same place if need be."""
    places = {}
    for number, fault in faults:
        places.setdefault(place(fault, text), []).append((number, fault))
    end = len(text)
    for (first, last), here in sorted(places.items(), reverse=True):
        if last > end:
            sys.exit(f"{here[0][1].name}: its text overlaps that of another fault")
        code = text[first:last]
        for number, fault in here:
            # A statement stays one when another is planted in it.
            code = chosen(number, fault.faulty.strip(), code.rstrip() + ";" * code.endswith("}"))
        text = text[:first] + code + text[last:]
        end = first
    return '#include "planted.hpp"\n' + text


def write(path, text):
    """Leaves a file alone that would not change, so that it is not compiled again."""
    if not path.exists() or path.read_text() != text:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


def table(faults):
    rows = "".join(f"| `{f.name}` | {f.fields['what']} | {f.fields['file']} | `{f.fields['found by']}` |\n"
                   for f in faults)
    return (
        "# Faults planted in the optimized code\n\n"
        "Written by `plant.py` from `faults.txt`; do not edit. A test runs what is named in the last\n"
        "column on the fault, which must be found: a property of `plsh check --quick`, or a sanitizer\n"
        "while properties are checked.\n\n"
        f"{len(faults)} faults.\n\n"
        "| fault | what is wrong | file | found by |\n| --- | --- | --- | --- |\n" + rows)


def main():
    faults = read_list(pathlib.Path(sys.argv[1]))
    if len(sys.argv) == 2:
        print(table(faults), end="")
        return
    sources, copies = pathlib.Path(sys.argv[2]), pathlib.Path(sys.argv[3])
    numbered = list(enumerate(faults, 1))
    for file in sorted(sources.iterdir()):
        here = [(n, f) for n, f in numbered if f.fields["file"] == file.name]
        write(copies / sources.name / file.name, planted(file.read_text(), here))
    missing = {f.fields["file"] for f in faults} - {file.name for file in sources.iterdir()}
    if missing:
        sys.exit(f"no such file in {sources}: {', '.join(sorted(missing))}")
    write(copies / "faults.inc",
          "".join(f'{{"{f.name}", "{f.fields["found by"]}"}},\n' for f in faults))


main()
