/* alloc.c: requests and frees: from the API's arguments to the engine's. */
#include "bits.h"
#include "check.h"
#include "plain.h"
#include "recording.h"
#include "learner.h"
#include "planned.h"

#define WAKE_EVENTS 1024u /* so often the background worker looks whether there is something to do */

/* Whether the stream is being captured. Asked only where it can matter: see watch_captures. */
static enum seam_rc ask_capture(struct seam_pool *pool, uint64_t stream, bool *ret_capturing, uint64_t *ret_capture_id)
{
	*ret_capturing = false;
	*ret_capture_id = 0;
	if (LIST_EMPTY(&pool->routes) && pool->config.watch_captures == 0)
		return SEAM_OK;
	enum seam_capture_state state = SEAM_CAPTURE_NONE;
	int cu = seam__drv_stream_capture(pool->driver, stream, &state, ret_capture_id);
	if (cu != SEAM_CU_SUCCESS)
		return seam__driver_rc(cu);
	*ret_capturing = state != SEAM_CAPTURE_NONE;
	return SEAM_OK;
}

static enum seam_rc choose_group(struct seam_pool *pool, const struct seam_request *request, struct seam_ask *ask)
{
	uint64_t stream = (uint64_t)(uintptr_t)request->stream, capture_id = 0;
	enum seam_rc rc = ask_capture(pool, stream, &ask->capturing, &capture_id);
	if (rc != SEAM_OK)
		return rc;
	ask->group = &pool->engine.common;
	struct seam_private *private = NULL;
	if (request->private_id != 0) {
		private = seam__private_find(pool, request->private_id);
		if (private == NULL)
			return SEAM_NOT_FOUND;
	} else if (!LIST_EMPTY(&pool->routes)) {
		private = seam__private_route(pool, stream, ask->capturing, capture_id);
	}
	if (private != NULL)
		ask->group = private->group;
	return SEAM_OK;
}

static enum seam_rc prepare(struct seam_pool *pool, const struct seam_request *request, struct seam_ask *ask)
{
	struct seam_engine *engine = &pool->engine;
	*ask = (struct seam_ask){
		.class = request->bytes <= engine->policy.small_bytes ? SEAM_CLASS_SMALL : SEAM_CLASS_LARGE,
		.bytes = seam__bits_align_up(request->bytes, SEAM_BLOCK_BYTES),
		.requested_bytes = request->bytes,
		.tag = request->tag,
		.no_stitch = (request->flags & SEAM_NO_STITCH) != 0,
		.no_wait = (request->flags & SEAM_NO_WAIT) != 0,
	};
	if ((request->flags & SEAM_CONTIGUOUS) != 0) {
		ask->class = SEAM_CLASS_CONTIGUOUS;
		ask->bytes = seam__bits_align_up(request->bytes, engine->memory.granularity_bytes);
	}
	enum seam_rc rc = choose_group(pool, request, ask);
	return rc == SEAM_OK ? seam__engine_stream(engine, (uint64_t)(uintptr_t)request->stream, &ask->stream) : rc;
}

/* Whether a request is for the common memory without a look at routes and captures. */
static bool is_common(const struct seam_pool *pool, const struct seam_request *request)
{
	return request->private_id == 0 && LIST_EMPTY(&pool->routes) && pool->config.watch_captures == 0;
}

/* One try with the plan that is open. stream: NULL if it is not known yet. record: the event that is to be added.
 * False: the engine is to serve it. With `lock`. */
static inline bool try_plan(struct seam_pool *pool, const struct seam_request *request, struct seam_stream *stream,
	struct seam_record *record, void **ret_ptr)
{
	if (stream == NULL &&
		seam__engine_stream(&pool->engine, (uint64_t)(uintptr_t)request->stream, &stream) != SEAM_OK)
		return false;
	struct seam_plan_block *plan_block = NULL;
	uint64_t va = 0;
	record->context = seam__recording_thread(pool);
	if (seam__planned_alloc(pool->runtime, request, stream, record->context, &plan_block, &va) != SEAM_MISS_NONE)
		return false;
	plan_block->serial = seam__recording_alloc(pool, record, request);
	*ret_ptr = (void *)(uintptr_t)va;
	return true;
}

/* Whether a plan could serve it. */
static bool is_plain(const struct seam_pool *pool, const struct seam_request *request, const struct seam_ask *ask)
{
	return request->flags == 0 && ask->group == &pool->engine.common && !ask->capturing;
}

/* One try with what the plan leaves idle. With `lock`. */
static bool borrow(struct seam_pool *pool, const struct seam_request *request, const struct seam_ask *ask,
	struct seam_record *record, void **ret_ptr)
{
	struct seam_plan_block *plan_block = NULL;
	uint64_t va = 0;
	if (!seam__planned_borrow(pool->runtime, ask, request, &plan_block, &va))
		return false;
	plan_block->serial = seam__recording_alloc(pool, record, request);
	*ret_ptr = (void *)(uintptr_t)va;
	return true;
}

