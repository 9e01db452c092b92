/* bestfit.c: BestFit (GMLake Algorithm 1) and what follows from its state: S1, S1r, S2, S3, S4, S5.
 *
 * A hit is served under `lock` alone. Everything else goes through serve(), which is called again after every step that
 * dropped the lock: it decides anew from what is free then. Steps only ever add usable memory, so the loop ends.
 */
#include "bits.h"
#include "border.h"
#include "change.h"
#include "check.h"

/* Of the pool: where it has to grow, free chunks of at most one of them are left as they are. What is stitched is cut
 * out of free extents, whose ends wait beside it until it is free again, and that costs more. What is left serves the
 * next request, so that it is never more than this. Figures: bench/results/ablation.md, "Little that is free". */
#define LEFT_ALONE_PARTS UINT64_C(512)

/* What has been tried for one request, from cheap to dear. */
enum stage {
	STAGE_NORMAL,
	STAGE_ALL,   /* the fragmentation limit and the policies no longer hold anything back */
	STAGE_WAIT,  /* pending work was waited for */
	STAGE_TRIM,  /* cached memory that this request cannot use was returned to the device */
	STAGE_SPARE, /* what somebody else keeps in readiness was given up (seam_engine.spare) */
	STAGE_OUT,
};

struct attempt {
	const struct seam_ask *ask;
	enum stage stage;
	bool views_freed;               /* StitchFree has made room */
	enum stage freed_for;           /* the stage in which it did so last */
	bool grown;                     /* chunks were created for this request: state S4 */
	uint64_t grown_from;            /* reserved bytes before that */
	uint64_t mappings;              /* what the last step that failed would have mapped */
	bool spared_passed, spared_all; /* seam_engine.spare was asked for what has passed; for everything; */
	uint32_t spares;                /* so often for a loan, */
	uint64_t lent_bytes;            /* and lent so much in all */
	struct seam_gathered gathered;
};

/* The first block of the fit that may serve the request. */
static struct seam_block *find_in(struct seam_fit *fit, const struct seam_ask *ask)
{
	struct seam_block *block = seam__fit_find(fit, ask->bytes);
	while (block != NULL && ask->no_stitch && block->view->stitched)
		block = seam__fit_next(fit, block);
	if (ask->class == SEAM_CLASS_CONTIGUOUS && block != NULL && block->bytes != ask->bytes)
		return NULL; /* its own chunk, whole: never split */
	return block;
}

/* S1 or S2 in the free blocks that the stream may use. NULL: no hit. */
static struct seam_block *find_hit(const struct seam_ask *ask)
{
	struct seam_ppool *ppool = &ask->group->classes[ask->class];
	struct seam_block *own = find_in(seam__ppool_fit(ppool, ask->stream), ask);
	struct seam_block *any = ppool->any.count == 0 ? NULL : find_in(&ppool->any, ask);
	return own == NULL || (any != NULL && seam__block_compare(any, own) < 0) ? any : own;
}

bool seam__engine_has_hit(const struct seam_ask *ask)
{
	return find_hit(ask) != NULL;
}

static enum seam_rc take_hit(struct seam_engine *engine, const struct seam_ask *ask, struct seam_block *block,
	bool count, struct seam_block **ret_block)
{
	bool split = block->bytes != ask->bytes;
	enum seam_rc rc = split ? seam__slab_reserve(&engine->block_slab, 1) : SEAM_OK;
	if (rc != SEAM_OK)
		return rc;
	block = seam__ppool_take(block, ask->bytes);
	rc = seam__make_live(engine, ask, block);
	if (rc == SEAM_OK) {
		if (block->view->stitched)
			block->view->last_use = ++engine->uses;
		if (count)
			(*(split ? &engine->counts.s2 : &engine->counts.s1))++;
		*ret_block = block;
	}
	return rc;
}

/* S2 in free blocks that touch, of which some are the stream's and some everybody's. NULL: no hit. */
static struct seam_block *join_hit(const struct seam_ask *ask)
{
	if (ask->class == SEAM_CLASS_CONTIGUOUS)
		return NULL;
	struct seam_ppool *ppool = &ask->group->classes[ask->class];
	return seam__border_join(ppool, ask->stream, ask->bytes) ? find_hit(ask) : NULL;
}

