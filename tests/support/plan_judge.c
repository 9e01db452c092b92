/* plan_judge.c: see plan_judge.h.
 *
 * Everything that happens in 2k repetitions is a node, in the order of the host. A stream's nodes are a chain; an event
 * leads from its record to its waits; a synchronisation leads from what it waits for to everything that comes after it.
 * A block may follow another when the other was freed before and every stream that used it leads, from its last node at
 * the free, to the new block's allocation. A wait of the plan leads there from all of them. Only a copy of a slot may
 * follow itself whatever other streams do: nothing but the runtime can know their end. Two copies are two places, each
 * of which the runtime watches by itself.
 */
#include "plan_judge.h"

#include <string.h>

#include "check.h"

#define NODES 512
#define STREAMS 4 /* the last one: the host's waits */
#define HOST 3

struct judge {
	const struct world *world;
	uint32_t nodes;
	bool reach[NODES][NODES]; /* [from][to], arcs at first */
	uint32_t stream[NODES];
	uint32_t alloc[WORLD_SLOTS][2 * WORLD_COPIES];
	uint32_t freed[WORLD_SLOTS][2 * WORLD_COPIES]; /* 0: not; node 0 is nobody's */
	uint32_t touch[WORLD_SLOTS][2 * WORLD_COPIES]; /* on the other stream, at the free */
	uint32_t record[WORLD_EDGES][2 * WORLD_COPIES];
	uint32_t last[STREAMS]; /* node of each stream */
	uint32_t last_host;     /* the last synchronisation */
};

static uint32_t add_node(struct judge *judge, uint32_t stream)
{
	const uint32_t node = ++judge->nodes;
	SEAM_VERIFY(node < NODES);
	judge->stream[node] = stream;
	judge->reach[judge->last[stream]][node] = true;
	judge->reach[judge->last_host][node] = true;
	judge->last[stream] = node;
	return node;
}

static void add_gap(struct judge *judge, uint32_t gap, uint32_t repetition)
{
	const struct world *world = judge->world;
	for (uint32_t i = 0; i < world->edges; i++) {
		const struct world_edge *edge = &world->edge[i];
		if (edge->record_gap != gap)
			continue;
		if (edge->to != WORLD_DEVICE && edge->to != edge->from) {
			judge->record[i][repetition] = add_node(judge, edge->from);
			continue;
		}
		const uint32_t host = add_node(judge, HOST);
		for (uint32_t stream = 0; stream < HOST; stream++) {
			if (edge->to == WORLD_DEVICE || stream == edge->from)
				judge->reach[judge->last[stream]][host] = true;
		}
		judge->last_host = host;
	}
	for (uint32_t i = 0; i < world->edges; i++) {
		const struct world_edge *edge = &world->edge[i];
		const uint32_t lag = world_edge_lag(edge);
		if (edge->wait_gap == gap && edge->to != WORLD_DEVICE && edge->to != edge->from && repetition >= lag)
			judge->reach[judge->record[i][repetition - lag]][add_node(judge, edge->to)] = true;
	}
}

static void add_position(struct judge *judge, uint32_t at, uint32_t repetition)
{
	const struct world *world = judge->world;
	for (uint32_t i = 0; i < world->slots; i++) {
		const struct world_slot *slot = &world->slot[i];
		const uint32_t lag = slot->end / world->positions;
		if (slot->begin == at) {
			const uint32_t node = add_node(judge, slot->stream);
			judge->alloc[i][repetition] = node;
			for (uint32_t k = 0; k < world->waits; k++) {
				const struct seam_plan_wait *wait = &world->wait[k];
				if (wait->waiter != i || repetition < wait->lag)
					continue;
				judge->reach[judge->freed[wait->waited][repetition - wait->lag]][node] = true;
				judge->reach[judge->touch[wait->waited][repetition - wait->lag]][node] = true;
			}
		}
		if (slot->end % world->positions == at && repetition >= lag) {
			judge->freed[i][repetition - lag] = add_node(judge, slot->stream);
			judge->touch[i][repetition - lag] = slot->touch == slot->stream
				? judge->freed[i][repetition - lag]
				: add_node(judge, slot->touch);
		}
	}
}

static void close_reach(struct judge *judge)
{
	memset(judge->reach[0], 0, sizeof(judge->reach[0]));
	for (uint32_t from = judge->nodes; from > 0; from--) {
		for (uint32_t over = from + 1; over <= judge->nodes; over++) {
			if (!judge->reach[from][over])
				continue;
			for (uint32_t to = over + 1; to <= judge->nodes; to++)
				judge->reach[from][to] = judge->reach[from][to] || judge->reach[over][to];
		}
	}
}

static bool follows(
	const struct judge *judge, uint32_t slot, uint32_t repetition, uint32_t next, uint32_t next_repetition)
{
	const uint32_t freed = judge->freed[slot][repetition];
	const uint32_t touched = judge->touch[slot][repetition];
	const uint32_t alloc = judge->alloc[next][next_repetition];
	const uint32_t copies = judge->world->copies;
	const bool same = slot == next && repetition % copies == next_repetition % copies;
	return freed != 0 && freed < alloc && judge->reach[freed][alloc] && (same || judge->reach[touched][alloc]);
}

void world_find_unsafe(struct world *world)
{
	static struct judge judge;
	const uint32_t repetitions = 2 * world->copies;
	memset(&judge, 0, sizeof(judge));
	judge.world = world;
	for (uint32_t repetition = 0; repetition < repetitions; repetition++) {
		for (uint32_t at = 0; at < world->positions; at++) {
			add_gap(&judge, at, repetition);
			add_position(&judge, at, repetition);
		}
	}
	close_reach(&judge);
	for (uint32_t a = 0; a < world->slots * repetitions; a++) {
		for (uint32_t b = 0; b < world->slots * repetitions; b++) {
			const uint32_t slot = a / repetitions;
			const uint32_t next = b / repetitions;
			const uint32_t item = slot * world->copies + a % repetitions % world->copies;
			const uint32_t next_item = next * world->copies + b % repetitions % world->copies;
			if (judge.alloc[slot][a % repetitions] < judge.alloc[next][b % repetitions] &&
				!follows(&judge, slot, a % repetitions, next, b % repetitions))
				world->unsafe[item][next_item] = true;
		}
	}
}

const char *world_judge(const struct world *world)
{
	const uint32_t count = world->slots * world->copies;
	static uint8_t bytes[WORLD_ARENA];
	for (uint32_t a = 0; a < count; a++) {
		memset(bytes, 0, sizeof(bytes));
		memset(bytes + world->offset[a], 1, world->slot[a / world->copies].size_bytes);
		for (uint32_t b = 0; b < count; b++) {
			if (b == a || (!world->unsafe[a][b] && !world->unsafe[b][a]))
				continue;
			for (uint32_t byte = 0; byte < world->slot[b / world->copies].size_bytes; byte++) {
				if (bytes[world->offset[b] + byte] > 0)
					return "two blocks share a byte that may not";
			}
		}
	}
	return NULL;
}
