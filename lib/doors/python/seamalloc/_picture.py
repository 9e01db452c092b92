"""A picture of the memory of one iteration, as SVG: live bytes by kind, the passes, the GPUs' usable bytes, and the peak.

Made of a Profile. The iteration is the one that has the peak. The axis is requests and frees in their order, not time; a column stands for some of them, and
shows the moment at which most was live: the highest point that is drawn is the peak. No PyTorch here, and nothing but the standard library.
"""

from __future__ import annotations

import bisect
import html
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ._figures import size_text
from ._profile import Profile

# Kinds from the bottom up, what stays first. The colours are those of Okabe and Ito, which colour-blind people can tell apart.
COLOURS = {"parameters": "#0072b2", "optimizer": "#e69f00", "other": "#b0b0b0", "gradients": "#009e73", "activations": "#56b4e9", "workspaces": "#d55e00"}
PASSES = {"forward": "#e3e3e3", "setup, forward": "#e3e3e3", "backward": "#c4c4c4", "optimizer": "#9c9c9c", "other": "#f1f1f1"}
COLUMNS = 1500  # at most
DRAWN_PASSES = 200  # the widest: more cannot be told apart

# Pixels.
WIDTH, LEFT, TOP, PLANE_WIDTH, PLANE_HEIGHT, BELOW = 1320, 96, 104, 1040, 520, 138
LETTER = 0.56  # the mean width of a letter, of the font's size
LABEL_ROOM = 32  # of two lines of text

HEADROOM = 1.12  # above the highest thing, for the text of the peak
IN_RANGE = 3  # a GPU of more than so many peaks is named above the plane: the areas would be low
TOP_HOLDERS = 4  # in a tooltip
TITLE_LETTERS, PLACE_LETTERS = 100, 70


@dataclass(frozen=True)
class Moment:
    """A column, and the events behind which most was live in it."""

    begin: int  # the column's first event
    event: int  # with the most live bytes behind it
    bytes: tuple[int, ...]  # live, by kind, as in COLOURS


@dataclass(frozen=True)
class Phase:
    """A stretch of events in one pass."""

    name: str  # of PASSES
    begin: int
    end: int


def stretch(profile: Profile) -> tuple[int, int, str]:
    """The iteration that has the peak: its first event, the one behind its last, and what it is called."""
    number = profile.iteration_at(profile.peak()[1])
    edges = [0, *profile.iterations, profile.end]
    count = len(profile.iterations)
    if count == 0:
        name = "the whole program, which made no optimizer step"
    elif number == count:
        name = f"all behind step {count}"
    else:
        name = f"step {number + 1} of {count}" if number else f"step 1 of {count}, and what came before it"
    return edges[number], edges[number + 1], name


