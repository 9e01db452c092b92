/* rhythm_columns.c: see rhythm_columns.h. Where columns end stands in rhythm_frees.c.
 *
 * The newest member is the base: the others are compared with it, and what it lacks is collected with the place in
 * it where it would stand.
 */
#include "rhythm_columns.h"

#include "meta.h"
#include "rhythm_diff.h"
#include "rhythm_extras.h"

struct builder {
	struct seam__columns *out;
	const struct seam__kinds *kinds;
	uint32_t base_count;
	uint32_t *base_cells;    /* [request of the base][member]: request of the recording or SEAM__REQUEST_NONE */
	struct seam_grow extras; /* struct seam__extra */
	struct seam_grow wanted; /* struct seam__extras_group */
};

static uint32_t *cell(const struct builder *builder, uint32_t base, uint32_t member)
{
	return &builder->base_cells[(size_t)base * builder->out->member_count + member];
}

/* same: per request of the member. */
static enum seam_rc note_member(struct builder *builder, uint32_t member, const uint32_t *same)
{
	const struct seam__rows *rows = builder->out->rows;
	const struct seam__stretch *stretch = &builder->out->members[member];
	size_t bytes = (size_t)rows->thread_count * sizeof(uint32_t) + 1;
	uint32_t *places =
		seam__meta_alloc(seam__meta_process(), bytes); /* per thread: behind so many requests of the base */
	uint32_t *indexes = seam__meta_alloc(seam__meta_process(), bytes); /* ... and so many of its extras */
	enum seam_rc rc = places != NULL && indexes != NULL ? SEAM_OK : SEAM_OOM_META;

	for (uint32_t i = 0; rc == SEAM_OK && i < seam__stretch_count(stretch); i++) {
		uint32_t request = stretch->first_request + i;
		uint32_t thread = rows->threads[request];
		struct seam__extra extra = {
			.key = rows->keys[request], .thread = thread, .member = member, .request = request};

		if (same[i] != SEAM__DIFF_NONE) {
			*cell(builder, same[i], member) = request;
			places[thread] = same[i] + 1;
			indexes[thread] = 0;
			continue;
		}
		extra.place = places[thread];
		extra.index = indexes[thread]++;
		rc = seam__grow_append(&builder->extras, &extra, 1);
	}
	seam__meta_free(seam__meta_process(), indexes, bytes);
	seam__meta_free(seam__meta_process(), places, bytes);
	return rc;
}

/* Which requests of the row are those of the base: by the fewest edits, or by place where that leaves fewer that
 * differ, or as few but in another order: through a run of equal layers edits find ways in which that does not show. */
static enum seam_rc compare_rows(
	const struct seam__rows *rows, const struct seam__row *base, const struct seam__row *row, uint32_t *same)
{
	struct seam__difference by_place;
	struct seam__difference by_edits;
	bool same_shape;
	enum seam_rc rc = seam__row_compare(rows, base, row, UINT32_MAX / 4, same, &by_edits);

	if (rc == SEAM_OOM_META || !seam__row_overlay(rows, base, row, NULL, &by_place, &same_shape) ||
		(rc == SEAM_OK && by_edits.requests < by_place.requests + (by_place.swaps == 0)))
		return rc;
	(void)seam__row_overlay(rows, base, row, same, &by_place, &same_shape);
	return SEAM_OK;
}

static enum seam_rc lay_beside(struct builder *builder, uint32_t member, const struct seam__row *base)
{
	const struct seam__rows *rows = builder->out->rows;
	struct seam__row row;
	size_t bytes;
	uint32_t *same;
	enum seam_rc rc = seam__row_init(rows, &builder->out->members[member], &row);

	if (rc != SEAM_OK)
		return rc;
	bytes = ((size_t)seam__stretch_count(&row.stretch) + 1) * sizeof(*same);
	same = seam__meta_alloc(seam__meta_process(), bytes);
	rc = same != NULL ? compare_rows(rows, base, &row, same) : SEAM_OOM_META;
	if (rc == SEAM_OK)
		rc = note_member(builder, member, same);
	else if (rc == SEAM_NOT_FOUND)
		rc = SEAM_OK; /* it is of the kind, but in ways that are too many to list: it has no say */
	seam__meta_free(seam__meta_process(), same, bytes);
	seam__row_fini(rows, &row);
	return rc;
}

