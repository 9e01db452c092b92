/* aligned_requests.c: see aligned_requests.h. Where aligned requests end stands in aligned_frees.c.
 *
 * The newest member is the base: the others are compared with it, and what it lacks is collected with the place in
 * it where it would stand.
 */
#include "aligned_requests.h"

#include "meta.h"
#include "sequence_diff.h"
#include "unaligned_requests.h"

struct builder {
	struct seam_aligned_requests *out;
	const struct seam_kinds *kinds;
	uint32_t base_count;
	uint32_t *base_cells;       /* [request of the base][member]: request of the recording or SEAM__REQUEST_NONE */
	struct seam_grow unaligned; /* struct seam_unaligned_request */
	struct seam_grow wanted;    /* struct seam_unaligned_group */
};

static uint32_t *cell(const struct builder *builder, uint32_t base, uint32_t member)
{
	return &builder->base_cells[(size_t)base * builder->out->member_count + member];
}

/* same: per request of the member. */
static enum seam_rc note_member(struct builder *builder, uint32_t member, const uint32_t *same)
{
	const struct seam_sequences *sequences = builder->out->sequences;
	const struct seam_thread_stretch *stretch = &builder->out->members[member];
	size_t bytes = (size_t)sequences->thread_count * sizeof(uint32_t) + 1;
	uint32_t *places =
		seam__meta_alloc(seam__meta_process(), bytes); /* per thread: behind so many requests of the base */
	uint32_t *indexes =
		seam__meta_alloc(seam__meta_process(), bytes); /* ... and so many of its unaligned requests */
	enum seam_rc rc = places != NULL && indexes != NULL ? SEAM_OK : SEAM_OOM_META;

	for (uint32_t i = 0; rc == SEAM_OK && i < seam__stretch_count(stretch); i++) {
		uint32_t request = stretch->first_request + i;
		uint32_t thread = sequences->threads[request];
		struct seam_unaligned_request unaligned_request = {
			.key = sequences->keys[request], .thread = thread, .member = member, .request = request};

		if (same[i] != SEAM__DIFF_NONE) {
			*cell(builder, same[i], member) = request;
			places[thread] = same[i] + 1;
			indexes[thread] = 0;
			continue;
		}
		unaligned_request.place = places[thread];
		unaligned_request.index = indexes[thread]++;
		rc = seam__grow_append(&builder->unaligned, &unaligned_request, 1);
	}
	seam__meta_free(seam__meta_process(), indexes, bytes);
	seam__meta_free(seam__meta_process(), places, bytes);
	return rc;
}

/* Which requests of the sequence are those of the base: by the fewest edits, or by place where that leaves fewer that
 * differ, or as few but in another order: through a run of equal layers edits find ways in which that does not show. */
static enum seam_rc compare_sequences(const struct seam_sequences *sequences, const struct seam_sequence *base,
	const struct seam_sequence *sequence, uint32_t *same)
{
	struct seam_difference by_place;
	struct seam_difference by_edits;
	bool same_shape;
	enum seam_rc rc = seam__sequence_compare(sequences, base, sequence, UINT32_MAX / 4, same, &by_edits);

	if (rc == SEAM_OOM_META || !seam__sequence_overlay(sequences, base, sequence, NULL, &by_place, &same_shape) ||
		(rc == SEAM_OK && by_edits.requests < by_place.requests + (by_place.swaps == 0)))
		return rc;
	(void)seam__sequence_overlay(sequences, base, sequence, same, &by_place, &same_shape);
	return SEAM_OK;
}

static enum seam_rc lay_beside(struct builder *builder, uint32_t member, const struct seam_sequence *base)
{
	const struct seam_sequences *sequences = builder->out->sequences;
	struct seam_sequence sequence;
	size_t bytes;
	uint32_t *same;
	enum seam_rc rc = seam__sequence_init(sequences, &builder->out->members[member], &sequence);

