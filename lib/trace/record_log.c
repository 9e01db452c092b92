/* record_log.c: see record_log.h. */
#include "record_log.h"

#include "check.h"
#include "meta.h"

#define LEAST_SEGMENTS 2u /* one is being written, the next is ready: without more memory these two take turns */

static uint64_t end_of(const struct seam_record_log *log)
{
	return atomic_load_explicit(&log->end, memory_order_relaxed);
}

enum seam_rc seam__record_log_init(struct seam_record_log *log, struct seam_meta *meta, uint64_t limit_bytes)
{
	uint64_t residents_bytes = limit_bytes / 4;
	uint64_t segments = (limit_bytes - residents_bytes) / sizeof(struct seam_record_segment);
	uint64_t places = 2;
	while (places <= segments)
		places *= 2;
	SEAM_ASSERT(segments >= LEAST_SEGMENTS);
	*log = (struct seam_record_log){.meta = meta, .segment_limit = segments, .table_mask = places - 1};
	log->table = seam__meta_array(meta, places, sizeof *log->table);
	if (log->table == NULL)
		return SEAM_OOM_META;
	LIST_INIT(&log->retired);
	seam__record_residents_init(&log->residents, meta, residents_bytes);
	seam__record_log_prepare(log, LEAST_SEGMENTS - 1);
	if (log->segment_count < LEAST_SEGMENTS) {
		seam__record_log_fini(log);
		return SEAM_OOM_META;
	}
	return SEAM_OK;
}

void seam__record_log_fini(struct seam_record_log *log)
{
	struct seam_record_segment *segment;
	for (uint64_t n = log->first; n < end_of(log); n++) {
		segment = seam__record_log_segment(log, n);
		seam__meta_free(log->meta, segment, sizeof *segment);
	}
	while ((segment = LIST_FIRST(&log->retired)) != NULL) {
		LIST_REMOVE(segment, link);
		seam__meta_free(log->meta, segment, sizeof *segment);
	}
	seam__record_residents_fini(&log->residents);
	seam__meta_free(log->meta, log->table, (log->table_mask + 1) * sizeof *log->table);
	log->table = NULL;
}

uint64_t seam__record_log_bytes(const struct seam_record_log *log)
{
	return log->segment_count * sizeof(struct seam_record_segment) + seam__record_residents_bytes(&log->residents);
}

/* The oldest segment leaves the log. */
static void retire(struct seam_record_log *log)
{
	uint64_t number = log->first++;
	struct seam_record_segment *segment = seam__record_log_segment(log, number);
	atomic_store_explicit(&log->table[number & log->table_mask], NULL, memory_order_relaxed);
	if (segment == NULL)
		return;
	segment->missing = seam__record_residents_pass(
		&log->residents, segment->slots, seam__record_log_first_order(number), SEAM_RECORD_SEGMENT);
	atomic_fetch_add_explicit(&log->lost, segment->missing, memory_order_relaxed);
	LIST_INSERT_HEAD(&log->retired, segment, link);
}

struct seam_record_segment *seam__record_log_retired(struct seam_record_log *log, uint64_t number)
{
	struct seam_record_segment *segment;
	LIST_FOREACH(segment, &log->retired, link)
	{
		if (atomic_load_explicit(&segment->number, memory_order_relaxed) == number)
			return segment;
	}
	return NULL;
}

/* A thread that stood still for a whole log may write even now. */
static bool is_whole(const struct seam_record_segment *segment)
{
	uint64_t first = seam__record_log_first_order(atomic_load_explicit(&segment->number, memory_order_relaxed));
	for (uint32_t i = 0; segment->missing != 0 && i < SEAM_RECORD_SEGMENT; i++) {
		if (!seam__record_slot_is(&segment->slots[i], first + i))
			return false;
	}
	return true;
}

