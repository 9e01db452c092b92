/* class_main.cpp: the allocator class, driven as PyTorch drives it, over the fake runtime: class_main [late | shared |
 * asked | two | planned TRACE | SNAPSHOT].
 *
 * late: PyTorch's own allocator is in use. shared: with SEAM_CONF=export_as:fd. asked: by trackers. two: devices.
 * planned: the core serves from a plan; TRACE: where it may write. SNAPSHOT: where to write a snapshot, as a Python
 * literal.
 */
#include "class_test.h"

static int too_late()
{
	char error[300] = "";
	tap_part = "late";
	seam::native::CUDAAllocator *native = seam::native::get();
	native->init(1);
	void *held = native->raw_alloc(512);
	ok(native->initialized() && held != nullptr, "PyTorch's own allocator is in use");
	ok(seam_torch_class_install(error, sizeof error) == 1 && says(error, "too late"),
		"installing then is refused: %s", error);
	ok(seam::native::get() == native && c10::GetAllocator(c10::kCUDA) == native, "and nothing is changed");
	native->raw_delete(held);
	ok(seam_torch_class_install(error, sizeof error) == 0, "when nothing is left of it installing succeeds: %s",
		error);
	return tap_end();
}

static void install(int devices)
{
	char error[300] = "";
	tap_part = "install";
	ok(seam_torch_class_version() == SEAM_TORCH_MINOR, "it knows what it was compiled for");
	ok(seam::native::get()->name() == "native", "PyTorch's own allocator is in force");
	ok(seam_torch_class_install(error, sizeof error) == 0, "installing succeeds: %s", error);
	ok(seam::native::get()->name() == "seam", "then Seam's is");
	ok(c10::GetAllocator(c10::kCUDA) == seam::native::get(), "for everybody");
	ok(!it().initialized() && says(thrown_by([] { it().allocate(1); }), "initialised"),
		"memory is to be had after the start");
	it().init(devices);
	ok(it().initialized(), "which it was told of");
	ok(seam_pool_config(seam_torch_pool(0))->watch_captures == 0, "captures are PyTorch's, which tells of them");
	ok(seam_torch_class_install(error, sizeof error) == 0, "installing again changes nothing");
}

int main(int argc, char **argv)
{
	if (argc > 1 && strcmp(argv[1], "late") == 0)
		return too_late();
	install(argc > 1 && strcmp(argv[1], "two") == 0 ? 2 : 1);
	if (argc > 1 && strcmp(argv[1], "two") == 0) {
		part_two();
		return tap_end();
	}
	if (argc > 2 && strcmp(argv[1], "planned") == 0) {
		part_planned(argv[2]);
		return tap_end();
	}
	if (argc > 1 && strcmp(argv[1], "shared") == 0) {
		part_shared();
		return tap_end();
	}
	if (argc > 1 && strcmp(argv[1], "asked") == 0) {
		part_asked();
		return tap_end();
	}
	if (argc > 1 && strcmp(argv[1], "limited") == 0) {
		part_limited();
		return tap_end();
	}
	if (argc > 1 && strcmp(argv[1], "rejecting") == 0) {
		part_rejecting();
		return tap_end();
	}
	part_blocks();
	part_largest();
	part_memory();
	part_streams();
	part_copies();
	part_shortage();
	part_fraction();
	part_private();
	part_refusals();
	part_stats();
	part_private_sums();
	part_history();
	part_observed();
	part_snapshot(argc > 1 ? argv[1] : nullptr);
	tap_part = "judge";
	ok(fakecuda_violations() == 0, "the device has seen nothing wrong: %s", fakecuda_violation_text());
	return tap_end();
}
