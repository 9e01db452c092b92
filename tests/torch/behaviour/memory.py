"""memory.py: memory, its figures, its limits, and running out of it."""

from __future__ import annotations

import random
import threading

import torch
from device import EMULATOR, LIMIT_BYTES, MIB, DeviceTest, allocated, block, limited, only, reserved, since, stat


class Figures(DeviceTest):
    def test_memory_without_a_tensor_is_counted(self) -> None:
        before = allocated()
        address = torch.cuda.caching_allocator_alloc(1)
        self.assertGreater(allocated(), before)
        torch.cuda.caching_allocator_delete(address)
        self.assertEqual(allocated(), before)
        stream = torch.cuda.Stream()
        address = torch._C._cuda_cudaCachingAllocator_raw_alloc(5 * MIB, stream.cuda_stream)
        self.assertEqual(allocated(), before + 5 * MIB)
        torch._C._cuda_cudaCachingAllocator_raw_delete(address)
        self.assertEqual(allocated(), before)

    @since(15)
    def test_no_size_is_negative(self) -> None:
        before = allocated()
        for call in (lambda: torch.cuda.caching_allocator_alloc(-1024), lambda: block(8).untyped_storage().resize_(-1)):
            with self.assertRaises((ValueError, RuntimeError)):
                call()
        self.assertEqual(allocated(), before)

    @only("native", "class")
    def test_figures_follow_a_tensor(self) -> None:
        torch.cuda.reset_accumulated_memory_stats()
        torch.cuda.reset_peak_memory_stats()
        before, peaks = torch.cuda.memory_stats(), (torch.cuda.max_memory_allocated(), torch.cuda.max_memory_reserved())
        self.assertEqual(peaks, (torch.cuda.memory_allocated(), torch.cuda.memory_reserved()))
        tensor = block(1000, 1)
        for name, size in (("active_bytes", 1024), ("allocated_bytes", 1024), ("requested_bytes", 1000), ("active", 1), ("allocation", 1)):
            self.assertEqual(stat(f"{name}.all.current") - before[f"{name}.all.current"], size, name)
            self.assertEqual(stat(f"{name}.small_pool.allocated"), size, name)
            self.assertEqual(stat(f"{name}.all.freed"), 0, name)
        del tensor
        self.assertEqual(stat("active_bytes.all.freed"), 1024)
        self.assertEqual(stat("active_bytes.all.current"), before["active_bytes.all.current"])
        torch.cuda.empty_cache()
        torch.cuda.reset_peak_memory_stats()
        self.assertEqual((torch.cuda.max_memory_allocated(), torch.cuda.max_memory_reserved()), peaks)

    @only("native", "class")
    def test_nothing_is_counted_while_caching_is_off(self) -> None:
        def counted() -> int:
            before = stat("requested_bytes.all.allocated")
            address = torch._C._cuda_cudaCachingAllocator_raw_alloc(MIB, torch.cuda.current_stream().cuda_stream)
            during = stat("requested_bytes.all.allocated")
            torch._C._cuda_cudaCachingAllocator_raw_delete(address)
            return during - before

        torch.cuda.caching_allocator_enable(False)
        try:
            self.assertEqual(counted(), 0)
        finally:
            torch.cuda.caching_allocator_enable(True)
        self.assertEqual(counted(), MIB)

    @only("native", "class")
    def test_a_profiler_is_told(self) -> None:
        with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU], profile_memory=True) as profile:
            block(3)
        used = [event.device_memory_usage for event in profile.events()]
        self.assertIn(3 * MIB, used)

    def test_contents_survive_random_use(self) -> None:
        chance = random.Random(1)
        held: list[tuple[torch.Tensor, torch.Tensor]] = []
        for _ in range(1500):
            choice = chance.random()
            if choice < 0.05:
                torch.cuda.empty_cache()
            elif choice < 0.5 and held or sum(tensor.numel() for tensor, _ in held) > LIMIT_BYTES // 4:
                tensor, mark = held.pop(chance.randrange(len(held)))
                self.assertTrue(torch.equal(torch.stack((tensor[:8], tensor[-8:])).cpu() if EMULATOR is None else
                                            torch.cat((tensor[:8].cpu(), tensor[-8:].cpu())).view(2, 8), mark))
            else:
                tensor = block(chance.choice((1, 700, 3 << 10, 1 << 20, 3 << 20, 12 << 20)) + chance.randrange(16, 1 << 12), 1)
                mark = torch.randint(0, 256, (2, 8), dtype=torch.uint8)
                tensor[:8].copy_(mark[0])
                tensor[-8:].copy_(mark[1])
                held.append((tensor, mark))

    def test_threads_at_once(self) -> None:
        errors: list[Exception] = []

        def use(seed: int) -> None:
            chance = random.Random(seed)
            try:
                with torch.cuda.stream(torch.cuda.Stream()):
                    for _ in range(200):
                        tensor = block(chance.randrange(1, 8 << 20), 1)
                        mark = torch.randint(0, 256, (1,), dtype=torch.uint8)
                        tensor[-1:].copy_(mark)
                        if not torch.equal(tensor[-1:].cpu(), mark):
                            raise AssertionError("somebody else wrote there")
            except Exception as error:  # shown by the thread that asserts
                errors.append(error)

        threads = [threading.Thread(target=use, args=(seed,)) for seed in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(errors, [])


class Limits(DeviceTest):
    def test_more_than_any_device_has(self) -> None:
        kept = block(1)
        kept[:3].copy_(torch.tensor([1, 2, 3], dtype=torch.uint8))
        text = self.shortage(lambda: block(1 << 29))
        self.assertRegex(text, "CUDA out of memory. Tried to allocate ")
        with self.assertRaises(RuntimeError):
            block(8_000_000_000, 1 << 30)
        self.assertEqual(kept[:3].tolist(), [1, 2, 3])

    def test_a_half_after_a_half(self) -> None:
        with limited(512):
            first = block(300)
            self.shortage(lambda: block(300))
            del first
            self.assertEqual(block(300).numel(), 300 * MIB)

    def test_a_share_of_the_device(self) -> None:
        for wrong, kind in ((1, TypeError), (-0.1, ValueError), (2.0, ValueError)):
            with self.assertRaises(kind):
                torch.cuda.set_per_process_memory_fraction(wrong)
        with limited(256):
            self.assertEqual(block(250).numel(), 250 * MIB)
            torch.cuda.empty_cache()
            self.shortage(lambda: block(270))
        self.assertEqual(block(270).numel(), 270 * MIB)

    @only("native", "class")
    def test_a_share_is_what_was_set(self) -> None:
        for share in (1.0, 0.0, 0.6875, 0.8203125, 0.75):
            torch.cuda.set_per_process_memory_fraction(share)
            self.assertEqual(torch.cuda.get_per_process_memory_fraction(), share)
        torch.cuda.set_per_process_memory_fraction(0.0)
        self.shortage(lambda: block(40))

    @only("native", "class")
    def test_who_wants_to_know_of_a_shortage_is_told(self) -> None:
        told = []
        torch._C._cuda_attach_out_of_memory_observer(lambda *figures: told.append(figures))
        with limited(100):
            ooms = stat("num_ooms")
            self.shortage(lambda: block(128))
            self.assertEqual(stat("num_ooms"), ooms + 1)
        device, asked, allowed, free = told[-1]
        self.assertEqual((device, asked), (0, 128 * MIB))
        self.assertTrue(100 * MIB <= allowed <= torch.cuda.get_device_properties(0).total_memory and free > 0, told)

    @since(12)
    @only("native", "class")
    def test_what_a_setting_rejects_is_counted_by_itself(self) -> None:
        torch.cuda.memory._set_allocator_settings("throw_on_cudamalloc_oom:True,per_process_memory_fraction:0.25")
        try:
            torch.cuda.set_per_process_memory_fraction(1.0)
            before = stat("num_ooms"), stat("num_oom_rejections")
            total = torch.cuda.get_device_properties(0).total_memory
            self.shortage(lambda: block(total // 3, 1))
            self.assertEqual((stat("num_ooms"), stat("num_oom_rejections")), (before[0], before[1] + 1))
            self.assertEqual(block(total // 8, 1).numel(), total // 8)
            torch.cuda.empty_cache()
            torch.cuda.memory._set_allocator_settings("throw_on_cudamalloc_oom:False,per_process_memory_fraction:1.0")
            torch.cuda.set_per_process_memory_fraction(1.0)
            self.assertEqual(block(total // 3, 1).numel(), total // 3)
        finally:
            torch.cuda.memory._set_allocator_settings("throw_on_cudamalloc_oom:False,per_process_memory_fraction:1.0")

    def test_memory_used_on_another_stream_comes_back_in_time(self) -> None:
        """A shortage waits for what record_stream() holds back."""
        other = torch.cuda.Stream()
        with limited(500):
            for _ in range(20):
                tensor = block(160)
                tensor.record_stream(other)
                if EMULATOR is not None:
                    EMULATOR.fakecuda_work(other.cuda_stream, tensor.data_ptr(), tensor.numel(), 1, 10**8)
                del tensor

    def test_pytorchs_settings_are_taken(self) -> None:
        """They need not matter, but must harm nobody, wherever a program sets them."""
        with limited(120):
            held = []
            for text in ("expandable_segments:False,max_split_size_mb:40", "expandable_segments:True,max_split_size_mb:40", "max_split_size_mb:40"):
                torch.cuda.memory._set_allocator_settings(text)
                held.append(block(40))
            self.shortage(lambda: block(40))
            del held
            self.assertEqual(block(120).numel(), 120 * MIB)
        torch.cuda.memory._set_allocator_settings("garbage_collection_threshold:0.5")
        with self.assertRaises((ValueError, RuntimeError)):
            torch.cuda.memory._set_allocator_settings("foo:1")
        torch.cuda.memory._set_allocator_settings("expandable_segments:False")
        self.assertEqual(block(8).numel(), 8 * MIB)
        self.assertGreaterEqual(reserved(), 8 * MIB)
