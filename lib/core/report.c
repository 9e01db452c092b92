/* report.c: out of memory, told to a person: what was asked for, what the memory is doing, what would help.
 *
 * What is told is noted when the request fails, so that a report made later, after the program has freed half of it, is
 * of that moment.
 */
#include <inttypes.h>
#include <string.h>

#include "bits.h"
#include "log.h"
#include "plain.h"
#include "text.h"

static uint64_t largest_in(struct seam_group *group)
{
	uint64_t largest = 0;
	for (int i = 0; i < SEAM_CLASS_COUNT; i++) {
		struct seam_ppool *ppool = &group->classes[i];
		largest = seam__bits_max(largest, seam__fit_largest(&ppool->any));
		for (uint32_t s = 0; s < ppool->stream_capacity; s++)
			largest = seam__bits_max(largest, seam__fit_largest(&ppool->of_stream[s]));
	}
	return largest;
}

/* Fills what does not depend on the request. With `lock`. */
static void note_state(struct seam_pool *pool, struct seam_oom *oom)
{
	uint64_t free_bytes = 0, total_bytes = 0;
	if (seam__drv_mem_info(pool->driver, &free_bytes, &total_bytes) == SEAM_CU_SUCCESS) {
		oom->device_free_bytes = free_bytes;
		oom->device_total_bytes = total_bytes;
	}
	oom->capacity_bytes = seam__pool_capacity(pool);
	oom->largest_bytes = pool->plain != NULL ? seam__plain_largest(pool) : largest_in(&pool->engine.common);
	seam__pool_stats(pool, &oom->stats);
}

void seam__oom_note(struct seam_pool *pool, const struct seam_request *request, bool capturing)
{
	pool->oom = (struct seam_oom){.request = *request, .capturing = capturing};
	note_state(pool, &pool->oom);
	const struct seam_stats *stats = &pool->oom.stats;
	seam__log(SEAM_LOG_WARNING,
		"out of device memory: %" PRIu64 " bytes asked, %" PRIu64 " live, %" PRIu64 " reserved", request->bytes,
		stats->live_bytes, stats->reserved_bytes);
}

void seam__oom_count(struct seam_pool *pool, enum seam_rc rc)
{
	_Atomic uint64_t *counter = rc == SEAM_OOM_DEVICE ? &pool->ooms.device
		: rc == SEAM_MAPPINGS                     ? &pool->ooms.mappings
		: rc == SEAM_OOM_VA                       ? &pool->ooms.address
		: rc == SEAM_OOM_META                     ? &pool->ooms.metadata
							  : NULL;
	if (counter != NULL)
		atomic_fetch_add_explicit(counter, 1, memory_order_relaxed);
}

/* Room for the sizes that one call of printf names. */
struct sizes {
	char texts[6][24];
	unsigned next;
};

static const char *size(struct sizes *sizes, uint64_t bytes)
{
	return seam__text_size(sizes->texts[sizes->next++ % 6], bytes);
}

static void put_request(struct seam_text *text, const struct seam_oom *oom)
{
	const struct seam_request *request = &oom->request;
	struct sizes sizes = {0};
	if (request->bytes == 0) {
		seam__text_puts(text, "No request has run out of memory. As of now:\n");
		return;
	}
	seam__text_printf(text, "Out of memory: %s asked for on stream 0x%" PRIxPTR, size(&sizes, request->bytes),
		(uintptr_t)request->stream);
	if (request->private_id != 0)
		seam__text_printf(text, " for private pool %" PRIu64, request->private_id);
	if ((request->flags & SEAM_CONTIGUOUS) != 0)
		seam__text_puts(text, ", contiguous");
	if ((request->flags & SEAM_NO_STITCH) != 0)
		seam__text_puts(text, ", not stitched");
	if ((request->flags & SEAM_NO_WAIT) != 0)
		seam__text_puts(text, ", without waiting");
	seam__text_puts(text, oom->capturing ? ", during a capture\n" : "\n");
}

static void put_state(struct seam_text *text, struct seam_pool *pool, const struct seam_oom *oom)
{
	const struct seam_stats *stats = &oom->stats;
	struct sizes sizes = {0};
	seam__text_printf(text, "  device    %s in all, %s free\n", size(&sizes, oom->device_total_bytes),
		size(&sizes, oom->device_free_bytes));
	if (oom->capacity_bytes != 0)
		seam__text_printf(text, "  capacity  %s for this pool\n", size(&sizes, oom->capacity_bytes));
	seam__text_printf(text, "  live      %s in %" PRIu64 " blocks, %s asked for; peak %s\n",
		size(&sizes, stats->live_bytes), stats->live_blocks, size(&sizes, stats->live_requested_bytes),
		size(&sizes, stats->live_bytes_peak));
	seam__text_printf(text, "  reserved  %s in %" PRIu64 " chunks; peak %s\n", size(&sizes, stats->reserved_bytes),
		stats->chunks, size(&sizes, stats->reserved_bytes_peak));
	seam__text_printf(text,
		"  unused    %s whole chunks, %s beside live blocks, %s pending, %s in private pools, %s for a plan\n",
		size(&sizes, stats->unused_whole_bytes), size(&sizes, stats->unused_partial_bytes),
		size(&sizes, stats->unused_pending_bytes), size(&sizes, stats->unused_private_bytes),
		size(&sizes, stats->unused_leased_bytes));
	if (stats->unused_stream_bytes != 0)
		seam__text_printf(text,
			"            of it %s freed on a stream not known to have passed, %s of that in whole chunks\n",
			size(&sizes, stats->unused_stream_bytes), size(&sizes, stats->unused_stream_whole_bytes));
	seam__text_printf(text, "  largest   %s in one free run\n", size(&sizes, oom->largest_bytes));
	seam__text_printf(text,
		"  mappings  %" PRIu64 " of at most %" PRIu64 ", %" PRIu64 " stale; %" PRIu64 " stitched views of %s\n",
		stats->mappings, pool->config.mapping_limit, stats->mappings_stale, stats->stitched_views,
		size(&sizes, stats->stitched_bytes));
	seam__text_printf(text,
		"  served    s1 %" PRIu64 ", s1r %" PRIu64 ", s2 %" PRIu64 ", s3 %" PRIu64 ", s4 %" PRIu64
		", s5 %" PRIu64 "; %" PRIu64 " retries\n",
		stats->s1, stats->s1r, stats->s2, stats->s3, stats->s4, stats->s5, stats->retries);
}

