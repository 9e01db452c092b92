"""The program says what it does: steps, phases, and requests whose sizes depend on data. Recorded, and used to learn plans.

Before the first request for memory there is no pool to tell, and nothing is told.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

from ._library import check, library, pools


def step() -> None:
    """An iteration ends here; once an iteration, by one thread, where the fewest blocks are live (behind zero_grad())."""
    for one in pools():
        check(library().seam_step(one), "the end of a step cannot be told")


def begin_phase(name: str) -> list[int]:
    """The calling thread enters a phase. Returns the pools that were told, for end_phase()."""
    told = pools()
    for one in told:
        check(library().seam_phase_begin(one, name.encode()), f"the phase {name!r} cannot begin")
    return told


def end_phase(name: str, told: list[int]) -> None:
    """The calling thread leaves the phase that it entered last."""
    for one in told:
        check(library().seam_phase_end(one, name.encode()), f"the phase {name!r} cannot end")


@contextlib.contextmanager
def phase(name: str) -> Iterator[None]:
    """The calling thread is in a phase, as "forward"; phases nest, at most 32 deep. Shown in traces."""
    told = begin_phase(name)
    try:
        yield
    finally:
        end_phase(name, told)


def begin_dynamic() -> list[int]:
    """What the calling thread asks for from now on has sizes that depend on data."""
    told = pools()
    for one in told:
        check(library().seam_dynamic_begin(one), "a dynamic stretch cannot begin")
    return told


def end_dynamic(told: list[int]) -> None:
    """Ends the stretch that began last."""
    for one in told:
        check(library().seam_dynamic_end(one), "a dynamic stretch cannot end")


@contextlib.contextmanager
def dynamic() -> Iterator[None]:
    """What the calling thread asks for in here has sizes that depend on data (the load of an expert): no plan relies on them. May be nested."""
    told = begin_dynamic()
    try:
        yield
    finally:
        end_dynamic(told)
