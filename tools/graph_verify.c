/* graph_verify.c: see graph_verify.h.
 *
 * `after` has a row of bits for each node: the nodes that must run after it. Rows are or-ed along a depth-first search,
 * so no order of the graph's is believed. `free_for` has one for each tensor: the nodes that run after all its users; a
 * tensor made by one of these may have its memory.
 */
#include "graph_verify.h"

#include <stdlib.h>

#include "plan_format.h"
#include "trace_error.h"

struct proof {
	const struct seam_graph *graph;
	const struct seam_plan *plan;
	struct seam_trace_error *error;
	uint32_t nodes;
	uint32_t tensors;
	size_t words;    /* of a row */
	uint32_t *first; /* successors of node n are successors[first[n] .. first[n + 1]) */
	uint32_t *successors;
	uint64_t *after;
	uint64_t *free_for; /* by slot */
	uint32_t *slot_of;  /* per tensor: 1 + its slot, 0: none */
	uint32_t *last;     /* per stream: 1 + its last node so far; and the search's stack, by node */
};

static bool say(const struct proof *proof, const char *what, uint32_t slot, uint32_t other)
{
	const struct seam_graph *graph = proof->graph;
	const uint32_t tensor = (uint32_t)proof->plan->slots[slot].event;
	const uint32_t other_tensor = (uint32_t)proof->plan->slots[other].event;
	seam__trace_error_set(proof->error, tensor, "slots %u (tensor %.40s) and %u (tensor %.40s) %s", slot,
		seam__graph_text(seam__graph_tensor_at(graph, tensor)->name), other,
		seam__graph_text(seam__graph_tensor_at(graph, other_tensor)->name), what);
	return false;
}

static bool differ(const struct proof *proof, const char *what, uint32_t number)
{
	seam__trace_error_set(proof->error, number, "the plan is not of this graph: %s, number %u", what, number);
	return false;
}

/* Every tensor with a size has one slot, in which its size, stream and begin stand. */
static bool match(const struct proof *proof)
{
	const struct seam_plan *plan = proof->plan;
	if (plan->header.positions != proof->nodes || plan->header.copies != 1)
		return differ(proof, "it has other operators", plan->header.positions);
	for (uint32_t i = 0; i < plan->header.slot_count; i++) {
		const struct seam_plan_slot *slot = &plan->slots[i];
		if (slot->event >= proof->tensors || proof->slot_of[slot->event] != 0 ||
			(slot->flags & SEAM_PLAN_DYNAMIC) != 0)
			return differ(proof, "a slot of no tensor, or of one that has another", i);
		proof->slot_of[slot->event] = i + 1;
		const struct seam_graph_tensor *tensor = seam__graph_tensor_at(proof->graph, (uint32_t)slot->event);
		const uint32_t stream = seam__graph_node_at(proof->graph, tensor->producer)->stream;
		if (tensor->size_bytes != slot->size_bytes ||
			plan->streams[slot->stream] != ((const uint64_t *)proof->graph->streams.items)[stream])
			return differ(proof, "a slot with another size or stream than its tensor", i);
	}
	for (uint32_t i = 0; i < proof->tensors; i++) {
		if (proof->slot_of[i] == 0 && seam__graph_tensor_at(proof->graph, i)->size_bytes > 0)
			return differ(proof, "a tensor without a slot", i);
	}
	return true;
}

/* Calls `use` for every edge: of streams, of arcs, of tensors to their consumers. */
static void each_edge(struct proof *proof, void (*use)(struct proof *proof, uint32_t from, uint32_t to))
{
	const struct seam_graph *graph = proof->graph;
	for (uint32_t i = 0; i < graph->streams.count; i++)
		proof->last[i] = 0;
	for (uint32_t i = 0; i < proof->nodes; i++) {
		uint32_t *last = &proof->last[seam__graph_node_at(graph, i)->stream];
		if (*last != 0)
			use(proof, *last - 1, i);
		*last = i + 1;
	}
	for (size_t i = 0; i < graph->arcs.count; i++)
		use(proof, ((const struct seam_graph_arc *)graph->arcs.items)[i].from,
			((const struct seam_graph_arc *)graph->arcs.items)[i].to);
	for (uint32_t i = 0; i < proof->tensors; i++) {
		const struct seam_graph_tensor *tensor = seam__graph_tensor_at(graph, i);
		for (uint32_t k = 0; k < tensor->consumer_count; k++) {
			if (seam__graph_consumers(graph, tensor)[k] != tensor->producer)
				use(proof, tensor->producer, seam__graph_consumers(graph, tensor)[k]);
		}
	}
}

