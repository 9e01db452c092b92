/* verify_replay.c: the validator's memory: repetitions of the stretch back to back, with every block at its planned
 * place.
 *
 * A map says of every byte of the arena which slot, of which copy, had it last. A byte may be handed out when that
 * block has been freed, was of the same private pool, and everything that its streams were given until the free is
 * ordered before what the new block's stream is given. When a block that other streams used (SEAM_PLAN_SHARED) ends,
 * the host does not know: only the same copy of its slot, of which the runtime asks that, may have its bytes without an
 * order. A wait for such a block is one for all that used it. The block before the last need not be looked at: the last
 * one was behind it.
 *
 * Of dynamic requests only the ranges of their groups are looked at: no block lives there while a group is open. What
 * orders the streams of dynamic requests is decided when they come.
 */
#include "bytemap.h"
#include "grow.h"
#include "meta.h"
#include "plan_format.h"
#include "trace_error.h"
#include "verify.h"

#define NOBODY SEAM__ACT_NOBODY

/* The last block of a slot in one copy. The same copy comes again when it has been freed, and takes the same bytes. */
struct use {
	uint64_t freed_at;    /* tick; valid while not live */
	uint32_t first_touch; /* 1 + place in touches of its first other stream; 0: none */
	bool live;
};

struct touch {
	uint32_t stream;
	uint32_t next; /* 1 + place of the next one; 0: the last */
};

/* Lists of numbers by key: those of key k begin at heads[k] and go on by nexts; NOBODY ends them. */
struct lists {
	uint32_t *heads;
	uint32_t *nexts;
};

struct replay {
	const struct seam_acts *acts;
	struct seam_clocks *clocks;
	struct use *uses; /* [slot * copies + copy] */
	struct seam_grow touches;
	struct seam_bytemap last;     /* bytes -> use */
	struct seam_bytemap ranges;   /* bytes -> open groups */
	struct lists waits_of_waiter; /* slot -> waits */
	struct lists waits_of_waited;
	struct lists older_of;     /* slot -> uses before the stretch */
	struct lists groups_open;  /* position -> groups */
	struct lists groups_close; /* position of a period */
	uint64_t repetition;
	uint64_t tick;
};

static enum seam_rc lists_init(const struct seam_acts *acts, struct lists *lists, uint32_t keys, uint32_t count)
{
	lists->heads = seam__region_array(acts->region, keys, sizeof(uint32_t));
	lists->nexts = seam__region_array(acts->region, count, sizeof(uint32_t));
	if (lists->heads == NULL || lists->nexts == NULL)
		return SEAM_OOM_META;
	for (uint32_t i = 0; i < keys; i++)
		lists->heads[i] = NOBODY;
	return SEAM_OK;
}

static void lists_add(struct lists *lists, uint32_t key, uint32_t number)
{
	lists->nexts[number] = lists->heads[key];
	lists->heads[key] = number;
}

static struct use *use_of(const struct replay *replay, uint32_t slot, uint64_t repetition)
{
	const uint32_t copies = replay->acts->plan->header.copies;
	return &replay->uses[(uint64_t)slot * copies + repetition % copies];
}

static enum seam_rc report(const struct replay *replay, uint32_t slot, uint32_t other, uint64_t byte, const char *what)
{
	const struct seam_plan *plan = replay->acts->plan;
	seam__trace_error_set(replay->acts->error, plan->slots[slot].event,
		"repetition %llu: slot %u (event %llu) gets "
		"byte %llu of slot %u (event %llu), %s",
		(unsigned long long)replay->repetition, slot, (unsigned long long)plan->slots[slot].event,
		(unsigned long long)byte, other, (unsigned long long)plan->slots[other].event, what);
	return SEAM_CORRUPT;
}

/* May the slot have a byte that `number` had last? */
static enum seam_rc judge(const struct replay *replay, uint32_t slot, uint64_t number, uint64_t byte)
{
	const struct seam_acts *acts = replay->acts;
	const struct use *use = &replay->uses[number];
	const uint32_t other = (uint32_t)(number / acts->plan->header.copies);
	const uint32_t stream = acts->slot_streams[slot];
	if (use->live)
		return report(replay, slot, other, byte, "which is live");
	if (acts->trace->events[acts->plan->slots[slot].event].pool !=
		acts->trace->events[acts->plan->slots[other].event].pool)
		return report(replay, slot, other, byte, "of another private pool");
	if (!seam__clocks_ordered(replay->clocks, stream, acts->slot_streams[other], use->freed_at))
		return report(replay, slot, other, byte, "freed on another stream with nothing that orders them");
	/* What other streams still do with a copy of a SHARED slot, the runtime must ask before it hands that copy out
	 * again. */
	if (use == use_of(replay, slot, replay->repetition))
		return SEAM_OK;
	const struct touch *touches = replay->touches.items;
	for (uint32_t i = use->first_touch; i != 0; i = touches[i - 1].next) {
		if (!seam__clocks_ordered(replay->clocks, stream, touches[i - 1].stream, use->freed_at))
			return report(
				replay, slot, other, byte, "used by another stream with nothing that orders them");
	}
	return SEAM_OK;
}