static void note_recent(struct seam_pool *pool, const struct seam_request *request,
	const struct seam_thread_context *context, bool plain)
{
	const struct seam_asked asked = {
		.bytes = request->bytes,
		.stream = (uint64_t)(uintptr_t)request->stream,
		.thread = context != NULL ? context->thread : UINT32_MAX,
		.dynamic = context != NULL && context->dynamic_depth != 0,
		.plain = plain,
	};
	seam__recent_add(&pool->runtime->recent, &asked);
}

/* One try in the engine. was_asked: the plan has been asked already. record: as above. With `lock`. Not inlined: it is
 * long, and a request that is planned need not make room for it. */
static __attribute__((noinline)) enum seam_rc try_engine(struct seam_pool *pool, const struct seam_request *request,
	bool was_asked, struct seam_record *record, void **ret_ptr)
{
	struct seam_ask ask;
	struct seam_block *block = NULL;
	enum seam_rc rc = prepare(pool, request, &ask);
	if (rc != SEAM_OK)
		return rc;
	const bool fits = is_plain(pool, request, &ask);
	if (pool->runtime->open && !was_asked) {
		if (fits && try_plan(pool, request, ask.stream, record, ret_ptr))
			return SEAM_OK;
		if (!fits)
			seam__planned_pass(pool->runtime, SEAM_MISS_request);
	}
	if (pool->runtime->open && fits && borrow(pool, request, &ask, record, ret_ptr))
		return SEAM_OK;
	if (record->context == NULL)
		record->context = seam__recording_thread(pool);
	note_recent(pool, request, record->context, fits);
	rc = seam__engine_alloc(&pool->engine, &ask, &block);
	if (rc == SEAM_OK) {
		*ret_ptr = (void *)(uintptr_t)block->va;
		record->flags = ask.capturing ? SEAM_TRACE_CAPTURE : 0;
		/* Not ask.group: the private pool may be gone since the lock was dropped, and the block in common
		 * memory. */
		record->pool = seam__recording_pool(block->view->ppool->private_id);
		block->serial = seam__recording_alloc(pool, record, request);
		if (pool->runtime->open)
			seam__planned_beside(pool->runtime);
	} else if (rc == SEAM_OOM_DEVICE) {
		seam__oom_note(pool, request, ask.capturing);
		seam__recording_oom(pool, record, request);
	}
	return rc;
}

/* No device has that much. */
static __attribute__((noinline, cold)) enum seam_rc refuse(struct seam_pool *pool, const struct seam_request *request)
{
	seam__mutex_lock(seam__pool_lock(pool));
	struct seam_record record = {0};
	seam__oom_note(pool, request, false);
	seam__recording_oom(pool, &record, request);
	seam__mutex_unlock(seam__pool_lock(pool));
	seam__recording_add(pool, &record);
	return SEAM_OOM_DEVICE;
}

/* A plan that was given may get its arena. With `lock`, which is dropped meanwhile. */
static __attribute__((noinline, cold)) void place_given(struct seam_pool *pool)
{
	if (!seam__given_is_due(pool->runtime))
		return;
	seam__mutex_unlock(&pool->engine.lock);
	seam__learner_place(pool->learner);
	seam__mutex_lock(&pool->engine.lock);
}

static inline enum seam_rc try_alloc(struct seam_pool *pool, const struct seam_request *request, void **ret_ptr)
{
	if (__builtin_expect(request->bytes > SEAM_LARGEST_REQUEST_BYTES, 0))
		return refuse(pool, request);
	if (__builtin_expect(pool->plain != NULL, 0))
		return seam__plain_alloc(pool, request, ret_ptr);
	enum seam_rc rc = SEAM_OK;
	struct seam_record record = {0};
	seam__mutex_lock(&pool->engine.lock);
	if (__builtin_expect(pool->runtime->given.loaded != NULL, 0))
		place_given(pool);
	const bool was_asked = pool->runtime->open && request->flags == 0 && is_common(pool, request);
	if (!was_asked || !try_plan(pool, request, NULL, &record, ret_ptr))
		rc = try_engine(pool, request, was_asked, &record, ret_ptr);
	seam__mutex_unlock(&pool->engine.lock);
	seam__recording_add(pool, &record);
	if (__builtin_expect(record.order % WAKE_EVENTS < 2 && record.order != 0, 0))
		seam__learner_wake(pool->learner);
	return rc;
}

/* Whether the program's callback wants one more try. */
static __attribute__((noinline, cold)) bool ask_callback(struct seam_pool *pool, const struct seam_request *request)
{
	seam__mutex_lock(seam__pool_lock(pool));
	seam_oom_callback *callback = pool->oom_callback;
	void *user = pool->oom_user;
	seam__mutex_unlock(seam__pool_lock(pool));
	return callback != NULL && callback(user, pool, request->bytes, request->stream);
}

