"""What the user is told once, attributed to a line of theirs."""

from __future__ import annotations

import sys
import warnings
from pathlib import Path

_PACKAGE = str(Path(__file__).parent)

_told: set[str] = set()


def warn(text: str) -> None:
    """Warns once a process, at the innermost line outside this package and Python's import; where there is none, a line on standard error."""
    if text in _told:
        return
    _told.add(text)
    frame = sys._getframe(1)
    while frame is not None and frame.f_code.co_filename.startswith((_PACKAGE, "<frozen ")):
        frame = frame.f_back  # type: ignore[assignment]
    if frame is None:
        print(f"seamalloc: {text}", file=sys.stderr)
        return
    names = frame.f_globals
    warnings.warn_explicit(
        f"seamalloc: {text}", UserWarning, frame.f_code.co_filename, frame.f_lineno, names.get("__name__"), names.setdefault("__warningregistry__", {})
    )
