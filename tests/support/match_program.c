/* match_program.c: see match_program.h. */
#include "match_program.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "match_idle.h"
#include "matcher_state.h"
#include "meta.h"
#include "random_problem.h"
#include "planned.h"

static struct match_program program_of_trace(struct seam_trace *trace, uint64_t first, uint64_t last)
{
	struct match_program program = {0};
	struct seam_trace_error error = {0};
	const struct seam_plan_options options = {
		.struct_bytes = sizeof(options),
		.node_limit = 2000,
		.period = SEAM_PLAN_PERIOD_GIVEN,
		.first_event = first,
		.last_event = last,
	};
	cr_assert_eq(seam_plan_make(trace, &options, &error, &program.plan), SEAM_OK, "%s", error.text);
	const struct seam_plan_header *header = &program.plan->header;
	program.acts = calloc(header->positions, sizeof(*program.acts));
	program.count = header->positions;
	for (uint32_t i = 0; i < header->slot_count; i++) {
		const struct seam_plan_slot *slot = &program.plan->slots[i];
		program.acts[slot->begin] = (struct match_act){.slot = i};
		program.acts[slot->end % header->positions] =
			(struct match_act){i, slot->end / header->positions, true};
	}
	cr_assert_eq(program.count, 2 * header->slot_count);
	seam_trace_free(trace);
	return program;
}

struct match_program match_program(const struct program_wish *wish)
{
	struct program_truth *truth = malloc(sizeof(*truth));
	struct seam_trace *trace = trace_program(wish, truth);
	const struct match_program program =
		program_of_trace(trace, truth->first_event, truth->first_event + truth->iteration_events);
	free(truth);
	return program;
}

#define REPETITIONS 3u

/* The last two blocks of a name. */
struct known {
	struct seam_trace_event last, before;
};

/* The block that a word frees; NULL: it frees none. */
static const struct seam_trace_event *find_freed(const char *word, const struct known *known)
{
	const struct known *named = &known[(unsigned char)word[1]];
	return word[0] == '-' ? &named->last : word[0] == '=' ? &named->before : NULL;
}

static void add_word(
	struct seam_trace_builder *builder, const char *word, struct known *known, uint64_t *next_id, uint64_t *time)
{
	const struct seam_trace_event *freed = find_freed(word, known);
	const char *at = strchr(word, '@'), *thread = strchr(word, '^');
	struct seam_trace_event event = {.time_ns = (*time)++};
	if (freed != NULL) {
		event = *freed;
		event.time_ns = *time;
		event.kind = SEAM_TRACE_FREE;
		event.flags = 0;
	} else {
		event.kind = SEAM_TRACE_ALLOC;
		event.id = ++*next_id;
		event.size = strtoull(word + 1, NULL, 10);
		event.stream = at == NULL ? 0 : strtoull(at + 1, NULL, 10);
		event.thread = thread == NULL ? 0 : (uint32_t)strtoul(thread + 1, NULL, 10);
		struct known *named = &known[(unsigned char)word[0]];
		*named = (struct known){event, named->last};
	}
	cr_assert_eq(seam_trace_builder_add(builder, &event), SEAM_OK);
}

struct match_program match_program_of(const char *words)
{
	struct seam_trace_builder *builder;
	struct known known[256] = {{{0}, {0}}};
	struct seam_trace_error error = {0};
	struct seam_trace *trace;
	uint64_t next_id = 0, time = 0, events = 0;
	cr_assert_eq(seam_trace_builder_create("words", 0, &builder), SEAM_OK);
	for (uint32_t r = 0; r < REPETITIONS; r++) {
		char *copy = strdup(words), *rest = NULL;
		events = 0;
		for (char *word = strtok_r(copy, " ", &rest); word != NULL; word = strtok_r(NULL, " ", &rest)) {
			const struct seam_trace_event *freed = find_freed(word, known);
			if (freed != NULL && freed->id == 0)
				continue;
			events++;
			add_word(builder, word, known, &next_id, &time);
		}
		free(copy);
	}
	cr_assert_eq(seam_trace_builder_finish(builder, &error, &trace), SEAM_OK, "%s", error.text);
	seam_trace_builder_destroy(builder);
	const uint64_t last = trace->header.event_count;
	return program_of_trace(trace, last - events, last);
}

