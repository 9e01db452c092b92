#!/usr/bin/env python3
"""test_python.py LIBRARY PACKAGE CLASS: the Python package without PyTorch, over the emulated device. Every test is a Python of its own."""

import json
import os
import shutil
import subprocess
import sys
import tempfile
import textwrap
import unittest
from pathlib import Path

LIBRARY = PACKAGE = CLASS = Path()

# As much of PyTorch as enable() asks for.
FAKE_TORCH = """
import os

__version__ = "2.99.0"

class version:
    cuda = None if os.environ.get("FAKE") == "cpu" else "13.0"

class cuda:
    class memory:
        _snapshot = staticmethod(dict)

    @staticmethod
    def is_initialized():
        return os.environ.get("FAKE") == "used"

    @staticmethod
    def device_count():
        return 0 if os.environ.get("FAKE") == "no gpu" else 1

class Allocator:
    def __init__(self, alloc, free):
        self.set = {"alloc": alloc, "free": free}

    def __getattr__(self, name):
        if not name.startswith("set_") or (os.environ.get("FAKE") == "no hooks" and name == "set_release_pool"):
            raise AttributeError(name)
        return lambda address: self.set.__setitem__(name, address)

class _C:
    _cuda_customAllocator = Allocator
    current = None
    read = False
    settings = []

    @staticmethod
    def _cuda_getAllocatorBackend():
        if _C.current is not None:
            return "pluggable"
        if "class_stand_in" in open("/proc/self/maps").read():
            return "seam"
        return "cudaMallocAsync" if os.environ.get("FAKE") == "async" else "native"

    @staticmethod
    def _cuda_getAllocator():
        return _C.current

    @staticmethod
    def _accelerator_setAllocatorSettings(text):
        both = [text] if _C.read else [os.environ.get("PYTORCH_ALLOC_CONF", ""), text]
        _C.read = True
        if "nonsense" in "".join(both):
            raise ValueError("Unrecognized key")
        if "backend:native" in "".join(both) and _C._cuda_getAllocatorBackend() != "native":
            raise RuntimeError("INTERNAL ASSERT FAILED")
        _C.settings.append(text)

    @staticmethod
    def _cuda_cudaCachingAllocator_enable(value):
        pass

    @staticmethod
    def _cuda_changeCurrentAllocator(allocator):
        if os.environ.get("FAKE") == "initialised":
            raise RuntimeError("Can't swap an already initialized allocator")
        _C.current = allocator
"""


class PythonTest(unittest.TestCase):
    def setUp(self) -> None:
        self.place = Path(tempfile.mkdtemp())
        self.addCleanup(shutil.rmtree, self.place)
        self.env = {
            "PATH": os.environ["PATH"],
            "PYTHONPATH": f"{PACKAGE}:{self.place}",
            "SEAM_LIBRARY": str(LIBRARY),
            "SEAM_CONF": "backend:emu_book,emu_capacity_bytes:256M",
        }

    def run_python(self, *arguments: str, **env: str) -> subprocess.CompletedProcess:
        return subprocess.run([sys.executable, *arguments], env=self.env | env, capture_output=True, text=True, cwd=self.place)

    def run_code(self, code: str, **env: str) -> str:
        """What the code prints. It has `library`, `alloc` and `free`."""
        begin = """
            import seamalloc
            library = seamalloc._library.library()
            def alloc(count, device=0):
                return library.seam_torch_alloc(count, device, None)
            def free(ptr, device=0):
                library.seam_torch_free(ptr, 0, device, None)
            """
        done = self.run_python("-c", textwrap.dedent(begin) + textwrap.dedent(code), **env)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout

    def error_of(self, code: str, **env: str) -> str:
        """The text of the seamalloc.Error that the code raises."""
        return self.run_code(f"try:\n    {code}\n    print('nothing was raised')\nexcept seamalloc.Error as error:\n    print(error)", **env)

    def add_torch(self) -> None:
        (self.place / "torch.py").write_text(FAKE_TORCH)


