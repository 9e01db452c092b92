/* test_ref_model.c: random requests to every reference allocator against a list of what is live; and failing driver
 * calls.
 *
 * After each step: no two live blocks overlap, the allocator's check holds, accounts agree. At the end nothing is left.
 */
#include <criterion/criterion.h>
#include <inttypes.h>

#include "emu.h"
#include "ref_bed.h"

#define LIVE_MAX ((size_t)64)
#define STREAMS ((size_t)3)

struct live {
	uint64_t va;
	uint64_t bytes;
};

struct model {
	struct ref_bed bed;
	uint64_t seed;
	uint64_t streams[STREAMS];
	struct live live[LIVE_MAX];
	size_t count;
};

static uint64_t draw(struct model *model, uint64_t below)
{
	model->seed = model->seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
	return (model->seed >> 33) % below;
}

static void open_model(struct model *model, enum ref_kind kind, uint64_t seed, uint64_t capacity_bytes)
{
	*model = (struct model){.bed = ref_bed_open(kind, capacity_bytes), .seed = seed};
	for (size_t i = 1; i < STREAMS; i++)
		model->streams[i] = bed_stream(&model->bed);
}

/* All sizes matter: tiny, around the borders of the classes, large. */
static uint64_t draw_bytes(struct model *model)
{
	static const uint64_t around[] = {512, MIB, 2 * MIB, 10 * MIB, 20 * MIB};
	if (draw(model, 3) == 0)
		return around[draw(model, 5)] + draw(model, 3) * 512 - 512 + 1;
	return 1 + draw(model, UINT64_C(1) << (9 + draw(model, 16)));
}

static bool is_apart(const struct model *model, uint64_t va, uint64_t bytes)
{
	for (size_t i = 0; i < model->count; i++)
		if (va < model->live[i].va + model->live[i].bytes && model->live[i].va < va + bytes)
			return false;
	return true;
}

static enum seam_rc step_alloc(struct model *model)
{
	uint64_t va = 0;
	struct ref_request request = {.bytes = draw_bytes(model),
		.stream = model->streams[draw(model, STREAMS)],
		.private_id = draw(model, 8) == 0};
	enum seam_rc rc = ref_alloc(model->bed.allocator, &request, &va);
	if (rc != SEAM_OK)
		return rc;
	cr_assert_eq(va % 512, 0);
	cr_assert(is_apart(model, va, request.bytes), "two live blocks overlap");
	model->live[model->count++] = (struct live){.va = va, .bytes = request.bytes};
	return SEAM_OK;
}

static enum seam_rc step_free(struct model *model, size_t i)
{
	enum seam_rc rc = ref_free(model->bed.allocator, model->live[i].va);
	if (rc == SEAM_OK)
		model->live[i] = model->live[--model->count];
	return rc;
}

static enum seam_rc step(struct model *model)
{
	uint64_t what = draw(model, 100);
	if (model->count == 0 || (what < 50 && model->count < LIVE_MAX))
		return step_alloc(model);
	size_t i = draw(model, model->count);
	if (what < 85)
		return step_free(model, i);
	if (what < 93) {
		uint64_t stream = model->streams[draw(model, STREAMS)];
		cr_assert_eq(seam__emu_launch(model->bed.driver, stream, NULL, 0, 1 + draw(model, 100000), 0), 0);
		return ref_record_stream(model->bed.allocator, model->live[i].va, stream);
	}
	if (what < 99) {
		seam__emu_advance(model->bed.driver, draw(model, 200000));
		return SEAM_OK;
	}
	return ref_empty_cache(model->bed.allocator);
}

static void check_model(const struct model *model)
{
	struct ref_stats stats;
	bed_check(&model->bed);
	ref_get_stats(model->bed.allocator, &stats);
	cr_assert_eq(stats.live_blocks, model->count);
}

static void close_model(struct model *model)
{
	while (model->count > 0)
		cr_assert_eq(step_free(model, model->count - 1), SEAM_OK);
	check_model(model);
	for (size_t i = 1; i < STREAMS; i++)
		cr_assert_eq(seam__drv_stream_sync(model->bed.driver, model->streams[i]), 0);
	for (size_t i = 1; i < STREAMS; i++)
		bed_stream_destroy(&model->bed, model->streams[i]);
	ref_bed_close(&model->bed);
}

Test(ref_model, random_requests_keep_every_rule)
{
	for (size_t kind = 0; kind < REF_KINDS; kind++) {
		for (uint64_t seed = 1; seed <= 4; seed++) {
			struct model model;
			/* The odd ones run out of memory now and then. */
			open_model(&model, (enum ref_kind)kind, seed, (seed % 2 == 0 ? 4096 : 160) * MIB);
			for (size_t i = 0; i < 4000; i++) {
				enum seam_rc rc = step(&model);
				cr_assert(rc == SEAM_OK || rc == SEAM_OOM_DEVICE, "%s, seed %" PRIu64 ", step %zu: %s",
					ref_kind_name((enum ref_kind)kind), seed, i, seam_rc_text(rc));
				check_model(&model);
			}
			close_model(&model);
		}
	}
}

Test(ref_model, a_failing_driver_call_loses_nothing)
{
	static const uint64_t classes = (UINT64_C(1) << SEAM_DRV_MEMORY) | (UINT64_C(1) << SEAM_DRV_EVENT);
	for (size_t kind = 0; kind < REF_KINDS; kind++) {
		for (uint64_t nth = 1; nth < 120; nth++) {
			struct model model;
			open_model(&model, (enum ref_kind)kind, 7, 160 * MIB);
			seam__driver_fail_at(model.bed.driver, nth, classes, SEAM_CU_OUT_OF_MEMORY);
			for (size_t i = 0; i < 60; i++) {
				enum seam_rc rc = step(&model);
				cr_assert(rc != SEAM_NOT_FOUND && rc != SEAM_INVALID,
					"%s, call %" PRIu64 ", step %zu: %s", ref_kind_name((enum ref_kind)kind), nth,
					i, seam_rc_text(rc));
				check_model(&model);
			}
			seam__driver_fail_at(model.bed.driver, 0, classes, 0);
			close_model(&model);
		}
	}
}