/* The size (and stream) that most have, and who shows it; where none is, it depends on data. */
static struct seam__column judge_sizes(const struct builder *builder, const uint32_t *requests)
{
	const uint64_t *keys = builder->out->rows->keys;
	struct seam__column column = {
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
			column.source = requests[m];
		}
	}
	column.dynamic = seam__request_at(builder->out->rows->requests, column.source)->dynamic || 2 * most <= present;
	return column;
}

/* requests: of a column to be, per member. */
static enum seam_rc add_column(struct builder *builder, const uint32_t *requests)
{
	struct seam__columns *out = builder->out;
	struct seam__column column = judge_sizes(builder, requests);
	uint32_t number = (uint32_t)out->items.count;
	enum seam_rc rc = seam__grow_append(&out->items, &column, 1);

	for (uint32_t m = 0; rc == SEAM_OK && m < out->member_count; m++) {
		out->requests[(size_t)number * out->member_count + m] = requests[m];
		if (requests[m] != SEAM__REQUEST_NONE)
			out->column_of[m][requests[m] - out->members[m].first_request] = number;
	}
	return rc;
}

static enum seam_rc add_wanted(struct builder *builder, const struct seam__extras_group *wanted)
{
	const struct seam__extra *extras = builder->extras.items;
	uint32_t requests[SEAM__MEMBERS_MAX];

	for (uint32_t m = 0; m < SEAM__MEMBERS_MAX; m++)
		requests[m] = SEAM__REQUEST_NONE;
	for (uint32_t i = wanted->first; i < wanted->first + wanted->count; i++)
		requests[extras[i].member] = extras[i].request;
	return add_column(builder, requests);
}

static enum seam_rc list_columns(struct builder *builder)
{
	const struct seam__extras_group *wanted = builder->wanted.items;
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
			rc = add_column(builder, cell(builder, b, 0));
	}
	return rc;
}

static uint32_t size_differs(const struct seam__columns *columns, uint32_t column, uint32_t request)
{
	const struct seam__column *item = seam__column_at(columns, column);
	const struct seam__requests *all = columns->rows->requests;

	return !item->dynamic &&
		seam__request_at(all, request)->size_bytes != seam__request_at(all, item->source)->size_bytes;
}

/* Gaps, and how much the members differ from the columns. */
static void finish(struct seam__columns *columns)
{
	uint64_t differing = 0;

	for (uint32_t m = 0; m < columns->member_count; m++) {
		uint32_t count = seam__stretch_count(&columns->members[m]);
		uint64_t shared = 0;
		uint64_t resized = 0;

		for (uint32_t i = 0; i < count; i++) {
			uint32_t column = columns->column_of[m][i];

			columns->gap_behind[m][i + 1] =
				column == SEAM__COLUMN_NONE ? columns->gap_behind[m][i] : column + 1;
			shared += column != SEAM__COLUMN_NONE;
			if (column != SEAM__COLUMN_NONE)
				resized += size_differs(columns, column, columns->members[m].first_request + i);
		}
		differing += (count - shared) + (columns->items.count - shared) + resized;
	}
	columns->differing = (double)differing / columns->member_count;
}

static enum seam_rc build(struct builder *builder, const struct seam__row *base)
{
	struct seam__columns *out = builder->out;
	size_t most = builder->base_count; /* columns */
	enum seam_rc rc = SEAM_OK;

	for (uint32_t b = 0; b < builder->base_count; b++) {
		for (uint32_t m = 0; m < out->member_count; m++)
			*cell(builder, b, m) = SEAM__REQUEST_NONE;
		*cell(builder, b, 0) = out->members[0].first_request + b;
	}
	for (uint32_t m = 1; rc == SEAM_OK && m < out->member_count; m++)
		rc = lay_beside(builder, m, base);
	if (rc == SEAM_OK)
		rc = seam__extras_choose(&builder->extras, out->member_count, &builder->wanted);
	most += builder->wanted.count + 1;
	if (rc == SEAM_OK)
		rc = seam__grow_reserve(&out->items, most);
	if (rc != SEAM_OK)
		return rc;
	out->requests =
		seam__meta_array(seam__meta_process(), out->items.capacity * out->member_count, sizeof(*out->requests));
	if (out->requests == NULL)
		return SEAM_OOM_META;
	rc = list_columns(builder);
	if (rc == SEAM_OK) {
		finish(out);
		rc = seam__columns_end(out);
	}
	return rc;
}

