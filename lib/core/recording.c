/* recording.c: the pool's recorder, and what a program says about itself: steps, phases, dynamic requests; a recording
 * as a file. */
#include "recording.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "bits.h"
#include "learner.h"
#include "planned.h"
#include "text.h"

#define RECORD_OFF 1u              /* in the order of the names in options.def */
#define METADATA_SHARE UINT64_C(4) /* of the limit of metadata, one part may be the recording's */
#define SOURCE_BYTES 200           /* the program, the version and the device in a recording; longer ones are cut */

enum seam_rc seam__recording_begin(struct seam_pool *pool)
{
	const struct seam_config *config = &pool->config;
	uint64_t limit_bytes = config->record_limit_bytes;
	if (config->metadata_limit_bytes != 0)
		limit_bytes = seam__bits_min(limit_bytes, config->metadata_limit_bytes / METADATA_SHARE);
	if (config->record == RECORD_OFF || limit_bytes < SEAM_RECORD_LEAST_BYTES)
		return SEAM_OK;
	return seam__recorder_create(pool->meta, limit_bytes, (uint32_t)pool->driver->ordinal, &pool->recorder);
}

enum seam_rc seam_step(struct seam_pool *pool)
{
	enum seam_rc rc = seam__pool_enter(pool);
	if (rc != SEAM_OK)
		return rc;
	struct seam_record record = {.kind = SEAM_TRACE_STEP};
	seam__mutex_lock(seam__pool_lock(pool));
	record.id = pool->runtime->steps++;
	seam__recording_draw(pool, &record);
	seam__planned_step(pool->runtime);
	seam__mutex_unlock(seam__pool_lock(pool));
	seam__recording_add(pool, &record);
	seam__learner_wake(pool->learner);
	return SEAM_OK;
}

static uint64_t draw(struct seam_pool *pool)
{
	seam__mutex_lock(seam__pool_lock(pool));
	uint64_t order = seam__recorder_draw(pool->recorder);
	seam__mutex_unlock(seam__pool_lock(pool));
	return order;
}

enum seam_rc seam_phase_begin(struct seam_pool *pool, const char *name)
{
	enum seam_rc rc = name == NULL ? SEAM_INVALID : seam__pool_enter(pool);
	if (rc != SEAM_OK || pool->recorder == NULL)
		return rc;
	return seam__recorder_phase_begin(pool->recorder, draw(pool), name);
}

enum seam_rc seam_phase_end(struct seam_pool *pool, const char *name)
{
	enum seam_rc rc = name == NULL ? SEAM_INVALID : seam__pool_enter(pool);
	if (rc != SEAM_OK || pool->recorder == NULL)
		return rc;
	return seam__recorder_phase_end(pool->recorder, draw(pool), name);
}

enum seam_rc seam_dynamic_begin(struct seam_pool *pool)
{
	enum seam_rc rc = seam__pool_enter(pool);
	if (rc != SEAM_OK || pool->recorder == NULL)
		return rc;
	return seam__recorder_dynamic_begin(pool->recorder);
}

enum seam_rc seam_dynamic_end(struct seam_pool *pool)
{
	enum seam_rc rc = seam__pool_enter(pool);
	if (rc != SEAM_OK || pool->recorder == NULL)
		return rc;
	return seam__recorder_dynamic_end(pool->recorder);
}

enum seam_rc seam__recording_save(struct seam_pool *pool, const char *path, char *error, size_t error_bytes)
{
	char source[SOURCE_BYTES];
	struct seam_trace *trace = NULL;
	(void)snprintf(source, sizeof source, "%s, recorded by seam %s on %s", program_invocation_short_name,
		seam_version(), pool->driver->ops->device_name(pool->driver));
	enum seam_rc rc = seam__recorder_trace(pool->recorder, 0, source, &trace);
	if (rc != SEAM_OK) {
		seam__text_line(error, error_bytes, "%s: %s", path, seam_rc_text(rc));
		return rc;
	}
	errno = 0;
	rc = seam_trace_write_file(trace, path);
	if (rc != SEAM_OK)
		seam__text_line(error, error_bytes, "%s: %s", path,
			rc == SEAM_IO && errno != 0 ? strerror(errno) : seam_rc_text(rc));
	seam_trace_free(trace);
	return rc;
}

enum seam_rc seam_trace_save(struct seam_pool *pool, const char *path, char *error, size_t error_bytes)
{
	enum seam_rc rc = path == NULL ? SEAM_INVALID : seam__pool_enter(pool);
	if (rc == SEAM_OK && pool->recorder == NULL)
		rc = SEAM_UNSUPPORTED;
	if (rc == SEAM_OK)
		return seam__recording_save(pool, path, error, error_bytes);
	seam__text_line(error, error_bytes, "%s",
		rc == SEAM_UNSUPPORTED ? "nothing is recorded: see the option record" : seam_rc_text(rc));
	return rc;
}
