#!/usr/bin/env python3
"""test_null_arguments: every pointer argument of every function of the public headers, NULL once.

The headers' own declarations are the list, so no function can be forgotten. A child process makes a pool, a trace and a plan,
calls the function with good arguments, and then with NULL in one place. The answer must be SEAM_INVALID, or nothing (NULL, 0,
no action) where a function returns no code; where NULL is allowed (OPTIONAL) it must succeed as well. Each code that was
seen stands in the comment above the function.
usage: test_null_arguments.py INCLUDE_FOLDER LIBSEAM [LIBSEAM_TORCH]. TAP.
"""

from __future__ import annotations

import ctypes
import dataclasses
import os
import pathlib
import re
import struct
import sys
import tempfile

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
import tap  # noqa: E402

BUFFER_BYTES = 8192
CRASHED = 255

# Where NULL is an answer of its own: arguments by name for all functions, or for one.
OPTIONAL = {
    "error", "user", "stream", "config", "options", "ret_released_bytes", "ret_free_bytes", "ret_total_bytes", "ret_base",
    "seam_block_range.ret_bytes", "seam_torch_base_alloc.ret_bytes", "ret_name", "ret_kind", "ret_text", "seam_stats_driver.ret_calls",
    "seam_stats_driver.ret_ns", "seam_free.ptr", "seam_host_free.ptr", "callback", "filter", "seam_torch_plan_file.path",
    "seam_torch_configure.text", "seam_torch_throw_oom.text", "seam_torch_throw_error.text", "seam_torch_free.ptr",
    "seam_torch_record_stream.ptr", "seam_torch_segment_free.ptr", "spans",
}
NOT_OPTIONAL = {"seam_config_init.config", "seam_config_parse.config"}

# NULL is no block, and is answered like any other address that is none.
NO_BLOCK = {"seam_record_stream.ptr", "seam_usable_size.ptr", "seam_block_range.address", "seam_block_chunks.ptr",
            "seam_block_export.ptr", "seam_host_record_stream.ptr"}

# Good arguments that do not succeed here.
ELSEWHERE = {"seam_stream_destroyed": "SEAM_INVALID", "seam_private_restore": "SEAM_INVALID", "seam_peer_enable": "SEAM_DRIVER"}


@dataclasses.dataclass
class Argument:
    type: str
    name: str

    @property
    def is_pointer(self) -> bool:
        return "*" in self.type or "seam_oom_callback" in self.type or "seam_log_callback" in self.type


@dataclasses.dataclass
class Function:
    name: str
    result: str
    arguments: list[Argument]
    comment: str


def read_header(path: pathlib.Path) -> list[Function]:
    text = path.read_text(encoding="utf-8")
    functions = []
    pattern = re.compile(r"(?P<comment>/\*(?:(?!\*/).)*\*/)?\s*SEAM_API\s+(?:SEAM_MUST_USE\s+)?(?P<result>[^;()]*?)\s*(?P<name>seam_\w+)"
                         r"\((?P<arguments>[^;]*?)\);", re.S)
    comment = ""
    for match in pattern.finditer(text):
        comment = match["comment"] or comment  # a comment may be of several functions
        arguments = []
        for piece in match["arguments"].split(","):
            piece = " ".join(piece.split())
            if piece != "void":
                parts = re.fullmatch(r"(.*?)(\w+)", piece)
                assert parts is not None, piece
                arguments.append(Argument(parts[1].strip(), parts[2]))
        functions.append(Function(match["name"], " ".join(match["result"].split()), arguments, comment))
    return functions


def is_optional(function: Function, argument: Argument) -> bool:
    names = {argument.name, f"{function.name}.{argument.name}"}
    return bool(names & OPTIONAL) and not names & NOT_OPTIONAL