/* Whether any block is free on, or waits for, another stream. */
static bool others_hold_some(const struct seam_engine *engine, const struct seam_ask *ask)
{
	if (!TAILQ_EMPTY(&engine->pending))
		return true;
	for (int i = 0; i < SEAM_CLASS_COUNT; i++) {
		const struct seam_ppool *ppool = &ask->group->classes[i];
		for (uint32_t s = 0; s < ppool->stream_capacity; s++) {
			if (s != ask->stream->index && ppool->of_stream[s].count != 0)
				return true;
		}
	}
	return false;
}

/* Orders this stream behind every other that has free memory in the group, and takes that memory over. */
static void adopt_others(struct seam_engine *engine, const struct seam_ask *ask)
{
	struct seam_stream *other, *next;
	TAILQ_FOREACH_SAFE(other, &engine->streams.list, by_index, next)
	{
		if (other->index >= ask->group->classes[0].stream_capacity)
			continue; /* there was no memory for its lists, so it has nothing */
		bool has_some = false;
		for (int i = 0; i < SEAM_CLASS_COUNT; i++)
			has_some |= ask->group->classes[i].of_stream[other->index].count != 0;
		if (other == ask->stream || !has_some)
			continue;
		seam__stream_ref(other);
		if (seam__stream_order(other, other->last_stamp, ask->stream) == SEAM_OK) {
			uint64_t stamp = seam__stream_stamp(ask->stream);
			for (int i = 0; i < SEAM_CLASS_COUNT; i++)
				seam__ppool_adopt(&ask->group->classes[i], other, ask->stream, stamp);
		}
		next = TAILQ_NEXT(other, by_index);
		seam__stream_unref(other);
	}
}

/* Makes memory of other streams usable as the policy allows. True if there was any such memory to ask about. */
static bool reach_out(struct seam_engine *engine, const struct attempt *attempt)
{
	const struct seam_ask *ask = attempt->ask;
	if (!others_hold_some(engine, ask))
		return false;
	uint64_t bytes =
		seam__engine_poll(engine, engine->policy.reuse == SEAM_REUSE_OWN && attempt->stage == STAGE_NORMAL);
	if (bytes != 0)
		engine->counts.cross_stream_reuses++;
	if (engine->policy.reuse == SEAM_REUSE_WAIT && !ask->capturing)
		adopt_others(engine, ask);
	return true;
}

static bool may_stitch(const struct seam_engine *engine, const struct attempt *attempt)
{
	const struct seam_ask *ask = attempt->ask;
	if (ask->no_stitch || ask->capturing || ask->class == SEAM_CLASS_CONTIGUOUS)
		return false;
	return engine->policy.stitching != SEAM_STITCH_OOM || attempt->stage > STAGE_NORMAL;
}

/* Whether no one free extent of the group, in whatever class and of whatever stream, has the bytes: an allocator that
 * only splits cannot serve them. */
static bool is_scattered(struct seam_group *group, uint64_t bytes)
{
	for (int i = 0; i < SEAM_CLASS_COUNT; i++) {
		struct seam_ppool *ppool = &group->classes[i];
		if (seam__fit_largest(&ppool->any) >= bytes)
			return false;
		for (uint32_t s = 0; s < ppool->stream_capacity; s++) {
			if (seam__fit_largest(&ppool->of_stream[s]) >= bytes)
				return false;
		}
	}
	return true;
}

/* Bytes by which the home view grows if the request is served at its end. */
static uint64_t bytes_at_end(const struct seam_engine *engine, const struct seam_ask *ask)
{
	struct seam_ppool *ppool = &ask->group->classes[ask->class];
	const uint64_t tail_bytes =
		ask->class == SEAM_CLASS_CONTIGUOUS ? 0 : seam__grow_tail(ppool, ask->stream, ask->bytes);
	return seam__bits_align_up(ask->bytes - tail_bytes, engine->memory.granularity_bytes);
}

/* Bytes that the free chunks are short of the request. */
static uint64_t bytes_missing(const struct seam_ask *ask, uint64_t stitchable_bytes)
{
	return ask->bytes - seam__bits_min(stitchable_bytes, ask->bytes);
}

/* Growth at the end is to serve the request, although stitching the free chunks would take less. */
static bool favours_growth(const struct seam_engine *engine, const struct attempt *attempt, uint64_t stitchable_bytes)
{
	const uint64_t at_end = bytes_at_end(engine, attempt->ask);
	const uint64_t missing = bytes_missing(attempt->ask, stitchable_bytes);
	return engine->policy.stitching == SEAM_STITCH_AUTO && attempt->stage == STAGE_NORMAL &&
		may_stitch(engine, attempt) &&
		at_end > seam__bits_align_up(missing, engine->memory.granularity_bytes) &&
		seam__price_favours_growth(&engine->price, &engine->memory, engine->counts.allocs, at_end);
}

