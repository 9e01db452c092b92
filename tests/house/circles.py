#!/usr/bin/env python3
"""circles.py: files of the library that need each other in a circle can only be understood together.

From the symbol tables of the built libraries: a file uses another if it has an undefined symbol that the other defines. A
circle is a strongly connected component of that graph: files each of which reaches each other one. Up to three files may
be one. Calls through function pointers and macros are not seen.
usage: circles.py NM ARCHIVE... TAP.
"""

from __future__ import annotations

import pathlib
import re
import subprocess
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
import tap  # noqa: E402

MOST = 3


def read(nm: str, archives: list[str]) -> dict[str, set[str]]:
    """The files, and for each the files that it uses."""
    home: dict[str, str] = {}
    needs: dict[str, set[str]] = {}
    for archive in archives:
        listing = subprocess.run([nm, "-A", archive], check=True, capture_output=True, text=True).stdout
        for line in listing.splitlines():
            match = re.fullmatch(r".*[:\[/]([^:\[\]/]+)\.o\]?: *[0-9a-f]* ([A-Za-z]) (\S+)", line)
            if match is None:
                continue
            # meson calls the object of solve/x.c solve_x.c.o
            file, kind, symbol = f"{pathlib.Path(archive).stem.removeprefix('libseam_')}/{match[1]}", match[2], match[3]
            needs.setdefault(file, set())
            if kind == "U":
                needs[file].add(symbol)
            elif kind.isupper():
                home[symbol] = file
    return {file: {home[symbol] for symbol in symbols if symbol in home} - {file} for file, symbols in needs.items()}


def circles_of(uses: dict[str, set[str]]) -> list[set[str]]:
    """The strongly connected components of more than MOST files: by what each file reaches, which is enough for some hundred files."""
    reached: dict[str, set[str]] = {}
    for file in uses:
        seen, left = set(), [file]
        while left:
            for other in uses[left.pop()]:
                if other not in seen:
                    seen.add(other)
                    left.append(other)
        reached[file] = seen
    circles: list[set[str]] = []
    for file in sorted(uses):
        if not any(file in circle for circle in circles):
            circle = {other for other in reached[file] if file in reached[other]}
            if len(circle) > MOST:
                circles.append(circle)
    return circles


def describe(circle: set[str], uses: dict[str, set[str]]) -> str:
    edges = [f"  {file} uses {', '.join(sorted(uses[file] & circle))}" for file in sorted(circle)]
    return "\n".join([f"{len(circle)} files: {' '.join(sorted(circle))}", *edges])


def check_circles(uses: dict[str, set[str]]) -> None:
    circles = [describe(circle, uses) for circle in circles_of(uses)]
    tap.ok(not circles, f"no more than {MOST} files need each other in a circle", "\n".join(circles))


def check_itself() -> None:
    ring = {name: {other} for name, other in ("ab", "bc", "cd", "da")}
    tap.ok(circles_of(ring | {"e": {"a"}, "f": set()}) == [set("abcd")], "a circle of four is found, and who uses it is none of it")
    tap.ok(not circles_of(ring | {"d": {"e"}, "e": set()}), "a chain is no circle")


def main() -> int:
    uses = read(sys.argv[1], sys.argv[2:])
    check_itself()
    tap.ok(len(uses) > len(sys.argv) and any(uses.values()), "the libraries have files that use each other")
    check_circles(uses)
    return tap.end()


if __name__ == "__main__":
    sys.exit(main())
