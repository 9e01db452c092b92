/* import_snapshot.c: a PyTorch memory snapshot becomes a trace.
 *
 *   in the snapshot                        in the trace
 *   reserved before the first entry        SEGMENT_ALLOC with flag RESIDENT, by address, before everything else
 *   live before the first entry            ALLOC with flag RESIDENT, by address, behind those; never a ready segment
 *   alloc                                  ALLOC
 *   free_requested                         FREE
 *   free_completed                         nothing behind its free_requested; FREE where that is missing
 *   segment_alloc, segment_map             SEGMENT_ALLOC, id: the address
 *   segment_free, segment_unmap            SEGMENT_FREE
 *   oom                                    OOM
 *   annotation START, END                  PHASE_BEGIN, PHASE_END; a phase that would not nest is closed or left out
 *   user_metadata                          the event's module
 *
 * What was live before: blocks in use at the end that the entries never name, and blocks that are freed without an
 * allocation (recording began late, or its ring wrapped); their sizes are those of the block or of the free. What was
 * reserved before: the final segments with the entries' effects undone, from the last to the first.
 * A free takes effect when it is requested. The streams that may have delayed its completion are not in a snapshot, so
 * no RECORD_STREAM can be told. An allocation at an address that is live frees the old block first; a free of what is
 * not live is left out.
 * Times are microseconds since the first entry, in nanoseconds; entries without times are one microsecond apart.
 * No locks: one call owns everything that it touches.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "idmap.h"
#include "import.h"
#include "torch_snapshot.h"
#include "trace_error.h"
#include "trace_text.h"

struct open_phase {
	uint32_t name;
	uint16_t phase;
};

struct import {
	struct seam_torch_snapshot snapshot;
	struct seam_trace_builder *builder;
	struct seam_grow blocks;  /* struct seam_torch_block: index + 1 is the block's id in the trace */
	struct seam_idmap at;     /* address -> the live block's id, 0 when it was freed */
	struct seam_idmap phases; /* name -> number */
	struct seam_grow open;    /* struct open_phase, outermost first */
	size_t note;              /* next annotation */
	uint64_t begin_us;        /* the time that becomes 0 */
	uint64_t time_ns;         /* of the event added last */
	struct seam_trace_error *error;
};

static int compare_blocks(const void *left, const void *right)
{
	const struct seam_torch_block *a = left;
	const struct seam_torch_block *b = right;
	return a->address < b->address ? -1 : a->address > b->address;
}

/* Entries whose era names no pool take that of the segment around them, where one is known. */
static void fill_in_pools(struct import *import)
{
	struct seam_torch_entry *entries = import->snapshot.entries.items;
	for (size_t i = 0; i < import->snapshot.entries.count; i++) {
		if (entries[i].has_pool)
			continue;
		const struct seam_trace_range *segment =
			seam__ranges_find(&import->snapshot.segments, entries[i].address);
		entries[i].has_pool = segment != NULL;
		entries[i].pool = segment != NULL ? segment->pool : 0;
	}
}

/* An orphan: freed, but the entries never showed its allocation. */
static enum seam_rc note_orphan(struct import *import, const struct seam_torch_entry *entry)
{
	const struct seam_torch_block block = {
		.address = entry->address, .size = entry->size, .stream = entry->stream, .pool = entry->pool};
	return seam__grow_append(&import->blocks, &block, 1);
}