def moments(profile: Profile, begin: int, end: int) -> list[Moment]:
    """The events from `begin` to `end` in columns."""
    numbers = {kind: number for number, kind in enumerate(COLOURS)}
    live = [0] * len(numbers)
    changes: list[tuple[int, int]] = [(0, 0)] * (end - begin)  # each event is a request or a free
    for block in profile.blocks:
        kind = numbers[block.kind]
        if block.born < begin <= block.died:
            live[kind] += block.bytes
        if begin <= block.born < end:
            changes[block.born - begin] = (kind, block.bytes)
        if begin <= block.died < end:
            changes[block.died - begin] = (kind, -block.bytes)
    columns = min(COLUMNS, len(changes))
    total = sum(live)
    found = []
    for column in range(columns):
        first, behind = (number * len(changes) // columns for number in (column, column + 1))
        most, at, then = -1, 0, live
        for event in range(first, behind):
            kind, size = changes[event]
            live[kind] += size
            total += size
            if total > most:
                most, at, then = total, event, list(live)
        found.append(Moment(begin + first, begin + at, tuple(then)))
    return found


def phases(profile: Profile, begin: int, end: int) -> list[Phase]:
    """The passes from `begin` to `end`, in their order, without gaps."""
    found: list[Phase] = []
    born = [block.born for block in profile.blocks if block.kind != "parameters"]
    at = begin
    for began, ended in [*profile.steps, (end, end)]:
        began, ended = min(max(began, at), end), min(max(ended, at), end)
        found += _passes(profile.backward, born, at, began)
        found.append(Phase("optimizer", began, ended))
        at = ended
    found = [phase for phase in found if phase.begin < phase.end]
    if begin == 0 and found and found[0].name == "forward":
        found[0] = Phase("setup, forward", begin, found[0].end)
    return found


def _passes(backward: Sequence[int], born: Sequence[int], begin: int, end: int) -> list[Phase]:
    """Forward and backward passes between two steps, from the requests that backward passes made and all that are not for parameters.

    Requests inside a backward pass that are not its own are a forward pass, that of the next part of a batch, if they are half as many as the first forward pass made.
    Fewer are recomputed activations.
    """
    backward = backward[bisect.bisect_left(backward, begin) : bisect.bisect_left(backward, end)]
    if not backward:
        return [Phase("other", begin, end)]
    first = bisect.bisect_left(born, backward[0]) - bisect.bisect_left(born, begin)
    edges = [begin, backward[0] if first else begin]
    for one, following in zip(backward, backward[1:]):
        between = bisect.bisect_left(born, following) - bisect.bisect_right(born, one)
        if 0 < first <= 2 * between:
            edges += [one + 1, following]
    edges.append(end)
    return [Phase("backward" if number % 2 else "forward", *pair) for number, pair in enumerate(zip(edges, edges[1:]))]


def escape(text: str) -> str:
    """Text as XML takes it: names come from files and command lines."""
    return html.escape(re.sub("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]", "?", text), quote=True)


def shortened(text: str, letters: int) -> str:
    """At most so many letters of it."""
    return text if len(text) <= letters else text[: letters - 3] + "..."


def text_width(text: str, size: int = 13) -> float:
    """About how many pixels it takes."""
    return LETTER * size * len(text)


@dataclass(frozen=True)
class Plane:
    """Where events and bytes are in the picture."""

    begin: int
    end: int
    top_bytes: float

    def x(self, event: float) -> float:
        return LEFT + (event - self.begin) / max(self.end - self.begin, 1) * PLANE_WIDTH

    def y(self, size: float) -> float:
        return TOP + PLANE_HEIGHT * (1 - size / self.top_bytes)


def _text(x: float, y: float, text: str, style: str = "") -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}"{style}>{escape(text)}</text>'


def _boxed(x: float, y: float, text: str, anchor: str) -> list[str]:
    """Text that can be read on whatever is below it."""
    width = text_width(text) + 8
    left = x - 4 if anchor == "start" else x - width + 4
    return [
        f'<rect x="{left:.1f}" y="{y - 13:.1f}" width="{width:.1f}" height="18" fill="#fff" opacity="0.85"/>',
        _text(x, y, text, f' text-anchor="{anchor}" font-weight="bold"'),
    ]


def _grid(plane: Plane) -> list[str]:
    """Lines of bytes, and the numbers of events."""
    drawn = []
    step = 1
    while plane.top_bytes / step > 8:
        step *= 2
    for at in range(0, int(plane.top_bytes) + 1, step):
        drawn.append(f'<path d="M{LEFT} {plane.y(at):.1f}h{PLANE_WIDTH}" stroke="#dcdcdc"/>')
        drawn.append(_text(LEFT - 8, plane.y(at) + 4, size_text(at).replace(".00", ""), ' text-anchor="end"'))
    events = plane.end - plane.begin
    step = next(part * 10**power for power in range(20) for part in (1, 2, 5) if part * 10**power * 12 >= events)
    for at in range(0, events + 1, step):
        drawn.append(f'<path d="M{plane.x(plane.begin + at):.1f} {TOP + PLANE_HEIGHT}v5" stroke="#555"/>')
        drawn.append(_text(plane.x(plane.begin + at), TOP + PLANE_HEIGHT + 19, f"{at:,}", ' text-anchor="middle"'))
    drawn.append(_text(LEFT + PLANE_WIDTH / 2, TOP + PLANE_HEIGHT + 38, "requests and frees, in their order (not time)", ' text-anchor="middle" fill="#555"'))
    middle = TOP + PLANE_HEIGHT / 2
    drawn.append(f'<text transform="translate(20 {middle}) rotate(-90)" text-anchor="middle" fill="#555">live memory</text>')
    return drawn


