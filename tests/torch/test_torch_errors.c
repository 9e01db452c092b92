/* test_torch_errors.c: the texts and figures of PyTorch's door. */
#include "door_fixture.h"

static const char *oom_text(int device, uint64_t bytes)
{
	size_t length = seam_torch_oom_text(device, bytes, told, sizeof told);
	cr_assert_eq(strlen(told), length);
	return told;
}

#define assert_says(text, what) cr_assert_not_null(strstr(text, what), "\"%s\" is missing in:\n%s", what, text)

Test(torch_errors, an_out_of_memory_text_says_what_would_help)
{
	set_conf(DEVICE);
	(void)seam_torch_alloc(MIB(100), 0, NULL);
	seam_torch_free(seam_torch_alloc(MIB(2), 0, NULL), MIB(2), 0, NULL);
	seam_torch_memory_fraction(0.5, 0);
	cr_assert_null(seam_torch_alloc(MIB(50), 0, NULL));
	const char *text = oom_text(0, MIB(50));
	cr_assert_eq(strncmp(text, "CUDA out of memory.", strlen("CUDA out of memory.")), 0, "programs look for it");
	assert_says(text,
		"CUDA out of memory. Tried to allocate 50.00 MiB. GPU 0 has a total capacity of 256.00 MiB of which 1");
	assert_says(text, " MiB is free. Of the allocated memory 100.00 MiB is allocated by PyTorch, and 2");
	assert_says(text, " MiB is reserved by PyTorch but unallocated");
	assert_says(text, "What would help:\n  - the device has 1");
	assert_says(text, "seamalloc.report()");
}

Test(torch_errors, an_out_of_memory_text_needs_no_pool_and_no_room)
{
	char small[20];
	cr_assert_str_eq(
		oom_text(9, 512), "CUDA out of memory. Tried to allocate 512 bytes. GPU 9 has no memory pool of Seam.");
	size_t length = seam_torch_oom_text(9, 512, small, sizeof small);
	cr_assert_eq(length, strlen(told));
	cr_assert_str_eq(small, "CUDA out of memory.");
	cr_assert_eq(seam_torch_oom_text(9, 512, NULL, 0), length);
}

/* Programs read these figures: "Tried to allocate ([0-9.]+) GiB". */
Test(torch_errors, sizes_are_in_the_units_that_pytorch_uses)
{
	static const struct {
		uint64_t bytes;
		const char *text;
	} sizes[] = {
		{1, "1 bytes."},
		{1024, "1024 bytes."},
		{1025, "1.00 KiB."},
		{MIB(1), "1024.00 KiB."},
		{MIB(1) + 512, "1.00 MiB."},
		{MIB(1024), "1024.00 MiB."},
		{MIB(1536), "1.50 GiB."},
		{MIB(1) << 20, "1024.00 GiB."},
		{MIB(800000000) << 10, "800000000.00 GiB."},
	};
	for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++)
		assert_says(oom_text(0, sizes[i].bytes), sizes[i].text);
}

Test(torch_errors, the_newest_error_is_cut_to_its_room)
{
	char small[8] = "x";
	cr_assert_eq(seam_torch_error(small, sizeof small), 0);
	cr_assert_str_eq(small, "");
	seam_torch_free(small, 1, 0, NULL);
	size_t length = seam_torch_error(small, sizeof small);
	cr_assert_gt(length, sizeof small);
	cr_assert_str_eq(small, "a free ");
	cr_assert_eq(seam_torch_error(NULL, 0), length);
}

Test(torch_errors, statistics_are_those_of_their_tables)
{
	struct stat {
		const char *name, *kind, *text;
	};
	static const struct stat table[] = {
#define SEAM_STAT(name, kind, text) {#name, #kind, text},
#include <seam/stats.def>
#undef SEAM_STAT
#define SEAM_PLAN_STAT(name, kind, text) {"plan_" #name, #kind, text},
#include <seam/plan_stats.def>
#undef SEAM_PLAN_STAT
	};
	enum { COUNT = sizeof table / sizeof table[0] };
	const char *name = NULL, *kind = NULL, *text = NULL;
	for (uint32_t i = 0; i < COUNT; i++) {
		cr_assert_ok(seam_torch_stat(i, &name, &kind, &text));
		cr_assert_str_eq(name, table[i].name);
		cr_assert_str_eq(kind, table[i].kind);
		cr_assert_str_eq(text, table[i].text);
	}
	cr_assert_ok(seam_torch_stat(0, NULL, NULL, NULL));
	cr_assert_rc(seam_torch_stat(COUNT, &name, &kind, &text), SEAM_NOT_FOUND);

	uint64_t values[COUNT + 1];
	memset(values, 0xff, sizeof values);
	set_conf(DEVICE);
	cr_assert_ok(seam_torch_stats(0, values, COUNT + 1));
	cr_assert_eq(values[0], 0, "no pool yet");
	cr_assert_null(seam_torch_pool_made(0));
	(void)seam_torch_alloc(1000, 0, NULL);
	struct seam_stats stats = figures(0);
	cr_assert_ok(seam_torch_stats(0, values, COUNT + 1));
	const size_t of_pool = (sizeof stats - offsetof(struct seam_stats, live_requested_bytes)) / sizeof values[0];
	cr_assert_eq(memcmp(values, &stats.live_requested_bytes, sizeof values[0] * of_pool), 0);
	struct seam_plan_stats plans = plan_figures(0);
	cr_assert_eq(memcmp(values + of_pool, &plans.loaded_plans, sizeof values[0] * (COUNT - of_pool)), 0);
	cr_assert_eq(values[0], 1000);
	cr_assert_eq(values[COUNT], UINT64_MAX, "beyond the table nothing is written");
	values[1] = 77;
	cr_assert_ok(seam_torch_stats(0, values, 1));
	cr_assert_eq(values[1], 77, "nor beyond the room");
	cr_assert_rc(seam_torch_stats(0, NULL, 1), SEAM_INVALID);
	cr_assert_rc(seam_torch_stats(-1, values, 1), SEAM_INVALID);
}