/* May the slot have these bytes? They are the slot's from here on. */
static enum seam_rc take_bytes(struct replay *replay, uint32_t slot, uint64_t begin, uint64_t end)
{
	const uint32_t copies = replay->acts->plan->header.copies;
	const struct seam_byte_piece *range = seam__bytemap_find(&replay->ranges, begin, end);
	if (range != NULL) {
		seam__trace_error_set(replay->acts->error, replay->acts->plan->slots[slot].event,
			"repetition %llu: slot %u gets byte %llu of the reusable range of an open group",
			(unsigned long long)replay->repetition, slot,
			(unsigned long long)(range->begin > begin ? range->begin : begin));
		return SEAM_CORRUPT;
	}
	for (struct seam_byte_piece *piece = seam__bytemap_find(&replay->last, begin, end); piece != NULL;
		piece = seam__bytemap_next(piece, end)) {
		enum seam_rc rc = judge(replay, slot, piece->number, piece->begin > begin ? piece->begin : begin);
		if (rc != SEAM_OK)
			return rc;
	}
	return seam__bytemap_set(&replay->last, begin, end, (uint64_t)slot * copies + replay->repetition % copies);
}

static enum seam_rc add_touch(struct replay *replay, struct use *use, uint32_t stream)
{
	const struct touch entry = {.stream = stream, .next = use->first_touch};
	enum seam_rc rc = seam__grow_append(&replay->touches, &entry, 1);
	if (rc == SEAM_OK)
		use->first_touch = (uint32_t)replay->touches.count;
	return rc;
}

static enum seam_rc take(struct replay *replay, uint32_t slot)
{
	const struct seam_plan *plan = replay->acts->plan;
	const uint32_t copies = plan->header.copies;
	struct use *use = use_of(replay, slot, replay->repetition);
	for (uint32_t i = replay->waits_of_waiter.heads[slot]; i != NOBODY; i = replay->waits_of_waiter.nexts[i])
		seam__clocks_await(replay->clocks, plan, i, replay->acts->slot_streams[slot], replay->repetition);
	if ((plan->slots[slot].flags & SEAM_PLAN_DYNAMIC) != 0)
		return SEAM_OK;
	const uint64_t address = plan->offsets[(uint64_t)slot * copies + replay->repetition % copies];
	if (use->live)
		return report(replay, slot, slot, address, "which is live");
	enum seam_rc rc = take_bytes(replay, slot, address, address + plan->slots[slot].size_bytes);
	use->live = true;
	use->first_touch = 0;
	const struct seam_older *older = replay->acts->older.items;
	for (uint32_t i = replay->older_of.heads[slot]; rc == SEAM_OK && i != NOBODY; i = replay->older_of.nexts[i])
		rc = add_touch(replay, use, older[i].stream);
	return rc;
}

static void give(struct replay *replay, uint32_t slot, uint32_t lag)
{
	if (slot == NOBODY || replay->repetition < lag)
		return;
	struct use *use = use_of(replay, slot, replay->repetition - lag);
	use->live = false;
	use->freed_at = replay->tick;
	const struct seam_plan *plan = replay->acts->plan;
	const struct touch *touches = replay->touches.items;
	for (uint32_t i = replay->waits_of_waited.heads[slot]; i != NOBODY; i = replay->waits_of_waited.nexts[i]) {
		seam__clocks_record_wait(replay->clocks, plan, i, replay->acts->slot_streams[slot],
			replay->repetition - lag, replay->tick);
		for (uint32_t t = use->first_touch; t != 0; t = touches[t - 1].next)
			seam__clocks_extend_wait(
				replay->clocks, plan, i, touches[t - 1].stream, replay->repetition - lag, replay->tick);
	}
}

static enum seam_rc touch(struct replay *replay, const struct seam_act *act)
{
	if (replay->repetition < act->lag)
		return SEAM_OK;
	return add_touch(replay, use_of(replay, act->what, replay->repetition - act->lag), act->stream);
}

/* The group's ranges: opens them, where nothing may live, or closes them. */
static enum seam_rc turn_group(struct replay *replay, uint32_t number, bool opens)
{
	const struct seam_plan *plan = replay->acts->plan;
	const struct seam_plan_group *group = &plan->groups[number];
	for (uint32_t i = group->first_range; i < group->first_range + group->range_count; i++) {
		const uint64_t begin = plan->ranges[i].begin_bytes;
		const uint64_t end = plan->ranges[i].end_bytes;
		struct seam_byte_piece *piece = opens ? seam__bytemap_find(&replay->last, begin, end) : NULL;
		for (; piece != NULL; piece = seam__bytemap_next(piece, end)) {
			if (!replay->uses[piece->number].live)
				continue;
			seam__trace_error_set(replay->acts->error, number,
				"repetition %llu: group %u opens over a live slot, number %llu",
				(unsigned long long)replay->repetition, number,
				(unsigned long long)(piece->number / plan->header.copies));
			return SEAM_CORRUPT;
		}
		enum seam_rc rc = opens ? seam__bytemap_raise(&replay->ranges, begin, end)
					: seam__bytemap_lower(&replay->ranges, begin, end);
		if (rc != SEAM_OK)
			return rc;
	}
	return SEAM_OK;
}