void match_program_fini(struct match_program *program)
{
	seam_plan_free(program->plan);
	free(program->acts);
}

void match_open(struct match_player *player, const char *name, uint64_t seed)
{
	memset(player, 0, sizeof(*player));
	player->name = name;
	player->seed = seed;
	player->random = seed;
	player->meta = seam__meta_create(0);
	cr_assert_not_null(player->meta);
	cr_assert_eq(seam__matcher_create(player->meta, &player->matcher), SEAM_OK);
}

void match_add(struct match_player *player, const struct match_program *program, bool now)
{
	struct seam_loaded_plan *loaded;
	cr_assert_eq(seam__loaded_create(player->meta, program->plan, &loaded), SEAM_OK);
	cr_assert_eq(seam__matcher_add(player->matcher, loaded, now), SEAM_OK);
}

void match_check(struct match_player *player)
{
	struct seam_match_counts counts;
	uint64_t live = 0, bytes = 0;
	const char *broken = player->unchecked ? NULL : seam__matcher_check(player->matcher);
	cr_assert_null(broken, "%s, seed %llu: %s", player->name, (unsigned long long)player->seed, broken);
	seam__matcher_get_counts(player->matcher, &counts);
	for (uint32_t i = 0; i < player->count; i++) {
		live += player->blocks[i].plan_block != NULL;
		bytes += player->blocks[i].plan_block != NULL ? player->blocks[i].bytes : 0;
	}
	cr_assert(counts.live == live && counts.live_bytes == bytes, "%s, seed %llu: %llu live, not %llu", player->name,
		(unsigned long long)player->seed, (unsigned long long)counts.live, (unsigned long long)live);
}

void match_block(struct match_player *player, uint64_t begin, uint64_t end)
{
	cr_assert_lt(player->blocked_count, MATCH_BLOCKED);
	for (uint32_t i = 0; i < player->blocked_count; i++)
		if (begin < player->blocked[i].end_bytes && player->blocked[i].begin_bytes < end)
			return;
	cr_assert_eq(match_matcher_block(player->matcher, begin, end), SEAM_OK);
	player->blocked[player->blocked_count++] = (struct seam_plan_range){begin, end};
	match_check(player);
}

uint64_t match_frontier(const struct seam_matcher *matcher)
{
	return matcher->now == NULL ? 0 : matcher->now->frontier.at;
}

void match_unblock(struct match_player *player, uint32_t range)
{
	seam__matcher_unblock(player->matcher, player->blocked[range].begin_bytes, player->blocked[range].end_bytes);
	player->blocked[range] = player->blocked[--player->blocked_count];
	match_check(player);
}

void match_look(struct match_player *player, uint64_t begin, uint64_t end)
{
	const struct seam_plan_block *at = NULL, *around = NULL;
	bool busy = false;
	for (uint32_t i = 0; i < player->count; i++) {
		const struct match_block *block = &player->blocks[i];
		if (block->plan_block == NULL)
			continue;
		if (block->offset == begin)
			at = block->plan_block;
		if (block->offset <= begin && begin < block->offset + block->bytes)
			around = block->plan_block;
		busy |= block->offset < end && begin < block->offset + block->bytes;
	}
	cr_assert_eq(seam__matcher_find(player->matcher, begin), at);
	cr_assert_null(seam__matcher_find(player->matcher, begin + (UINT64_C(1) << 41)), "found where none can be");
	cr_assert_eq(seam__matcher_around(player->matcher, begin), around);
	cr_assert(!busy || match_idle(player->matcher, begin, end) == 0, "%s, seed %llu: live memory is idle",
		player->name, (unsigned long long)player->seed);
}

#define MOST_CURSORS 64u

