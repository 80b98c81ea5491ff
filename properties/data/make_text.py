#!/usr/bin/env python3
"""Write text.txt: the opening of Jane Austen's "Emma" as plain prose.

The source is the Debian package r-cran-janeaustenr (Project Gutenberg's transcription, in the
public domain, shipped as an R data file).  The R file is read here directly, so R is not needed.
The script changes two things only: it starts at the first sentence of chapter 1, and it joins
the hard-wrapped lines of a paragraph with single spaces (one empty line separates paragraphs).
"""

from __future__ import annotations

import argparse
import gzip
import os
import struct
import sys
import zlib
from pathlib import Path

NOVEL = "emma"
FIRST_LINE = "Emma Woodhouse, handsome, clever, and rich, with a comfortable home"
DATABASE = Path("usr/lib/R/site-library/janeaustenr/data")
EXAMPLE = """\
example:
  apt-get download r-cran-janeaustenr=1.0.0-1
  dpkg-deb -x r-cran-janeaustenr_1.0.0-1_all.deb janeaustenr
  python make_text.py --root janeaustenr
"""


def novel_location(index: bytes, name: str) -> tuple[int, int]:
    """Offset and length of a novel in Rdata.rdb, from the (uncompressed) index Rdata.rdx.

    The index serialises a list of integer pairs followed by the names, in the same order.
    """
    pair = struct.pack(">II", 13, 2)  # an INTSXP of two elements
    names_tag = struct.pack(">I", 5) + b"names" + struct.pack(">I", 16)  # then a STRSXP
    start = index.index(names_tag)
    pairs = [struct.unpack_from(">II", part) for part in index[:start].split(pair)[1:]]
    names, _ = read_strings(index, start + len(names_tag) - 4)
    return pairs[names.index(name)]


def read_strings(data: bytes, at: int) -> tuple[list[str], int]:
    """Read the R character vector (STRSXP) at an offset; return it and the offset behind it."""
    kind, count = struct.unpack_from(">II", data, at)
    if kind & 0xFF != 16:
        raise ValueError("expected a character vector")
    at += 8
    strings = []
    for _ in range(count):
        flags, length = struct.unpack_from(">Ii", data, at)
        if flags & 0xFF != 9 or length < 0:
            raise ValueError("expected a string")
        at += 8
        strings.append(data[at : at + length].decode("utf-8"))
        at += length
    return strings, at


def read_novel(directory: Path, name: str) -> list[str]:
    """The lines of one novel of the package."""
    index = gzip.decompress((directory / "Rdata.rdx").read_bytes())
    offset, length = novel_location(index, name)
    chunk = (directory / "Rdata.rdb").read_bytes()[offset : offset + length]
    data = zlib.decompress(chunk[4:])  # four bytes of size, then a zlib stream
    header = 14 + struct.unpack_from(">I", data, 14)[0] + 4  # "X\n", versions, encoding name
    return read_strings(data, header)[0]


def paragraphs(lines: list[str]) -> list[str]:
    """Join wrapped lines into paragraphs."""
    blocks = "\n".join(lines).split("\n\n")
    return [" ".join(block.split()) for block in blocks if block.strip()]


def main() -> int:
    """Command line entry point."""
    parser = argparse.ArgumentParser(
        description=__doc__, epilog=EXAMPLE, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--root", type=Path, required=True, help="where the package is unpacked")
    parser.add_argument(
        "--output", type=Path, default=Path(__file__).resolve().parent / "text.txt"
    )
    parser.add_argument(
        "--characters", type=int, default=9500, help="stop at the paragraph that reaches this"
    )
    arguments = parser.parse_args()
    try:
        lines = read_novel(arguments.root / DATABASE, NOVEL)
        text = ""
        for paragraph in paragraphs(lines[lines.index(FIRST_LINE) :]):
            if len(text) >= arguments.characters:
                break
            text += ("\n\n" if text else "") + paragraph
        partial = arguments.output.with_name(arguments.output.name + ".part")
        partial.write_bytes((text + "\n").encode("utf-8"))
        os.replace(partial, arguments.output)
    except (OSError, ValueError, struct.error, zlib.error) as error:
        print(f"make_text: {error}", file=sys.stderr)
        return 2
    print(f"wrote {arguments.output.name}: {len(text) + 1} characters")
    return 0


if __name__ == "__main__":
    sys.exit(main())