def _strip(plane: Plane, passes: list[Phase]) -> list[str]:
    """The passes: a strip above the plane with their names, as far as there is room for them, the widest first."""
    drawn = []
    taken: list[tuple[float, float]] = []
    for phase in sorted(passes, key=lambda phase: phase.begin - phase.end)[:DRAWN_PASSES]:
        left, right = plane.x(phase.begin), plane.x(phase.end)
        tip = f"{phase.name}: {phase.end - phase.begin:,} requests and frees"
        drawn.append(
            f'<path class="phase" d="M{left:.1f} {TOP - 10}h{right - left:.1f}v10h{left - right:.1f}z" fill="{PASSES[phase.name]}"><title>{escape(tip)}</title></path>'
        )
        if phase.begin > plane.begin:
            drawn.append(f'<path d="M{left:.1f} {TOP - 10}v{PLANE_HEIGHT + 10}" stroke="#777" stroke-dasharray="2 3"/>')
        half = text_width(phase.name) / 2
        middle = min(max((left + right) / 2, LEFT + half), LEFT + PLANE_WIDTH - half)
        if all(middle + half + 6 <= low or middle - half - 6 >= high for low, high in taken):
            taken.append((middle - half, middle + half))
            drawn.append(_text(middle, TOP - 15, phase.name, ' text-anchor="middle" fill="#444"'))
    return drawn


def _layers(plane: Plane, columns: list[Moment], tips: Mapping[str, str]) -> list[str]:
    """An area for each kind, on the kinds before it; and the line of their sum."""
    edges = [f"{plane.x(moment.begin):.2f}" for moment in columns] + [f"{plane.x(plane.end):.2f}"]
    below = [0] * len(columns)
    drawn = []

    def steps(heights: list[int]) -> list[tuple[str, str, str]]:
        """From where to where, and how high."""
        return [(edges[number], edges[number + 1], f"{plane.y(height):.2f}") for number, height in enumerate(heights)]

    for number, (kind, colour) in enumerate(COLOURS.items()):
        above = [low + moment.bytes[number] for low, moment in zip(below, columns)]
        there = "".join(f"V{y}H{right}" for _, right, y in steps(above))
        back = "".join(f"V{y}H{left}" for left, _, y in reversed(steps(below)))
        if columns:
            path = f"M{edges[0]} {plane.y(below[0]):.2f}{there}{back}z"
            drawn.append(f'<path class="layer" id="{kind}" fill="{colour}" d="{path}"><title>{escape(tips[kind])}</title></path>')
        below = above
    top = "".join(f"V{y}H{right}" for _, right, y in steps(below))
    drawn.append(f'<path class="sum" fill="none" stroke="#222" stroke-width="0.7" d="M{edges[0]} {plane.y(0):.2f}{top}"/>')
    return drawn


def _capacities(plane: Plane, lines: Mapping[int, str]) -> list[str]:
    """Usable bytes, with the names of their GPUs: a line each, or one text for those that are above the plane."""
    drawn = []
    free = float(TOP)
    for size in sorted((size for size in lines if size <= plane.top_bytes), reverse=True):
        y = plane.y(size)
        drawn.append(f'<path d="M{LEFT} {y:.1f}h{PLANE_WIDTH}" stroke="#fff" stroke-width="4" opacity="0.7"/>')
        drawn.append(f'<path class="capacity" d="M{LEFT} {y:.2f}h{PLANE_WIDTH}" stroke="#a00028" stroke-width="1.8" stroke-dasharray="8 4"/>')
        free = max(free, y)
        drawn.append(_text(LEFT + PLANE_WIDTH + 8, free - 2, shortened(lines[size], 24), ' fill="#a00028"'))
        drawn.append(_text(LEFT + PLANE_WIDTH + 8, free + 13, f"{size_text(size)} usable", ' fill="#a00028" font-weight="bold"'))
        free += LABEL_ROOM
    out = [f"{lines[size]} {size_text(size)}" for size in sorted(lines) if size > plane.top_bytes]
    if out:
        text = shortened(f"usable, far above this picture: {'; '.join(out)}", 150)
        drawn.append(_text(LEFT, TOP - 34, text, ' class="capacity" fill="#a00028"'))
    return drawn