/* Debts of all cursors, and what is counted of frees that were not due. */
struct debts {
	const struct seam_loaded_plan *loaded;
	struct seam_balance balance;
	uint32_t of[MOST_CURSORS];
};

static struct debts debts_of(const struct match_player *player)
{
	struct debts debts = {.loaded = player->matcher->now, .balance = player->matcher->balance};
	for (uint32_t i = 0; debts.loaded != NULL && i < debts.loaded->cursor_count && i < MOST_CURSORS; i++)
		debts.of[i] = debts.loaded->cursors[i].debt;
	return debts;
}

/* Where more blocks were freed since the last request that were not due than the program may be off by, and that much
 * less is live than the plan has here, every cursor looks at its next request. */
static void assert_looks(const struct match_player *player, const struct debts *before)
{
	const struct seam_matcher *matcher = player->matcher;
	const struct seam_loaded_plan *loaded = matcher->now;
	const struct seam_balance *balance = &matcher->balance;
	const bool is_counted = balance->freed != before->balance.freed || balance->heard != before->balance.heard;
	if (loaded == NULL || loaded != before->loaded)
		return;
	const int64_t planned = loaded->live_at[loaded->frontier.position], slack = planned < 32 ? 2 : planned / 16;
	const int64_t live = (int64_t)matcher->counts.live + balance->beside - balance->staying;
	const bool looks = is_counted && balance->known && (int64_t)balance->freed > slack && live + slack < planned;
	for (uint32_t i = 0; i < loaded->cursor_count && i < MOST_CURSORS; i++)
		cr_assert_eq(loaded->cursors[i].debt, looks && before->of[i] == 0 ? 1 : before->of[i],
			"%s, seed %llu: cursor %u", player->name, (unsigned long long)player->seed, i);
}

void match_free(struct match_player *player, uint32_t block)
{
	struct match_block *b = &player->blocks[block];
	const struct debts before = debts_of(player);
	if (b->plan_block != NULL) {
		struct seam_plan_block *found = seam__matcher_find(player->matcher, b->offset);
		cr_assert_eq(found, b->plan_block, "%s, seed %llu: another block is found", player->name,
			(unsigned long long)player->seed);
		cr_assert_eq(found->bytes, b->bytes);
		seam__matcher_free(player->matcher, found);
	} else {
		seam__matcher_beside(player->matcher, -1);
	}
	assert_looks(player, &before);
	*b = player->blocks[--player->count];
}

void match_hold(struct match_player *player, uint32_t block)
{
	struct match_block *b = &player->blocks[block];
	if (b->plan_block == NULL || b->held)
		return;
	cr_assert_eq(seam__matcher_hold(player->matcher, b->plan_block), SEAM_OK);
	cr_assert(b->plan_block->state == SEAM_PLANNED_LATE || b->plan_block->loaded == SEAM_PLANNED_DYNAMIC);
	b->held = true;
}

static void count_one(void *user, struct seam_plan_block *plan_block)
{
	uint64_t *count = user;
	(void)plan_block;
	++*count;
}

void match_close(struct match_player *player)
{
	struct seam_match_counts counts;
	uint64_t each = 0;
	seam__matcher_each(player->matcher, count_one, &each);
	seam__matcher_get_counts(player->matcher, &counts);
	cr_assert_eq(each, counts.live);
	while (player->count != 0)
		match_free(player, player->count - 1);
	match_check(player);
	seam__matcher_get_counts(player->matcher, &counts);
	cr_assert_eq(counts.overdue, 0);
	seam__matcher_destroy(player->meta, player->matcher);
	cr_assert_eq(seam__meta_destroy(player->meta), 0, "%s, seed %llu: metadata was leaked", player->name,
		(unsigned long long)player->seed);
}

/* H1, naively. */
static void assert_apart(const struct match_player *player, const struct seam_plan_block *plan_block)
{
	for (uint32_t i = 0; i < player->count; i++) {
		const struct match_block *other = &player->blocks[i];
		cr_assert(other->plan_block == NULL || other->offset + other->bytes <= plan_block->offset ||
				plan_block->offset + plan_block->bytes <= other->offset,
			"%s, seed %llu: [%llu, +%llu) over the live [%llu, +%llu)", player->name,
			(unsigned long long)player->seed, (unsigned long long)plan_block->offset,
			(unsigned long long)plan_block->bytes, (unsigned long long)other->offset,
			(unsigned long long)other->bytes);
	}
}