	if (rc != SEAM_OK)
		return rc;
	bytes = ((size_t)seam__stretch_count(&sequence.stretch) + 1) * sizeof(*same);
	same = seam__meta_alloc(seam__meta_process(), bytes);
	rc = same != NULL ? compare_sequences(sequences, base, &sequence, same) : SEAM_OOM_META;
	if (rc == SEAM_OK)
		rc = note_member(builder, member, same);
	else if (rc == SEAM_NOT_FOUND)
		rc = SEAM_OK; /* it is of the kind, but in ways that are too many to list: it has no say */
	seam__meta_free(seam__meta_process(), same, bytes);
	seam__sequence_fini(sequences, &sequence);
	return rc;
}

/* The size (and stream) that most have, and who shows it; where none is, it depends on data. */
static struct seam_aligned_request judge_sizes(const struct builder *builder, const uint32_t *requests)
{
	const uint64_t *keys = builder->out->sequences->keys;
	struct seam_aligned_request aligned_request = {
		.source = SEAM__REQUEST_NONE, .freer = SEAM__REQUEST_NONE, .order = SEAM__EVENT_NONE};
	uint32_t count = builder->out->member_count;
	uint32_t present = 0;
	uint32_t most = 0;

	for (uint32_t m = 0; m < count; m++) {
		uint32_t alike = 0;

		if (requests[m] == SEAM__REQUEST_NONE)
			continue;
		present++;
		for (uint32_t other = m; other < count; other++)
			alike += requests[other] != SEAM__REQUEST_NONE && keys[requests[other]] == keys[requests[m]];
		if (alike > most) {
			most = alike;
			aligned_request.source = requests[m];
		}
	}
	aligned_request.dynamic =
		seam__request_at(builder->out->sequences->requests, aligned_request.source)->dynamic ||
		2 * most <= present;
	return aligned_request;
}

/* requests: of an aligned request to be, per member. */
static enum seam_rc add_aligned_request(struct builder *builder, const uint32_t *requests)
{
	struct seam_aligned_requests *out = builder->out;
	struct seam_aligned_request aligned_request = judge_sizes(builder, requests);
	uint32_t number = (uint32_t)out->items.count;
	enum seam_rc rc = seam__grow_append(&out->items, &aligned_request, 1);

	for (uint32_t m = 0; rc == SEAM_OK && m < out->member_count; m++) {
		out->requests[(size_t)number * out->member_count + m] = requests[m];
		if (requests[m] != SEAM__REQUEST_NONE)
			out->aligned_request_of[m][requests[m] - out->members[m].first_request] = number;
	}
	return rc;
}

static enum seam_rc add_wanted(struct builder *builder, const struct seam_unaligned_group *wanted)
{
	const struct seam_unaligned_request *unaligned = builder->unaligned.items;
	uint32_t requests[SEAM__MEMBERS_MAX];

	for (uint32_t m = 0; m < SEAM__MEMBERS_MAX; m++)
		requests[m] = SEAM__REQUEST_NONE;
	for (uint32_t i = wanted->first; i < wanted->first + wanted->count; i++)
		requests[unaligned[i].member] = unaligned[i].request;
	return add_aligned_request(builder, requests);
}

static enum seam_rc list_aligned(struct builder *builder)
{
	const struct seam_unaligned_group *wanted = builder->wanted.items;
	uint32_t members = builder->out->member_count;
	size_t next = 0;
	enum seam_rc rc = SEAM_OK;

	for (uint32_t b = 0; rc == SEAM_OK && b <= builder->base_count; b++) {
		uint32_t present = 0;

		for (; rc == SEAM_OK && next < builder->wanted.count && wanted[next].place == b; next++)
			rc = add_wanted(builder, &wanted[next]);
		if (b == builder->base_count)
			break;
		for (uint32_t m = 0; m < members; m++)
			present += *cell(builder, b, m) != SEAM__REQUEST_NONE;
		if (rc == SEAM_OK && 2 * present >= members)
			rc = add_aligned_request(builder, cell(builder, b, 0));
	}
	return rc;
}