/* S1r and S3 out of what is free, *ret_bytes in all. SEAM_NOT_FOUND: it is not enough, or too many mappings. */
static enum seam_rc stitch(
	struct seam_engine *engine, struct attempt *attempt, uint64_t *ret_bytes, struct seam_block **ret_block)
{
	const struct seam_ask *ask = attempt->ask;
	struct seam_usable usable;
	*ret_bytes = seam__gather_bytes(engine, ask, attempt->stage > STAGE_NORMAL, &usable);
	if (*ret_bytes < ask->bytes)
		return SEAM_NOT_FOUND;
	const bool scattered = !attempt->grown && is_scattered(ask->group, ask->bytes);
	struct seam_block *block = seam__revive(engine, &usable);
	if (block != NULL) {
		enum seam_rc rc = seam__make_live(engine, ask, block);
		if (rc == SEAM_OK) {
			engine->counts.s1r += !attempt->grown;
			engine->counts.scattered += scattered;
			*ret_block = block;
		}
		return rc;
	}
	if (favours_growth(engine, attempt, *ret_bytes))
		return SEAM_NOT_FOUND;
	enum seam_rc rc = seam__gather(engine, &usable, &attempt->gathered);
	if (rc != SEAM_OK)
		return rc;
	attempt->mappings = attempt->gathered.count;
	bool revived = false;
	rc = seam__stitch(engine, ask, &attempt->gathered, ret_block, &revived);
	if (rc == SEAM_OK && !attempt->grown) {
		engine->counts.s1r += revived;
		engine->counts.s3 += !revived;
		engine->counts.scattered += scattered;
	}
	return rc;
}

/* S4: only what is missing, either to what can be stitched or to the free block at the end of the home view: the latter
 * where that leaves hardly any free chunks, or if growth is favoured; else whichever needs less. SEAM_BUSY: the device
 * refused growth that was favoured. */
static enum seam_rc grow(
	struct seam_engine *engine, struct attempt *attempt, uint64_t stitchable_bytes, bool growth_is_favoured)
{
	const struct seam_ask *ask = attempt->ask;
	struct seam_ppool *ppool = &ask->group->classes[ask->class];
	const uint64_t at_end = bytes_at_end(engine, ask);
	const uint64_t missing = bytes_missing(ask, stitchable_bytes);
	/* A piece below the fragmentation limit would not be stitched: neither would the next one. */
	uint64_t least = attempt->stage == STAGE_NORMAL ? engine->policy.fragmentation_limit_bytes : 0;
	uint64_t to_stitch = seam__bits_align_up(seam__bits_max(missing, least), engine->memory.granularity_bytes);
	const uint64_t left_bytes =
		attempt->stage == STAGE_NORMAL ? engine->memory.reserved_bytes / LEFT_ALONE_PARTS : 0;
	const bool end = growth_is_favoured || !may_stitch(engine, attempt) || at_end <= to_stitch + left_bytes;
	if (seam__memory_room(&engine->memory) < (end ? at_end : to_stitch))
		return SEAM_OOM_DEVICE; /* known before anything is created in vain */
	if (!attempt->grown)
		attempt->grown_from = engine->memory.reserved_bytes;
	uint64_t bytes = end ? at_end : to_stitch;
	attempt->mappings = seam__bits_div_up(bytes, seam__grow_chunk_bytes(engine, ppool, bytes, ask->bytes));
	enum seam_rc rc = seam__grow(engine, ppool, bytes, ask->bytes, end || least != 0);
	attempt->grown |= engine->memory.reserved_bytes > attempt->grown_from; /* also where a part of it failed */
	if (growth_is_favoured && rc == SEAM_OOM_DEVICE) {
		seam__price_refused(&engine->price);
		return SEAM_BUSY; /* it can be stitched */
	}
	return rc;
}

static bool is_shortage(enum seam_rc rc)
{
	return rc == SEAM_OOM_DEVICE || rc == SEAM_OOM_VA || rc == SEAM_MAPPINGS;
}