static void assert_unblocked(const struct match_player *player, const struct seam_plan_block *plan_block)
{
	for (uint32_t i = 0; i < player->blocked_count; i++)
		cr_assert(plan_block->offset >= player->blocked[i].end_bytes ||
				plan_block->offset + plan_block->bytes <= player->blocked[i].begin_bytes,
			"%s, seed %llu: given what is blocked", player->name, (unsigned long long)player->seed);
}

/* Whether the place is idle as long as the request that was just missed will live. */
static bool is_idle(const struct match_player *player, uint64_t at, uint64_t bytes)
{
	for (uint32_t i = 0; i < player->blocked_count; i++)
		if (at < player->blocked[i].end_bytes && player->blocked[i].begin_bytes < at + bytes)
			return false;
	return match_idle(player->matcher, at, at + bytes) >= seam__matcher_reach(player->matcher);
}

/* For how many positions a borrowed block is taken to be in nobody's way: as long as it will live, but not at all in
 * the place of the slot that was missed, which the program may come to again. */
static void assert_until(const struct match_player *player, const struct seam_plan_block *plan_block, uint64_t reach)
{
	const struct seam_loaded_plan *loaded = player->matcher->now;
	const struct seam_off_plan_block *block = seam__off_plan_find(&player->matcher->off_plan, plan_block->offset);
	const struct seam_plan_block *missing = player->matcher->missing;
	const uint64_t circle = (uint64_t)loaded->positions * loaded->copies;
	bool displaces = false;
	for (uint64_t at = plan_block->offset; missing != NULL && at < plan_block->offset + plan_block->bytes;
		at += 512)
		displaces |= missing->offset <= at && at < missing->offset + missing->bytes;
	cr_assert(block == NULL ||
			block->until - loaded->frontier.at ==
				(displaces                       ? 0
						: reach < circle ? reach
								 : circle),
		"%s, seed %llu: in the way at %llu", player->name, (unsigned long long)player->seed,
		block != NULL ? (unsigned long long)block->until : 0);
}

/* Places of the ranges that are idle for long enough: those come first, by address. */
struct found_idle {
	const struct match_player *player;
	uint64_t bytes, end;
	bool *places; /* of 512 bytes each: `bytes` from there on are idle */
};

static bool note_idle(void *user, uint64_t begin, uint64_t end)
{
	struct found_idle *found = user;
	const uint64_t idle = match_idle(found->player->matcher, begin, end);
	cr_assert(end - begin >= found->bytes && idle != 0);
	if (begin < found->end || idle < seam__matcher_reach(found->player->matcher))
		return true; /* those that are idle for a shorter time */
	for (uint64_t at = begin; at + found->bytes <= end; at += 512)
		found->places[at / 512] = true;
	found->end = end;
	return false;
}

static void assert_each_idle(const struct match_player *player, uint64_t bytes, const bool *idle, uint64_t places)
{
	struct found_idle found = {player, (bytes + 511) / 512 * 512, 0, calloc(places + 1, sizeof(bool))};
	seam__matcher_each_idle(player->matcher, found.bytes, note_idle, &found);
	for (uint64_t i = 0; i < places; i++)
		cr_assert_eq(found.places[i], idle[i], "%s, seed %llu: at %llu", player->name,
			(unsigned long long)player->seed, (unsigned long long)i * 512);
	free(found.places);
}

/* True: the matcher searched for as many bytes in vain, and does not search yet. */
static bool is_vain(const struct match_player *player, uint64_t bytes)
{
	const struct seam_matcher *matcher = player->matcher;
	const uint64_t reach = seam__matcher_reach(matcher);
	const struct seam_vain *vain = &matcher->vain[reach == 0 ? 0 : 64 - (uint32_t)__builtin_clzll(reach)];
	return (bytes + 511) / 512 * 512 >= vain->bytes && match_frontier(matcher) < vain->until;
}