/* Fills `blocks` with what was live before the first entry, in the order of addresses. */
static enum seam_rc find_residents(struct import *import)
{
	const struct seam_torch_entry *entries = import->snapshot.entries.items;
	enum seam_rc rc = SEAM_OK;
	uint64_t *seen;
	for (size_t i = 0; rc == SEAM_OK && i < import->snapshot.entries.count; i++) {
		const enum seam_torch_action action = entries[i].action;
		if (action != SEAM_TORCH_ALLOC && action != SEAM_TORCH_FREE_REQUESTED &&
			action != SEAM_TORCH_FREE_COMPLETED)
			continue;
		rc = seam__idmap_put(&import->at, entries[i].address, &seen);
		if (rc == SEAM_OK && seen[0] == 0 && action != SEAM_TORCH_ALLOC)
			rc = note_orphan(import, &entries[i]);
		if (rc == SEAM_OK)
			seen[0] = 1;
	}
	const struct seam_torch_block *blocks = import->snapshot.blocks.items;
	for (size_t i = 0; rc == SEAM_OK && i < import->snapshot.blocks.count; i++) {
		rc = seam__idmap_put(&import->at, blocks[i].address, &seen);
		if (rc == SEAM_OK && seen[0] == 0)
			rc = seam__grow_append(&import->blocks, &blocks[i], 1);
		if (rc == SEAM_OK)
			seen[0] = 1;
	}
	seam__idmap_fini(&import->at);
	if (import->blocks.count > 0)
		qsort(import->blocks.items, import->blocks.count, sizeof(struct seam_torch_block), compare_blocks);
	return rc;
}

/* Undoes the entries' effects on the segments, so that they are what was reserved before the first entry. Entries that
 * name no range are left out here as they are later. */
static enum seam_rc undo_segments(struct import *import)
{
	const struct seam_torch_entry *entries = import->snapshot.entries.items;
	struct seam_ranges *segments = &import->snapshot.segments;
	enum seam_rc rc = SEAM_OK;
	for (size_t i = import->snapshot.entries.count; rc == SEAM_OK && i-- > 0;) {
		const struct seam_torch_entry *entry = &entries[i];
		if (entry->action == SEAM_TORCH_SEGMENT_ALLOC)
			rc = seam__ranges_remove(segments, entry->address, entry->size);
		else if (entry->action == SEAM_TORCH_SEGMENT_FREE)
			rc = seam__ranges_add(segments, entry->address, entry->size, entry->stream, entry->pool);
		if (rc == SEAM_INVALID)
			rc = SEAM_OK;
	}
	return rc;
}

static enum seam_rc add_event(struct import *import, struct seam_trace_event event)
{
	const struct open_phase *open = import->open.items;
	if (event.phase == 0 && import->open.count > 0)
		event.phase = open[import->open.count - 1].phase;
	event.time_ns = import->time_ns;
	return seam_trace_builder_add(import->builder, &event);
}

static enum seam_rc add_residents(struct import *import)
{
	enum seam_rc rc = SEAM_OK;
	const struct seam_trace_range *range = seam__ranges_first(&import->snapshot.segments);
	for (; rc == SEAM_OK && range != NULL; range = seam__ranges_next(range)) {
		rc = add_event(import,
			(struct seam_trace_event){.kind = SEAM_TRACE_SEGMENT_ALLOC,
				.flags = SEAM_TRACE_RESIDENT,
				.id = range->begin,
				.size = range->end - range->begin,
				.stream = range->stream,
				.pool = range->pool});
	}
	const struct seam_torch_block *blocks = import->blocks.items;
	for (size_t i = 0; rc == SEAM_OK && i < import->blocks.count; i++) {
		uint64_t *holding;
		rc = add_event(import,
			(struct seam_trace_event){.kind = SEAM_TRACE_ALLOC,
				.flags = SEAM_TRACE_RESIDENT,
				.id = i + 1,
				.size = blocks[i].size,
				.stream = blocks[i].stream,
				.pool = blocks[i].pool});
		if (rc == SEAM_OK)
			rc = seam__idmap_put(&import->at, blocks[i].address, &holding);
		if (rc == SEAM_OK)
			holding[0] = i + 1;
	}
	return rc;
}

static enum seam_rc add_free(struct import *import, uint64_t id, uint32_t module)
{
	const struct seam_torch_block *block = (const struct seam_torch_block *)import->blocks.items + (id - 1);
	return add_event(import,
		(struct seam_trace_event){.kind = SEAM_TRACE_FREE,
			.id = id,
			.size = block->size,
			.stream = block->stream,
			.pool = block->pool,
			.module = module});
}

