"""test_with_torch.py LIBRARY PACKAGE: the Python package with PyTorch; by FAKE_CUDART also on an emulated device. Every test is a Python of its own."""

import os
import shutil
import subprocess
import sys
import tempfile
import textwrap
import unittest
from pathlib import Path

LIBRARY = PACKAGE = Path()
CACHE = tempfile.TemporaryDirectory()  # where the class is built, once
FAKE = os.environ.pop("FAKE_CUDART", "")


class TorchTest(unittest.TestCase):
    def setUp(self) -> None:
        self.place = Path(tempfile.mkdtemp())
        self.addCleanup(shutil.rmtree, self.place)

    def run_code(self, code: str, fake: bool = False, **env: str) -> str:
        """What the code prints; it has `torch` and `seamalloc`, and must end without an exception."""
        settings = {name: os.environ[name] for name in ("PATH", "HOME") if name in os.environ}
        settings |= {"PYTHONPATH": str(PACKAGE), "SEAM_LIBRARY": str(LIBRARY), "PYTHONWARNINGS": "ignore", "XDG_CACHE_HOME": CACHE.name}
        if fake:
            if not FAKE:
                self.skipTest("there is no fake CUDA runtime for this PyTorch")
            settings |= {"LD_PRELOAD": FAKE, "FAKECUDA_CAPACITY": "1G"}
        else:
            settings |= {"SEAM_CONF": "backend:emu,emu_capacity_bytes:1G", "CUDA_VISIBLE_DEVICES": ""}
        begin = "import torch\nimport seamalloc\n"
        done = subprocess.run(
            [sys.executable, "-c", begin + textwrap.dedent(code)], env=settings | env, capture_output=True, text=True, cwd=self.place
        )
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        return done.stdout


class WithoutDevice(TorchTest):
    def test_the_pluggable_door_goes_in_with_every_hook(self) -> None:
        code = """
            from seamalloc._enable import SETTERS, pluggable_allocator
            bound = [name for name in dir(pluggable_allocator(torch)) if name.startswith("set_")]
            assert sorted(bound) == sorted(SETTERS), bound
            seamalloc.enable(door="pluggable", plan="auto")
            assert torch.cuda.get_allocator_backend() == "pluggable"
            assert seamalloc.is_enabled() and seamalloc._library.pools() == []
            seamalloc.enable()
            assert isinstance(seamalloc.mempool_allocator(), torch._C._cuda_CUDAAllocator)
            # Until PyTorch 2.10 a MemPool does not keep its allocator: the package does.
            assert seamalloc.mempool_allocator(contiguous=True) is seamalloc.mempool_allocator(True) is not seamalloc.mempool_allocator()
            """
        self.run_code(code)

    def test_without_a_driver_it_says_so(self) -> None:
        code = """
            try:
                seamalloc.enable(door="pluggable")
                print("enabled")
            except seamalloc.Error as error:
                print(error)
            """
        if FAKE or os.path.exists("/dev/nvidiactl"):
            self.skipTest("there is a driver")
        self.assertRegex(self.run_code(code, SEAM_CONF=""), "no NVIDIA driver|no GPU")