static uint32_t size_differs(const struct seam_aligned_requests *aligned, uint32_t aligned_request, uint32_t request)
{
	const struct seam_aligned_request *item = seam__aligned_at(aligned, aligned_request);
	const struct seam_traced_requests *all = aligned->sequences->requests;

	return !item->dynamic &&
		seam__request_at(all, request)->size_bytes != seam__request_at(all, item->source)->size_bytes;
}

/* Gaps, and how much the members differ from the aligned requests. */
static void finish(struct seam_aligned_requests *aligned)
{
	uint64_t differing = 0;

	for (uint32_t m = 0; m < aligned->member_count; m++) {
		uint32_t count = seam__stretch_count(&aligned->members[m]);
		uint64_t shared = 0;
		uint64_t resized = 0;

		for (uint32_t i = 0; i < count; i++) {
			uint32_t aligned_request = aligned->aligned_request_of[m][i];

			aligned->gap_behind[m][i + 1] =
				aligned_request == SEAM__ALIGNED_NONE ? aligned->gap_behind[m][i] : aligned_request + 1;
			shared += aligned_request != SEAM__ALIGNED_NONE;
			if (aligned_request != SEAM__ALIGNED_NONE)
				resized +=
					size_differs(aligned, aligned_request, aligned->members[m].first_request + i);
		}
		differing += (count - shared) + (aligned->items.count - shared) + resized;
	}
	aligned->differing = (double)differing / aligned->member_count;
}

static enum seam_rc build(struct builder *builder, const struct seam_sequence *base)
{
	struct seam_aligned_requests *out = builder->out;
	size_t most = builder->base_count; /* aligned requests */
	enum seam_rc rc = SEAM_OK;

	for (uint32_t b = 0; b < builder->base_count; b++) {
		for (uint32_t m = 0; m < out->member_count; m++)
			*cell(builder, b, m) = SEAM__REQUEST_NONE;
		*cell(builder, b, 0) = out->members[0].first_request + b;
	}
	for (uint32_t m = 1; rc == SEAM_OK && m < out->member_count; m++)
		rc = lay_beside(builder, m, base);
	if (rc == SEAM_OK)
		rc = seam__unaligned_choose(&builder->unaligned, out->member_count, &builder->wanted);
	most += builder->wanted.count + 1;
	if (rc == SEAM_OK)
		rc = seam__grow_reserve(&out->items, most);
	if (rc != SEAM_OK)
		return rc;
	out->requests =
		seam__meta_array(seam__meta_process(), out->items.capacity * out->member_count, sizeof(*out->requests));
	if (out->requests == NULL)
		return SEAM_OOM_META;
	rc = list_aligned(builder);
	if (rc == SEAM_OK) {
		finish(out);
		rc = seam__aligned_end(out);
	}
	return rc;
}

/* The newest members, and room for what is known of their requests. */
static enum seam_rc list_members(const struct seam_kinds *kinds, uint32_t kind, struct seam_aligned_requests *aligned)
{
	for (uint32_t s = kinds->stretch_count; s-- > 0 && aligned->member_count < SEAM__MEMBERS_MAX;) {
		uint32_t m = aligned->member_count;
		size_t count = (size_t)seam__stretch_count(&kinds->stretches[s]) + 1;

		if (kinds->kind_of[s] != kind)
			continue;
		aligned->members[aligned->member_count++] = kinds->stretches[s];
		aligned->aligned_request_of[m] = seam__meta_array(seam__meta_process(), count, sizeof(uint32_t));
		aligned->gap_behind[m] = seam__meta_array(seam__meta_process(), count, sizeof(uint32_t));
		if (aligned->aligned_request_of[m] == NULL || aligned->gap_behind[m] == NULL)
			return SEAM_OOM_META;
		for (size_t i = 0; i < count; i++)
			aligned->aligned_request_of[m][i] = SEAM__ALIGNED_NONE;
	}
	return SEAM_OK;
}

