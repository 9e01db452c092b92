/* dynamic.c: how much of the dynamic requests of a recording fits into the space that its plan leaves them.
 *
 * Makes the plan, then walks around its circle twice and gives each dynamic request addresses out of its group's
 * ranges, of which those of other dynamic requests are taken: (a) the tightest piece, (b) or else whole idle chunks,
 * stitched. Blocks that fit nowhere are outside; printed is the largest sum of them, live at once, in the second turn.
 */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

#include <seam/plan.h>

#include "input.h"

struct stretch {
	uint64_t begin;
	uint64_t end;
	uint64_t owner; /* slot and copy; UINT64_MAX: free */
};

/* Dynamic requests that are live, by address; few at a time. */
struct taken {
	struct stretch *list;
	size_t count;
	size_t room;
};

static int compare_stretches(const void *left, const void *right)
{
	const struct stretch *a = left;
	const struct stretch *b = right;

	return a->begin < b->begin ? -1 : a->begin > b->begin;
}

static void append(struct taken *taken, struct stretch stretch)
{
	if (taken->count == taken->room) {
		taken->room = taken->room == 0 ? 256 : taken->room * 2;
		taken->list = realloc(taken->list, taken->room * sizeof(*taken->list));
		if (taken->list == NULL)
			abort();
	}
	taken->list[taken->count++] = stretch;
}

static void take(struct taken *taken, uint64_t begin, uint64_t end, uint64_t owner)
{
	append(taken, (struct stretch){begin, end, owner});
	qsort(taken->list, taken->count, sizeof(*taken->list), compare_stretches);
}

static void give_back(struct taken *taken, uint64_t owner)
{
	size_t kept = 0;

	for (size_t n = 0; n < taken->count; n++)
		if (taken->list[n].owner != owner)
			taken->list[kept++] = taken->list[n];
	taken->count = kept;
}

/* What of the group's ranges is free, in pieces. */
static void find_pieces(const struct seam_plan *plan, const struct seam_plan_group *group, const struct taken *taken,
	struct taken *pieces)
{
	size_t n = 0;

	pieces->count = 0;
	for (uint32_t r = group->first_range; r < group->first_range + group->range_count; r++) {
		uint64_t at = plan->ranges[r].begin_bytes;

		while (n < taken->count && taken->list[n].end <= at)
			n++;
		for (size_t t = n; t < taken->count && taken->list[t].begin < plan->ranges[r].end_bytes; t++) {
			if (taken->list[t].begin > at)
				append(pieces, (struct stretch){at, taken->list[t].begin, UINT64_MAX});
			at = taken->list[t].end > at ? taken->list[t].end : at;
		}
		if (at < plan->ranges[r].end_bytes)
			append(pieces, (struct stretch){at, plan->ranges[r].end_bytes, UINT64_MAX});
	}
}

static bool take_piece(struct taken *taken, const struct taken *pieces, uint64_t bytes, uint64_t owner)
{
	const struct stretch *best = NULL;

	for (size_t n = 0; n < pieces->count; n++) {
		uint64_t room = pieces->list[n].end - pieces->list[n].begin;

		if (room >= bytes && (best == NULL || room < best->end - best->begin))
			best = &pieces->list[n];
	}
	if (best != NULL)
		take(taken, best->begin, best->begin + bytes, owner);
	return best != NULL;
}

/* Whole chunks out of all pieces. */
static bool take_chunks(struct taken *taken, const struct taken *pieces, uint64_t bytes, uint64_t chunk, uint64_t owner)
{
	uint64_t need = (bytes + chunk - 1) / chunk;

	for (int counting = 1; counting >= 0; counting--) {
		uint64_t have = 0;

		for (size_t n = 0; n < pieces->count && have < need; n++) {
			uint64_t first = (pieces->list[n].begin + chunk - 1) / chunk;
			uint64_t last = pieces->list[n].end / chunk;

			if (last <= first)
				continue;
			last = last - first > need - have ? first + need - have : last;
			have += last - first;
			if (!counting)
				take(taken, first * chunk, last * chunk, owner);
		}
		if (have < need)
			return false;
	}
	return true;
}

enum way { OUTSIDE, CONTIGUOUS, STITCHED };