static void count_edge(struct proof *proof, uint32_t from, uint32_t to)
{
	(void)to;
	proof->first[from + 2]++;
}

static void put_edge(struct proof *proof, uint32_t from, uint32_t to)
{
	proof->successors[proof->first[from + 1]++] = to;
}

static bool list_edges(struct proof *proof)
{
	each_edge(proof, count_edge);
	for (uint32_t i = 2; i <= proof->nodes + 1; i++)
		proof->first[i] += proof->first[i - 1];
	proof->successors = calloc((size_t)proof->first[proof->nodes + 1] + 1, sizeof(*proof->successors));
	if (proof->successors == NULL)
		return false;
	each_edge(proof, put_edge);
	return true;
}

/* Depth first with a stack of its own: `next` says which successor of a node comes next; a row is whole when all have
 * been. */
static void search(struct proof *proof, uint32_t root, uint32_t *next, uint8_t *done)
{
	uint32_t *stack = proof->last;
	size_t depth = 0;
	stack[depth++] = root;
	while (depth > 0) {
		const uint32_t node = stack[depth - 1];
		uint64_t *row = &proof->after[node * proof->words];
		if (proof->first[node] + next[node] == proof->first[node + 1]) {
			done[node] = 1;
			depth--;
			continue;
		}
		const uint32_t successor = proof->successors[proof->first[node] + next[node]];
		if (!done[successor]) {
			stack[depth++] = successor; /* the graph has no cycle, so the stack holds each node once */
			continue;
		}
		next[node]++;
		row[successor / 64] |= (uint64_t)1 << successor % 64;
		for (size_t i = 0; i < proof->words; i++)
			row[i] |= proof->after[successor * proof->words + i];
	}
}

static bool find_after(struct proof *proof)
{
	uint32_t *next = calloc((size_t)proof->nodes + 1, sizeof(*next));
	uint8_t *done = calloc((size_t)proof->nodes + 1, sizeof(*done));
	const bool good = next != NULL && done != NULL && list_edges(proof);
	for (uint32_t i = 0; good && i < proof->nodes; i++) {
		if (!done[i])
			search(proof, i, next, done);
	}
	free(done);
	free(next);
	return good;
}

static void find_free_for(struct proof *proof)
{
	for (uint32_t i = 0; i < proof->plan->header.slot_count; i++) {
		const struct seam_graph_tensor *tensor =
			seam__graph_tensor_at(proof->graph, (uint32_t)proof->plan->slots[i].event);
		uint64_t *row = &proof->free_for[i * proof->words];
		for (size_t k = 0; k < proof->words; k++)
			row[k] = proof->after[tensor->producer * proof->words + k];
		for (uint32_t user = 0; user < tensor->consumer_count; user++) {
			const uint32_t node = seam__graph_consumers(proof->graph, tensor)[user];
			for (size_t k = 0; k < proof->words; k++)
				row[k] &= proof->after[node * proof->words + k];
		}
	}
}

static bool may_follow(const struct proof *proof, uint32_t slot, uint32_t next)
{
	const uint32_t producer =
		seam__graph_tensor_at(proof->graph, (uint32_t)proof->plan->slots[next].event)->producer;
	return (proof->free_for[slot * proof->words + producer / 64] >> producer % 64 & 1) != 0;
}

/* The bytes of a slot. */
struct run {
	uint64_t begin;
	uint64_t end;
	uint32_t slot;
};

static int compare_runs(const void *a, const void *b)
{
	const struct run *left = a;
	const struct run *right = b;
	if (left->begin != right->begin)
		return left->begin < right->begin ? -1 : 1;
	return (left->slot > right->slot) - (left->slot < right->slot);
}