class World:
    """A pool with two blocks and a swap engine with a ticket, a trace with a period, a plan of it, a builder, and files of both."""

    def __init__(self, library: ctypes.CDLL, folder: pathlib.Path, include: pathlib.Path) -> None:
        self.library, self.folder = library, folder
        self.kept: list[object] = []
        self.stats = {}
        for kind, version in (("", 2), ("plan_", 1), ("host_", 1), ("swap_", 1)):
            figures = len(re.findall(rf"^SEAM_{kind.upper()}STAT\(", (include / f"{kind}stats.def").read_text(encoding="utf-8"), re.M))
            self.stats[kind] = struct.pack("=II", 8 + 8 * figures, version)
        self.trace = self.make_trace()
        self.plan = self.make("seam_plan_make", ctypes.c_void_p(self.trace), None, None)
        self.trace_path, self.plan_path = folder / "a.seamtrace", folder / "a.plan"
        self.must("seam_trace_write_file", ctypes.c_void_p(self.trace), bytes(self.trace_path))
        self.must("seam_plan_write_file", ctypes.c_void_p(self.plan), bytes(self.plan_path))
        self.builder = self.make("seam_trace_builder_create", b"a test", 0)
        config = self.buffer()
        library.seam_config_init(config)
        self.must("seam_config_parse", config, b"backend:emu_book,export_as:fd", None, ctypes.c_size_t(0))
        self.pool = self.make("seam_pool_create", 0, config, None, ctypes.c_size_t(0))
        self.config = config
        pool = ctypes.c_void_p(self.pool)
        self.block = self.make("seam_alloc", pool, ctypes.c_uint64(3 << 20), None)
        self.host = self.make("seam_host_alloc", pool, ctypes.c_uint64(4096), None)
        self.swap = self.make("seam_swap_create", pool)
        self.must("seam_swap_out", ctypes.c_void_p(self.swap), self.buffer(struct.pack("=Q", self.block)), self.buffer(struct.pack("=Q", 4096)),
                  ctypes.c_size_t(1), None, self.buffer())
        self.must("seam_swap_join", ctypes.c_void_p(self.swap), ctypes.c_uint64(1))
        self.make_fit()
        self.must("seam_private_begin", pool, ctypes.c_uint64(7), 3, ctypes.c_uint64(0))
        self.must("seam_phase_begin", pool, b"forward")
        self.must("seam_dynamic_begin", pool)

    def buffer(self, content: bytes = b"") -> ctypes.Array[ctypes.c_char]:
        made = ctypes.create_string_buffer(content, BUFFER_BYTES)
        self.kept.append(made)
        return made

    def must(self, name: str, *arguments: object) -> None:
        rc = getattr(self.library, name)(*arguments)
        assert rc == 0, f"{name}: {rc}"

    def make(self, name: str, *arguments: object) -> int:
        made = ctypes.c_void_p()
        self.must(name, *arguments, ctypes.byref(made))
        assert made.value is not None
        return made.value

    def make_torch_block(self) -> int:
        self.library.seam_torch_alloc.restype = ctypes.c_void_p
        return self.library.seam_torch_alloc(ctypes.c_size_t(1 << 20), 0, None)

    def make_trace(self) -> int:
        builder = ctypes.c_void_p(self.make("seam_trace_builder_create", b"a test", 0))
        number = time = 0
        for step in range(8):
            events = []
            for size in (2 << 20, 6 << 20):
                number += 1
                events.append((1, number, size))
            events += [(2, number, 6 << 20), (2, number - 1, 2 << 20), (8, step, 0)]
            for kind, block, size in events:
                time += 1000
                self.must("seam_trace_builder_add", builder, struct.pack("<BBHIQQQQIIII", kind, 0, 0, 0, block, size, 0, time, 0, 0, 0, 0))
        return self.make("seam_trace_builder_finish", builder, None)

    def make_fit(self) -> None:
        """A problem of one visit, a recipe, its schedule, and what a search finds."""
        visit = self.buffer(struct.pack("=IIII", 0, 0xFFFFFFFF, 0xFFFFFFFF, 0) + struct.pack("=QQq", 10, 20, 0) * 4)
        problem = struct.pack("=QQQQ", 120, ctypes.addressof(visit), 0, 0) + struct.pack("=IIIIII", 1, 0, 0, 1, 0, 0) + struct.pack("=8Q", *[0] * 6, 1 << 30, 0)
        self.fit_problem = ctypes.addressof(self.buffer(problem))
        self.fit_recipe = ctypes.addressof(self.buffer(struct.pack("=QQII", 0, 0, 1, 1)))
        self.fit_schedule = self.make("seam_fit_schedule", ctypes.c_void_p(self.fit_problem), ctypes.c_void_p(self.fit_recipe))
        self.fit_front = self.make("seam_fit_search", ctypes.c_void_p(self.fit_problem), None)

    def pointer(self, function: str, argument: Argument) -> object:
        """A good value for a pointer argument."""
        made = {
            "seam_pool": self.pool, "seam_swap": self.swap, "seam_trace": self.trace, "seam_plan": self.plan, "seam_trace_builder": self.builder,
            "seam_fit_problem": self.fit_problem, "seam_fit_recipe": self.fit_recipe, "seam_fit_schedule": self.fit_schedule,
            "seam_fit_front": self.fit_front,
        }.get(re.sub(r"^const |struct |[ *]", "", argument.type)) if not argument.name.startswith("ret_") else None
        if made is not None:
            return ctypes.c_void_p(made)
        if argument.type == "seam_oom_callback *":
            self.kept.append(ctypes.CFUNCTYPE(ctypes.c_bool, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_uint64, ctypes.c_void_p)(lambda *_: False))
            return self.kept[-1]
        if argument.type == "seam_log_callback *":
            self.kept.append(ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int, ctypes.c_char_p)(lambda *_: None))
            return self.kept[-1]
        if argument.name == "path":
            read = self.plan_path if "plan" in function else self.trace_path
            return bytes(read if "write" not in function and "save" not in function else self.folder / "written")
        if argument.name in ("ptr", "address"):
            chosen = self.host if "host" in function else self.block
            return ctypes.c_void_p(self.make_torch_block() if "torch" in function else chosen)
        if argument.name in ("stream", "user", "filter"):
            return None
        read_as = self.plan_path if "plan" in function else self.trace_path
        contents = {
            "request": struct.pack("=IIQQQQ", 40, 0, 1 << 20, 0, 0, 0), "options": struct.pack("=Q", 24 if "fit" in function else 16),
            "stats": self.stats[next((kind for kind in ("plan_", "swap_", "host_") if kind[:-1] in function), "")],
            "tensors": struct.pack("=Q", self.block), "hosts": struct.pack("=Q", self.host), "bytes": struct.pack("=Q", 4096),
            "name": b"forward", "source": b"a test", "text": b"stitch:oom",
            "data": read_as.read_bytes() if argument.name == "data" else b"",
        }
        if argument.name == "config":
            return self.config
        return self.buffer(contents.get(argument.name, b""))

    def number(self, function: str, argument: Argument) -> object:
        if argument.name == "data_bytes":
            return ctypes.c_size_t((self.plan_path if "plan" in function else self.trace_path).stat().st_size)
        if argument.type == "double":
            return ctypes.c_double(0.5)
        if argument.type == "struct seam_torch_pool_id":
            return type("Id", (ctypes.Structure,), {"_fields_": [("first", ctypes.c_uint64), ("second", ctypes.c_uint64)]})(7, 1)
        value = {"ticket": 1, "id": 7, "bytes": 4096, "capacity": 4, "last_event": 4, "count": 1, "kind": 3, "peer": 1}.get(argument.name, 0)
        if argument.name in ("error_bytes", "text_bytes"):
            value = BUFFER_BYTES
        wide = {"uint64_t": ctypes.c_uint64, "size_t": ctypes.c_size_t, "uint32_t": ctypes.c_uint32}
        return wide.get(argument.type, ctypes.c_int)(value)

    def call(self, function: Function, without: str) -> object:
        entry = getattr(self.library, function.name)
        if not function.result.startswith("enum"):
            entry.restype = ctypes.c_void_p if "*" in function.result else None if function.result == "void" else ctypes.c_size_t
        values = []
        for argument in function.arguments:
            good = self.pointer(function.name, argument) if argument.is_pointer else self.number(function.name, argument)
            values.append(None if argument.name == without else good)
        return entry(*values)


