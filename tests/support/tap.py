"""tap.py: the Test Anything Protocol for test programs in Python, as tap.h is for those in C. Found by path."""

from __future__ import annotations

_count = 0
_failed = 0


def ok(condition: bool, text: str, detail: str = "") -> bool:
    """One check. `detail`: why it failed, of which the end is shown. Returns whether it is so."""
    global _count, _failed
    _count += 1
    _failed += not condition
    lines = [f"{'' if condition else 'not '}ok {_count} - {text}"]
    if not condition:
        lines += [f"# {line}" for line in detail.splitlines()[-40:]]
    print("\n".join(lines), flush=True)
    return condition


def end() -> int:
    """Prints the plan; returns the program's exit status."""
    print(f"1..{_count}")
    return 1 if _failed else 0
