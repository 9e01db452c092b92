/* waits.c: see waits.h. The period is played twice, so that the second time everything has a last user. */
#include "waits.h"

#include <stdlib.h>

#include "slab.h"
#include "tree.h"

/* Bytes [begin, end) and who had them last. */
struct piece {
	RB_ENTRY(piece) link;
	uint64_t begin;
	uint64_t end;
	uint32_t slot;
	uint32_t repetition;
};

/* One request gets bytes of another that another stream had, or used. */
struct meeting {
	int64_t end; /* of the waited, in positions of the waiter's period */
	uint32_t waiter;
	uint32_t stream; /* of the waited */
	uint32_t waited;
	uint32_t lag;
};

SEAM_TREE_HEAD(piece_tree, struct piece);

static int compare_pieces(const struct piece *a, const struct piece *b)
{
	return a->begin < b->begin ? -1 : a->begin > b->begin;
}

SEAM_TREE_GENERATE(piece_tree, piece, link, compare_pieces)

struct player {
	const struct seam_period_slots *slots;
	const struct seam_problem *problem;
	const uint64_t *offsets;
	struct piece_tree pieces;
	struct seam_slab slab;     /* struct piece */
	struct seam_grow meetings; /* struct meeting */
};

static struct piece *first_overlap(struct player *player, uint64_t begin, uint64_t end)
{
	struct piece key = {.begin = begin};
	struct piece *at = RB_NFIND(piece_tree, &player->pieces, &key);
	struct piece *before =
		at == NULL ? RB_MAX(piece_tree, &player->pieces) : RB_PREV(piece_tree, &player->pieces, at);

	if (before != NULL && before->end > begin)
		return before;
	return at != NULL && at->begin < end ? at : NULL;
}

static enum seam_rc add_piece(struct player *player, const struct piece *content)
{
	struct piece *piece = seam__slab_get(&player->slab);

	if (piece == NULL)
		return SEAM_OOM_META;
	*piece = *content;
	(void)RB_INSERT(piece_tree, &player->pieces, piece);
	return SEAM_OK;
}

static enum seam_rc meet(struct player *player, uint32_t slot, uint32_t repetition, const struct piece *had)
{
	const struct seam_period_slot *waiter = seam__slot_at(player->slots, slot);
	const struct seam_period_slot *waited = seam__slot_at(player->slots, had->slot);
	uint32_t lag = repetition - had->repetition;
	const struct meeting meeting = {
		.end = (int64_t)waited->end - (int64_t)lag * player->slots->position_count,
		.waiter = slot,
		.stream = waited->stream,
		.waited = had->slot,
		.lag = lag,
	};

	/* The runtime looks itself whether a block that other streams use is free before it comes again. */
	const bool is_itself = slot == had->slot && lag % player->slots->copies == 0;

	if (waiter->stream == waited->stream && (waited->user_count == 0 || is_itself))
		return SEAM_OK;
	return seam__grow_append(&player->meetings, &meeting, 1);
}

/* Takes the bytes of [begin, end) from a piece; what it has on either side stays. */
static enum seam_rc cut(struct player *player, struct piece *piece, uint64_t begin, uint64_t end)
{
	struct piece above = *piece;

	if (piece->begin < begin) {
		piece->end = begin;
	} else {
		RB_REMOVE(piece_tree, &player->pieces, piece);
		seam__slab_put(&player->slab, piece);
	}
	above.begin = end;
	return above.end > end ? add_piece(player, &above) : SEAM_OK;
}

static enum seam_rc play_item(struct player *player, uint32_t number, uint32_t round)
{
	const struct seam_item *item = &player->problem->items[number];
	uint64_t begin = player->offsets[number];
	uint64_t end = begin + item->size_bytes;
	uint32_t repetition = round * player->slots->copies + item->copy;
	const struct piece mine = {.begin = begin, .end = end, .slot = item->request, .repetition = repetition};
	bool is_last = player->problem->linear || round == 1;
	enum seam_rc rc = SEAM_OK;

	for (struct piece *had = first_overlap(player, begin, end); rc == SEAM_OK && had != NULL;
		had = first_overlap(player, begin, end)) {
		if (is_last)
			rc = meet(player, item->request, repetition, had);
		if (rc == SEAM_OK)
			rc = cut(player, had, begin, end);
	}
	return rc == SEAM_OK ? add_piece(player, &mine) : rc;
}

static int compare_meetings(const void *left, const void *right)
{
	const struct meeting *a = left;
	const struct meeting *b = right;

	if (a->waiter != b->waiter)
		return a->waiter < b->waiter ? -1 : 1;
	if (a->stream != b->stream)
		return a->stream < b->stream ? -1 : 1;
	if (a->end != b->end)
		return a->end > b->end ? -1 : 1;
	if (a->waited != b->waited)
		return a->waited < b->waited ? -1 : 1;
	return (a->lag > b->lag) - (a->lag < b->lag);
}

/* Of each waiter and stream the one that ends last; and one that ends earlier if it is of a later period, for in the
 * first repetitions the other has not happened; and those that other streams used. */
static enum seam_rc choose(
	const struct seam_period_slots *slots, const struct seam_grow *meetings, struct seam_grow *waits)
{
	const struct meeting *list = meetings->items;
	uint32_t least_lag = 0;
	enum seam_rc rc = SEAM_OK;

	for (size_t m = 0; rc == SEAM_OK && m < meetings->count; m++) {
		const struct seam_plan_wait wait = {
			.waited = list[m].waited, .waiter = list[m].waiter, .lag = list[m].lag};

		const bool is_first =
			m == 0 || list[m].waiter != list[m - 1].waiter || list[m].stream != list[m - 1].stream;
		const bool is_again =
			!is_first && list[m].waited == list[m - 1].waited && list[m].lag == list[m - 1].lag;
		const bool is_shared = seam__slot_at(slots, list[m].waited)->user_count > 0;

		if (is_again || (!is_first && list[m].lag >= least_lag && !is_shared))
			continue;
		if (is_first || list[m].lag < least_lag)
			least_lag = list[m].lag;
		rc = seam__grow_append(waits, &wait, 1);
	}
	return rc;
}

enum seam_rc seam__waits_list(const struct seam_period_slots *slots, const struct seam_problem *problem,
	const uint64_t *offsets, struct seam_grow *ret_waits)
{
	struct player player = {.slots = slots, .problem = problem, .offsets = offsets};
	struct seam_grow waits;
	enum seam_rc rc = SEAM_OK;

	RB_INIT(&player.pieces);
	seam__slab_init(&player.slab, problem->meta, sizeof(struct piece));
	seam__grow_init(&player.meetings, sizeof(struct meeting));
	seam__grow_init(&waits, sizeof(struct seam_plan_wait));
	/* Items stand in the order of their beginnings; residents share with nobody. */
	for (uint32_t round = 0; round < (problem->linear ? 1u : 2u); round++)
		for (uint32_t i = 0; rc == SEAM_OK && i < problem->count; i++)
			if (problem->items[i].request != SEAM__ITEM_NONE)
				rc = play_item(&player, i, round);
	if (rc == SEAM_OK && player.meetings.count > 0) {
		qsort(player.meetings.items, player.meetings.count, sizeof(struct meeting), compare_meetings);
		rc = choose(slots, &player.meetings, &waits);
	}
	seam__grow_fini(&player.meetings);
	(void)seam__slab_fini(&player.slab); /* the pieces still in it were the tree's */
	if (rc == SEAM_OK)
		*ret_waits = waits;
	else
		seam__grow_fini(&waits);
	return rc;
}