@dataclasses.dataclass
class Asker:
    path: str
    folder: pathlib.Path
    include: pathlib.Path

    def world(self) -> World:
        return World(ctypes.CDLL(self.path), self.folder, self.include)


def ask(asker: Asker, function: Function, without: str = "") -> int | str:
    """The answer of one call in a process of its own: a code, or 0 for nothing, 1 for something, or how it died."""
    child = os.fork()
    if child == 0:
        status = CRASHED
        try:
            answer = asker.world().call(function, without)
            status = int(answer or 0) if function.result.startswith("enum") else int(bool(answer))
        finally:
            os._exit(status)
    _, wait = os.waitpid(child, 0)
    if os.WIFSIGNALED(wait):
        return f"died of signal {os.WTERMSIG(wait)}"
    return os.WEXITSTATUS(wait) if os.WEXITSTATUS(wait) != CRASHED else "the test itself failed"


def codes_of(include: pathlib.Path) -> list[str]:
    return ["SEAM_" + name for name in re.findall(r"^SEAM_RC\((\w+)", (include / "errors.def").read_text(encoding="utf-8"), re.M)]


def said(answer: int | str, codes: list[str], function: Function) -> str:
    return codes[answer] if isinstance(answer, int) and function.result.startswith("enum") and answer < len(codes) else str(answer)