/* Groups that end or begin at this position. */
static enum seam_rc turn_groups(struct replay *replay, uint32_t position)
{
	const struct seam_plan *plan = replay->acts->plan;
	const uint32_t copies = plan->header.copies;
	enum seam_rc rc = SEAM_OK;
	for (uint32_t i = replay->groups_close.heads[position]; rc == SEAM_OK && i != NOBODY;
		i = replay->groups_close.nexts[i]) {
		const uint64_t lag = plan->groups[i].end / plan->header.positions;
		if (replay->repetition >= lag && (replay->repetition - lag) % copies == plan->groups[i].copy)
			rc = turn_group(replay, i, false);
	}
	for (uint32_t i = replay->groups_open.heads[position]; rc == SEAM_OK && i != NOBODY;
		i = replay->groups_open.nexts[i]) {
		if (replay->repetition % copies == plan->groups[i].copy)
			rc = turn_group(replay, i, true);
	}
	return rc;
}

static enum seam_rc repeat(struct replay *replay)
{
	const struct seam_acts *acts = replay->acts;
	uint32_t position = 0;
	enum seam_rc rc = SEAM_OK;
	for (uint64_t i = 0; rc == SEAM_OK && i < acts->count; i++) {
		const struct seam_act *act = &acts->items[i];
		replay->tick++;
		switch (act->kind) {
		case SEAM__ACT_ALLOC:
			rc = turn_groups(replay, position++);
			rc = rc == SEAM_OK ? take(replay, act->what) : rc;
			break;
		case SEAM__ACT_FREE:
			give(replay, act->what, act->lag);
			rc = turn_groups(replay, position++);
			break;
		case SEAM__ACT_TOUCH:
			rc = touch(replay, act);
			break;
		default:
			seam__clocks_act(replay->clocks, act, replay->repetition, replay->tick);
			break;
		}
	}
	return rc;
}

static enum seam_rc prepare(struct replay *replay)
{
	const struct seam_plan *plan = replay->acts->plan;
	const struct seam_plan_header *header = &plan->header;
	enum seam_rc rc = lists_init(replay->acts, &replay->waits_of_waiter, header->slot_count, header->wait_count);
	if (rc == SEAM_OK)
		rc = lists_init(replay->acts, &replay->waits_of_waited, header->slot_count, header->wait_count);
	if (rc == SEAM_OK)
		rc = lists_init(
			replay->acts, &replay->older_of, header->slot_count, (uint32_t)replay->acts->older.count);
	if (rc == SEAM_OK)
		rc = lists_init(replay->acts, &replay->groups_open, header->positions, header->group_count);
	if (rc == SEAM_OK)
		rc = lists_init(replay->acts, &replay->groups_close, header->positions, header->group_count);
	if (rc != SEAM_OK)
		return rc;
	for (uint32_t i = 0; i < header->wait_count; i++) {
		lists_add(&replay->waits_of_waiter, plan->waits[i].waiter, i);
		lists_add(&replay->waits_of_waited, plan->waits[i].waited, i);
	}
	for (uint32_t i = 0; i < replay->acts->older.count; i++)
		lists_add(&replay->older_of, ((const struct seam_older *)replay->acts->older.items)[i].slot, i);
	for (uint32_t i = 0; i < header->group_count; i++) {
		lists_add(&replay->groups_open, plan->groups[i].begin, i);
		lists_add(&replay->groups_close, plan->groups[i].end % header->positions, i);
	}
	return SEAM_OK;
}

enum seam_rc seam__acts_replay(const struct seam_acts *acts, struct seam_clocks *clocks)
{
	const struct seam_plan_header *header = &acts->plan->header;
	const size_t uses = (size_t)header->slot_count * header->copies;
	const bool linear = (header->flags & SEAM_PLAN_LINEAR) != 0;
	const uint64_t repetitions = linear || header->slot_count == 0 ? 1 : (uint64_t)header->copies * 2;
	struct replay replay = {.acts = acts, .clocks = clocks};
	seam__grow_init(&replay.touches, sizeof(struct touch));
	seam__bytemap_init(&replay.last, seam__meta_process());
	seam__bytemap_init(&replay.ranges, seam__meta_process());
	replay.uses = seam__region_array(acts->region, uses, sizeof(struct use));
	enum seam_rc rc = replay.uses == NULL ? SEAM_OOM_META : prepare(&replay);
	for (; rc == SEAM_OK && replay.repetition < repetitions; replay.repetition++)
		rc = repeat(&replay);
	seam__bytemap_fini(&replay.ranges);
	seam__bytemap_fini(&replay.last);
	seam__grow_fini(&replay.touches);
	return rc;
}