/* One line for every cause that alone could make the difference. Nothing could for a request that is larger than the
 * device. */
static void put_help(struct seam_text *text, const struct seam_oom *oom)
{
	const struct seam_stats *stats = &oom->stats;
	struct sizes sizes = {0};
	uint64_t wanted = oom->request.bytes;
	uint64_t others = oom->device_total_bytes - oom->device_free_bytes;
	others -= seam__bits_min(others, stats->reserved_bytes);
	size_t before = text->length_bytes;
	if (oom->device_total_bytes != 0 && wanted > oom->device_total_bytes) {
		seam__text_printf(text, "  - nothing here: it is more than the %s that the device has in all\n",
			size(&sizes, oom->device_total_bytes));
		return;
	}
	if (oom->capacity_bytes != 0 && oom->device_free_bytes >= wanted)
		seam__text_printf(text, "  - the device has %s: raise capacity_bytes, the limit of the pool\n",
			size(&sizes, oom->device_free_bytes));
	bool apart = (oom->request.flags & (SEAM_CONTIGUOUS | SEAM_NO_STITCH)) != 0;
	if (stats->unused_whole_bytes >= wanted && apart && !oom->capturing)
		seam__text_printf(text, "  - %s of free chunks could be stitched: ask without that flag\n",
			size(&sizes, stats->unused_whole_bytes));
	if (stats->unused_whole_bytes >= wanted && oom->capturing)
		seam__text_puts(
			text, "  - nothing is stitched during a capture: run the program once before capturing it\n");
	if (stats->unused_pending_bytes != 0)
		seam__text_printf(text, "  - %s waits for streams named by seam_record_stream(): let them finish\n",
			size(&sizes, stats->unused_pending_bytes));
	if (stats->unused_private_bytes >= wanted / 2)
		seam__text_printf(text, "  - private pools keep %s: release those that are done\n",
			size(&sizes, stats->unused_private_bytes));
	if (stats->unused_partial_bytes >= wanted / 2)
		seam__text_printf(text, "  - %s lies beside live blocks: smaller chunks (chunk_bytes:2M) waste less\n",
			size(&sizes, stats->unused_partial_bytes));
	if (others >= wanted)
		seam__text_printf(text, "  - %s of the device is used by others\n", size(&sizes, others));
	if (text->length_bytes == before)
		seam__text_puts(text, "  - free some blocks: what is live is what fills the device\n");
}

/* As of now, if there is some. */
static void put_host(struct seam_text *text, struct seam_pool *pool, const struct seam_oom *oom)
{
	if (oom->stats.host_reserved_bytes_peak == 0)
		return;
	seam__text_puts(text, "  pinned    ");
	seam__pool_put_host(pool, text);
	seam__text_puts(text, "\n");
}

size_t seam_oom_report(struct seam_pool *pool, char *text, size_t text_bytes)
{
	struct seam_text report;
	seam__text_init_fixed(&report, text, text_bytes);
	if (seam__pool_enter(pool) != SEAM_OK)
		return 0;
	seam__mutex_lock(seam__pool_lock(pool));
	struct seam_oom oom = pool->oom;
	if (oom.request.bytes == 0)
		note_state(pool, &oom);
	seam__mutex_unlock(seam__pool_lock(pool));
	put_request(&report, &oom);
	put_state(&report, pool, &oom);
	put_host(&report, pool, &oom);
	if (oom.request.bytes != 0) {
		seam__text_puts(&report, "What would help:\n");
		put_help(&report, &oom);
	}
	return report.length_bytes;
}

void seam__driver_error_put(struct seam_driver *driver, struct seam_text *text)
{
	int cu = atomic_load_explicit(&driver->last_error, memory_order_relaxed);
	int call = atomic_load_explicit(&driver->last_call, memory_order_relaxed);
	if (call >= 0)
		seam__text_printf(text, "%s: %s (%d)", seam__driver_call_name((enum seam_drv_call)call),
			driver->ops->error_text(driver, cu), cu);
}

size_t seam_driver_error(struct seam_pool *pool, char *text, size_t text_bytes)
{
	struct seam_text line;
	seam__text_init_fixed(&line, text, text_bytes);
	if (seam__pool_enter(pool) != SEAM_OK)
		return 0;
	seam__driver_error_put(pool->driver, &line);
	return line.length_bytes;
}
