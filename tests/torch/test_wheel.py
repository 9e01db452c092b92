#!/usr/bin/env python3
"""test_wheel.py SOURCE FAKECUDART TEST_WITH_TORCH: the sdist and the wheel that tools/wheel makes here, installed where nothing else is.

The class is in it for the PyTorch of $SEAM_VENV, if there is one. Skipped where meson-python is not at hand: `tools/wheel --tools` installs it.
"""

from __future__ import annotations

import email
import importlib.machinery
import importlib.util
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import unittest
import zipfile
from pathlib import Path

SOURCE = FAKECUDART = WITH_TORCH = PLACE = SDIST = WHEEL = Path()
VENV = Path(os.environ.get("SEAM_VENV") or Path.home() / ".cache/seam/venv")
VERSION = "0.1.0"


def run(*command: object, **more: object) -> subprocess.CompletedProcess[str]:
    """A command, with its output."""
    return subprocess.run([str(word) for word in command], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False, **more)  # type: ignore[call-overload]


def wheel_tool() -> object:
    """tools/wheel, as a module."""
    sys.dont_write_bytecode = True
    loader = importlib.machinery.SourceFileLoader("wheel_tool", str(SOURCE / "tools/wheel"))
    spec = importlib.util.spec_from_loader("wheel_tool", loader)
    module = importlib.util.module_from_spec(spec)
    loader.exec_module(module)
    return module


TOOL: object = None


def torch_folder() -> Path | None:
    """The package folder of the PyTorch to test with."""
    found = [path for path in VENV.glob("lib/python3*/site-packages/torch") if (path / "lib/libc10_cuda.so").is_file()]
    return found[0] if found else None


class WheelTest(unittest.TestCase):
    def setUp(self) -> None:
        self.place = Path(tempfile.mkdtemp(dir=PLACE))

    def install(self, python: object = sys.executable) -> Path:
        """An empty virtual environment with nothing but the wheel; returns its site-packages. Without network, compilers or what Seam is built with."""
        venv = self.place / "venv"
        made = run(python, "-m", "venv", "--without-pip", venv)
        self.assertEqual(made.returncode, 0, made.stdout)
        pip = TOOL.cache() / "tools/bin/pip"
        done = run(pip, "--python", venv / "bin/python", "install", "--quiet", "--no-index", WHEEL)
        self.assertEqual(done.returncode, 0, done.stdout)
        return next(venv.glob("lib/python3*/site-packages"))

    def run_there(self, *command: str, **env: str) -> str:
        """A command of the virtual environment, where there are no others; its output."""
        programs = self.place / "venv/bin"
        settings = {"PATH": str(programs), "HOME": str(self.place), "SEAM_CONF": "backend:emu,emu_capacity_bytes:256M"}
        done = run(programs / command[0], *command[1:], env=settings | env, cwd=self.place)
        self.assertEqual(done.returncode, 0, done.stdout)
        return done.stdout