/* A retired segment that nobody will write any more, taken out; or NULL. */
static struct seam_record_segment *take_retired(struct seam_record_log *log)
{
	struct seam_record_segment *segment;
	LIST_FOREACH(segment, &log->retired, link)
	{
		if (segment->readers != 0 || !is_whole(segment))
			continue;
		if (segment->missing != 0)
			seam__record_residents_late(&log->residents, segment->slots, SEAM_RECORD_SEGMENT);
		LIST_REMOVE(segment, link);
		for (uint32_t i = 0; i < SEAM_RECORD_SEGMENT; i++)
			atomic_store_explicit(&segment->slots[i].order, 0, memory_order_relaxed);
		return segment;
	}
	return NULL;
}

static struct seam_record_segment *obtain(struct seam_record_log *log)
{
	struct seam_record_segment *segment = take_retired(log);
	if (segment == NULL && log->segment_count < log->segment_limit) {
		segment = seam__meta_alloc(log->meta, sizeof *segment);
		log->segment_count += segment != NULL;
	}
	while (segment == NULL && end_of(log) - log->first > 1) { /* the newest is being written */
		retire(log);
		segment = take_retired(log);
	}
	return segment;
}

void seam__record_log_prepare(struct seam_record_log *log, uint64_t number)
{
	uint64_t end;
	while ((end = end_of(log)) <= number) {
		struct seam_record_segment *segment = obtain(log);
		while (end - log->first > log->table_mask)
			retire(log);
		if (segment != NULL)
			atomic_store_explicit(&segment->number, end, memory_order_relaxed);
		atomic_store_explicit(&log->table[end & log->table_mask], segment, memory_order_release);
		atomic_store_explicit(&log->end, end + 1, memory_order_release);
	}
}

static const char *check_event(const struct seam_record_log *log, const struct seam_record_slot *slot, uint64_t order)
{
	if (slot->kind == SEAM_TRACE_ALLOC)
		return slot->id == order ? NULL : "RC1 a block's serial is the number of its allocation";
	if (slot->kind != SEAM_TRACE_FREE)
		return NULL;
	if (slot->id >= order)
		return "RC2 a block is freed before it is allocated";
	if (slot->id < seam__record_log_first_order(log->first))
		return seam__record_residents_find(&log->residents, slot->id) != NULL
			? NULL
			: "RC2 a block is freed that is no resident";
	const struct seam_record_slot *made = seam__record_log_slot(log, slot->id);
	bool known = made != NULL && seam__record_slot_is(made, slot->id) && made->kind == SEAM_TRACE_ALLOC;
	return known ? NULL : "RC2 a block is freed that is not allocated";
}

static const char *check_segment(const struct seam_record_log *log, uint64_t number)
{
	const struct seam_record_segment *segment = seam__record_log_segment(log, number);
	uint64_t first = seam__record_log_first_order(number);
	bool lost = atomic_load_explicit(&log->lost, memory_order_relaxed) + log->residents.lost != 0;
	if (segment == NULL)
		return lost ? NULL : "RC1 a segment is missing";
	for (uint32_t i = 0; i < SEAM_RECORD_SEGMENT; i++) {
		uint64_t order = atomic_load_explicit(&segment->slots[i].order, memory_order_acquire);
		if (order != 0 && order != first + i)
			return "RC1 an event stands at the place of its number";
		const char *broken = order != 0 ? check_event(log, &segment->slots[i], order) : NULL;
		if (broken != NULL && !lost)
			return broken;
	}
	return NULL;
}

const char *seam__record_log_check(const struct seam_record_log *log)
{
	if (log->segment_count > log->segment_limit ||
		seam__record_residents_bytes(&log->residents) > log->residents.limit_bytes)
		return "RC3 log and residents stay under the limit";
	for (uint64_t n = log->first; n < end_of(log); n++) {
		const char *broken = check_segment(log, n);
		if (broken != NULL)
			return broken;
	}
	return seam__record_residents_check(&log->residents);
}