class Loading(PythonTest):
    def test_importing_loads_neither_the_library_nor_torch(self) -> None:
        done = self.run_python("-c", "import seamalloc, sys; print('torch' in sys.modules, seamalloc.is_enabled())", SEAM_LIBRARY="/nowhere")
        self.assertEqual(done.stdout, "False False\n", done.stderr)

    def test_a_missing_library_is_told_with_the_places(self) -> None:
        done = self.run_python("-c", "import seamalloc\ntry:\n    seamalloc.stats()\nexcept seamalloc.Error as error:\n    print(error)", SEAM_LIBRARY="/nowhere/a.so")
        self.assertIn("/nowhere/a.so", done.stdout)
        self.assertIn("SEAM_LIBRARY", done.stdout)

    def test_a_library_of_another_kind_is_told(self) -> None:
        done = self.run_python("-c", "import seamalloc\ntry:\n    seamalloc.stats()\nexcept seamalloc.Error as error:\n    print(error)", SEAM_LIBRARY="libc.so.6")
        self.assertIn("is not the libseam_torch.so", done.stdout)

    def test_versions_must_match(self) -> None:
        self.assertIn("versions do not match", self.error_of("seamalloc._library.check_version('0.0.9')"))

    def test_the_library_beside_the_package_is_found(self) -> None:
        shutil.copytree(PACKAGE / "seamalloc", self.place / "seamalloc")
        (self.place / "seamalloc" / "libseam_torch.so").symlink_to(LIBRARY)
        done = self.run_python("-c", "import seamalloc; print(len(seamalloc.stats()))", PYTHONPATH=str(self.place), SEAM_LIBRARY="")
        self.assertGreater(int(done.stdout or "0"), 10, done.stderr)

    def test_it_is_found_where_the_system_looks(self) -> None:
        done = self.run_python("-c", "import seamalloc; print(len(seamalloc.stats()))", SEAM_LIBRARY="", LD_LIBRARY_PATH=str(LIBRARY.parent))
        self.assertGreater(int(done.stdout or "0"), 10, done.stderr)

    def test_no_cuda_before_the_first_request(self) -> None:
        self.assertEqual(self.run_code("print(seamalloc.stats()['allocs'], seamalloc._library.pools())"), "0 []\n")