static enum seam_rc add_alloc_entry(struct import *import, const struct seam_torch_entry *entry, uint32_t module)
{
	const struct seam_torch_block block = {
		.address = entry->address, .size = entry->size, .stream = entry->stream, .pool = entry->pool};
	uint64_t *holding;
	enum seam_rc rc = seam__idmap_put(&import->at, entry->address, &holding);
	if (rc == SEAM_OK && holding[0] != 0)
		rc = add_free(import, holding[0], 0);
	if (rc == SEAM_OK)
		rc = seam__grow_append(&import->blocks, &block, 1);
	if (rc != SEAM_OK)
		return rc;
	holding[0] = import->blocks.count;
	return add_event(import,
		(struct seam_trace_event){.kind = SEAM_TRACE_ALLOC,
			.id = holding[0],
			.size = block.size,
			.stream = block.stream,
			.pool = block.pool,
			.module = module});
}

static enum seam_rc add_free_entry(struct import *import, const struct seam_torch_entry *entry, uint32_t module)
{
	uint64_t *holding = seam__idmap_find(&import->at, entry->address);
	if (holding == NULL || holding[0] == 0)
		return SEAM_OK; /* completes what was requested, or fits to nothing */
	const uint64_t id = holding[0];
	holding[0] = 0;
	return add_free(import, id, module);
}

static enum seam_rc add_entry(struct import *import, const struct seam_torch_entry *entry)
{
	uint32_t module = 0;
	enum seam_rc rc = SEAM_OK;
	if (entry->metadata.text != NULL)
		rc = seam__trace_text_intern(import->builder, entry->metadata.text, entry->metadata.bytes, &module);
	if (rc != SEAM_OK)
		return rc;
	struct seam_trace_event event = {
		.size = entry->size, .stream = entry->stream, .pool = entry->pool, .module = module};
	switch (entry->action) {
	case SEAM_TORCH_ALLOC:
		return add_alloc_entry(import, entry, module);
	case SEAM_TORCH_FREE_REQUESTED:
	case SEAM_TORCH_FREE_COMPLETED:
		return add_free_entry(import, entry, module);
	case SEAM_TORCH_SEGMENT_ALLOC:
	case SEAM_TORCH_SEGMENT_FREE:
		event.kind =
			entry->action == SEAM_TORCH_SEGMENT_ALLOC ? SEAM_TRACE_SEGMENT_ALLOC : SEAM_TRACE_SEGMENT_FREE;
		event.id = entry->address;
		return add_event(import, event);
	case SEAM_TORCH_OOM:
		event.kind = SEAM_TRACE_OOM;
		return add_event(import, event);
	case SEAM_TORCH_OTHER:
		break;
	}
	return SEAM_OK;
}

static void set_time(struct import *import, uint64_t time_us)
{
	const uint64_t since_us = time_us > import->begin_us ? time_us - import->begin_us : 0;
	const uint64_t time_ns = since_us > UINT64_MAX / 1000 ? UINT64_MAX : since_us * 1000;
	if (time_ns > import->time_ns)
		import->time_ns = time_ns;
}

static enum seam_rc begin_phase(struct import *import, uint32_t name)
{
	uint64_t *number;
	enum seam_rc rc = seam__idmap_put(&import->phases, name, &number);
	if (rc != SEAM_OK)
		return rc;
	if (number[0] == 0) {
		if (import->phases.count > UINT16_MAX) {
			seam__idmap_remove(&import->phases, name); /* more names than numbers: it is left out */
			return SEAM_OK;
		}
		number[0] = import->phases.count;
	}
	const struct open_phase open = {.name = name, .phase = (uint16_t)number[0]};
	rc = seam__grow_append(&import->open, &open, 1);
	if (rc != SEAM_OK)
		return rc;
	return add_event(
		import, (struct seam_trace_event){.kind = SEAM_TRACE_PHASE_BEGIN, .phase = open.phase, .aux = name});
}

/* Ends the phase, and first those inside it that are still open. */
static enum seam_rc end_phase(struct import *import, uint32_t name)
{
	const struct open_phase *open = import->open.items;
	size_t depth = import->open.count;
	while (depth > 0 && open[depth - 1].name != name)
		depth--;
	enum seam_rc rc = SEAM_OK;
	while (rc == SEAM_OK && depth > 0 && import->open.count >= depth) {
		const struct open_phase last = open[import->open.count - 1];
		rc = add_event(import,
			(struct seam_trace_event){.kind = SEAM_TRACE_PHASE_END, .phase = last.phase, .aux = last.name});
		import->open.count--;
	}
	return rc;
}

