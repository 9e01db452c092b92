#!/usr/bin/env python3
"""test_text_buffers: buffers for texts in the public headers, as seam/rc.h has them.

Each `char *` that a function writes to is called error or text and is followed by its size. With every size a function writes
so many bytes and no more, the final zero among them. The headers' own declarations are the list, so no function can be
forgotten.
usage: test_text_buffers.py INCLUDE_FOLDER LIBSEAM [LIBSEAM_TORCH]. TAP.
"""

from __future__ import annotations

import ctypes
import os
import pathlib
import sys
import tempfile

import test_null_arguments as abi
from test_null_arguments import Argument, Asker, Function, tap

SIZES = (0, 1, 2, 8, 40, 1000)
UNTOUCHED = b"\xa5"
NO_CONFIGURATION = b"nonsense:1"  # no file either


def buffers_of(function: Function) -> list[Argument]:
    return [argument for argument in function.arguments if argument.type == "char *"]


def check_names(function: Function) -> list[str]:
    wrong = []
    names = [argument.name for argument in function.arguments]
    for buffer in buffers_of(function):
        follower = function.arguments[names.index(buffer.name) + 1 :][:1]
        if buffer.name not in ("error", "text"):
            wrong.append(f"{buffer.name} is called neither error nor text")
        if not follower or (follower[0].type, follower[0].name) != ("size_t", buffer.name + "_bytes"):
            wrong.append(f"{buffer.name} is not followed by size_t {buffer.name}_bytes")
    return wrong


def arguments_for(world: abi.World, function: Function, buffer: object, size: int) -> list[object]:
    """Good ones, but for one in a function that is to fail: NULL where it is not allowed, or a text that means nothing."""
    fails = any(argument.name == "error" for argument in buffers_of(function))
    required = [one for one in function.arguments if one.is_pointer and not abi.is_optional(function, one)]
    values: list[object] = []
    for argument in function.arguments:
        if argument in buffers_of(function):
            values.append(buffer)
        elif argument.name in ("error_bytes", "text_bytes"):
            values.append(ctypes.c_size_t(size))
        elif fails and required[:1] == [argument]:
            values.append(None)
        elif fails and not required and argument.type == "const char *":
            values.append(NO_CONFIGURATION)
        elif argument.is_pointer:
            values.append(world.pointer(function.name, argument))
        else:
            values.append(world.number(function.name, argument))
    return values


def judge(world: abi.World, function: Function) -> list[str]:
    wrong = []
    entry = getattr(world.library, function.name)
    entry.restype = ctypes.c_size_t
    whole = ""
    for size in reversed(SIZES):
        buffer = ctypes.create_string_buffer(UNTOUCHED * abi.BUFFER_BYTES, abi.BUFFER_BYTES)
        answer = entry(*arguments_for(world, function, buffer, size))
        if buffer.raw[size:].strip(UNTOUCHED):
            wrong.append(f"of {size} bytes it writes more")
        if size and b"\0" not in buffer.raw[:size]:
            wrong.append(f"of {size} bytes none is a final zero")
            continue
        text = buffer.value.decode() if size else ""
        whole = whole or text
        if text != whole[: max(size - 1, 0)]:
            wrong.append(f"in {size} bytes it says {text!r}, not the beginning of {whole!r}")
        if not function.result.startswith("enum") and size == max(SIZES) and answer != len(text) < size - 1:
            wrong.append(f"the length is {answer}, the text has {len(text)}")
        if entry(*arguments_for(world, function, None, size)) != answer:
            wrong.append(f"without a buffer but {size} bytes the answer differs")
    if "error" in function.name and function.result == "size_t":
        return wrong  # nothing has failed yet
    return wrong if whole else [*wrong, "it says nothing"]


def check_function(asker: Asker, function: Function) -> None:
    """In a process of its own: what it writes beyond a buffer may be anything."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            os.write(writer, "\n".join(judge(asker.world(), function)).encode())
        except BaseException as failure:  # noqa: BLE001 the parent says so
            os.write(writer, repr(failure).encode())
        finally:
            os._exit(0)
    os.close(writer)
    with os.fdopen(reader, "rb") as pipe:
        said = pipe.read().decode()
    _, wait = os.waitpid(child, 0)
    wrong = check_names(function) + ([said] if said else []) + ([f"it died: {wait}"] if wait else [])
    tap.ok(not wrong, f"{function.name} keeps to its buffer", "\n".join(wrong))


def main() -> int:
    include = pathlib.Path(sys.argv[1]) / "seam"
    os.environ["SEAM_CONF"] = "backend:emu_book"
    with tempfile.TemporaryDirectory() as name:
        for header in sorted(include.glob("*.h")):
            in_torch = header.name == "torch.h"
            if in_torch and len(sys.argv) < 4:
                continue
            asker = Asker(sys.argv[3 if in_torch else 2], pathlib.Path(name), include)
            for function in abi.read_header(header):
                if buffers_of(function):
                    check_function(asker, function)
    return tap.end()


if __name__ == "__main__":
    sys.exit(main())