def _peak(plane: Plane, columns: list[Moment], capacities: list[int], place: str) -> list[str]:
    """A dot at the peak, its bytes and where in the program it is."""
    highest = max(columns, key=lambda moment: sum(moment.bytes))
    most = sum(highest.bytes)
    x, y = plane.x(highest.event + 0.5), plane.y(most)
    label = y - 12
    for line in sorted(map(plane.y, capacities), reverse=True):
        if label - 14 < line < label + 6:
            label = line - 8
    anchor, side = ("start", 8) if x < LEFT + PLANE_WIDTH / 2 else ("end", -8)
    return [
        f'<path d="M{x:.1f} {label - 12:.1f}V{y:.1f}" stroke="#222"/>',
        f'<path d="M{x:.1f} {TOP + PLANE_HEIGHT}l-5 8h10z" fill="#222"/>',
        f'<circle class="peak" cx="{x:.2f}" cy="{y:.2f}" r="4.5" fill="#222" stroke="#fff" stroke-width="1.5"/>',
        *_boxed(x + side, label, f"peak {size_text(most)}: {shortened(place, PLACE_LETTERS)}", anchor),
    ]


def _legend(at_peak: Mapping[str, int]) -> list[str]:
    """Kinds from the bottom up, with their bytes at the peak."""
    y = TOP + PLANE_HEIGHT + 74
    room = PLANE_WIDTH / len(COLOURS)
    whole = max(sum(at_peak.values()), 1)
    drawn = [_text(LEFT, y, "At the peak, from the bottom up:", ' fill="#555"')]
    for number, (kind, colour) in enumerate(COLOURS.items()):
        x = LEFT + number * room
        drawn.append(f'<path d="M{x:.1f} {y + 14}h16v30h-16z" fill="{colour}"/>')
        drawn.append(_text(x + 23, y + 26, kind, ' font-weight="bold"'))
        drawn.append(_text(x + 23, y + 43, f"{size_text(at_peak[kind])}, {100 * at_peak[kind] / whole:.0f} %"))
    return drawn


def _tips(profile: Profile, at: int, at_peak: Mapping[str, int], columns: list[Moment]) -> dict[str, str]:
    """Tooltips of the kinds: their bytes, and the holders of the most of them at the peak."""
    holders = profile.holders(at)
    tips = {}
    for number, kind in enumerate(COLOURS):
        most = max((moment.bytes[number] for moment in columns), default=0)
        rows = [f"{kind}: {size_text(at_peak[kind])} at the peak, {size_text(most)} at most"]
        rows += [f"{size_text(holder.bytes)}  {holder.where}" for holder in holders if holder.kind == kind][:TOP_HOLDERS]
        tips[kind] = "\n".join(rows)
    return tips


def svg(profile: Profile, title: str, usable: Mapping[str, int]) -> str:
    """The picture: of a program that is called so, with the usable bytes of GPUs by their names."""
    begin, end, name = stretch(profile)
    columns = moments(profile, begin, end)
    most, at = profile.peak()
    at_peak = dict.fromkeys(COLOURS, 0)
    for holder in profile.holders(at):
        at_peak[holder.kind] += holder.bytes
    lines: dict[int, str] = {}
    for gpu, size in usable.items():
        lines[size] = f"{lines[size]}, {gpu}" if size in lines else gpu
    shown = [size for size in lines if size <= IN_RANGE * most]
    plane = Plane(begin, end, max([1, most, *shown]) * HEADROOM)
    place = profile.describe(at)
    about = f"Live memory by kind over {name}. The peak is {size_text(most)}, {place}." + "".join(f" {gpu}: {size_text(size)} usable." for gpu, size in usable.items())
    height = TOP + PLANE_HEIGHT + BELOW
    drawn = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{height}" viewBox="0 0 {WIDTH} {height}" role="img" aria-labelledby="title about" '
        'font-family="Helvetica, Arial, sans-serif" font-size="13" fill="#222">',
        f'<title id="title">{escape(title)}</title>',
        f'<desc id="about">{escape(about)}</desc>',
        f'<path d="M0 0h{WIDTH}v{height}h-{WIDTH}z" fill="#fff"/>',
        _text(LEFT, 30, shortened(title, TITLE_LETTERS), ' font-size="19" font-weight="bold"'),
        _text(LEFT, 50, f"{name}: what the program asks for. An allocator reserves more.", ' fill="#555"'),
        *_grid(plane),
        *_layers(plane, columns, _tips(profile, at, at_peak, columns)),
        *_strip(plane, phases(profile, begin, end)),
        *_capacities(plane, lines),
        *(_peak(plane, columns, shown, place) if columns else []),
        f'<path d="M{LEFT} {TOP}v{PLANE_HEIGHT}h{PLANE_WIDTH}" fill="none" stroke="#555"/>',
        *_legend(at_peak),
        "</svg>",
    ]
    return "\n".join(drawn) + "\n"