/* Finds what is lacking to a stitch with the owner; see engine.h. True: look again. */
static bool spare(struct seam_engine *engine, struct attempt *attempt, uint64_t stitchable_bytes)
{
	const struct seam_ask *ask = attempt->ask;
	if (engine->spare == NULL || !may_stitch(engine, attempt) || ask->group != &engine->common)
		return false;
	const uint64_t lacking = bytes_missing(ask, stitchable_bytes);
	const bool asked = attempt->spared_passed;
	attempt->spared_passed = true;
	if (!asked && engine->spare(engine->spare_user, ask, lacking, SEAM_SPARE_PASSED) != 0)
		return true;
	if (attempt->spares == SEAM_SPARES || attempt->lent_bytes >= ask->bytes)
		return false;
	const uint64_t bytes = engine->spare(engine->spare_user, ask, lacking, SEAM_SPARE_IDLE);
	attempt->lent_bytes += bytes;
	attempt->spares++;
	return bytes != 0;
}

static bool spare_all(struct seam_engine *engine, struct attempt *attempt)
{
	if (engine->spare == NULL || attempt->spared_all || attempt->ask->capturing)
		return false;
	attempt->spared_all = true;
	return engine->spare(engine->spare_user, attempt->ask, attempt->ask->bytes, SEAM_SPARE_ALL) != 0;
}

/* Chunks go back to the device, so that it has room for the request. True: some did. */
static bool trim(struct seam_engine *engine, const struct attempt *attempt, enum seam_rc shortage)
{
	/* What is free in the request's own group could have been stitched, so releasing it gains nothing; unless
	 * stitching is not for this request, or other groups hold some. */
	if (attempt->ask->capturing ||
		(shortage == SEAM_OOM_DEVICE && may_stitch(engine, attempt) && LIST_EMPTY(&engine->groups) &&
			!attempt->views_freed))
		return false;
	uint64_t released = 0;
	enum seam_rc ignored = seam__engine_trim(engine, 0, &released);
	(void)ignored;
	return released != 0;
}

/* One more stage after a shortage. False: nothing is left to try. Drops `lock`. */
static bool escalate(struct seam_engine *engine, struct attempt *attempt, enum seam_rc shortage)
{
	const struct seam_ask *ask = attempt->ask;
	switch (++attempt->stage) {
	case STAGE_NORMAL:
	case STAGE_ALL:
		return true;
	case STAGE_WAIT:
		attempt->spared_passed = false; /* what is waited for may be the owner's */
		if (!ask->no_wait && !ask->capturing && seam__engine_wait(engine) == SEAM_OK)
			return true;
		attempt->stage = STAGE_TRIM;
		/* fall through */
	case STAGE_TRIM:
		if (trim(engine, attempt, shortage))
			return true;
		attempt->stage = STAGE_SPARE;
		/* fall through */
	case STAGE_SPARE:
		if (!spare_all(engine, attempt))
			return false;
		attempt->stage = STAGE_ALL; /* its memory may have to be waited for, and trimmed, in turn */
		return true;
	case STAGE_OUT:
		return false;
	}
	return false;
}

/* Room in the budgets of mappings and addresses, once a stage: more views may go after each. */
static bool free_views(struct seam_engine *engine, struct attempt *attempt)
{
	if ((attempt->views_freed && attempt->freed_for == attempt->stage) || attempt->ask->capturing)
		return false;
	attempt->views_freed = true;
	attempt->freed_for = attempt->stage;
	uint64_t mappings = attempt->mappings + 64, before = engine->counts.stitch_frees;
	/* A budget of ours is met by giving up the oldest views; a full table of the driver's, which we cannot measure,
	 * by giving up all. So is the budget if the oldest were not enough: what the step maps is an estimate. */
	if (attempt->stage == STAGE_NORMAL &&
		(engine->memory.mapping_count + mappings > engine->memory.mapping_limit ||
			engine->memory.address_bytes + attempt->ask->bytes > engine->memory.address_limit_bytes))
		return seam__stitch_free(engine, mappings, attempt->ask->bytes) || engine->counts.stitch_frees > before;
	return seam__stitch_free_all(engine) != 0;
}