/* A place for the request that was just missed, if the player is one that borrows; NULL: it is served elsewhere. Where
 * one is idle long enough, such a one is taken, if it is looked for. */
static struct seam_plan_block *borrow(struct match_player *player, uint64_t bytes)
{
	if (player->borrows == 0 || random_below(&player->random, 10) >= player->borrows)
		return NULL;
	/* One that is due now is said to be idle for one position. */
	const bool is_known =
		!player->lacks_metadata && seam__matcher_reach(player->matcher) > 1 && player->arena_bytes != 0;
	const uint64_t places = is_known ? player->arena_bytes / 512 : 0;
	bool *idle = calloc(places + 1, sizeof(*idle)), any = false;
	for (uint64_t i = 0; i < places; i++) {
		idle[i] = i * 512 + bytes <= player->arena_bytes && is_idle(player, i * 512, bytes);
		any |= idle[i];
	}
	if (is_known)
		assert_each_idle(player, bytes, idle, places);
	any &= !is_vain(player, bytes);
	const uint64_t reach = seam__matcher_reach(player->matcher);
	struct seam_plan_block *plan_block = seam__matcher_borrow(player->matcher, bytes);
	if (any && plan_block != NULL)
		assert_until(player, plan_block, reach);
	cr_assert(!any || (plan_block != NULL && idle[plan_block->offset / 512]),
		"%s, seed %llu: %llu is not idle, and others are", player->name, (unsigned long long)player->seed,
		(unsigned long long)(plan_block == NULL ? UINT64_MAX : plan_block->offset));
	player->borrowed += plan_block != NULL;
	player->compared += any;
	free(idle);
	return plan_block;
}

/* A request that somebody else serves in any case: nothing is counted. */
static enum seam_miss hear(struct match_player *player, const struct seam_match_ask *ask)
{
	struct seam_match_counts before, after;
	seam__matcher_get_counts(player->matcher, &before);
	seam__matcher_hear(player->matcher, ask);
	seam__matcher_get_counts(player->matcher, &after);
	cr_assert(after.hits == before.hits && after.live == before.live && after.live_bytes == before.live_bytes);
	return SEAM_MISS_lost;
}

/* Of the cursor of who asks, or of him if he has none. */
static uint32_t debt_of(const struct seam_matcher *matcher, const struct seam_match_ask *ask)
{
	const struct seam_cursor *cursor = seam__tracker_cursor(matcher, ask);
	const struct seam_stranger *stranger = &matcher->stranger;
	if (cursor != NULL)
		return cursor->debt;
	return stranger->stream == ask->stream && stranger->thread == ask->thread ? stranger->debt : 0;
}

/* Of a slot it is noted that nothing is blocked in its place, and something dynamic is in nobody's way yet. */
static void assert_noted(const struct match_player *player, const struct seam_plan_block *plan_block)
{
	const struct seam_matcher *matcher = player->matcher;
	if (plan_block->loaded != SEAM_PLANNED_DYNAMIC) {
		cr_assert_eq(plan_block->clear, matcher->blocked_version);
		return;
	}
	const struct seam_off_plan_block *block = seam__off_plan_find(&matcher->off_plan, plan_block->offset);
	cr_assert(block != NULL && block->until >= matcher->now->frontier.at, "%s, seed %llu", player->name,
		(unsigned long long)player->seed);
}