class Files(WheelTest):
    def test_the_sdist_has_what_a_build_without_a_network_needs(self) -> None:
        with tarfile.open(SDIST) as archive:
            names = {name.partition("/")[2] for name in archive.getnames()}
        for name in ("PKG-INFO", "LICENSE", "README.md", "pyproject.toml", "lib/doors/python/backend.py", "lib/subprojects/jemalloc-5.3.0/configure"):
            self.assertIn(name, names)
        self.assertEqual(SDIST.name, f"seamalloc-{VERSION}.tar.gz")

    def test_the_wheel_is_of_one_platform_and_every_python_3(self) -> None:
        self.assertEqual(WHEEL.name, f"seamalloc-{VERSION}-py3-none-linux_x86_64.whl")
        with zipfile.ZipFile(WHEEL) as archive:
            wheel = email.message_from_bytes(archive.read(f"seamalloc-{VERSION}.dist-info/WHEEL"))
        self.assertEqual((wheel.get_all("Tag"), wheel["Root-Is-Purelib"]), (["py3-none-linux_x86_64"], "false"))

    def test_the_wheel_says_what_it_is(self) -> None:
        with zipfile.ZipFile(WHEEL) as archive:
            metadata = email.message_from_bytes(archive.read(f"seamalloc-{VERSION}.dist-info/METADATA"))
            names = archive.namelist()
        said = {name: metadata[name] for name in ("Name", "Version", "Requires-Python", "Description-Content-Type")}
        self.assertEqual(said, {"Name": "seamalloc", "Version": VERSION, "Requires-Python": ">=3.10", "Description-Content-Type": "text/markdown"})
        self.assertIn("memory allocator in C that does not fragment", metadata.get_payload())
        self.assertTrue([name for name in names if re.fullmatch(r"seamalloc-.*\.dist-info/(licenses/)?LICENSE", name)])

    def test_everything_that_is_python_there_is_here(self) -> None:
        ours = {path.name for path in (SOURCE / "lib/doors/python/seamalloc").glob("*.py")}
        with zipfile.ZipFile(WHEEL) as archive:
            self.assertEqual({name.partition("/")[2] for name in archive.namelist() if re.fullmatch(r"seamalloc/\w+\.py", name)}, ours)

    def test_classes_serve_every_python_and_both_cudas(self) -> None:
        with zipfile.ZipFile(WHEEL) as archive:
            archive.extractall(self.place)
        classes = list(self.place.glob("seamalloc/classes/*/libseam_torch_class.so"))
        self.assertEqual(len(classes), 1 if torch_folder() else 0)
        self.assertNotIn("gettid", run("nm", "--dynamic", *self.place.glob("seamalloc/*.so")).stdout, "glibc 2.30; the wheel is for older ones")
        for path in classes:
            self.assertEqual(TOOL.complaints(path), [])
            self.assertIn("[$ORIGIN/../..]", run("readelf", "--dynamic", path).stdout)
            self.assertIn("libseam_torch.so", os.listdir(path.parents[2]))

    def test_what_is_of_one_cuda_is_complained_of(self) -> None:
        folder = torch_folder()
        if folder is None:
            self.skipTest("no PyTorch")
        said = "\n".join(TOOL.complaints(folder / "lib/libc10_cuda.so"))
        self.assertIn("it is linked to libcudart.so", said)
        self.assertRegex(said, "a symbol of one CUDA: cuda[A-Za-z]+@libcudart.so")
        self.assertRegex("\n".join(TOOL.complaints(folder / "lib/libtorch_python.so")), "a symbol of Python: Py")


