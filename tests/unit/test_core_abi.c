/* test_core_abi.c: sizes and places that programs compiled against the headers rely on. A change here is a new version.
 */
#include <criterion/criterion.h>
#include <stddef.h>

#include <seam/seam.h>
#include <seam/snapshot.h>
#include <seam/stats.h>

Test(core_abi, sizes_are_pinned)
{
	static const struct {
		const char *name;
		size_t size, wanted;
	} rows[] = {
		{"seam_config", sizeof(struct seam_config), 8 + 23 * 8},
		{"seam_stats", sizeof(struct seam_stats), 8 + 52 * 8},
		{"seam_plan_stats", sizeof(struct seam_plan_stats), 8 + 23 * 8},
		{"seam_request", sizeof(struct seam_request), 40},
		{"seam_block_chunk", sizeof(struct seam_block_chunk), 40},
		{"seam_view_info", sizeof(struct seam_view_info), 40},
		{"seam_slot_info", sizeof(struct seam_slot_info), 32},
		{"seam_block_info", sizeof(struct seam_block_info), 48},
		{"seam_visitor", sizeof(struct seam_visitor), 24},
		{"seam_chunk_event", sizeof(struct seam_chunk_event), 24},
		{"enum seam_rc", sizeof(enum seam_rc), 4},
	};
	for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
		cr_assert_eq(
			rows[i].size, rows[i].wanted, "%s: %zu, not %zu", rows[i].name, rows[i].size, rows[i].wanted);
}

Test(core_abi, places_are_pinned)
{
	cr_assert_eq(offsetof(struct seam_config, backend), 8);
	cr_assert_eq(offsetof(struct seam_config, chunk_bytes), 24);
	cr_assert_eq(offsetof(struct seam_config, host_capacity_bytes), 8 + 16 * 8);
	cr_assert_eq(offsetof(struct seam_config, record_limit_bytes), 8 + 18 * 8);
	cr_assert_eq(offsetof(struct seam_stats, live_requested_bytes), 8);
	cr_assert_eq(offsetof(struct seam_stats, reserved_bytes), 8 + 6 * 8);
	cr_assert_eq(offsetof(struct seam_stats, event_ns), 8 + 40 * 8);
	cr_assert_eq(offsetof(struct seam_stats, ooms_metadata), 8 + 46 * 8);
	cr_assert_eq(offsetof(struct seam_stats, unused_leased_bytes), 8 + 47 * 8);
	cr_assert_eq(offsetof(struct seam_stats, chunks_made_bytes), 8 + 50 * 8);
	cr_assert_eq(offsetof(struct seam_stats, scattered), 8 + 51 * 8);
	cr_assert_eq(offsetof(struct seam_plan_stats, loaded_plans), 8);
	cr_assert_eq(offsetof(struct seam_plan_stats, requests), 8 + 4 * 8);
	cr_assert_eq(offsetof(struct seam_plan_stats, borrows), 8 + 22 * 8);
	cr_assert_eq(offsetof(struct seam_request, bytes), 8);
	cr_assert_eq(offsetof(struct seam_request, tag), 32);
}

Test(core_abi, codes_are_pinned)
{
	cr_assert_eq(SEAM_OK, 0);
	cr_assert_eq(SEAM_OOM_DEVICE, 1);
	cr_assert_eq(SEAM_CAPTURING, 7);
	cr_assert_eq(SEAM_FORKED, 14);
	cr_assert_eq(SEAM_CONF, 19);
	cr_assert_eq(SEAM_RC_COUNT, 20);
	cr_assert_eq(SEAM_CONTIGUOUS | SEAM_NO_STITCH | SEAM_NO_WAIT, 7);
}