def check_function(asker: Asker, function: Function, codes: list[str], everywhere: str) -> None:
    wrong = []
    is_code = function.result.startswith("enum seam_rc")
    base = ask(asker, function)
    if is_code and said(base, codes, function) != ELSEWHERE.get(function.name, "SEAM_OK") or isinstance(base, str):
        wrong.append(f"good arguments: {said(base, codes, function)}")
    for argument in function.arguments:
        if not argument.is_pointer:
            continue
        answer = ask(asker, function, argument.name)
        spoken = said(answer, codes, function)
        if is_optional(function, argument):
            good = answer == base or (isinstance(answer, int) and not is_code)
        elif f"{function.name}.{argument.name}" in NO_BLOCK:
            good = spoken == "SEAM_NOT_FOUND"
        elif is_code:
            good = spoken == "SEAM_INVALID"
        else:
            good = isinstance(answer, int)
        if not good:
            wrong.append(f"{argument.name} is NULL: {spoken}")
        if is_code and spoken not in ("SEAM_OK", *re.findall(r"SEAM_\w+", function.comment + everywhere)):
            wrong.append(f"{spoken} ({argument.name} is NULL) is not documented")
    tap.ok(not wrong, f"{function.name} bears NULL", "\n".join(wrong))


def main() -> int:
    include = pathlib.Path(sys.argv[1]) / "seam"
    codes = codes_of(include)
    os.environ["SEAM_CONF"] = "backend:emu_book"
    everywhere = "SEAM_INVALID" if "NULL" in (include / "rc.h").read_text(encoding="utf-8").split("#ifndef")[0] else ""
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        for header in sorted(include.glob("*.h")):
            in_torch = header.name == "torch.h"
            if in_torch and len(sys.argv) < 4:
                continue
            asker = Asker(sys.argv[3 if in_torch else 2], folder, include)
            for function in read_header(header):
                if any(argument.is_pointer for argument in function.arguments):
                    check_function(asker, function, codes, everywhere)
    return tap.end()


if __name__ == "__main__":
    sys.exit(main())