class Enabling(PythonTest):
    def test_without_torch(self) -> None:
        self.assertIn("PyTorch cannot be imported", self.error_of("seamalloc.enable()"))

    def test_what_makes_it_impossible_is_told(self) -> None:
        self.add_torch()
        for fake, words in (
            ("cpu", "built without CUDA"),
            ("used", "too late for the pluggable door: CUDA is in use already"),
            ("async", "backend:cudaMallocAsync is asked for"),
            ("no hooks", "has no set_release_pool"),
            ("initialised", "does not take another allocator any more"),
        ):
            with self.subTest(fake):
                self.assertIn(words, self.error_of("seamalloc.enable(door='pluggable')", FAKE=fake))

    def test_without_a_driver_or_a_gpu(self) -> None:
        self.add_torch()
        (self.place / "libcuda.so.1").symlink_to(LIBRARY)  # a driver, as far as its name is looked for
        env = {"SEAM_CONF": "", "FAKE": "no gpu"}
        self.assertIn("no GPU", self.error_of("seamalloc.enable(door='pluggable')", LD_LIBRARY_PATH=str(self.place), **env))
        (self.place / "libcuda.so.1").unlink()
        (self.place / "libcuda.so.1").write_text("no library")
        self.assertIn("no NVIDIA driver", self.error_of("seamalloc.enable(door='pluggable')", LD_LIBRARY_PATH=str(self.place), **env))

    def test_wrong_arguments_change_nothing(self) -> None:
        self.add_torch()
        self.assertIn("no door 'back'", self.error_of("seamalloc.enable(door='back')"))
        self.assertIn("nonsense", self.error_of("seamalloc.enable(door='pluggable', conf='nonsense:1')"))
        self.assertIn("the plan /nowhere/plan cannot be used", self.error_of("seamalloc.enable(door='pluggable', plan='/nowhere/plan')"))
        code = """
            import torch
            try:
                seamalloc.enable(door="pluggable", conf="nonsense:1")
            except seamalloc.Error:
                print(seamalloc.is_enabled(), torch._C.current)
            """
        self.assertEqual(self.run_code(code), "False None\n")

    def test_the_pluggable_door_sets_every_hook(self) -> None:
        self.add_torch()
        code = """
            import torch
            seamalloc.enable(door="pluggable", conf="chunk_bytes:4M", plan="auto")
            hooks = torch._C.current.set
            print(len(hooks), len(set(hooks.values())), all(hooks.values()), seamalloc.is_enabled(), seamalloc.enabled_door())
            print(hooks["alloc"] == seamalloc._library.address("seam_torch_alloc"), hooks["set_reset_fn"] == seamalloc._library.address("seam_torch_reset"))
            seamalloc.enable()
            seamalloc.enable(door="pluggable")
            try:
                seamalloc.enable(door="class")
            except seamalloc.Error as error:
                print(error)
            alloc(100)
            print(seamalloc.stats()["reserved_bytes"] >= 2 << 20)
            """
        expected = "10 10 True True pluggable\nTrue True\nSeam is enabled already, by the pluggable door\nTrue\n"
        self.assertEqual(self.run_code(code), expected)

    def test_too_late_to_configure(self) -> None:
        self.add_torch()
        self.assertIn("too late to configure", self.error_of("alloc(100); seamalloc.enable(door='pluggable', conf='chunk_bytes:4M')"))

    def test_arguments_of_another_type_are_told(self) -> None:
        self.add_torch()
        for arguments in ("door=1", "door=['class']", "plan=1", "plan=b'auto'", "conf={'chunk_bytes': 4}", "conf=True", "conf='chunk_bytes:4M\\0'"):
            with self.subTest(arguments):
                self.assertIn(arguments.split("=")[0], self.error_of(f"seamalloc.enable({arguments})"))

    def test_a_second_call_takes_effect_or_raises(self) -> None:
        self.add_torch()
        code = """
            def again(**arguments):
                try:
                    seamalloc.enable(**arguments)
                    print("taken")
                except seamalloc.Error as error:
                    print(error)
            seamalloc.enable(door="pluggable", plan="auto")
            again(conf="chunk_bytes:8M")
            again(plan="/nowhere/plan")
            again(conf="nonsense:1")
            alloc(64 << 20)
            print(seamalloc.stats()["chunks"])
            again()
            again(plan="auto", conf="chunk_bytes:8M")
            again(plan="off")
            again(conf="chunk_bytes:16M")
            """
        lines = self.run_code(code).splitlines()
        self.assertEqual((lines[0], lines[3:6]), ("taken", ["8", "taken", "taken"]), lines)
        self.assertIn("the plan /nowhere/plan cannot be used", lines[1])
        self.assertIn("nonsense", lines[2])
        for line in lines[6:]:
            self.assertIn("too late to configure", line)
        self.assertEqual(len(lines), 8)

    def test_a_failed_call_leaves_no_configuration(self) -> None:
        self.add_torch()
        code = """
            import os
            for arguments in ({"conf": "chunk_bytes:16M"}, {"conf": "chunk_bytes:16M", "plan": "/nowhere/plan"}):
                try:
                    seamalloc.enable(door="pluggable", **arguments)
                except seamalloc.Error:
                    os.environ["FAKE"] = ""
            alloc(1 << 20)
            print(seamalloc.stats()["reserved_bytes"])
            """
        self.assertEqual(self.run_code(code, FAKE="initialised"), f"{2 << 20}\n")

    def test_an_allocator_that_replaces_seam_is_noticed(self) -> None:
        self.add_torch()
        code = """
            import torch
            seamalloc.enable(door="pluggable")
            torch._C._cuda_changeCurrentAllocator(torch._C._cuda_customAllocator(1, 2))
            print(seamalloc.is_enabled(), seamalloc.enabled_door(), "not PyTorch's allocator" in seamalloc.report())
            try:
                seamalloc.enable()
            except seamalloc.Error as error:
                print(error)
            """
        self.assertEqual(self.run_code(code), "False None True\nanother allocator has replaced Seam since it was enabled\n")
        error = self.error_of("import torch; torch._C._cuda_changeCurrentAllocator(3); seamalloc.enable(door='pluggable')")
        self.assertIn("was replaced already, by one that is called 'pluggable'", error)

    def test_pytorchs_settings_are_read_before_seam_goes_in(self) -> None:
        self.add_torch()
        code = "import torch; seamalloc.enable(door='pluggable'); torch._C._accelerator_setAllocatorSettings('{}'); print(torch._C.settings)"
        for variable in ("", "backend:native"):
            self.assertEqual(self.run_code(code.format("backend:native"), PYTORCH_ALLOC_CONF=variable), "['', '']\n")
        for given, taken in (
            ("backend:native,pinned_use_background_threads:True", "pinned_use_background_threads:True"),
            ("roundup_power2_divisions:[256:1,512:2], backend : native", "roundup_power2_divisions:[256:1,512:2]"),
            ("garbage_collection_threshold:0.5,backend:native,max_split_size_mb:40", "garbage_collection_threshold:0.5,max_split_size_mb:40"),
        ):
            self.assertEqual(self.run_code(code.format(given)), f"['', '{taken}']\n")
        self.assertIn("PyTorch refuses its settings", self.error_of("seamalloc.enable(door='pluggable')", PYTORCH_ALLOC_CONF="nonsense:1"))
        late = "import torch; seamalloc.enable(door='pluggable'); torch._C._accelerator_setAllocatorSettings('backend:cudaMallocAsync')"
        self.assertIn("it is too late for backend:cudaMallocAsync", self.error_of(late))

    def test_settings_that_mean_nothing_are_named_once(self) -> None:
        self.add_torch()
        code = """
            import seamalloc
            seamalloc.enable(door="pluggable")
            seamalloc.enable()
            import torch
            for _ in range(2):
                torch._C._accelerator_setAllocatorSettings("max_split_size_mb:40")
            """
        conf = "expandable_segments:True,roundup_power2_divisions:[256:1,512:2],pinned_use_background_threads:True,backend:native"
        done = self.run_python("-W", "always", "-c", textwrap.dedent(code), PYTORCH_ALLOC_CONF=conf)
        told = [line for line in done.stderr.splitlines() if "seamalloc:" in line]
        self.assertEqual(len(told), 2, done.stderr)
        self.assertRegex(told[0], r"^<string>:3: .*settings: expandable_segments, roundup_power2_divisions, backend mean nothing to Seam")
        self.assertRegex(told[1], r"^<string>:7: .*settings: max_split_size_mb means nothing to Seam")
        self.assertNotIn("nothing to Seam", self.run_python("-c", code, PYTORCH_ALLOC_CONF="pinned_use_background_threads:True").stderr.replace("max_split_size_mb means nothing", ""))

    def test_the_pluggable_door_refuses_to_turn_caching_off(self) -> None:
        self.add_torch()
        self.assertIn("PYTORCH_NO_CUDA_MEMORY_CACHING is set", self.error_of("seamalloc.enable(door='pluggable')", PYTORCH_NO_CUDA_MEMORY_CACHING="1"))
        code = "import torch; seamalloc.enable(door='pluggable'); enable = torch._C._cuda_cudaCachingAllocator_enable; enable(True); enable(False)"
        self.assertIn("caching cannot be turned off", self.error_of(code))

    def use_build(self, body: str) -> None:
        """Changes seamalloc.build, as `module`, before the program."""
        (self.place / "sitecustomize.py").write_text("import os, sys\nimport seamalloc.build as module\n" + textwrap.dedent(body))

    def test_the_class_door_comes_first(self) -> None:
        self.add_torch()
        self.use_build(f"module.find_or_build = lambda: print(open('/proc/self/maps').read().count({str(LIBRARY)!r}) > 0) or {str(CLASS)!r}")
        self.assertEqual(self.run_code("seamalloc.enable(); print(seamalloc.enabled_door())", CLASS_MINOR="99"), "True\nclass\n")

    def test_the_class_stays_where_pinned_memory_cannot_be_had(self) -> None:
        self.add_torch()
        self.use_build(f"module.find_or_build = lambda: {str(CLASS)!r}")
        code = "import seamalloc; seamalloc.enable(PINNED); print(seamalloc.enabled_door(), seamalloc._enable.is_pinned())"
        for pinned, error, told, is_pinned in (("", "", "", True), ("", "not here", "stays PyTorch's own: not here", False), ("pinned=False", "not here", "", False)):
            settings = {"CLASS_MINOR": "99", **({"CLASS_PIN_ERROR": error} if error else {})}
            done = self.run_python("-W", "always", "-c", code.replace("PINNED", pinned), **settings)
            self.assertEqual(done.stdout, f"class {is_pinned}\n", done.stderr)
            self.assertEqual("pinned" in done.stderr, bool(told), done.stderr)
            self.assertIn(told, done.stderr)

    def test_contiguous_memory_is_the_class_doors(self) -> None:
        self.add_torch()
        self.use_build(f"""
            import contextlib
            @contextlib.contextmanager
            def contiguous():
                print("begin")
                yield
                print("end")
            module.contiguous = contiguous
            module.find_or_build = lambda: {str(CLASS)!r}
            """)
        code = "seamalloc.enable(door='{}')\nwith seamalloc.contiguous():\n    print('within')"
        self.assertEqual(self.run_code(code.format("class"), CLASS_MINOR="99"), "begin\nwithin\nend\n")
        self.assertIn("mempool_allocator(contiguous=True)", self.error_of("seamalloc.enable(door='pluggable'); seamalloc.contiguous().__enter__()"))

    def test_a_class_that_does_not_fit_is_not_used(self) -> None:
        self.add_torch()
        self.use_build(f"module.find_or_build = lambda: {str(CLASS)!r}")
        self.assertIn("was built for PyTorch 2.98, this is 2.99.0", self.error_of("seamalloc.enable(door='class')", CLASS_MINOR="98"))
        error = self.error_of("seamalloc.enable(door='class')", CLASS_MINOR="99", CLASS_ERROR="it will not go in")
        self.assertEqual(error, "the class door cannot be installed: it will not go in\n")

    def test_without_the_class_door_a_warning_says_what_is_lost(self) -> None:
        self.add_torch()
        self.use_build("""
            def find_or_build():
                raise OSError("no compiler here")
            module.find_or_build = find_or_build
            """)
        done = self.run_python("-c", "import seamalloc; seamalloc.enable(); print(seamalloc.enabled_door())")
        self.assertEqual(done.stdout, "pluggable\n", done.stderr)
        for words in ("<string>:1: UserWarning", "OSError: no compiler here", "memory_stats()", "memory_allocated()", "seamalloc.stats()"):
            self.assertEqual(done.stderr.count(words), 1, done.stderr)
        self.assertIn("the class door cannot be installed: OSError: no compiler here", self.error_of("seamalloc.enable(door='class')"))