/* Asks; what is none of the plan's costs its cursor something. */
static enum seam_miss ask_matcher(
	struct match_player *player, const struct seam_match_ask *ask, struct seam_plan_block **ret_block)
{
	struct seam_matcher *matcher = player->matcher;
	const struct seam_loaded_plan *loaded = matcher->now;
	const uint32_t debt = debt_of(matcher, ask) + SEAM_EXTRA;
	const enum seam_miss miss = seam__matcher_alloc(matcher, ask, ret_block);
	const bool is_none = miss == SEAM_MISS_size || miss == SEAM_MISS_lost || miss == SEAM_MISS_cursor;
	if (is_none && loaded != NULL && loaded == matcher->now && !player->lacks_metadata)
		cr_assert_eq(debt_of(matcher, ask), debt < SEAM_DEBT_MOST ? debt : SEAM_DEBT_MOST, "%s, seed %llu",
			player->name, (unsigned long long)player->seed);
	if (miss == SEAM_MISS_NONE)
		assert_noted(player, *ret_block);
	return miss;
}

bool match_ask(struct match_player *player, const struct seam_match_ask *ask, const struct match_block *as)
{
	struct seam_plan_block *plan_block = NULL;
	const bool hears = player->hears != 0 && random_below(&player->random, 100) < player->hears;
	enum seam_miss miss = hears ? hear(player, ask) : ask_matcher(player, ask, &plan_block);
	if (miss == SEAM_MISS_gap && player->takes) {
		while (player->blocked_count != 0)
			match_unblock(player, 0);
		miss = seam__matcher_take(player->matcher, plan_block);
		cr_assert_neq(miss, SEAM_MISS_gap);
	}
	cr_assert_lt(player->count, MATCH_BLOCKS);
	struct match_block *block = &player->blocks[player->count];
	*block = *as;
	block->plan_block = NULL;
	if (miss != SEAM_MISS_NONE)
		plan_block = borrow(player, ask->bytes);
	if (plan_block != NULL) {
		assert_apart(player, plan_block);
		assert_unblocked(player, plan_block);
		cr_assert(plan_block->bytes >= ask->bytes && plan_block->offset % 512 == 0 &&
			plan_block->requested_bytes == ask->bytes);
		block->plan_block = plan_block;
		block->offset = plan_block->offset;
		block->bytes = plan_block->bytes;
	} else {
		seam__matcher_beside(player->matcher, 1);
	}
	player->count++;
	match_check(player);
	return miss == SEAM_MISS_NONE;
}

static uint32_t find_block(const struct match_player *player, uint32_t number, uint32_t slot, uint64_t repetition)
{
	for (uint32_t i = 0; i < player->count; i++) {
		const struct match_block *block = &player->blocks[i];
		if (block->program == number && block->slot == slot && block->repetition == repetition && !block->held)
			return i;
	}
	return MATCH_BLOCKS;
}

bool match_act(struct match_player *player, const struct match_program *program, uint32_t number, uint32_t act,
	uint64_t repetition)
{
	const struct match_act *a = &program->acts[act];
	const struct seam_plan_slot *slot = &program->plan->slots[a->slot];
	if (a->is_free) {
		const uint32_t block =
			repetition >= a->lag ? find_block(player, number, a->slot, repetition - a->lag) : MATCH_BLOCKS;
		if (block != MATCH_BLOCKS)
			match_free(player, block);
		match_check(player);
		return true;
	}
	const bool dynamic = (slot->flags & SEAM_PLAN_DYNAMIC) != 0;
	const bool moved = player->moved_from != 0 && a->slot >= player->moved_from;
	const struct match_block as = {.program = number, .slot = a->slot, .repetition = repetition};
	const struct seam_match_ask ask = {
		.bytes = dynamic ? 1 + random_below(&player->random, slot->size_bytes * 5 / 4) : slot->size_bytes,
		.stream = program->plan->streams[slot->stream],
		.thread = moved ? MATCH_STRANGER : slot->thread,
		.dynamic = dynamic && !player->unflagged,
	};
	const bool hit = match_ask(player, &ask, &as);
	player->dynamic_asked += dynamic;
	player->asked += !dynamic;
	player->hits += !dynamic && hit;
	return hit || dynamic;
}

uint64_t match_acts(struct match_player *player, const struct match_program *program, uint64_t repetition,
	uint32_t first, uint32_t last)
{
	uint64_t missed = 0;
	for (uint32_t act = first; act < last; act++)
		missed += !match_act(player, program, 0, act, repetition);
	return missed;
}
