/* recording.h: what a pool tells its recorder (lib/trace/record.h). Private to lib/core.
 *
 * An event takes its number under the pool's lock and is added behind the unlock, where that is easy: only the number
 * orders it. Not here: what is made of the recording (learner.h).
 */
#ifndef SEAM_RECORDING_H
#define SEAM_RECORDING_H

#include "pool.h"
#include "record.h"

/* The pool's recorder, unless the configuration says that there is none, or leaves no memory for it. Errors:
 * SEAM_OOM_META. */
SEAM_MUST_USE enum seam_rc seam__recording_begin(struct seam_pool *pool);

/* What the environment variable SEAM_TRACE names: the pool's recording is written there when the pool is destroyed, or
 * else at exit. Errors: SEAM_OOM_META. */
SEAM_MUST_USE enum seam_rc seam__autosave_begin(struct seam_pool *pool, const char *path);

/* Writes it, if asked to. Before anything of the pool goes. */
void seam__autosave_end(struct seam_pool *pool);

/* seam_trace_save() without looking at the pool. error: as in rc.h. */
SEAM_MUST_USE enum seam_rc seam__recording_save(
	struct seam_pool *pool, const char *path, char *error, size_t error_bytes);

/* A private pool's number in the recording, which has 32 bits for it. */
static inline uint32_t seam__recording_pool(uint64_t private_id)
{
	uint32_t number = (uint32_t)(private_id ^ private_id >> 32);
	return number != 0 || private_id == 0 ? number : UINT32_MAX;
}

/* What the calling thread says about itself; NULL where nothing is recorded. */
static inline const struct seam_thread_context *seam__recording_thread(struct seam_pool *pool)
{
	return pool->recorder != NULL ? seam__recorder_thread(pool->recorder) : NULL;
}

/* Gives the event its number. With `lock`. */
static inline void seam__recording_draw(struct seam_pool *pool, struct seam_record *record)
{
	if (pool->recorder != NULL)
		record->order = seam__recorder_draw(pool->recorder);
}

/* A block that has just become live: the event, and the block's serial. With `lock`. */
static inline uint64_t seam__recording_alloc(
	struct seam_pool *pool, struct seam_record *record, const struct seam_request *request)
{
	if (pool->recorder == NULL)
		return 0;
	record->kind = SEAM_TRACE_ALLOC;
	record->bytes = request->bytes;
	record->stream = (uint64_t)(uintptr_t)request->stream;
	record->order = seam__recorder_draw(pool->recorder);
	record->id = record->order;
	return record->order;
}

/* A request that the device has not enough memory for. With `lock`. */
static inline void seam__recording_oom(
	struct seam_pool *pool, struct seam_record *record, const struct seam_request *request)
{
	record->kind = SEAM_TRACE_OOM;
	record->bytes = request->bytes;
	record->stream = (uint64_t)(uintptr_t)request->stream;
	seam__recording_draw(pool, record);
}

/* A block of that serial is freed, or used on a stream. With `lock`. */
static inline void seam__recording_block(
	struct seam_pool *pool, struct seam_record *record, enum seam_trace_kind kind, uint64_t serial, uint64_t stream)
{
	record->kind = (uint8_t)kind;
	record->id = serial;
	record->stream = stream;
	seam__recording_draw(pool, record);
}

/* Adds an event that has been given a number. With or without `lock`. */
static inline void seam__recording_add(struct seam_pool *pool, const struct seam_record *record)
{
	if (record->order != 0)
		seam__recorder_add(pool->recorder, record);
}

#endif