/* The annotations that come before an entry of this time: what ends at the same time still holds the entry. */
static enum seam_rc add_annotations(struct import *import, uint64_t time_us)
{
	const struct seam_torch_annotation *notes = import->snapshot.notes.items;
	enum seam_rc rc = SEAM_OK;
	for (; rc == SEAM_OK && import->note < import->snapshot.notes.count; import->note++) {
		const struct seam_torch_annotation *note = &notes[import->note];
		if (note->time_us > time_us || (note->time_us == time_us && !note->begins))
			break;
		uint32_t name;
		rc = seam__trace_text_intern(import->builder, note->name.text, note->name.bytes, &name);
		if (rc != SEAM_OK)
			break;
		set_time(import, note->time_us);
		rc = note->begins ? begin_phase(import, name) : end_phase(import, name);
	}
	return rc;
}

static enum seam_rc add_entries(struct import *import)
{
	const struct seam_torch_snapshot *snapshot = &import->snapshot;
	const struct seam_torch_entry *entries = snapshot->entries.items;
	enum seam_rc rc = SEAM_OK;
	import->begin_us = snapshot->has_times && snapshot->entries.count > 0 ? entries[0].time_us : 0;
	for (size_t i = 0; rc == SEAM_OK && i < snapshot->entries.count; i++) {
		const uint64_t time_us = snapshot->has_times ? entries[i].time_us : i;
		if (snapshot->has_times)
			rc = add_annotations(import, time_us);
		set_time(import, time_us);
		if (rc == SEAM_OK)
			rc = add_entry(import, &entries[i]);
	}
	return rc == SEAM_OK ? add_annotations(import, UINT64_MAX) : rc;
}

static enum seam_rc build(struct import *import, struct seam_trace **ret_trace)
{
	char source[120];
	fill_in_pools(import);
	enum seam_rc rc = undo_segments(import);
	fill_in_pools(import); /* some lay in segments that are gone at the end */
	if (rc == SEAM_OK)
		rc = find_residents(import);
	(void)snprintf(source, sizeof(source), "pytorch snapshot, device %u, %zu entries, %zu blocks live before them",
		import->snapshot.device, import->snapshot.entries.count, import->blocks.count);
	if (rc == SEAM_OK)
		rc = seam_trace_builder_create(source, import->snapshot.device, &import->builder);
	if (rc == SEAM_OK)
		rc = add_residents(import);
	if (rc == SEAM_OK)
		rc = add_entries(import);
	if (rc == SEAM_OK)
		rc = seam_trace_builder_finish(import->builder, import->error, ret_trace);
	return rc;
}

enum seam_rc seam__import_snapshot(
	const void *data, size_t bytes, int device, struct seam_trace_error *error, struct seam_trace **ret_trace)
{
	struct seam_pickle *pickle;
	struct import import = {.error = error};
	enum seam_rc rc = seam__pickle_read(data, bytes, error, &pickle);
	if (rc != SEAM_OK)
		return rc;
	rc = seam__torch_snapshot_init(&import.snapshot, pickle, device, error);
	if (rc == SEAM_OK) {
		seam__grow_init(&import.blocks, sizeof(struct seam_torch_block));
		seam__grow_init(&import.open, sizeof(struct open_phase));
		seam__idmap_init(&import.at);
		seam__idmap_init(&import.phases);
		rc = build(&import, ret_trace);
		seam__idmap_fini(&import.phases);
		seam__idmap_fini(&import.at);
		seam__grow_fini(&import.open);
		seam__grow_fini(&import.blocks);
		seam_trace_builder_destroy(import.builder);
		seam__torch_snapshot_fini(&import.snapshot);
	}
	seam__pickle_free(pickle);
	if (rc == SEAM_OOM_META)
		(void)seam__trace_error_rc(error, rc);
	return rc;
}