@unittest.skipUnless(FAKE, "needs an emulated device under PyTorch")
class PinnedMemory(TorchTest):
    def test_what_pytorch_pinned_before_stays_its_own(self) -> None:
        code = """
            first = torch.full((1 << 20,), 3, dtype=torch.uint8).pin_memory()
            seamalloc.enable(door="class")
            second = torch.full((1 << 20,), 4, dtype=torch.uint8).pin_memory()
            assert seamalloc.stats()["host_live_bytes"] == 1 << 20
            for memory, value in ((first, 3), (second, 4)):
                assert memory.is_pinned()
                assert memory.to("cuda", non_blocking=True).cpu().sum() == value << 20
            del first, second, memory
            torch._C._host_emptyCache()
            assert seamalloc.stats()["host_reserved_bytes"] == 0
            print("done")
            """
        self.assertEqual(self.run_code(code, fake=True).split(), ["done"])

    def test_it_is_seams_with_the_class_unless_it_is_not_to_be(self) -> None:
        code = """
            def pinned():
                kept = torch.empty(5 << 20, dtype=torch.uint8, pin_memory=True)
                return seamalloc.stats()["host_live_bytes"] > 0
            def refused(**given):
                try:
                    seamalloc.enable(**given)
                except seamalloc.Error as error:
                    return str(error)
            seamalloc.enable(door="class", pinned=False)
            print(pinned())
            seamalloc.enable(pinned=True)
            seamalloc.enable(pinned=True)
            print(pinned())
            print(refused(pinned=False))
            print(refused(door="pluggable", pinned=True))
            """
        told = self.run_code(code, fake=True).splitlines()
        self.assertEqual(told[:2], ["False", "True"])
        self.assertIn("no way back", told[2])
        self.assertIn("pluggable door", told[3])

    def test_the_other_door_leaves_it_alone(self) -> None:
        code = """
            seamalloc.enable(door="pluggable")
            kept = torch.empty(5 << 20, dtype=torch.uint8, pin_memory=True)
            assert seamalloc.stats()["host_live_bytes"] == 0
            try:
                seamalloc.enable(pinned=True)
            except seamalloc.Error as error:
                print(error)
            """
        self.assertIn("with the class door alone", self.run_code(code, fake=True))

    def test_a_limit_is_kept_and_said(self) -> None:
        code = """
            seamalloc.enable(door="class")
            kept = torch.empty(6 << 20, dtype=torch.uint8, pin_memory=True)
            try:
                torch.empty(3 << 20, dtype=torch.uint8, pin_memory=True)
            except RuntimeError as error:
                print(error)
            del kept
            torch.empty(8 << 20, dtype=torch.uint8, pin_memory=True)
            """
        self.assertIn("host_capacity_bytes allows 8.00 MiB", self.run_code(code, fake=True, SEAM_CONF="host_capacity_bytes:8M"))

    def test_settings_that_mean_nothing_then_are_told(self) -> None:
        code = """
            import warnings
            with warnings.catch_warnings(record=True) as told:
                warnings.simplefilter("always")
                seamalloc.enable(door="class", pinned=PINNED)
                print([str(one.message) for one in told if "pinned" in str(one.message)])
            """
        for pinned, told in (("True", True), ("False", False)):
            said = self.run_code(code.replace("PINNED", pinned), fake=True, PYTORCH_CUDA_ALLOC_CONF="pinned_use_background_threads:True")
            self.assertEqual("pinned_use_background_threads" in said, told, said)

    def test_tensors_of_any_shape_without_the_class(self) -> None:
        code = """
            import gc
            if DOOR:
                seamalloc.enable(door=DOOR)
            made = seamalloc.host_empty((3, 5, 7), torch.float16)
            assert (made.shape, made.dtype, made.is_pinned(), made.device.type) == ((3, 5, 7), torch.float16, True, "cpu")
            assert made.fill_(2).to("cuda", non_blocking=True).cpu().sum() == 210
            view = made[1]
            del made
            gc.collect()
            assert seamalloc.stats()["host_live_bytes"] >= 512 and view.sum() == 70
            del view
            gc.collect()
            assert seamalloc.stats()["host_live_bytes"] == 0 or DOOR == "class"  # at hand
            assert seamalloc.host_empty(0).shape == (0,) and seamalloc.host_empty(4).dtype == torch.float32
            for shape in ((1 << 50,), (-1,)):
                try:
                    seamalloc.host_empty(shape)
                except (seamalloc.Error, RuntimeError) as error:
                    print(error)
            """
        for door in ("", "pluggable", "class"):
            said = self.run_code(code.replace("DOOR", repr(door)), fake=True)
            self.assertRegex(said, r"out of pinned host memory|negative|is no shape")
            self.assertEqual(len(said.splitlines()), 2, said)

    def test_it_is_made_ahead_where_it_is_stitched(self) -> None:
        code = """
            def refused(nbytes):
                try:
                    seamalloc.host_prepare(nbytes, wait=True)
                except seamalloc.Error as error:
                    print(error)
            seamalloc.enable(door="class")
            refused(-1)
            refused(64 << 20)
            if STITCHED:
                seamalloc.host_prepare(16 << 20)
                while seamalloc.stats()["host_reserved_bytes"] < 16 << 20:
                    pass
                before = seamalloc.stats()["host_reserved_bytes"]
                kept = torch.empty(15 << 20, dtype=torch.uint8, pin_memory=True)
                print(seamalloc.stats()["host_reserved_bytes"] - before, seamalloc.report())
            """
        said = self.run_code(code.replace("STITCHED", "False"), fake=True).splitlines()
        self.assertEqual(said[0], "-1 bytes cannot be pinned")
        self.assertRegex(said[1], r"SEAM_CONF=host_stitch:1 \(0 B pinned")
        said = self.run_code(code.replace("STITCHED", "True"), fake=True, SEAM_CONF="host_stitch:1,host_capacity_bytes:32M", FAKECUDA_MEMORY="still")
        self.assertRegex(said, r"bytes of pinned memory ahead \(32.00 MiB pinned.*out of pinned host memory")
        self.assertRegex(said, r"(?m)^0 Seam on device 0")
        self.assertIn("32.00 MiB pinned", said)


