/* test_stream_model.c: the registry against an oracle that remembers, for each stamp, which work it must wait for.
 *
 * Soundness: what the registry calls passed is done. Completeness: when the device is idle, a poll makes everything
 * pass that can be asked, and a wait for all makes everything pass.
 */
#include <criterion/criterion.h>

#include "fake_driver.h"
#include "meta.h"
#include "stream.h"

#define OPERATIONS 300000u
#define KEPT 64u
#define FAULT_CLASSES ((1u << SEAM_DRV_QUERY) | (1u << SEAM_DRV_EVENT))

/* A stamp, and what it stands for. */
struct kept {
	struct seam_stream *stream; /* referenced; NULL: this place is empty */
	struct fake_stream *work;
	uint64_t stamp, position;
};

struct model {
	struct fake_driver fake;
	struct seam_meta *meta;
	struct seam_streams streams;
	struct kept kept[KEPT];
	uint64_t handles[12];
	uint64_t state;  /* of the generator */
	uint64_t stamps; /* made */
};

static uint64_t draw(struct model *model, uint64_t below)
{
	model->state = model->state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
	return (model->state >> 33) % below;
}

static bool any_capturing(const struct model *model)
{
	for (uint64_t i = 0; i < model->fake.all_count; i++)
		if (model->fake.all[i]->capturing)
			return true;
	return false;
}

static void verify(const struct model *model, uint64_t operation)
{
	for (unsigned i = 0; i < KEPT; i++) {
		const struct kept *kept = &model->kept[i];
		if (kept->stream != NULL && seam__stream_passed(kept->stream, kept->stamp))
			cr_assert_geq(kept->work->done, kept->position, "operation %lu: passed too early",
				(unsigned long)operation);
	}
}

static struct seam_stream *find_any(struct model *model)
{
	uint64_t handle = model->handles[draw(model, 12)];
	struct seam_stream *stream = NULL;
	enum seam_rc rc = seam__streams_find(&model->streams, handle, true, &stream);
	return rc == SEAM_OK ? stream : NULL;
}

static void drop(struct kept *kept)
{
	if (kept->stream != NULL)
		seam__stream_unref(kept->stream);
	kept->stream = NULL;
}

static void op_stamp(struct model *model)
{
	struct seam_stream *stream = find_any(model);
	if (stream == NULL)
		return;
	struct kept *kept = &model->kept[draw(model, KEPT)];
	seam__stream_ref(stream);
	drop(kept);
	*kept = (struct kept){.stream = stream, .work = fake_resolve(&model->fake, stream->handle)};
	kept->stamp = seam__stream_stamp(stream);
	kept->position = kept->work->submitted;
	model->stamps++;
}

static void op_destroy(struct model *model)
{
	unsigned which = 3 + (unsigned)draw(model, 9);
	if (fake_resolve(&model->fake, model->handles[which])->capturing)
		return;
	/* stream.h: one that was found during its capture is not told from its successor, unless it is announced. */
	const struct seam_stream *known;
	bool is_told = true;
	TAILQ_FOREACH(known, &model->streams.list, by_index)
	is_told &= known->handle != model->handles[which] || known->id != 0;
	if (!is_told || draw(model, 2) == 0) {
		enum seam_rc rc = seam__stream_destroyed(&model->streams, model->handles[which]);
		(void)rc;
	}
	fake_stream_destroy(&model->fake, model->handles[which]);
	model->handles[which] = fake_stream_create(&model->fake);
}

static void op_wait_all(struct model *model)
{
	struct seam_wait_all wait;
	if (seam__streams_wait_all_begin(&model->streams, &wait) != SEAM_OK)
		return;
	if (seam__wait_all_run(&model->fake.base, &wait) == SEAM_OK) {
		seam__streams_wait_all_end(&model->streams, &wait);
		for (unsigned i = 0; i < KEPT; i++)
			if (model->kept[i].stream != NULL)
				cr_assert(seam__stream_passed(model->kept[i].stream, model->kept[i].stamp),
					"wait_all left a stamp");
	}
}