static inline __attribute__((always_inline)) enum seam_rc alloc(
	struct seam_pool *pool, const struct seam_request *request, void **ret_ptr)
{
	enum seam_rc rc;
	do {
		rc = try_alloc(pool, request, ret_ptr);
	} while (__builtin_expect(rc == SEAM_OOM_DEVICE, 0) && ask_callback(pool, request));
	if (__builtin_expect(rc != SEAM_OK, 0))
		seam__oom_count(pool, rc);
	return rc;
}

enum seam_rc seam_alloc_request(struct seam_pool *pool, const struct seam_request *request, void **ret_ptr)
{
	if (request == NULL || ret_ptr == NULL || request->size != sizeof *request || request->bytes == 0)
		return SEAM_INVALID;
	if ((request->flags & ~(SEAM_CONTIGUOUS | SEAM_NO_STITCH | SEAM_NO_WAIT)) != 0)
		return SEAM_UNSUPPORTED;
	enum seam_rc rc = seam__pool_enter(pool);
	return rc == SEAM_OK ? alloc(pool, request, ret_ptr) : rc;
}

enum seam_rc seam_alloc(struct seam_pool *pool, uint64_t bytes, void *stream, void **ret_ptr)
{
	const struct seam_request request = {.size = sizeof request, .bytes = bytes, .stream = stream};
	if (ret_ptr == NULL || bytes == 0)
		return SEAM_INVALID;
	enum seam_rc rc = seam__pool_enter(pool);
	return rc == SEAM_OK ? alloc(pool, &request, ret_ptr) : rc;
}

static void free_block(struct seam_pool *pool, struct seam_block *block)
{
	const struct seam_view *view = block->view;
	uint64_t offset = block->offset, bytes = block->bytes;
	seam__engine_free(&pool->engine, block);
	if (__builtin_expect(pool->runtime->open, 0))
		seam__planned_recover(pool->runtime, view, offset, bytes);
}

enum seam_rc seam_free(struct seam_pool *pool, void *ptr)
{
	if (ptr == NULL)
		return SEAM_OK;
	enum seam_rc rc = seam__pool_enter(pool);
	if (rc != SEAM_OK)
		return rc;
	if (pool->plain != NULL)
		return seam__plain_free(pool, (uint64_t)(uintptr_t)ptr);
	struct seam_record record = {0};
	seam__mutex_lock(&pool->engine.lock);
	uint64_t serial = 0;
	bool freed = seam__planned_free(pool->runtime, (uint64_t)(uintptr_t)ptr, &serial);
	if (!freed) {
		struct seam_block *block = seam__engine_find(&pool->engine, (uint64_t)(uintptr_t)ptr);
		freed = block != NULL;
		if (freed) {
			serial = block->serial;
			free_block(pool, block);
		}
	}
	if (freed)
		seam__recording_block(pool, &record, SEAM_TRACE_FREE, serial, 0);
	seam__mutex_unlock(&pool->engine.lock);
	seam__recording_add(pool, &record);
	return freed ? SEAM_OK : SEAM_NOT_FOUND;
}

enum seam_rc seam_record_stream(struct seam_pool *pool, void *ptr, void *stream)
{
	enum seam_rc rc = seam__pool_enter(pool);
	if (rc != SEAM_OK)
		return rc;
	if (pool->plain != NULL)
		return seam__plain_record_stream(pool, (uint64_t)(uintptr_t)ptr, (uint64_t)(uintptr_t)stream);
	struct seam_record record = {0};
	seam__mutex_lock(&pool->engine.lock);
	struct seam_stream *other = NULL;
	struct seam_found found;
	rc = SEAM_NOT_FOUND;
	if (seam__live_find(pool, (uint64_t)(uintptr_t)ptr, &found))
		rc = seam__engine_stream(&pool->engine, (uint64_t)(uintptr_t)stream, &other);
	if (rc == SEAM_OK)
		rc = found.plan_block != NULL ? seam__planned_record(pool->runtime, &found, other)
					      : seam__engine_record(&pool->engine, found.block, other);
	if (rc == SEAM_OK)
		seam__recording_block(pool, &record, SEAM_TRACE_RECORD_STREAM,
			found.plan_block != NULL ? found.plan_block->serial : found.block->serial,
			(uint64_t)(uintptr_t)stream);
	seam__mutex_unlock(&pool->engine.lock);
	seam__recording_add(pool, &record);
	return rc;
}

void seam_set_oom_callback(struct seam_pool *pool, seam_oom_callback *callback, void *user)
{
	if (seam__pool_enter(pool) != SEAM_OK)
		return;
	seam__mutex_lock(seam__pool_lock(pool));
	pool->oom_callback = callback;
	pool->oom_user = user;
	seam__mutex_unlock(seam__pool_lock(pool));
}
