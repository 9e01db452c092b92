#!/usr/bin/env python3
"""test_unpack: files that unpack to far more than they have, or claim to need much memory, cost little before they are refused.

The zstd frames are written here byte by byte (RFC 8878), xz files by Python's lzma, with another dictionary size put into the header.
usage: test_unpack.py SEAM. TAP.
"""

from __future__ import annotations

import lzma
import os
import pathlib
import struct
import subprocess
import sys
import tempfile
import zlib

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
import tap  # noqa: E402

MIB = 1 << 20
BLOCK_BYTES = 128 << 10
MOST_RSS_MIB = 640  # of the command: 64 MiB of content and 128 MiB beside it; a build with a sanitizer takes more
CSV = b"id,lower,upper,size\na,0,1,4\n"


def zstd_frame(content: bytes, zeros: int = 0, window_log: int = 20) -> bytes:
    """A frame of `content`, as it is, and behind it so many zeros, in blocks that repeat one byte."""
    frame = bytearray(struct.pack("<IBB", 0xFD2FB528, 0, (window_log - 10) << 3))
    blocks = zeros // BLOCK_BYTES
    frame += (len(content) << 3 | (blocks == 0)).to_bytes(3, "little") + content
    for i in range(blocks):
        frame += (BLOCK_BYTES << 3 | 1 << 1 | (i + 1 == blocks)).to_bytes(3, "little") + b"\0"
    return bytes(frame)


def xz_with_dictionary(content: bytes, size_code: int) -> bytes:
    """An xz file whose block header asks for another dictionary: 40 is 4 GiB, 28 is 64 MiB, 30 is 128 MiB."""
    file = bytearray(lzma.compress(content, preset=0))
    header_bytes = (file[12] + 1) * 4
    assert file[14] == 0x21 and file[15] == 1, "the only filter is LZMA2"
    file[16] = size_code
    file[12 + header_bytes - 4:12 + header_bytes] = struct.pack("<I", zlib.crc32(bytes(file[12:12 + header_bytes - 4])))
    return bytes(file)


class Seam:
    def __init__(self, program: str, folder: pathlib.Path) -> None:
        self.program, self.folder = program, folder

    def convert(self, name: str, content: bytes) -> tuple[int, str, int]:
        """Exit status, what it said, and the most memory that it had, in MiB."""
        path = self.folder / name
        path.write_bytes(content)
        with open(self.folder / "said", "w+", encoding="utf-8") as said:
            process = subprocess.Popen([self.program, "convert", "-q", path, self.folder / "out.seamtrace"], stderr=said)
            _, status, usage = os.wait4(process.pid, 0)
            process.returncode = os.waitstatus_to_exitcode(status)
            said.seek(0)
            return process.returncode, said.read().strip(), usage.ru_maxrss // 1024

    def check(self, what: str, content: bytes, says: str) -> None:
        """says: "" if it must succeed."""
        status, said, rss_mib = self.convert("a.packed", content)
        good = (status == 0 if says == "" else status == 1 and says in said) and rss_mib <= MOST_RSS_MIB
        tap.ok(good, what, f"{len(content)} bytes: status {status}, {rss_mib} MiB at most, said: {said}")


def main() -> int:
    with tempfile.TemporaryDirectory() as name:
        seam = Seam(os.path.realpath(sys.argv[1]), pathlib.Path(name))
        seam.check("a frame as it should be", zstd_frame(CSV), "")
        seam.check("several frames", zstd_frame(CSV) + zstd_frame(b"b,0,1,4\n"), "")
        seam.check("48 MiB of zeros are unpacked and are no trace", zstd_frame(b"", 48 * MIB), "neither")
        seam.check("6 GiB of zeros are not unpacked", zstd_frame(b"", 6 << 30), "unpacks to more than")
        seam.check("6 GiB behind a good beginning neither", zstd_frame(CSV, 6 << 30), "unpacks to more than")
        seam.check("frames upon frames neither", zstd_frame(b"", MIB) * 6000, "unpacks to more than")
        seam.check("a window of 128 MiB", zstd_frame(CSV, window_log=27), "")
        seam.check("a window of 2 GiB is refused", zstd_frame(CSV, window_log=31), "zstd data: ")
        seam.check("xz as it should be", lzma.compress(CSV), "")
        seam.check("a dictionary of 64 MiB", xz_with_dictionary(CSV, 28), "")
        seam.check("a dictionary of 4 GiB is refused", xz_with_dictionary(CSV, 40), "more than 128 MiB")
        seam.check("256 MiB of zeros in xz are not unpacked", lzma.compress(bytes(256 * MIB), preset=0), "unpacks to more than")
    return tap.end()


if __name__ == "__main__":
    sys.exit(main())
