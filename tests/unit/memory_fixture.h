/* memory_fixture.h: a struct seam_memory on an emulated device that keeps books, for the tests of vmm/memory.c and
 * vmm/view.c. */
#ifndef SEAM_TESTS_MEMORY_FIXTURE_H
#define SEAM_TESTS_MEMORY_FIXTURE_H

#include <string.h>

#include <criterion/criterion.h>

#include "check.h"
#include "emu.h"
#include "memory.h"
#include "meta.h"

#define MIB(n) ((uint64_t)(n) << 20)
#define MOST 8u

static struct seam_driver *driver;
static struct seam_meta *meta;
static struct seam_memory memory;
static const struct seam_phys_props props = {.where = {SEAM_AT_DEVICE, 0}};

static inline void open_memory(void)
{
	const struct seam_emu_config config = {.memory = SEAM_EMU_BOOK, .capacity_bytes = MIB(64)};
	cr_assert_eq(seam__emu_create(&config, NULL, 0, &driver), SEAM_OK);
	meta = seam__meta_create(0);
	cr_assert_not_null(meta);
	cr_assert_eq(seam__memory_init(&memory, driver, meta, &props), SEAM_OK);
}

static inline struct seam_emu_usage usage(void)
{
	struct seam_emu_usage now;
	seam__emu_usage(driver, &now);
	return now;
}

static inline void expect_whole(void)
{
	const char *broken = seam__memory_check(&memory);
	cr_expect_null(broken, "broken: %s", broken);
}

static inline void close_memory(void)
{
	seam__memory_fini(&memory);
	struct seam_emu_usage now = usage();
	SEAM_VERIFY(now.handles + now.mappings + now.reservations == 0);
	SEAM_VERIFY(seam__emu_violations_all(driver) == 0);
	SEAM_VERIFY(seam__meta_destroy(meta) == 0);
	seam__driver_destroy(driver);
}

static inline struct seam_view *make_view(uint64_t mib, bool stitched)
{
	struct seam_view *view = NULL;
	cr_assert_eq(seam__view_create(&memory, MIB(mib), stitched, 1, &view), SEAM_OK);
	seam__view_list(&memory, view);
	return view;
}

static inline struct seam_chunk *make_chunk(uint64_t mib)
{
	struct seam_chunk *chunk = NULL;
	cr_assert_eq(seam__chunk_create(&memory, MIB(mib), &chunk), SEAM_OK);
	return chunk;
}

/* Maps and commits; a chunk without a home is at home there. */
static inline void map_at(struct seam_view *view, uint64_t offset, struct seam_chunk *const *chunks, uint32_t count)
{
	struct seam_mapping *mappings[MOST];
	cr_assert_eq(seam__view_map(&memory, view, offset, chunks, count, mappings), SEAM_OK);
	seam__view_map_commit(&memory, view, offset, mappings, count);
	for (uint32_t i = 0; i < count; i++) {
		if (chunks[i]->home != NULL)
			continue;
		chunks[i]->home = chunks[i]->owner = view;
		chunks[i]->home_slot = mappings[i]->slot;
		seam__chunk_list(&memory, chunks[i]);
	}
}

/* A home view with `count` chunks of 2 MiB. */
static inline struct seam_view *make_home(struct seam_chunk **chunks, uint32_t count)
{
	struct seam_view *view = make_view(32, false);
	for (uint32_t i = 0; i < count; i++)
		chunks[i] = make_chunk(2);
	map_at(view, 0, chunks, count);
	return view;
}

#endif