/* Largest sum of what is outside. */
static uint64_t walk(const struct seam_plan *plan, enum way way, uint64_t *ret_requests)
{
	const struct seam_plan_header *header = &plan->header;
	uint64_t circle = (uint64_t)header->copies * header->positions;
	uint64_t *ends = calloc(circle, sizeof(*ends)); /* per position of the circle: 1 + the owner that ends there */
	bool *outside = calloc((size_t)header->slot_count * header->copies + 1, sizeof(*outside));
	struct taken taken = {0};
	struct taken pieces = {0};
	uint64_t live = 0;
	uint64_t most = 0;

	if (ends == NULL || outside == NULL)
		abort();
	*ret_requests = 0;
	for (uint64_t turn = 0; turn < 2; turn++) {
		for (uint32_t copy = 0; copy < header->copies; copy++) {
			uint32_t s = 0;

			for (uint32_t p = 0; p < header->positions; p++) {
				uint64_t at = (uint64_t)copy * header->positions + p;

				if (ends[at] != 0) {
					uint64_t owner = ends[at] - 1;

					live -= outside[owner] ? plan->slots[owner / header->copies].size_bytes : 0;
					outside[owner] = false;
					give_back(&taken, owner);
					ends[at] = 0;
				}
				while (s < header->slot_count && plan->slots[s].begin < p)
					s++;
				if (s == header->slot_count || plan->slots[s].begin != p ||
					(plan->slots[s].flags & SEAM_PLAN_DYNAMIC) == 0)
					continue;
				const struct seam_plan_slot *slot = &plan->slots[s];
				uint64_t owner = (uint64_t)s * header->copies + copy;
				uint64_t bytes = (slot->size_bytes + header->align_bytes - 1) / header->align_bytes *
					header->align_bytes;

				find_pieces(plan, &plan->groups[slot->group + copy], &taken, &pieces);
				outside[owner] = way == OUTSIDE ||
					(!take_piece(&taken, &pieces, bytes, owner) &&
						(way == CONTIGUOUS ||
							!take_chunks(
								&taken, &pieces, bytes, header->chunk_bytes, owner)));
				live += outside[owner] ? slot->size_bytes : 0;
				most = turn == 1 && live > most ? live : most;
				*ret_requests += turn == 1;
				if ((header->flags & SEAM_PLAN_LINEAR) == 0 || slot->end < header->positions)
					ends[((uint64_t)copy * header->positions + slot->end) % circle] = owner + 1;
			}
		}
		if ((header->flags & SEAM_PLAN_LINEAR) != 0 && turn == 0) {
			taken.count = 0;
			live = 0;
		}
	}
	free(pieces.list);
	free(taken.list);
	free(outside);
	free(ends);
	return most;
}

int main(int argc, char **argv)
{
	printf("| trace | requests | groups | arena | dynamic, most at once | outside, contiguous | outside, stitched |\n");
	printf("| --- | ---: | ---: | ---: | ---: | ---: | ---: |\n");
	for (int a = 1; a < argc; a++) {
		char error[INPUT_ERROR_BYTES];
		struct seam_trace_error why = {0};
		struct seam_plan_options options = {.struct_bytes = sizeof(options)};
		struct seam_trace *trace;
		struct seam_plan *plan;
		uint64_t requests;

		if (!input_read(argv[a], SEAM_IMPORT_ANY_DEVICE, error, &trace)) {
			fprintf(stderr, "dynamic: %s\n", error);
			return 1;
		}
		if (seam_plan_make(trace, &options, &why, &plan) != SEAM_OK) {
			fprintf(stderr, "dynamic: %s: %s\n", argv[a], why.text);
			return 1;
		}
		uint64_t all = walk(plan, OUTSIDE, &requests);
		uint64_t contiguous = walk(plan, CONTIGUOUS, &requests);
		uint64_t stitched = walk(plan, STITCHED, &requests);
		printf("| %s | %llu | %u | %llu | %llu | %llu | %llu |\n", argv[a], (unsigned long long)requests,
			plan->header.group_count, (unsigned long long)plan->header.arena_bytes, (unsigned long long)all,
			(unsigned long long)contiguous, (unsigned long long)stitched);
		seam_plan_free(plan);
		seam_trace_free(trace);
	}
	return 0;
}