/* One pass over the states. SEAM_BUSY: something changed, look again. */
static enum seam_rc serve(struct seam_engine *engine, struct attempt *attempt, struct seam_block **ret_block)
{
	const struct seam_ask *ask = attempt->ask;
	struct seam_block *hit = find_hit(ask);
	if (hit == NULL && reach_out(engine, attempt))
		hit = find_hit(ask);
	if (hit == NULL)
		hit = join_hit(ask);
	if (hit != NULL)
		return take_hit(engine, ask, hit, !attempt->grown, ret_block);
	seam__price_note_live(&engine->price, engine->counts.live_bytes + ask->bytes);
	enum seam_rc rc = SEAM_NOT_FOUND;
	uint64_t stitchable_bytes = 0;
	bool few_views = false;
	if (may_stitch(engine, attempt))
		rc = stitch(engine, attempt, &stitchable_bytes, ret_block);
	if (rc == SEAM_MAPPINGS || rc == SEAM_OOM_VA) {
		if (free_views(engine, attempt) || spare_all(engine, attempt))
			return SEAM_BUSY;
		stitchable_bytes = 0; /* no room for one more view: growth at the end needs no second mapping */
		rc = SEAM_NOT_FOUND;
		few_views = true;
	}
	if (rc != SEAM_NOT_FOUND)
		return rc;
	const bool growth_is_favoured = !few_views && favours_growth(engine, attempt, stitchable_bytes);
	if (!few_views && !growth_is_favoured && spare(engine, attempt, stitchable_bytes))
		return SEAM_BUSY;
	rc = grow(engine, attempt, stitchable_bytes, growth_is_favoured);
	if (rc == SEAM_OK || rc == SEAM_BUSY)
		return SEAM_BUSY;
	if ((rc == SEAM_MAPPINGS || rc == SEAM_OOM_VA) && (free_views(engine, attempt) || spare_all(engine, attempt)))
		return SEAM_BUSY;
	return rc;
}

static enum seam_rc slow(struct seam_engine *engine, struct attempt *attempt, struct seam_block **ret_block)
{
	enum seam_rc rc;
	do {
		rc = serve(engine, attempt, ret_block);
		if (is_shortage(rc) && escalate(engine, attempt, rc)) {
			engine->counts.retries += attempt->stage >= STAGE_WAIT;
			rc = SEAM_BUSY;
		}
	} while (rc == SEAM_BUSY);
	if (rc == SEAM_OK) {
		engine->counts.s4 += attempt->grown;
		return SEAM_OK;
	}
	engine->counts.s5 += rc == SEAM_OOM_DEVICE;
	/* What was created for a request that failed goes back (I7), unless somebody has it already. */
	if (attempt->grown && !attempt->ask->capturing && engine->memory.reserved_bytes > attempt->grown_from) {
		uint64_t released = 0;
		enum seam_rc ignored = seam__engine_trim(engine, attempt->grown_from, &released);
		(void)ignored;
	}
	return rc;
}

/* The private pool may have been released while the lock was free: its memory is common then. */
static struct seam_group *find_group(struct seam_engine *engine, uint64_t private_id)
{
	struct seam_group *group = NULL;
	if (private_id != 0) {
		LIST_FOREACH(group, &engine->groups, link)
		{
			if (group->private_id == private_id)
				break;
		}
	}
	return group != NULL ? group : &engine->common;
}

/* Rather than a part of a larger block, an equal one that was pending. */
static __attribute__((noinline)) struct seam_block *prefer_passed(
	struct seam_engine *engine, const struct seam_ask *ask, struct seam_block *hit)
{
	const bool split = hit != NULL && hit->bytes != ask->bytes;
	return split && seam__engine_look(engine, ask) ? find_hit(ask) : hit;
}

enum seam_rc seam__engine_alloc(struct seam_engine *engine, const struct seam_ask *ask, struct seam_block **ret_block)
{
	SEAM_ASSERT(ask->bytes > 0 && ask->bytes % SEAM_BLOCK_BYTES == 0);
	struct seam_block *hit = find_hit(ask);
	if (__builtin_expect(!TAILQ_EMPTY(&engine->pending), 0))
		hit = prefer_passed(engine, ask, hit);
	if (hit != NULL)
		return take_hit(engine, ask, hit, true, ret_block);
	uint64_t private_id = ask->group->private_id;
	struct seam_ask again = *ask;
	struct attempt attempt = {.ask = &again};
	seam__stream_ref(ask->stream);
	seam__mutex_unlock(&engine->lock);
	seam__mutex_lock(&engine->change);
	seam__mutex_lock(&engine->lock);
	again.group = find_group(engine, private_id);
	enum seam_rc rc = slow(engine, &attempt, ret_block);
	seam__gathered_fini(engine, &attempt.gathered);
	seam__mutex_unlock(&engine->change);
	seam__stream_unref(ask->stream);
	return rc;
}