MODEL = """
    import torch.utils.checkpoint
    torch.set_num_threads(1)
    library = seamalloc._library.library()
    library.seam_torch_alloc(512, 0, None)  # the pool that marks go to

    class Expert(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.linear = torch.nn.Linear(8, 8)
        def forward(self, x, *, scale=1.0):
            return torch.relu_(self.linear(x)) * scale

    class Layer(torch.nn.Module):
        def __init__(self, recompute):
            super().__init__()
            self.recompute = recompute
            self.norm = torch.nn.LayerNorm(8)
            self.expert = Expert()
        def body(self, x):
            return {"x": x + self.expert(self.norm(x), scale=2.0)}
        def forward(self, x):
            if self.recompute:
                return torch.utils.checkpoint.checkpoint(self.body, x, use_reentrant=False)
            return self.body(x)

    class Model(torch.nn.Module):
        def __init__(self):
            super().__init__()
            torch.manual_seed(1)
            self.embedding = torch.nn.Embedding(10, 8)
            self.layers = torch.nn.ModuleList([Layer(False), Layer(True)])
        def forward(self, ids):
            x = self.embedding(ids)
            for layer in self.layers:
                x = layer(x)["x"]
            return x.sum()

    def train(model):
        loss = model(torch.arange(6))
        loss.backward()
        return [loss.item()] + [p.grad.clone() for p in model.parameters()]

    def same(a, b):
        return a[0] == b[0] and all(torch.equal(x, y) for x, y in zip(a[1:], b[1:]))

    def names():
        seamalloc.trace("a.seamtrace")
        return set(open("a.seamtrace", "rb").read().split(b"\\0"))
    """


class Watching(TorchTest):
    def test_marks_change_nothing_and_are_recorded(self) -> None:
        code = """
            plain = train(Model())
            model = Model()
            watch = seamalloc.watch(model, dynamic=[Expert])
            watched = train(model)
            assert same(plain, watched), (plain, watched)
            found = names()
            for name in (b"forward", b"backward", b"layers.0", b"layers.0 backward", b"layers.1.expert", b"layers.1.expert backward", b"embedding"):
                assert name in found, (name, found)
            thread = seamalloc._watch._thread
            assert thread.forward == [] and thread.backward is None, (thread.forward, thread.backward)
            dynamic = [name for name, (module, is_dynamic) in watch.marked.items() if is_dynamic]
            assert dynamic == ["layers.0.expert", "layers.1.expert"], dynamic
            assert any(module._forward_hooks for module in model.modules())
            watch.remove()
            assert not any(module._forward_hooks or module._forward_pre_hooks for module in model.modules())
            """
        self.run_code(textwrap.dedent(MODEL) + textwrap.dedent(code))

    def test_an_exception_in_a_module_leaves_nothing_open(self) -> None:
        code = """
            model = Model()
            seamalloc.watch(model)
            def fail(*arguments):
                raise ValueError("on purpose")
            handle = model.layers[1].norm.register_forward_hook(fail)
            for _ in range(40):  # 32 phases may be nested
                try:
                    train(model)
                    assert False
                except ValueError:
                    pass
            assert seamalloc._watch._thread.forward == []
            handle.remove()
            train(model)
            """
        self.run_code(textwrap.dedent(MODEL) + textwrap.dedent(code))

    def test_dynamic_modules_are_named_by_class_or_name(self) -> None:
        code = """
            for want in (Expert, "Expert"):
                watch = seamalloc.watch(Model(), dynamic=[want])
                assert sum(dynamic for _, dynamic in watch.marked.values()) == 2
            watch = seamalloc.watch(Model(), dynamic=["layers.1.expert.linear"])
            assert [name for name, (_, dynamic) in watch.marked.items() if dynamic] == ["layers.1.expert.linear"]
            try:
                seamalloc.watch(Model(), dynamic=["Exprt"])
                assert False
            except seamalloc.Error as error:
                assert "Exprt" in str(error)
            deep = torch.nn.Sequential(*(torch.nn.Sequential(torch.nn.Linear(2, 2)) for _ in range(200)))
            watch = seamalloc.watch(deep, dynamic=["150.0"])
            assert len(watch.marked) == 100 and "150.0" in watch.marked and "98" in watch.marked and "0.0" not in watch.marked
            deep(torch.ones(2)).sum().backward()
            """
        self.run_code(textwrap.dedent(MODEL) + textwrap.dedent(code))