/* The newest members, and room for what is known of their requests. */
static enum seam_rc list_members(const struct seam__kinds *kinds, uint32_t kind, struct seam__columns *columns)
{
	for (uint32_t s = kinds->stretch_count; s-- > 0 && columns->member_count < SEAM__MEMBERS_MAX;) {
		uint32_t m = columns->member_count;
		size_t count = (size_t)seam__stretch_count(&kinds->stretches[s]) + 1;

		if (kinds->kind_of[s] != kind)
			continue;
		columns->members[columns->member_count++] = kinds->stretches[s];
		columns->column_of[m] = seam__meta_array(seam__meta_process(), count, sizeof(uint32_t));
		columns->gap_behind[m] = seam__meta_array(seam__meta_process(), count, sizeof(uint32_t));
		if (columns->column_of[m] == NULL || columns->gap_behind[m] == NULL)
			return SEAM_OOM_META;
		for (size_t i = 0; i < count; i++)
			columns->column_of[m][i] = SEAM__COLUMN_NONE;
	}
	return SEAM_OK;
}

enum seam_rc seam__columns_init(const struct seam__kinds *kinds, uint32_t kind, struct seam__columns *ret_columns)
{
	struct seam__columns made = {.rows = kinds->rows};
	struct builder builder = {.out = &made, .kinds = kinds};
	size_t cells = 0;
	enum seam_rc rc;

	seam__grow_init(&made.items, sizeof(struct seam__column));
	seam__grow_init(&builder.extras, sizeof(struct seam__extra));
	seam__grow_init(&builder.wanted, sizeof(struct seam__extras_group));
	rc = list_members(kinds, kind, &made);
	if (rc == SEAM_OK) {
		builder.base_count = seam__stretch_count(&made.members[0]);
		cells = (size_t)builder.base_count * made.member_count + 1;
		builder.base_cells = seam__meta_array(seam__meta_process(), cells, sizeof(uint32_t));
		rc = builder.base_cells != NULL ? build(&builder, &seam__kind_at(kinds, kind)->row) : SEAM_OOM_META;
	}
	seam__meta_free(seam__meta_process(), builder.base_cells, cells * sizeof(uint32_t));
	seam__grow_fini(&builder.wanted);
	seam__grow_fini(&builder.extras);
	if (rc == SEAM_OK)
		*ret_columns = made;
	else
		seam__columns_fini(&made);
	return rc;
}

void seam__columns_fini(struct seam__columns *columns)
{
	struct seam_meta *meta = seam__meta_process();

	for (uint32_t m = 0; m < columns->member_count; m++) {
		size_t count = (size_t)seam__stretch_count(&columns->members[m]) + 1;

		seam__meta_free(meta, columns->gap_behind[m], count * sizeof(uint32_t));
		seam__meta_free(meta, columns->column_of[m], count * sizeof(uint32_t));
	}
	seam__meta_free(
		meta, columns->requests, columns->items.capacity * columns->member_count * sizeof(*columns->requests));
	if (columns->items.item_bytes != 0)
		seam__grow_fini(&columns->items);
	*columns = (struct seam__columns){0};
}

uint32_t seam__columns_count(const struct seam__columns *columns)
{
	uint32_t count = 0;

	for (uint32_t c = 0; c < columns->items.count; c++)
		count += !seam__column_at(columns, c)->left_out;
	return count;
}

uint32_t seam__columns_member(const struct seam__columns *columns, uint32_t event)
{
	for (uint32_t m = 0; m < columns->member_count; m++)
		if (event >= columns->members[m].first_event && event < columns->members[m].last_event)
			return m;
	return SEAM__MEMBERS_MAX;
}

uint32_t seam__columns_find(const struct seam__columns *columns, uint32_t request, uint32_t *ret_member)
{
	uint32_t member = seam__columns_member(columns, seam__request_at(columns->rows->requests, request)->alloc);

	if (member == SEAM__MEMBERS_MAX)
		return SEAM__COLUMN_NONE;
	*ret_member = member;
	return columns->column_of[member][request - columns->members[member].first_request];
}

const char *seam__columns_check(const struct seam__columns *columns)
{
	for (uint32_t c = 0; c < columns->items.count; c++) {
		const struct seam__column *column = seam__column_at(columns, c);
		uint32_t member = SEAM__MEMBERS_MAX;

		if (seam__columns_find(columns, column->source, &member) != c)
			return "C1 source";
		for (uint32_t m = 0; m < columns->member_count; m++) {
			uint32_t request = seam__columns_request(columns, c, m);

			if (request != SEAM__REQUEST_NONE &&
				(seam__columns_find(columns, request, &member) != c || member != m))
				return "C1 member";
		}
		if (!column->left_out && (column->gap > columns->items.count || (column->lag == 0 && column->gap <= c)))
			return "C2";
	}
	return NULL;
}