/* One for each slot, by address; the caller frees them. NULL without memory. */
static struct run *list_runs(const struct seam_plan *plan)
{
	const size_t count = plan->header.slot_count;
	struct run *runs = calloc(count + 1, sizeof(*runs));
	if (runs == NULL)
		return NULL;
	for (uint32_t i = 0; i < count; i++)
		runs[i] = (struct run){plan->offsets[i], plan->offsets[i] + plan->slots[i].size_bytes, i};
	qsort(runs, count, sizeof(*runs), compare_runs);
	return runs;
}

/* Every pair of runs that overlap, from each to those that begin inside it. */
static bool look_at_bytes(const struct proof *proof, const struct run *runs, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		for (size_t k = i + 1; k < count && runs[k].begin < runs[i].end; k++) {
			const uint32_t slot = runs[i].slot;
			const uint32_t other = runs[k].slot;
			if (!may_follow(proof, slot, other) && !may_follow(proof, other, slot))
				return say(proof, "share a byte, and nothing orders their users", slot, other);
		}
	}
	return true;
}

static bool look_at_links(const struct proof *proof)
{
	const struct seam_plan *plan = proof->plan;
	const uint64_t align = plan->header.align_bytes;
	for (uint32_t i = 0; i < plan->header.slot_count; i++) {
		const uint32_t next = seam__graph_tensor_at(proof->graph, (uint32_t)plan->slots[i].event)->next;
		if (next == SEAM__GRAPH_NONE || proof->slot_of[next] == 0)
			continue;
		const uint32_t other = proof->slot_of[next] - 1;
		const uint64_t behind = plan->offsets[i] + (plan->slots[i].size_bytes + align - 1) / align * align;
		if (plan->offsets[other] != behind)
			return say(proof, "must stand one behind the other, and do not", i, other);
	}
	return true;
}

static bool prove(struct proof *proof)
{
	struct run *runs;
	if (!match(proof))
		return false;
	runs = find_after(proof) ? list_runs(proof->plan) : NULL;
	if (runs == NULL) {
		(void)seam__trace_error_rc(proof->error, SEAM_OOM_META);
		return false;
	}
	find_free_for(proof);
	const bool good = look_at_bytes(proof, runs, proof->plan->header.slot_count) && look_at_links(proof);
	free(runs);
	return good;
}

bool graph_verify(const struct seam_graph *graph, const struct seam_plan *plan, struct seam_trace_error *error)
{
	struct proof proof = {.graph = graph,
		.plan = plan,
		.error = error,
		.nodes = (uint32_t)graph->nodes.count,
		.tensors = (uint32_t)graph->tensors.count};
	if ((plan->header.flags & SEAM_PLAN_GRAPH) == 0) {
		seam__trace_error_set(error, 0, "a plan of a trace cannot be verified with an operator graph");
		return false;
	}
	if (proof.nodes > GRAPH_VERIFY_NODES_MAX) {
		seam__trace_error_set(
			error, 0, "the proof is for graphs of at most %u operators", GRAPH_VERIFY_NODES_MAX);
		return false;
	}
	const size_t streams = graph->streams.count;
	proof.words = (proof.nodes + 63) / 64;
	proof.first = calloc((size_t)proof.nodes + 3, sizeof(*proof.first));
	proof.after = calloc(proof.nodes * proof.words + 1, sizeof(*proof.after));
	proof.free_for = calloc(plan->header.slot_count * proof.words + 1, sizeof(*proof.free_for));
	proof.slot_of = calloc((size_t)proof.tensors + 1, sizeof(*proof.slot_of));
	proof.last = calloc((streams > proof.nodes ? streams : proof.nodes) + 1, sizeof(*proof.last));
	bool good = proof.first != NULL && proof.after != NULL && proof.free_for != NULL && proof.slot_of != NULL &&
		proof.last != NULL;
	if (good)
		good = prove(&proof);
	else
		(void)seam__trace_error_rc(error, SEAM_OOM_META);
	free(proof.last);
	free(proof.slot_of);
	free(proof.free_for);
	free(proof.after);
	free(proof.successors);
	free(proof.first);
	return good;
}
