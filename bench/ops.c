/* ops.c: the program `ops`: what requests cost by how they are served and by how much the pool holds; see ops.h. */
#include "ops.h"

#include <argp.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "json.h"
#include "meta.h"
#include "table.h"

#define MIB (UINT64_C(1) << 20)
#define ROWS_MAX ((size_t)128)
#define SIZES_MAX ((size_t)8)

struct options {
	uint64_t blocks[SIZES_MAX];
	size_t block_count;
	bool json;
};

struct results {
	struct ops_row rows[ROWS_MAX];
	size_t count;
};

static const struct argp_option argp_options[] = {
	{"blocks", 'b', "NUMBER,...", 0, "how many blocks the pool holds (default: 100,10000,1000000)", 0},
	{"json", 'j', NULL, 0, "print JSON", 0},
	{0},
};

static error_t parse(int key, char *text, struct argp_state *state)
{
	struct options *options = state->input;
	char *rest = NULL;
	switch (key) {
	case 'b':
		options->block_count = 0;
		for (char *word = strtok_r(text, ",", &rest); word != NULL; word = strtok_r(NULL, ",", &rest)) {
			char *end;
			unsigned long long blocks = strtoull(word, &end, 10);
			if (*end != '\0' || *word == '-' || blocks > 100000000 || options->block_count == SIZES_MAX)
				argp_error(state, "not up to %zu numbers of blocks: '%s'", SIZES_MAX, word);
			options->blocks[options->block_count++] = blocks;
		}
		return 0;
	case 'j':
		options->json = true;
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static struct ops_row *next_row(struct results *results)
{
	return &results->rows[results->count++];
}

static enum seam_rc measure(struct ops_pool *pool, struct results *results)
{
	static const uint64_t hit_bytes[] = {2 * MIB, 64 * MIB, 1024 * MIB};
	static const unsigned threads[] = {1, 2, 4, 8};
	enum seam_rc rc = SEAM_OK;
	for (size_t i = 0; i < sizeof(hit_bytes) / sizeof(hit_bytes[0]) && rc == SEAM_OK; i++)
		rc = ops_hit(pool, hit_bytes[i], next_row(results));
	if (rc == SEAM_OK)
		rc = ops_split(pool, next_row(results));
	if (rc == SEAM_OK) {
		struct ops_row *stitch = next_row(results);
		rc = ops_stitch(pool, stitch, next_row(results));
	}
	if (rc == SEAM_OK)
		rc = ops_growth(pool, next_row(results));
	for (size_t i = 0; i < sizeof(threads) / sizeof(threads[0]) && rc == SEAM_OK; i++)
		rc = ops_threads(pool, threads[i], next_row(results));
	return rc;
}

static void put_double(struct seam_json *json, const char *key, bool known, double value)
{
	seam__json_key(json, key);
	if (known)
		seam__json_double(json, value);
	else
		seam__json_null(json);
}

static void put_u64(struct seam_json *json, const char *key, uint64_t value)
{
	seam__json_key(json, key);
	seam__json_u64(json, value);
}

static enum seam_rc write_json(const struct results *results, struct seam_text *text)
{
	struct seam_json json;
	seam__json_init(&json, text, true);
	seam__json_array_begin(&json);
	for (size_t i = 0; i < results->count; i++) {
		const struct ops_row *row = &results->rows[i];
		seam__json_object_begin(&json);
		seam__json_key(&json, "operation");
		seam__json_string(&json, ops_kind_name(row->kind));
		put_u64(&json, "blocks", row->blocks);
		put_u64(&json, "bytes", row->bytes);
		put_u64(&json, "threads", row->threads);
		put_u64(&json, "samples", row->samples);
		put_u64(&json, "strays", row->strays);
		put_double(&json, "alloc_ns_p50", true, row->alloc_ns_p50);
		put_double(&json, "alloc_ns_p99", true, row->alloc_ns_p99);
		put_double(&json, "free_ns_p50", row->freed, row->free_ns_p50);
		put_double(&json, "free_ns_p99", row->freed, row->free_ns_p99);
		put_double(&json, "pairs_per_s", row->kind == OPS_THREADS, row->pairs_per_s);
		seam__json_object_end(&json);
	}
	seam__json_array_end(&json);
	return seam__json_finish(&json);
}

static void add_cells(struct seam_table *table, const struct ops_row *row)
{
	char size[32];
	seam__table_cell(table, "%s", ops_kind_name(row->kind));
	seam__table_cell(table, "%" PRIu64, row->blocks);
	seam__table_cell(table, "%s", seam__text_size(size, row->bytes));
	seam__table_cell(table, "%u", row->threads);
	seam__table_cell(table, "%" PRIu64, row->samples);
	seam__table_cell(table, "%" PRIu64, row->strays);
	seam__table_cell(table, "%.0f / %.0f ns", row->alloc_ns_p50, row->alloc_ns_p99);
	if (row->freed)
		seam__table_cell(table, "%.0f / %.0f ns", row->free_ns_p50, row->free_ns_p99);
	else
		seam__table_cell(table, "-");
	if (row->kind == OPS_THREADS)
		seam__table_cell(table, "%.2f M/s", row->pairs_per_s / 1e6);
	else
		seam__table_cell(table, "-");
}

static enum seam_rc write_table(const struct results *results, struct seam_text *text)
{
	static const char *const headings[] = {"operation", "blocks in pool", "size", "threads", "samples", "strays",
		"alloc p50 / p99", "free p50 / p99", "pairs"};
	struct seam_table table;
	seam__table_init(&table, seam__meta_process(), sizeof(headings) / sizeof(headings[0]));
	for (size_t i = 0; i < sizeof(headings) / sizeof(headings[0]); i++)
		seam__table_cell(&table, "%s", headings[i]);
	for (size_t i = 0; i < results->count; i++)
		add_cells(&table, &results->rows[i]);
	enum seam_rc rc = seam__table_write(&table, SEAM_TABLE_PLAIN, text);
	seam__table_fini(&table);
	return rc;
}

static enum seam_rc print(const struct results *results, bool json)
{
	struct seam_text text;
	seam__text_init(&text, seam__meta_process());
	enum seam_rc rc = json ? write_json(results, &text) : write_table(results, &text);
	if (rc == SEAM_OK && fputs(seam__text_string(&text), stdout) == EOF)
		rc = SEAM_IO;
	seam__text_fini(&text);
	return rc;
}

int main(int argc, char **argv)
{
	static const struct argp syntax = {
		.options = argp_options,
		.parser = parse,
		.doc = "Measure what requests to a pool cost: exact hits, splits, revived views, stitches, growth, and hits of several "
		       "threads, with few and with many blocks in the pool. Strays are requests that were served otherwise than meant.",
	};
	struct options options = {.blocks = {100, 10000, 1000000}, .block_count = 3};
	struct results results = {.count = 0};
	if (argp_parse(&syntax, argc, argv, 0, NULL, &options) != 0)
		return 2;
	for (size_t i = 0; i < options.block_count; i++) {
		char error[200] = "";
		struct ops_pool pool;
		enum seam_rc rc = ops_open(options.blocks[i], error, sizeof error, &pool);
		if (rc == SEAM_OK) {
			rc = measure(&pool, &results);
			ops_close(&pool);
		}
		if (rc != SEAM_OK) {
			fprintf(stderr, "ops: with %" PRIu64 " blocks: %s\n", options.blocks[i],
				error[0] != '\0' ? error : seam_rc_text(rc));
			return 1;
		}
	}
	return print(&results, options.json) == SEAM_OK ? 0 : 1;
}