static void op_order(struct model *model)
{
	struct kept *kept = &model->kept[draw(model, KEPT)];
	struct seam_stream *to = find_any(model);
	if (kept->stream == NULL || to == NULL)
		return;
	struct fake_stream *target = fake_resolve(&model->fake, to->handle);
	seam__stream_ref(to);
	if (seam__stream_order(kept->stream, kept->stamp, to) == SEAM_OK && target != kept->work &&
		kept->work->done < kept->position) {
		/* The edge is as good as a stamp: new work on the target cannot end before the old work. */
		uint64_t position = fake_work(&model->fake, to->handle);
		fake_run(&model->fake, target, UINT64_MAX / 2);
		cr_assert_lt(target->done, position, "the edge does not hold");
	}
	seam__stream_unref(to);
}

static void op_idle_device(struct model *model)
{
	if (any_capturing(model))
		return;
	fake_run_all(&model->fake);
	cr_assert_eq(seam__streams_poll_all(&model->streams, NULL), SEAM_OK);
	for (unsigned i = 0; i < KEPT; i++) {
		const struct kept *kept = &model->kept[i];
		if (kept->stream == NULL || kept->stream->lost || kept->stream->handle == SEAM_STREAM_PER_THREAD)
			continue;
		cr_assert(seam__stream_passed(kept->stream, kept->stamp), "an idle device has unpassed stamps");
	}
}

static void step(struct model *model)
{
	struct fake_driver *fake = &model->fake;
	uint64_t dice = draw(model, 1000);
	if (dice < 350)
		op_stamp(model);
	else if (dice < 600)
		(void)fake_work(fake, model->handles[draw(model, 12)]);
	else if (dice < 750)
		fake_run(fake, fake_resolve(fake, model->handles[draw(model, 12)]), 1 + draw(model, 4));
	else if (dice < 820) {
		struct seam_stream *stream = find_any(model);
		enum seam_rc rc = stream == NULL ? SEAM_OK : seam__stream_cover(stream);
		(void)rc;
	} else if (dice < 880) {
		enum seam_rc rc = seam__streams_poll_all(&model->streams, NULL);
		(void)rc;
	} else if (dice < 940)
		op_order(model);
	else if (dice < 945)
		op_wait_all(model);
	else if (dice < 955)
		op_destroy(model);
	else if (dice < 975) {
		struct fake_stream *stream = fake_resolve(fake, model->handles[3 + draw(model, 9)]);
		stream->capturing = !stream->capturing && draw(model, 3) == 0;
	} else if (dice < 990)
		fake->thread = (unsigned)draw(model, FAKE_THREADS);
	else
		op_idle_device(model);
}

static void run(uint64_t seed, bool deterministic, bool faults)
{
	static struct model model;
	model = (struct model){.state = seed};
	fake_init(&model.fake);
	model.meta = seam__meta_create(0);
	seam__streams_init(&model.streams, &model.fake.base, model.meta, deterministic);
	for (unsigned i = 0; i < 12; i++)
		model.handles[i] = i < 3 ? i : fake_stream_create(&model.fake);
	for (uint64_t operation = 0; operation < OPERATIONS; operation++) {
		if (faults && operation % 7 == 0)
			seam__driver_fail_at(&model.fake.base, 1 + draw(&model, 5), FAULT_CLASSES, SEAM_CU_UNKNOWN);
		if (faults && operation % 7 == 3)
			seam__driver_fail_at(&model.fake.base, 0, 0, 0);
		if (!faults || operation % 7 >= 3)
			step(&model);
		else
			op_order(&model);
		verify(&model, operation);
		const char *broken = operation % 16 == 0 ? seam__streams_check(&model.streams) : NULL;
		cr_assert_null(
			broken, "seed %lu, operation %lu: %s", (unsigned long)seed, (unsigned long)operation, broken);
	}
	seam__driver_fail_at(&model.fake.base, 0, 0, 0);
	cr_expect_gt(model.stamps, OPERATIONS / 10);
	for (unsigned i = 0; i < KEPT; i++)
		drop(&model.kept[i]);
	cr_expect_lt(model.streams.count, 300, "%u entries", model.streams.count);
	cr_expect_eq(seam__streams_fini(&model.streams), 0);
	cr_expect_eq(model.fake.events_live, 0);
	cr_expect_eq(seam__meta_destroy(model.meta), 0);
	fake_fini(&model.fake);
}

Test(stream_model, polls_ask)
{
	run(1, false, false);
}

Test(stream_model, polls_wait)
{
	run(2, true, false);
}

Test(stream_model, with_failing_calls)
{
	run(3, false, true);
}