class Figures(PythonTest):
    def test_statistics_have_the_names_of_their_tables(self) -> None:
        names = self.run_code("print(*seamalloc.stats())").split()
        wanted = []
        for table, macro, prefix in (("stats.def", "SEAM_STAT(", ""), ("plan_stats.def", "SEAM_PLAN_STAT(", "plan_")):
            text = (PACKAGE.parents[2] / "include/seam" / table).read_text()
            wanted += [prefix + line.split("(")[1].split(",")[0] for line in text.splitlines() if line.startswith(macro)]
        self.assertEqual(names, [*wanted, "unknown_frees"])
        self.assertEqual(self.run_code("print(len(seamalloc.stat_help()), seamalloc.stat_help()['s3'])").split()[:2], [str(len(wanted)), "counter:"])

    def test_statistics_are_of_their_device(self) -> None:
        code = """
            alloc(1000, 2); free(alloc(5000, 2), 2); free(4096, 2)
            for device in (0, 2):
                print(*(seamalloc.stats(device)[name] for name in ("live_requested_bytes", "allocs", "frees", "unknown_frees")))
            """
        self.assertEqual(self.run_code(code), "0 0 0 1\n1000 2 1 1\n")
        self.assertIn("device -1", self.error_of("seamalloc.stats(-1)"))

    def test_driver_calls_are_those_of_the_statistics(self) -> None:
        code = """
            alloc(5 << 20)
            calls = seamalloc.driver_calls()
            memory = ("mem_create", "mem_map", "mem_set_access", "address_reserve")
            print(sum(calls[name][0] for name in memory) == seamalloc.stats()["memory_calls"] > 0)
            """
        self.assertEqual(self.run_code(code), "True\n")

    def test_a_report_answers_whether_it_helps(self) -> None:
        self.assertIn("Nothing was asked for yet", self.run_code("print(seamalloc.report())"))
        code = """
            blocks = [alloc(16 << 20) for _ in range(8)]
            print(seamalloc.report())
            for block in blocks[::2]:
                free(block)
            big = alloc(64 << 20)
            print("----", seamalloc.report())
            free(big); free(alloc(64 << 20))
            print("----", seamalloc.report())
            alloc(1 << 40); free(512)
            print("----", seamalloc.report())
            """
        first, second, third, fourth = self.run_code(code).split("----")
        self.assertIn("live 128.00 MiB of 128.00 MiB reserved (100.0 %)", first)
        self.assertIn("Nothing had to be stitched", first)
        self.assertIn("memory calls so far", first)
        self.assertIn("Helping: 1 request was", second)
        self.assertIn("Still warming up", second)
        self.assertIn("driver: 0 memory calls since the last report", third)
        self.assertIn("No driver call since the last report", third)
        self.assertIn("requests that ran out of memory: 1; frees of memory that is not Seam's: 1", fourth)
        self.assertIn("plan: none", fourth)

    def test_a_report_says_that_a_plan_is_being_learnt(self) -> None:
        self.add_torch()
        code = "seamalloc.enable(door='pluggable', {}); free(alloc(1 << 20)); print(seamalloc.report())"
        for arguments, conf, learns in (
            ("plan='auto'", "", True), ("conf='plan:auto'", "", True), ("", "plan:auto", True), ("plan='off'", "plan:auto", False), ("", "", True), ("", "plan:off", False),
        ):  # fmt: skip
            with self.subTest(arguments + conf):
                report = self.run_code(code.format(arguments), SEAM_CONF=f"backend:emu_book,{conf}")
                self.assertEqual("plan: none in use yet, one is being learnt" in report, learns, report)

    def test_snapshots_and_traces_are_written(self) -> None:
        code = """
            alloc(5 << 20)
            seamalloc.snapshot("a.json")
            seamalloc.trace("a.seamtrace")
            """
        self.run_code(code)
        self.assertIn("stats", json.loads((self.place / "a.json").read_text()))
        self.assertTrue((self.place / "a.seamtrace").read_bytes().startswith(b"SEAMTRC\n"))
        self.assertIn("cannot be written", self.error_of("seamalloc.snapshot('/nowhere/a.json')"))
        self.assertIn("cannot be written", self.error_of("seamalloc.trace('/nowhere/a.seamtrace')"))
        self.assertIn("Seam cannot serve device 0", self.error_of("seamalloc.trace('a.seamtrace')", SEAM_CONF="nonsense:1"))

    def test_a_bad_plan_is_refused(self) -> None:
        (self.place / "a.plan").write_text("no plan")
        self.assertIn("the plan a.plan cannot be used", self.error_of("seamalloc.plan('a.plan')"))
        self.assertEqual(self.run_code("try:\n    seamalloc.plan('a.plan')\nexcept seamalloc.Error:\n    print(seamalloc._library.pools())"), "[]\n")


