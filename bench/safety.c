/* safety.c: how long it takes to decide which tensors of an operator graph may share memory: SOMAS's three algorithms,
 * as in its table 1, and the thresholds that the planner uses in their place.
 *
 * Graphs are files (CSV or JSON), or made up here (graph_model.h) when none is named. Every algorithm's pairs are
 * compared: a table is only printed of answers that agree.
 */
#include <argp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "graph_input.h"
#include "graph_model.h"
#include "graph_problem.h"
#include "meta.h"
#include "unsafe_pairs.h"
#include "table.h"

enum { KEY_MARKDOWN = 'm', KEY_WRITE = 'w', COLUMNS = 10, RUNS = 3 };

struct arguments {
	bool markdown;
	const char *write; /* name of a model to be written as CSV */
	const char *const *files;
	int file_count;
};

static const struct argp_option options[] = {
	{"markdown", KEY_MARKDOWN, NULL, 0, "a table in Markdown", 0},
	{"write", KEY_WRITE, "NETWORK", 0, "print this made-up graph as CSV instead, named as in the table", 0},
	{0},
};

static error_t parse(int key, char *text, struct argp_state *state)
{
	struct arguments *arguments = state->input;

	switch (key) {
	case KEY_MARKDOWN:
		arguments->markdown = true;
		return 0;
	case KEY_WRITE:
		arguments->write = text;
		return 0;
	case ARGP_KEY_ARGS:
		arguments->files = (const char *const *)state->argv + state->next;
		arguments->file_count = state->argc - state->next;
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

enum algorithm { BY_NODES, BY_NODES_OPTIMISED, BY_STREAMS, THRESHOLDS, ALGORITHMS };

static enum seam_rc decide(const struct seam_graph *graph, enum algorithm algorithm, struct seam_pairs *ret_pairs)
{
	return algorithm == BY_STREAMS
		? seam__safety_by_streams(graph, seam__meta_process(), ret_pairs)
		: seam__safety_by_nodes(graph, seam__meta_process(), algorithm == BY_NODES_OPTIMISED, ret_pairs);
}

/* Of this process, so that others on the machine count less. */
static uint64_t processor_ns(void)
{
	struct timespec now;

	(void)clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

/* Best of some runs, in nanoseconds of the processor. *same becomes false where the pairs are not those of `expected`.
 */
static enum seam_rc measure(const struct seam_graph *graph, enum algorithm algorithm, const struct seam_pairs *expected,
	bool *same, uint64_t *ret_ns)
{
	*ret_ns = UINT64_MAX;
	for (int run = 0; run < RUNS; run++) {
		struct seam_pairs pairs = {0};
		struct seam_problem problem = {0};
		uint64_t start_ns = processor_ns();
		enum seam_rc rc = algorithm == THRESHOLDS
			? seam__graph_problem(graph, seam__meta_process(), 1, false, &problem)
			: decide(graph, algorithm, &pairs);
		uint64_t took_ns = processor_ns() - start_ns;

		if (rc != SEAM_OK)
			return rc;
		*ret_ns = took_ns < *ret_ns ? took_ns : *ret_ns;
		for (uint32_t i = 0; i < problem.count; i++)
			for (uint32_t j = 0; j < i && run == 0; j++)
				*same = *same &&
					seam__problem_conflict(&problem, i, j) ==
						seam__pairs_has(
							expected, problem.items[i].request, problem.items[j].request);
		if (pairs.bits != NULL)
			*same = *same &&
				memcmp(pairs.bits, expected->bits,
					pairs.count * pairs.row_words * sizeof(*pairs.bits)) == 0;
		seam__pairs_fini(&pairs);
		seam__problem_fini(&problem);
	}
	return SEAM_OK;
}

static double unsafe_share(const struct seam_pairs *pairs)
{
	uint64_t unsafe = 0;

	for (size_t word = 0; word < pairs->count * pairs->row_words; word++)
		unsafe += (uint64_t)__builtin_popcountll(pairs->bits[word]);
	return pairs->count < 2 ? 0 : (double)unsafe / ((double)pairs->count * (pairs->count - 1));
}

/* A row of the table. False: it could not be made, with a line on stderr. */
static bool add_row(const char *name, const struct seam_graph *graph, struct seam_table *table)
{
	struct seam_pairs pairs;
	uint64_t ns[ALGORITHMS];
	bool same = true;
	enum seam_rc rc = decide(graph, BY_STREAMS, &pairs);
	uint32_t tensors = (uint32_t)graph->tensors.count;

	if (rc != SEAM_OK) {
		fprintf(stderr, "safety: %s: %s\n", name, seam_rc_text(rc));
		return false;
	}
	for (enum algorithm algorithm = BY_NODES; rc == SEAM_OK && algorithm < ALGORITHMS; algorithm++)
		rc = measure(graph, algorithm, &pairs, &same, &ns[algorithm]);
	if (rc == SEAM_OK && same) {
		seam__table_cell(table, "%s", name);
		seam__table_cell(table, "%u", tensors);
		seam__table_cell(table, "%zu", graph->nodes.count);
		seam__table_cell(table, "%zu", graph->streams.count);
		seam__table_cell(table, "%.1f %%", 100 * unsafe_share(&pairs));
		for (enum algorithm algorithm = BY_NODES; algorithm < ALGORITHMS; algorithm++)
			seam__table_cell(table, "%.1f", (double)ns[algorithm] / 1e6);
		seam__table_cell(table, "%.1f %%", 100 * (1 - (double)ns[BY_STREAMS] / (double)ns[BY_NODES_OPTIMISED]));
	} else {
		fprintf(stderr, "safety: %s: %s\n", name, same ? seam_rc_text(rc) : "the algorithms do not agree");
	}
	seam__pairs_fini(&pairs);
	return rc == SEAM_OK && same;
}

static bool add_rows(const struct arguments *arguments, struct seam_table *table)
{
	bool well = true;

	for (int f = 0; f < arguments->file_count; f++) {
		const char *slash = strrchr(arguments->files[f], '/');
		char error[INPUT_ERROR_BYTES];
		struct seam_graph graph;

		if (!graph_input_read(arguments->files[f], error, &graph)) {
			fprintf(stderr, "safety: %s\n", error);
			return false;
		}
		well = add_row(slash == NULL ? arguments->files[f] : slash + 1, &graph, table) && well;
		seam__graph_fini(&graph);
	}
	for (uint32_t m = 0; arguments->file_count == 0 && m < graph_model_count; m++) {
		struct seam_graph graph;

		if (graph_model_make(&graph_models[m], &graph) != SEAM_OK)
			return false;
		well = add_row(graph_models[m].name, &graph, table) && well;
		seam__graph_fini(&graph);
	}
	return well;
}

static void write_csv(const struct seam_graph *graph)
{
	for (uint32_t n = 0; n < graph->nodes.count; n++) {
		const struct seam_graph_node *node = seam__graph_node_at(graph, n);

		printf("node,%s,%llu\n", seam__graph_text(node->name),
			(unsigned long long)((const uint64_t *)graph->streams.items)[node->stream]);
	}
	for (uint32_t t = 0; t < graph->tensors.count; t++) {
		const struct seam_graph_tensor *tensor = seam__graph_tensor_at(graph, t);

		printf("tensor,%s,%llu,%s,", seam__graph_text(tensor->name), (unsigned long long)tensor->size_bytes,
			seam__graph_text(seam__graph_node_at(graph, tensor->producer)->name));
		for (uint32_t c = 0; c < tensor->consumer_count; c++)
			printf("%s%s", c == 0 ? "" : ";",
				seam__graph_text(
					seam__graph_node_at(graph, seam__graph_consumers(graph, tensor)[c])->name));
		printf("\n");
	}
	for (uint32_t t = 0; t < graph->tensors.count; t++) {
		const struct seam_graph_tensor *tensor = seam__graph_tensor_at(graph, t);

		if (tensor->is_next || tensor->next == SEAM__GRAPH_NONE)
			continue;
		printf("contiguous,%s", seam__graph_text(tensor->name));
		for (uint32_t at = tensor->next; at != SEAM__GRAPH_NONE; at = seam__graph_tensor_at(graph, at)->next)
			printf(";%s", seam__graph_text(seam__graph_tensor_at(graph, at)->name));
		printf("\n");
	}
}

static int write_model(const char *name)
{
	for (uint32_t m = 0; m < graph_model_count; m++) {
		struct seam_graph graph;

		if (strcmp(graph_models[m].name, name) != 0)
			continue;
		if (graph_model_make(&graph_models[m], &graph) != SEAM_OK)
			return 1;
		write_csv(&graph);
		seam__graph_fini(&graph);
		return 0;
	}
	fprintf(stderr, "safety: no such network: '%s'\n", name);
	return 1;
}

int main(int argc, char **argv)
{
	static const char *const headings[COLUMNS] = {"graph", "tensors", "operators", "streams", "unsafe pairs",
		"Algorithm 1 ms", "1_opt ms", "2 ms", "thresholds ms", "2 against 1_opt"};
	static const struct argp syntax = {options, parse, "[GRAPH...]",
		"Times of deciding which tensors of operator graphs may share memory.", NULL, NULL, NULL};
	struct arguments arguments = {0};
	struct seam_table table;
	struct seam_text text;
	bool well;

	if (argp_parse(&syntax, argc, argv, 0, NULL, &arguments) != 0)
		return 1;
	if (arguments.write != NULL)
		return write_model(arguments.write);
	seam__table_init(&table, seam__meta_process(), COLUMNS);
	for (int c = 0; c < COLUMNS; c++)
		seam__table_cell(&table, "%s", headings[c]);
	well = add_rows(&arguments, &table);
	seam__text_init(&text, seam__meta_process());
	well = seam__table_write(&table, arguments.markdown ? SEAM_TABLE_MARKDOWN : SEAM_TABLE_PLAIN, &text) ==
			SEAM_OK &&
		well;
	fputs(seam__text_string(&text), stdout);
	seam__text_fini(&text);
	seam__table_fini(&table);
	return well ? 0 : 1;
}