enum seam_rc seam__aligned_init(
	const struct seam_kinds *kinds, uint32_t kind, struct seam_aligned_requests *ret_aligned)
{
	struct seam_aligned_requests made = {.sequences = kinds->sequences};
	struct builder builder = {.out = &made, .kinds = kinds};
	size_t cells = 0;
	enum seam_rc rc;

	seam__grow_init(&made.items, sizeof(struct seam_aligned_request));
	seam__grow_init(&builder.unaligned, sizeof(struct seam_unaligned_request));
	seam__grow_init(&builder.wanted, sizeof(struct seam_unaligned_group));
	rc = list_members(kinds, kind, &made);
	if (rc == SEAM_OK) {
		builder.base_count = seam__stretch_count(&made.members[0]);
		cells = (size_t)builder.base_count * made.member_count + 1;
		builder.base_cells = seam__meta_array(seam__meta_process(), cells, sizeof(uint32_t));
		rc = builder.base_cells != NULL ? build(&builder, &seam__kind_at(kinds, kind)->sequence)
						: SEAM_OOM_META;
	}
	seam__meta_free(seam__meta_process(), builder.base_cells, cells * sizeof(uint32_t));
	seam__grow_fini(&builder.wanted);
	seam__grow_fini(&builder.unaligned);
	if (rc == SEAM_OK)
		*ret_aligned = made;
	else
		seam__aligned_fini(&made);
	return rc;
}

void seam__aligned_fini(struct seam_aligned_requests *aligned)
{
	struct seam_meta *meta = seam__meta_process();

	for (uint32_t m = 0; m < aligned->member_count; m++) {
		size_t count = (size_t)seam__stretch_count(&aligned->members[m]) + 1;

		seam__meta_free(meta, aligned->gap_behind[m], count * sizeof(uint32_t));
		seam__meta_free(meta, aligned->aligned_request_of[m], count * sizeof(uint32_t));
	}
	seam__meta_free(
		meta, aligned->requests, aligned->items.capacity * aligned->member_count * sizeof(*aligned->requests));
	if (aligned->items.item_bytes != 0)
		seam__grow_fini(&aligned->items);
	*aligned = (struct seam_aligned_requests){0};
}

uint32_t seam__aligned_count(const struct seam_aligned_requests *aligned)
{
	uint32_t count = 0;

	for (uint32_t c = 0; c < aligned->items.count; c++)
		count += !seam__aligned_at(aligned, c)->left_out;
	return count;
}

uint32_t seam__aligned_member(const struct seam_aligned_requests *aligned, uint32_t event)
{
	for (uint32_t m = 0; m < aligned->member_count; m++)
		if (event >= aligned->members[m].first_event && event < aligned->members[m].last_event)
			return m;
	return SEAM__MEMBERS_MAX;
}

uint32_t seam__aligned_find(const struct seam_aligned_requests *aligned, uint32_t request, uint32_t *ret_member)
{
	uint32_t member = seam__aligned_member(aligned, seam__request_at(aligned->sequences->requests, request)->alloc);

	if (member == SEAM__MEMBERS_MAX)
		return SEAM__ALIGNED_NONE;
	*ret_member = member;
	return aligned->aligned_request_of[member][request - aligned->members[member].first_request];
}

const char *seam__aligned_check(const struct seam_aligned_requests *aligned)
{
	for (uint32_t c = 0; c < aligned->items.count; c++) {
		const struct seam_aligned_request *aligned_request = seam__aligned_at(aligned, c);
		uint32_t member = SEAM__MEMBERS_MAX;

		if (seam__aligned_find(aligned, aligned_request->source, &member) != c)
			return "AL1 source";
		for (uint32_t m = 0; m < aligned->member_count; m++) {
			uint32_t request = seam__aligned_request(aligned, c, m);

			if (request != SEAM__REQUEST_NONE &&
				(seam__aligned_find(aligned, request, &member) != c || member != m))
				return "AL1 member";
		}
		if (!aligned_request->left_out &&
			(aligned_request->gap > aligned->items.count ||
				(aligned_request->lag == 0 && aligned_request->gap <= c)))
			return "AL2";
	}
	return NULL;
}