class Marks(PythonTest):
    def test_marks_are_recorded(self) -> None:
        code = """
            with seamalloc.phase("before there is a pool"):
                free(alloc(100))
            seamalloc.step()
            with seamalloc.phase("outer"):
                with seamalloc.phase("inner"), seamalloc.dynamic():
                    free(alloc(1000))
            try:
                with seamalloc.phase("raises"):
                    raise ValueError
            except ValueError:
                pass
            with seamalloc.phase("behind it"):
                free(alloc(1000))
            seamalloc.trace("a.seamtrace")
            """
        self.run_code(code)
        text = (self.place / "a.seamtrace").read_bytes()
        for name in (b"outer", b"inner", b"raises", b"behind it"):
            self.assertIn(b"\0" + name + b"\0", text)
        self.assertNotIn(b"before there is a pool", text)

    def test_ends_without_their_begin_are_errors(self) -> None:
        self.assertIn("cannot end", self.error_of("alloc(1); seamalloc._marks.end_phase('x', seamalloc._library.pools())"))
        self.assertIn("cannot end", self.error_of("alloc(1); seamalloc._marks.end_dynamic(seamalloc._library.pools())"))


class Running(PythonTest):
    def test_a_script_runs_unchanged(self) -> None:
        self.add_torch()
        (self.place / "job").mkdir()
        (self.place / "job" / "helper.py").write_text("name = 'helper'")
        (self.place / "job" / "train.py").write_text(
            "import sys, seamalloc, helper\nif __name__ == '__main__':\n    print(sys.argv, helper.name, seamalloc.enabled_door())\n    sys.exit(3)\n"
        )
        done = self.run_python("-m", "seamalloc", "--door", "pluggable", "--report", "job/train.py", "--door", "x")
        self.assertEqual(done.stdout, "['job/train.py', '--door', 'x'] helper pluggable\n", done.stderr)
        self.assertEqual(done.returncode, 3)
        self.assertIn("Seam on device 0: the pluggable door", done.stderr)

    def test_a_module_runs_too(self) -> None:
        self.add_torch()
        (self.place / "tool.py").write_text("import sys\nprint(sys.argv[1:], __name__)")
        done = self.run_python("-m", "seamalloc", "--door=pluggable", "-m", "tool", "a", "-b")
        self.assertEqual(done.stdout, "['a', '-b'] __main__\n", done.stderr)

    def test_what_it_starts_is_under_seam_too(self) -> None:
        self.add_torch()
        (self.place / "hidden").mkdir()
        (self.place / "hidden" / "sitecustomize.py").write_text("import builtins\nbuiltins.hidden = 'seen'")
        (self.place / "worker.py").write_text("import sys, seamalloc, torch\nprint(seamalloc.enabled_door(), hidden, sys.argv[1:])")
        (self.place / "launch.py").write_text("import subprocess, sys\nsubprocess.run([sys.executable, 'worker.py', *sys.argv[1:]], check=True)")
        path = f"{PACKAGE}:{self.place}:{self.place / 'hidden'}"
        given = ("--door", "pluggable", "--conf", "chunk_bytes:4M", "--plan=auto", "--report")
        done = self.run_python("-m", "seamalloc", *given, "-m", "launch", "--door", "x", "-m", "y", PYTHONPATH=path)
        self.assertEqual(done.stdout, "pluggable seen ['--door', 'x', '-m', 'y']\n", done.stderr)
        self.assertEqual(done.stderr.count("Seam on device 0: the pluggable door"), 2, done.stderr)
        (self.place / "worker.py").write_text("import torch, seamalloc\nseamalloc.enable(plan='auto', conf='chunk_bytes:4M')\nprint(seamalloc._enable._choice)")
        done = self.run_python("-m", "seamalloc", *given, "launch.py", PYTHONPATH=path)
        self.assertEqual(done.stdout, "_Choice(plan='auto', conf='chunk_bytes:4M')\n", done.stderr)

    def test_what_cannot_be_done_ends_it(self) -> None:
        done = self.run_python("-m", "seamalloc", "x.py")
        self.assertEqual(done.returncode, 1)
        self.assertIn("seamalloc: PyTorch cannot be imported", done.stderr)
        for program in ((), ("-m",), ("--report",), ("--nonsense", "x.py")):
            self.assertEqual(self.run_python("-m", "seamalloc", *program).returncode, 2)

    def start(self, value: str, code: str, **env: str) -> subprocess.CompletedProcess:
        """As at the start of a Python that has seamalloc-enable.pth."""
        line = (PACKAGE / "seamalloc-enable.pth").read_text()
        return self.run_python("-c", line + "\n" + code, SEAM_ENABLE=value, **env)

    def test_seam_enable_waits_for_torch(self) -> None:
        self.add_torch()
        code = "import sys; before = 'torch' in sys.modules; import torch, seamalloc; print(before, seamalloc.enabled_door(), torch.__version__)"
        self.assertEqual(self.start("pluggable", code).stdout, "False pluggable 2.99.0\n")
        self.assertEqual(self.start("0", code).stdout, "False None 2.99.0\n")
        self.assertEqual(self.start("", "import sys; print('seamalloc' in sys.modules)").stdout, "False\n")
        self.assertIn("SEAM_ENABLE is set, but there is no door 'back'", self.start("back", code).stderr)

    def test_seam_enable_without_torch_changes_nothing(self) -> None:
        done = self.start("1", "try:\n    import torch\nexcept ModuleNotFoundError as error:\n    print(error.name)")
        self.assertEqual(done.stdout, "torch\n", done.stderr)


