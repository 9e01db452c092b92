/* bytemap.c: see bytemap.h. */
#include "bytemap.h"

#include <stdbool.h>

#include "check.h"

static int compare_pieces(const struct seam_byte_piece *a, const struct seam_byte_piece *b)
{
	return (a->begin > b->begin) - (a->begin < b->begin);
}

SEAM_TREE_GENERATE(seam_byte_piece_tree, seam_byte_piece, link, compare_pieces)

void seam__bytemap_init(struct seam_bytemap *map, struct seam_meta *meta)
{
	RB_INIT(&map->pieces);
	seam__slab_init(&map->slab, meta, sizeof(struct seam_byte_piece));
}

void seam__bytemap_fini(struct seam_bytemap *map)
{
	RB_INIT(&map->pieces);
	(void)seam__slab_fini(&map->slab); /* pieces that are still in the map go with their slabs */
}

/* One way down: pieces do not overlap, so their ends ascend as well. */
struct seam_byte_piece *seam__bytemap_find(struct seam_bytemap *map, uint64_t begin, uint64_t end)
{
	struct seam_byte_piece *lowest = NULL;
	struct seam_byte_piece *at = RB_ROOT(&map->pieces);
	while (at != NULL) {
		const bool above = at->end > begin;
		lowest = above ? at : lowest;
		at = above ? RB_LEFT(at, link) : RB_RIGHT(at, link);
	}
	return lowest != NULL && lowest->begin < end ? lowest : NULL;
}

struct seam_byte_piece *seam__bytemap_next(struct seam_byte_piece *piece, uint64_t end)
{
	struct seam_byte_piece *next = RB_NEXT(seam_byte_piece_tree, NULL, piece);
	return next != NULL && next->begin < end ? next : NULL;
}

static void insert(struct seam_bytemap *map, uint64_t begin, uint64_t end, uint64_t number)
{
	struct seam_byte_piece *piece = seam__slab_get_reserved(&map->slab);
	piece->begin = begin;
	piece->end = end;
	piece->number = number;
	(void)RB_INSERT(seam_byte_piece_tree, &map->pieces, piece);
}

/* No piece has bytes on both sides of `at` any more. One object is reserved for it, and unreserved if not needed. */
static void cut_at(struct seam_bytemap *map, uint64_t at)
{
	struct seam_byte_piece *piece = seam__bytemap_find(map, at, at + 1);
	if (piece == NULL || piece->begin == at) {
		seam__slab_unreserve(&map->slab, 1);
		return;
	}
	const uint64_t end = piece->end;
	piece->end = at;
	insert(map, at, end, piece->number);
}

/* No piece reaches over `begin` or `end` afterwards. Errors: SEAM_OOM_META: nothing changed. */
static enum seam_rc cut_out(struct seam_bytemap *map, uint64_t begin, uint64_t end)
{
	enum seam_rc rc = seam__slab_reserve(&map->slab, 2);
	if (rc != SEAM_OK)
		return rc;
	cut_at(map, begin);
	cut_at(map, end);
	return SEAM_OK;
}

static void take_out(struct seam_bytemap *map, struct seam_byte_piece *piece)
{
	(void)RB_REMOVE(seam_byte_piece_tree, &map->pieces, piece);
	seam__slab_put(&map->slab, piece);
}

static void remove_between(struct seam_bytemap *map, uint64_t begin, uint64_t end)
{
	struct seam_byte_piece *piece = seam__bytemap_find(map, begin, end);
	while (piece != NULL) {
		struct seam_byte_piece *next = seam__bytemap_next(piece, end);
		take_out(map, piece);
		piece = next;
	}
}

enum seam_rc seam__bytemap_set(struct seam_bytemap *map, uint64_t begin, uint64_t end, uint64_t number)
{
	SEAM_ASSERT(begin < end);
	struct seam_byte_piece *piece = seam__bytemap_find(map, begin, end);
	if (piece != NULL && piece->begin == begin && piece->end == end) {
		piece->number = number;
		return SEAM_OK;
	}
	enum seam_rc rc = seam__slab_reserve(&map->slab, 3);
	if (rc != SEAM_OK)
		return rc;
	if (piece == NULL) {
		seam__slab_unreserve(&map->slab, 2);
	} else {
		cut_at(map, begin);
		cut_at(map, end);
		remove_between(map, begin, end);
	}
	insert(map, begin, end, number);
	return SEAM_OK;
}

enum seam_rc seam__bytemap_raise(struct seam_bytemap *map, uint64_t begin, uint64_t end)
{
	enum seam_rc rc = cut_out(map, begin, end);
	if (rc != SEAM_OK)
		return rc;
	for (uint64_t at = begin; at < end;) {
		struct seam_byte_piece *piece = seam__bytemap_find(map, at, end);
		if (piece != NULL && piece->begin == at) {
			piece->number++;
			at = piece->end;
			continue;
		}
		const uint64_t until = piece == NULL ? end : piece->begin;
		rc = seam__bytemap_set(map, at, until, 1);
		if (rc != SEAM_OK)
			return rc;
		at = until;
	}
	return SEAM_OK;
}

enum seam_rc seam__bytemap_lower(struct seam_bytemap *map, uint64_t begin, uint64_t end)
{
	enum seam_rc rc = cut_out(map, begin, end);
	if (rc != SEAM_OK)
		return rc;
	struct seam_byte_piece *piece = seam__bytemap_find(map, begin, end);
	while (piece != NULL) {
		struct seam_byte_piece *next = seam__bytemap_next(piece, end);
		if (--piece->number == 0)
			take_out(map, piece);
		piece = next;
	}
	return SEAM_OK;
}

const char *seam__bytemap_check(struct seam_bytemap *map)
{
	const struct seam_byte_piece *below = NULL;
	struct seam_byte_piece *piece;
	RB_FOREACH(piece, seam_byte_piece_tree, &map->pieces)
	{
		if (piece->begin >= piece->end)
			return "BM1";
		if (below != NULL && below->end > piece->begin)
			return "BM2";
		below = piece;
	}
	return NULL;
}