class OnDevice(TorchTest):
    def test_tensors_are_seams(self) -> None:
        code = """
            seamalloc.enable(door="pluggable")
            x = torch.empty(3 << 20, device="cuda", dtype=torch.uint8)
            base = x.data_ptr()
            assert seamalloc.stats()["live_bytes"] == 3 << 20
            view = x[100:]
            del x
            assert seamalloc.stats()["live_blocks"] == 1
            side = torch.cuda.Stream()
            view.record_stream(side)
            del view
            assert seamalloc.stats()["live_blocks"] == 0 and seamalloc.stats()["reserved_bytes"] > 0
            torch.cuda.empty_cache()
            assert seamalloc.stats()["reserved_bytes"] == 0
            assert torch.empty(0, device="cuda").data_ptr() == 0
            assert seamalloc.stats()["unknown_frees"] == 0
            assert "the pluggable door" in seamalloc.report()
            try:
                seamalloc.enable(door="class")
                assert False
            except seamalloc.Error:
                pass
            """
        self.run_code(code, fake=True)

    def test_the_class_door_is_built_and_goes_in(self) -> None:
        code = """
            seamalloc.enable(door="class")
            assert seamalloc.enabled_door() == "class"
            x = torch.empty(40 << 20, device="cuda", dtype=torch.uint8)
            assert seamalloc.stats()["live_bytes"] == 40 << 20 == torch.cuda.memory_allocated()
            assert torch.cuda.memory_reserved() == seamalloc.stats()["reserved_bytes"]
            with seamalloc.contiguous():
                whole = torch.empty(80 << 20, device="cuda", dtype=torch.uint8)
            torch.cuda.memory._dump_snapshot("snapshot.pickle")
            segments = torch.cuda.memory._snapshot()["segments"]
            assert sum(segment["total_size"] for segment in segments) == torch.cuda.memory_reserved()
            blocks = [block["requested_size"] for segment in segments for block in segment["blocks"] if block["state"] == "active_allocated"]
            assert sum(blocks) == 120 << 20, blocks
            try:
                torch.empty(2 << 30, device="cuda", dtype=torch.uint8)
                assert False
            except torch.OutOfMemoryError as error:
                assert "Tried to allocate 2.00 GiB" in str(error), error
            del x, whole
            assert torch.cuda.memory_allocated() == 0 and "the class door" in seamalloc.report()

            import pickle
            torch.cuda.empty_cache()
            torch.cuda.memory._record_memory_history()
            pieces = [torch.empty(20 << 20, device="cuda", dtype=torch.uint8) for _ in range(8)]
            del pieces[::2]
            stitched = torch.empty(70 << 20, device="cuda", dtype=torch.uint8)
            torch.cuda.memory._dump_snapshot(filename="stitched.pickle")
            with open("stitched.pickle", "rb") as file:
                snapshot = pickle.load(file)
            assert sum(segment["total_size"] for segment in snapshot["segments"]) == torch.cuda.memory_reserved()
            (view,) = snapshot["stitched_views"]
            assert (view["device"], view["address"]) == (0, stitched.data_ptr()) and not view["is_plan"] and view["segment_pool_id"] == 0
            assert sum(chunk["size"] for chunk in view["chunks"]) == view["total_size"] >= 70 << 20
            assert all(chunk["owned"] for chunk in view["chunks"])
            mapped = {entry["addr"]: entry["size"] for entry in snapshot["device_traces"][0] if entry["action"] == "segment_map"}
            assert sum(mapped.values()) == torch.cuda.memory_reserved()
            assert all(mapped[chunk["home"]] == chunk["size"] for chunk in view["chunks"])
            viz = torch.cuda._memory_viz
            assert "total_reserved" in viz.segsum(snapshot) and "segment_map" in viz.trace(snapshot)
            assert len(viz.trace_plot(snapshot)) > 1000 and len(viz.segment_plot(snapshot)) > 1000
            seamalloc._views.tempfile = type("Full", (), {"TemporaryDirectory": staticmethod(lambda: open("/nowhere/at/all"))})
            assert "segments" in torch.cuda.memory._snapshot() and "stitched_views" not in torch.cuda.memory._snapshot()
            """
        self.run_code(code, fake=True)

    def test_out_of_memory_is_pytorchs_own_error(self) -> None:
        code = """
            seamalloc.enable(door="pluggable")
            kept = torch.empty(600 << 20, device="cuda", dtype=torch.uint8)
            for _ in range(3):
                try:
                    torch.empty(600 << 20, device="cuda", dtype=torch.uint8)
                    assert False
                except torch.OutOfMemoryError as error:
                    text = str(error)
                assert "CUDA out of memory. Tried to allocate 600.00 MiB. GPU 0 has a total capacity of " in text, text
                assert "600.00 MiB is allocated by PyTorch" in text and "What would help" in text, text
            del kept
            torch.empty(600 << 20, device="cuda", dtype=torch.uint8)
            torch.cuda.set_per_process_memory_fraction(0.5)
            torch.cuda.empty_cache()  # what it holds it keeps until then
            try:
                torch.empty(600 << 20, device="cuda", dtype=torch.uint8)
                assert False
            except torch.OutOfMemoryError as error:
                assert "raise capacity_bytes" in str(error), error
            torch.empty(500 << 20, device="cuda", dtype=torch.uint8)
            """
        self.run_code(code, fake=True)

    def test_a_graphs_memory_is_its_own_until_it_goes(self) -> None:
        code = """
            seamalloc.enable(door="pluggable")
            torch.empty(8, device="cuda")
            graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(graph):
                inside = torch.empty(4 << 20, device="cuda", dtype=torch.uint8)
            address = inside.data_ptr()
            del inside
            assert seamalloc.stats()["unused_private_bytes"] == 4 << 20
            eager = torch.empty(4 << 20, device="cuda", dtype=torch.uint8)
            assert eager.data_ptr() != address
            torch.cuda.empty_cache()
            assert seamalloc.stats()["unused_private_bytes"] == 4 << 20
            second = torch.cuda.CUDAGraph()
            with torch.cuda.graph(second, pool=graph.pool()):
                inside = torch.empty(4 << 20, device="cuda", dtype=torch.uint8)
            assert inside.data_ptr() == address
            del inside
            graph.reset()
            assert seamalloc.stats()["unused_private_bytes"] == 4 << 20
            second.reset()
            assert seamalloc.stats()["unused_private_bytes"] == 0
            """
        self.run_code(code, fake=True, FAKECUDART_KERNELS="skip")  # 2.11 begins a capture with kernels, for random numbers

    def test_mempool_segments_are_seams(self) -> None:
        code = """
            for contiguous in (False, True):
                pool = torch.cuda.MemPool(seamalloc.mempool_allocator(contiguous=contiguous))
                with torch.cuda.use_mem_pool(pool):
                    small = torch.empty(1000, device="cuda", dtype=torch.uint8)
                    assert seamalloc.stats()["live_bytes"] == 2 << 20
                    large = torch.empty(30 << 20, device="cuda", dtype=torch.uint8)
                    assert seamalloc.stats()["live_bytes"] == 32 << 20
                    try:
                        torch.empty(2 << 30, device="cuda", dtype=torch.uint8)
                        assert False
                    except torch.OutOfMemoryError as error:
                        assert "CUDA out of memory" in str(error)
                outside = torch.empty(30 << 20, device="cuda", dtype=torch.uint8)
                assert seamalloc.stats()["live_bytes"] == 32 << 20
                assert torch.cuda.memory_allocated() >= 60 << 20
                del small, large, outside, pool
                torch.cuda.empty_cache()
                assert seamalloc.stats()["live_blocks"] == 0
            assert not seamalloc.is_enabled()
            """
        self.run_code(code, fake=True)

    def test_it_is_too_late_when_cuda_is_in_use(self) -> None:
        code = """
            torch.empty(8, device="cuda")
            try:
                seamalloc.enable(door="pluggable")
                assert False
            except seamalloc.Error as error:
                assert "too late" in str(error)
            assert torch.cuda.get_allocator_backend() == "native"
            """
        self.run_code(code, fake=True)

    def test_pytorchs_own_backend_may_be_named(self) -> None:
        use = """
            torch.empty(8, device="cuda")
            torch.empty(8).pin_memory()
            assert torch.cuda.get_allocator_backend() == ("seam" if "{door}" == "class" else "{door}")
            """
        named = 'os.environ["PYTORCH_ALLOC_CONF"] = os.environ["PYTORCH_CUDA_ALLOC_CONF"] = "backend:native"\n'
        given = 'torch.cuda.memory._set_allocator_settings("backend:native")\n'
        for door in ("class", "pluggable"):
            enable = f'seamalloc.enable(door="{door}")\n'
            for order in (named + enable, given + enable, enable + named, enable + given):
                with self.subTest(order):
                    self.run_code("import os\n" + order + textwrap.dedent(use.format(door=door)), fake=True)

    def test_another_backend_is_not_replaced(self) -> None:
        code = """
            for door in ("auto", "class", "pluggable"):
                try:
                    seamalloc.enable(door=door)
                    assert False
                except seamalloc.Error as error:
                    assert "backend:cudaMallocAsync is asked for" in str(error), error
            assert torch.cuda.get_allocator_backend() == "cudaMallocAsync" and not seamalloc.is_enabled()
            """
        conf = "backend:cudaMallocAsync"
        self.run_code(code, fake=True, PYTORCH_ALLOC_CONF=conf, PYTORCH_CUDA_ALLOC_CONF=conf)

    def test_the_class_goes_in_while_nothing_is_allocated(self) -> None:
        code = """
            for use in (torch.cuda.set_device, torch.cuda.get_device_properties):
                use(0)
            torch.cuda.set_per_process_memory_fraction(0.5)
            torch.empty(3 << 20, device="cuda")
            kept = torch.empty(8, device="cuda")
            for door, words in (("class", "it holds 2097152 bytes of device 0"), ("pluggable", "too late"), ("auto", "too late")):
                try:
                    seamalloc.enable(door=door)
                    assert False
                except seamalloc.Error as error:
                    assert words in str(error), error
            assert torch.cuda.get_allocator_backend() == "native" and torch.cuda.memory_allocated() == 512
            del kept
            seamalloc.enable()
            assert seamalloc.enabled_door() == "class"
            assert torch.cuda.get_per_process_memory_fraction() == 0.5
            kept = torch.empty(3 << 20, device="cuda", dtype=torch.uint8)
            assert seamalloc.stats()["live_bytes"] == torch.cuda.memory_allocated() == 3 << 20
            try:
                torch.empty(600 << 20, device="cuda", dtype=torch.uint8)
                assert False
            except torch.OutOfMemoryError:
                pass
            """
        self.run_code(code, fake=True, FAKECUDART_KERNELS="skip")

    def test_a_history_that_is_recorded_is_not_lost(self) -> None:
        code = """
            torch.cuda.memory._record_memory_history()
            try:
                seamalloc.enable(door="class")
                assert False
            except seamalloc.Error as error:
                assert "its history is being recorded" in str(error), error
            """
        self.run_code(code, fake=True)

    def test_a_replaced_allocator_is_noticed(self) -> None:
        code = """
            seamalloc.enable(door="{}")
            assert seamalloc.is_enabled()
            own = torch.cuda.memory.CUDAPluggableAllocator(seamalloc._library.library()._name, "seam_torch_alloc", "seam_torch_free")
            try:
                torch.cuda.memory.change_current_allocator(own)
            except RuntimeError:  # PyTorch never replaces a pluggable allocator
                assert "{}" == "pluggable" and seamalloc.is_enabled()
            else:
                assert not seamalloc.is_enabled() and seamalloc.enabled_door() is None
            """
        for door in ("class", "pluggable"):
            self.run_code(code.format(door, door), fake=True)

    def test_caching_can_be_turned_off(self) -> None:
        code = """
            def holds(bytes_each):
                before = torch.cuda.mem_get_info()[0]
                blocks = [torch.empty(bytes_each, device="cuda", dtype=torch.uint8) for _ in range(4)]
                taken = before - torch.cuda.mem_get_info()[0]
                blocks[0].record_stream(torch.cuda.Stream())
                del blocks
                left = before - torch.cuda.mem_get_info()[0]
                return taken, left, seamalloc.stats()["live_bytes"] + seamalloc.stats()["reserved_bytes"]
            seamalloc.enable(door="class")
            torch.cuda.init()
            if {by_call}:
                torch.cuda.caching_allocator_enable(False)
            taken, left, of_seam = holds(4 << 20)
            assert taken == 16 << 20 and left == 0 and of_seam == 0, (taken, left, of_seam)
            try:
                torch.empty(2 << 30, device="cuda", dtype=torch.uint8)
                assert False
            except torch.OutOfMemoryError as error:
                assert "CUDA out of memory" in str(error), error
            if {by_call}:
                across = torch.empty(4 << 20, device="cuda", dtype=torch.uint8)
                raw = torch.cuda.caching_allocator_alloc(4 << 20)
                assert seamalloc.stats()["live_bytes"] == 0
                torch.cuda.caching_allocator_enable(True)
                before = torch.cuda.mem_get_info()[0]
                torch.cuda.caching_allocator_delete(raw)
                assert torch.cuda.mem_get_info()[0] - before == 4 << 20
                raw = torch.cuda.caching_allocator_alloc(4 << 20)
                torch.cuda.caching_allocator_enable(False)
                torch.cuda.caching_allocator_delete(raw)
                assert seamalloc.stats()["live_bytes"] == 0
                torch.cuda.caching_allocator_enable(True)
                torch.cuda.empty_cache()
                taken, left, of_seam = holds(4 << 20)
                assert taken == left == of_seam == 16 << 20, (taken, left, of_seam)
                del across
                assert seamalloc.stats()["unknown_frees"] == 0
            """
        self.run_code(code.format(by_call=True), fake=True)
        self.run_code(code.format(by_call=False), fake=True, PYTORCH_NO_CUDA_MEMORY_CACHING="1")

    def test_a_step_with_marks_on_the_device(self) -> None:
        code = """
            seamalloc.enable(door="pluggable", plan="auto")
            def step():
                with seamalloc.phase("forward"):
                    blocks = [torch.empty((2 + i) << 20, device="cuda", dtype=torch.uint8) for i in range(4)]
                del blocks
                seamalloc.step()
            step()
            for _ in range(5):
                step()
            assert seamalloc.stats()["allocs"] == 24
            seamalloc.trace("a.seamtrace")
            seamalloc.snapshot("a.json")
            assert seamalloc.driver_calls()["mem_create"][0] > 0
            """
        self.run_code(code, fake=True)


