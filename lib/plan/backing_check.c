/* backing_check.c: the proof of a backing, for backing.h: every item's physical bytes, sorted, and who meets whom in
 * them. */
#include "backing.h"

#include <stdlib.h>

#include "grow.h"
#include "meta.h"

/* Physical bytes of an item. */
struct piece {
	uint64_t begin;
	uint64_t end;
	uint32_t item;
};

struct proof {
	const struct seam__backing *backing;
	const struct seam__problem *problem;
	const uint64_t *offsets;
	uint64_t chunk_bytes;
	struct seam_grow pieces; /* struct piece */
	struct seam_grow open;   /* struct piece: those that reach on */
};

static int compare_pieces(const void *left, const void *right)
{
	const struct piece *a = left;
	const struct piece *b = right;

	if (a->begin != b->begin)
		return a->begin < b->begin ? -1 : 1;
	return a->item < b->item ? -1 : a->item > b->item;
}

static const char *check_chunks(const struct proof *proof)
{
	const struct seam__backing *backing = proof->backing;
	uint8_t *seen;
	uint32_t count = 0;

	if (backing->chunks == NULL)
		return backing->physical_chunks == backing->column_count ? NULL : "B1 plain";
	seen = seam__meta_alloc(proof->problem->meta, backing->physical_chunks);
	if (seen == NULL)
		return "no memory to check";
	for (uint32_t c = 0; c < backing->column_count; c++) {
		if (backing->chunks[c] >= backing->physical_chunks)
			break;
		count += seen[backing->chunks[c]] == 0;
		seen[backing->chunks[c]] = 1;
	}
	seam__meta_free(proof->problem->meta, seen, backing->physical_chunks);
	return count == backing->physical_chunks ? NULL : "B1 chunks";
}

static const char *check_item(const struct proof *proof, uint32_t i)
{
	const struct seam__item *item = &proof->problem->items[i];
	uint64_t end = (uint64_t)proof->backing->column_count * proof->chunk_bytes;

	if (item->size_bytes > end || proof->offsets[i] > end - item->size_bytes)
		return "B2 beyond the columns";
	if (proof->offsets[i] % proof->problem->align_bytes != 0)
		return "B2 alignment";
	if (item->fixed_bytes != SEAM__ADDRESS_ANY && proof->offsets[i] != item->fixed_bytes)
		return "B2 fixed item";
	if (item->next != SEAM__ITEM_NONE && proof->offsets[item->next] != proof->offsets[i] + item->size_bytes)
		return "B2 linked item";
	return NULL;
}

static enum seam_rc add_pieces(struct proof *proof, uint32_t item)
{
	uint64_t end = proof->offsets[item] + proof->problem->items[item].size_bytes;
	enum seam_rc rc = SEAM_OK;

	for (uint64_t at = proof->offsets[item], next; at < end && rc == SEAM_OK; at = next) {
		uint64_t column = at / proof->chunk_bytes;
		uint64_t chunk = proof->backing->chunks == NULL ? column : proof->backing->chunks[column];
		struct piece piece = {.begin = chunk * proof->chunk_bytes + at % proof->chunk_bytes, .item = item};

		next = (column + 1) * proof->chunk_bytes < end ? (column + 1) * proof->chunk_bytes : end;
		piece.end = piece.begin + (next - at);
		rc = seam__grow_append(&proof->pieces, &piece, 1);
	}
	return rc;
}

static const char *sweep(struct proof *proof)
{
	const struct piece *pieces = proof->pieces.items;
	struct piece *open = proof->open.items;
	size_t open_count = 0;

	for (size_t n = 0; n < proof->pieces.count; n++) {
		size_t kept = 0;

		for (size_t k = 0; k < open_count; k++) {
			if (open[k].end <= pieces[n].begin)
				continue;
			open[kept++] = open[k];
			/* An item has no byte twice either. */
			if (open[k].item == pieces[n].item ||
				seam__problem_conflict(proof->problem, open[k].item, pieces[n].item))
				return "B3 shared bytes";
		}
		open[kept++] = pieces[n];
		open_count = kept;
	}
	return NULL;
}

static const char *check_bytes(struct proof *proof)
{
	enum seam_rc rc = SEAM_OK;

	for (uint32_t i = 0; i < proof->problem->count && rc == SEAM_OK; i++)
		rc = add_pieces(proof, i);
	if (rc == SEAM_OK)
		rc = seam__grow_reserve(&proof->open, proof->pieces.count);
	if (rc != SEAM_OK)
		return "no memory to check";
	if (proof->pieces.count == 0)
		return NULL;
	qsort(proof->pieces.items, proof->pieces.count, sizeof(struct piece), compare_pieces);
	return sweep(proof);
}

const char *seam__backing_check(const struct seam__backing *backing, const struct seam__problem *problem,
	const uint64_t *offsets, uint64_t chunk_bytes)
{
	struct proof proof = {.backing = backing,
		.problem = problem,
		.chunk_bytes = chunk_bytes,
		.offsets = backing->offsets != NULL ? backing->offsets : offsets};
	const char *broken = check_chunks(&proof);

	for (uint32_t i = 0; i < problem->count && broken == NULL; i++)
		broken = check_item(&proof, i);
	if (broken != NULL)
		return broken;
	seam__grow_init(&proof.pieces, sizeof(struct piece));
	seam__grow_init(&proof.open, sizeof(struct piece));
	broken = check_bytes(&proof);
	seam__grow_fini(&proof.open);
	seam__grow_fini(&proof.pieces);
	return broken;
}