class Installed(WheelTest):
    def test_the_package_the_library_and_the_command_are_there(self) -> None:
        site = self.install()
        self.assertEqual(self.run_there("python", "-c", "import seamalloc; print(seamalloc.__file__)").strip(), str(site / "seamalloc/__init__.py"))
        library = self.run_there("python", "-c", "import seamalloc; print(len(seamalloc.stats())); print(seamalloc._library.library()._name)").split()
        self.assertGreater(int(library[0]), 10)
        self.assertEqual(library[1], str(site / "seamalloc/libseam_torch.so"))
        self.assertEqual(self.run_there("seam", "--version"), f"seam {VERSION}\n")
        self.assertIn("emu", self.run_there("seam", "info"))

    def test_the_ghost_is_a_device_for_who_names_its_path(self) -> None:
        site = self.install()
        runtimes = sorted((site / "seamalloc/ghost").glob("cuda*/libcudart.so.*"))
        self.assertEqual(bool(runtimes), FAKECUDART.is_dir() and bool(list(FAKECUDART.glob("cuda*/libcudart.so.*"))))
        code = "import ctypes, sys; n = ctypes.c_int(); print(ctypes.CDLL(sys.argv[1]).cudaGetDeviceCount(ctypes.byref(n)), n.value)"
        for name in ("libcuda.so.1", "libnvidia-ml.so.1"):
            (self.place / name).write_bytes(b"")  # whoever finds it fails
        for runtime in runtimes:
            self.assertEqual(self.run_there("python", "-c", code, str(runtime), FAKECUDA_DEVICES="3", LD_LIBRARY_PATH=str(self.place)), "0 3\n")

    def test_seam_enable_is_read_at_the_start(self) -> None:
        self.install()
        code = "import sys; print('seamalloc._startup' in sys.modules)"
        self.assertEqual([self.run_there("python", "-c", code, SEAM_ENABLE=value) for value in ("0", "1")], ["False\n", "True\n"])

    def test_cmake_finds_the_c_library_in_it(self) -> None:
        if shutil.which("cmake") is None:
            self.skipTest("cmake is not installed")
        self.install()
        code = "import importlib.metadata as m; print(*(e.load().__path__[0] for e in m.entry_points(group='cmake.prefix')))"
        prefix = self.run_there("python", "-c", code).strip()
        (self.place / "CMakeLists.txt").write_text(
            "cmake_minimum_required(VERSION 3.16)\nproject(consumer C)\nfind_package(seam 0.1 CONFIG REQUIRED)\n"
            f"add_executable(consumer {SOURCE / 'tests/abi/consumer.c'})\ntarget_link_libraries(consumer PRIVATE seam::seam)\n"
        )
        for command in (["cmake", "-S", ".", "-B", "build", f"-DCMAKE_PREFIX_PATH={prefix}"], ["cmake", "--build", "build"]):
            done = run(*command, cwd=self.place)
            self.assertEqual(done.returncode, 0, done.stdout)
        done = run("build/consumer", cwd=self.place, env={"SEAM_CONF": "backend:emu"})
        self.assertEqual(done.returncode, 0, done.stdout)

    def test_the_doors_tests_pass_in_it(self) -> None:
        folder = torch_folder()
        if folder is None:
            self.skipTest("no PyTorch")
        site = self.install(VENV / "bin/python")
        (site / "torch.pth").write_text(f"{folder.parent}\n")
        runtime = re.search(rb"libcudart\.so\.(\d+)", (folder / "lib/libc10_cuda.so").read_bytes())
        fake = FAKECUDART / f"cuda{runtime.group(1).decode()}" / runtime.group(0).decode()
        if not fake.is_file():
            self.skipTest(f"no fake {fake.name}")
        if shutil.which("addr2line"):  # PyTorch until 2.11 asks it for the stacks of a snapshot
            (self.place / "venv/bin/addr2line").symlink_to(shutil.which("addr2line"))
        cache = self.place / "cache"
        text = self.run_there("python", str(WITH_TORCH), str(site / "seamalloc/libseam_torch.so"), str(site), "-v", FAKE_CUDART=str(fake), XDG_CACHE_HOME=str(cache))
        self.assertRegex(text, r"test_the_class_door_is_built_and_goes_in .* ok\n")
        self.assertRegex(text, r"(?s)Ran \d+ tests.*\n\nOK")
        self.assertFalse(cache.exists(), "a class was compiled")


def main() -> None:
    global SOURCE, FAKECUDART, WITH_TORCH, PLACE, SDIST, WHEEL, TOOL
    SOURCE, FAKECUDART, WITH_TORCH = (Path(argument).resolve() for argument in sys.argv[1:4])
    TOOL = wheel_tool()
    if not (TOOL.cache() / "tools/bin/auditwheel").exists() or shutil.which("git") is None or run("git", "-C", SOURCE, "rev-parse", "HEAD").returncode != 0:
        print("skipped: wheels are made with meson-python (`tools/wheel --tools` installs it), out of a git repository")
        sys.exit(77)
    with tempfile.TemporaryDirectory() as place:
        PLACE = Path(place)
        folder = torch_folder()
        made = run(sys.executable, SOURCE / "tools/wheel", "--here", "--out", PLACE, *(["--torch", folder] if folder else []))
        if made.returncode != 0:
            sys.exit(made.stdout)
        SDIST, WHEEL = next(PLACE.glob("*.tar.gz")), next(PLACE.glob("*.whl"))
        program = unittest.main(argv=[sys.argv[0], *sys.argv[4:]], exit=False)
    sys.exit(not program.result.wasSuccessful())


if __name__ == "__main__":
    main()