class Prebuilt(PythonTest):
    """The class that comes with a package, or is compiled."""

    def setUp(self) -> None:
        super().setUp()
        shutil.copytree(PACKAGE / "seamalloc", self.place / "seamalloc")
        self.env["PYTHONPATH"] = str(self.place)

    def print_build(self, code: str, **env: str) -> str:
        done = self.run_python("-c", f"from pathlib import Path\nfrom seamalloc import build\n{textwrap.dedent(code)}", **env)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout

    def test_a_release_is_served_by_the_class_of_its_minor(self) -> None:
        folder = self.place / "seamalloc/classes/2.99"
        folder.mkdir(parents=True)
        shutil.copy(CLASS, folder / "libseam_torch_class.so")
        versions = ("2.99.0", "2.99.1+cu130", "2.98.0", "2.99.0.dev20260801+cu130", "2.99.0a0+git1234", "2.99.0+rocm7")
        out = self.print_build(f"print([build.find_prebuilt(version) is not None for version in {versions!r}])")
        self.assertEqual(out, "[True, True, False, False, False, False]\n")

    def test_headers_without_those_of_the_compiler_are_passed_over(self) -> None:
        site = self.place / "site"
        for place in ("nvidia/cu13/include", "triton/backends/nvidia/include/crt"):
            (site / place).mkdir(parents=True)
        for place in ("nvidia/cu13/include/cuda_runtime_api.h", "triton/backends/nvidia/include/cuda_runtime_api.h", "triton/backends/nvidia/include/crt/host_config.h"):
            (site / place).touch()
        out = self.print_build(f"print(build.find_cuda_headers(build.Torch('2.99.0', (), Path({str(site / 'torch/lib')!r}), '13.0')))")
        self.assertIn(out.strip(), (str(site / "triton/backends/nvidia/include"), "/usr/local/cuda/include", "/usr/local/cuda-13.0/include", "/usr/include"))

    def test_a_class_within_the_package_finds_the_library_wherever_both_are(self) -> None:
        out = self.print_build("print(build.search_path(Path('/a/seamalloc/l.so'), Path('/a/seamalloc/classes/2.99')), build.search_path(Path('/b/l.so'), Path('/a/c')))")
        self.assertEqual(out, "$ORIGIN/../.. /b\n")


if __name__ == "__main__":
    LIBRARY, PACKAGE, CLASS = (Path(argument).resolve() for argument in sys.argv[1:4])
    if "LD_PRELOAD" in os.environ:
        print("another library is preloaded")
        sys.exit(77)
    unittest.main(argv=[sys.argv[0], *sys.argv[4:]])