class Launching(TorchTest):
    def test_torchruns_workers_are_under_seam(self) -> None:
        if not FAKE:
            self.skipTest("there is no fake CUDA runtime for this PyTorch")
        (self.place / "t.py").write_text(textwrap.dedent("""
            import os, torch, torch.distributed, seamalloc
            torch.distributed.init_process_group("gloo")
            x = torch.empty(4 << 20, device="cuda", dtype=torch.uint8)
            torch.distributed.barrier()
            open("rank" + os.environ["RANK"], "w").write(f"{seamalloc.enabled_door()} {seamalloc.stats()['live_bytes']}")
            torch.distributed.destroy_process_group()
            """))
        settings = {name: os.environ[name] for name in ("PATH", "HOME") if name in os.environ}
        settings |= {"PYTHONPATH": str(PACKAGE), "SEAM_LIBRARY": str(LIBRARY), "LD_PRELOAD": FAKE, "FAKECUDA_CAPACITY": "1G", "OMP_NUM_THREADS": "1"}
        begin = [sys.executable, "-m", "seamalloc", "--door", "pluggable", "--conf", "chunk_bytes:4M"]
        run = ["-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2", "t.py"]
        done = subprocess.run([*begin, *run], env=settings, capture_output=True, text=True, cwd=self.place)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertEqual([(self.place / f"rank{rank}").read_text() for rank in range(2)], ["pluggable 4194304"] * 2)


if __name__ == "__main__":
    LIBRARY, PACKAGE = (Path(argument).resolve() for argument in sys.argv[1:3])
    unittest.main(argv=[sys.argv[0], *sys.argv[3:]])
