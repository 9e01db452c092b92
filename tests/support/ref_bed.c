/* ref_bed.c: the test bed of the reference allocators. */
#include "ref_bed.h"

#include <criterion/criterion.h>

#include "emu.h"

struct ref_bed ref_bed_open(enum ref_kind kind, uint64_t capacity_bytes)
{
	struct ref_bed bed = {0};
	struct seam_emu_config config = {.memory = SEAM_EMU_BOOK, .capacity_bytes = capacity_bytes};
	char error[200] = "";
	cr_assert_eq(seam__emu_create(&config, error, sizeof error, &bed.driver), SEAM_OK, "%s", error);
	cr_assert_eq(ref_create(kind, bed.driver, NULL, error, &bed.allocator), SEAM_OK, "%s", error);
	return bed;
}

void ref_bed_close(struct ref_bed *bed)
{
	bed_check(bed);
	cr_assert_eq(ref_destroy(bed->allocator), 0, "metadata was lost");
	struct seam_emu_usage usage;
	seam__emu_usage(bed->driver, &usage);
	cr_assert_eq(usage.used_bytes + usage.mappings + usage.reservations + usage.events, 0, "left on the device");
	cr_assert_eq(seam__emu_violations_all(bed->driver), 0, "%s", seam__emu_violation_text(bed->driver));
	seam__driver_destroy(bed->driver);
}

uint64_t bed_alloc_on(struct ref_bed *bed, uint64_t bytes, uint64_t stream)
{
	uint64_t va = 0;
	struct ref_request request = {.bytes = bytes, .stream = stream};
	enum seam_rc rc = ref_alloc(bed->allocator, &request, &va);
	cr_assert_eq(rc, SEAM_OK, "%s", seam_rc_text(rc));
	bed_check(bed);
	return va;
}

uint64_t bed_alloc(struct ref_bed *bed, uint64_t bytes)
{
	return bed_alloc_on(bed, bytes, SEAM_STREAM_DEFAULT);
}

enum seam_rc bed_try_alloc(struct ref_bed *bed, uint64_t bytes)
{
	uint64_t va = 77;
	struct ref_request request = {.bytes = bytes};
	enum seam_rc rc = ref_alloc(bed->allocator, &request, &va);
	cr_assert(rc == SEAM_OK || va == 77, "a failed call touched its result");
	bed_check(bed);
	return rc;
}

void bed_free(struct ref_bed *bed, uint64_t va)
{
	enum seam_rc rc = ref_free(bed->allocator, va);
	cr_assert_eq(rc, SEAM_OK, "%s", seam_rc_text(rc));
	bed_check(bed);
}

uint64_t bed_stream(struct ref_bed *bed)
{
	uint64_t stream = 0;
	cr_assert_eq(seam__drv_stream_create(bed->driver, SEAM_STREAM_NONBLOCKING, &stream), 0);
	return stream;
}

void bed_stream_destroy(struct ref_bed *bed, uint64_t stream)
{
	cr_assert_eq(seam__drv_stream_destroy(bed->driver, stream), 0);
}

static struct ref_stats stats_of(const struct ref_bed *bed)
{
	struct ref_stats stats;
	ref_get_stats(bed->allocator, &stats);
	return stats;
}

uint64_t bed_reserved(const struct ref_bed *bed)
{
	return stats_of(bed).reserved_bytes;
}

uint64_t bed_live(const struct ref_bed *bed)
{
	return stats_of(bed).live_bytes;
}

uint64_t bed_calls(const struct ref_bed *bed, enum seam_drv_call call)
{
	return atomic_load(&bed->driver->counts[call].calls);
}

void bed_check(const struct ref_bed *bed)
{
	const char *broken = ref_check(bed->allocator);
	cr_assert_null(broken, "%s", broken);
}
