/* pickle_tree.c: the values of a pickle in memory: making them, reading them. See pickle.h and pickle_tree.h. */
#include "pickle_tree.h"

#include <string.h>

#include "meta.h"

/* An element costs the input at least a byte, and is looked at a few times. */
#define STEPS_PER_BYTE 8u
#define STEPS_AT_LEAST 4096u

enum seam_rc seam__pickle_node_add(struct seam_pickle *pickle, struct seam_pickle_node node, uint32_t *ret_index)
{
	enum seam_rc rc = seam__grow_append(&pickle->nodes, &node, 1);
	if (rc == SEAM_OK)
		*ret_index = (uint32_t)(pickle->nodes.count - 1);
	return rc;
}

enum seam_rc seam__pickle_extend(struct seam_pickle *pickle, uint32_t container, const uint32_t *elements, size_t count)
{
	if (count == 0)
		return SEAM_OK;
	enum seam_rc rc = seam__grow_reserve(&pickle->pool, count + SEAM_PICKLE_EXTENT_HEAD + 1);
	if (rc != SEAM_OK)
		return rc;
	struct seam_pickle_node *node = seam__pickle_node(pickle, container);
	uint32_t *pool = pickle->pool.items;
	if (pickle->pool.count == 0)
		pool[pickle->pool.count++] = 0;
	uint32_t last = node->as.extents.last;
	if (last != 0 && last + SEAM_PICKLE_EXTENT_HEAD + pool[last + 1] == pickle->pool.count) {
		pool[last + 1] += (uint32_t)count; /* it stands at the pool's end: it just gets longer */
	} else {
		const uint32_t extent = (uint32_t)pickle->pool.count;
		pool[extent] = 0;
		pool[extent + 1] = (uint32_t)count;
		pickle->pool.count += SEAM_PICKLE_EXTENT_HEAD;
		if (last != 0)
			pool[last] = extent;
		else
			node->as.extents.first = extent;
		node->as.extents.last = extent;
	}
	memcpy(pool + pickle->pool.count, elements, count * sizeof(*elements));
	pickle->pool.count += count;
	node->count += (uint32_t)(node->type == SEAM_PICKLE_DICT ? count / 2 : count);
	return SEAM_OK;
}

void seam__pickle_free(struct seam_pickle *pickle)
{
	if (pickle == NULL)
		return;
	seam__grow_fini(&pickle->decoded);
	seam__grow_fini(&pickle->pool);
	seam__grow_fini(&pickle->nodes);
	seam__meta_free(seam__meta_process(), pickle, sizeof(*pickle));
}

struct seam_pickle_value seam__pickle_root(const struct seam_pickle *pickle)
{
	return (struct seam_pickle_value){pickle->root};
}

enum seam_pickle_type seam__pickle_type(const struct seam_pickle *pickle, struct seam_pickle_value value)
{
	return (enum seam_pickle_type)seam__pickle_node(pickle, value.index)->type;
}

size_t seam__pickle_count(const struct seam_pickle *pickle, struct seam_pickle_value value)
{
	const struct seam_pickle_node *node = seam__pickle_node(pickle, value.index);
	return node->type >= SEAM_PICKLE_TEXT ? node->count : 0;
}

bool seam__pickle_get_u64(const struct seam_pickle *pickle, struct seam_pickle_value value, uint64_t *ret_number)
{
	const struct seam_pickle_node *node = seam__pickle_node(pickle, value.index);
	if (node->type == SEAM_PICKLE_UINT)
		*ret_number = node->as.u64;
	else if (node->type == SEAM_PICKLE_INT && node->as.i64 >= 0)
		*ret_number = (uint64_t)node->as.i64;
	else if (node->type == SEAM_PICKLE_BOOL)
		*ret_number = node->count;
	else
		return false;
	return true;
}

bool seam__pickle_get_i64(const struct seam_pickle *pickle, struct seam_pickle_value value, int64_t *ret_number)
{
	const struct seam_pickle_node *node = seam__pickle_node(pickle, value.index);
	if (node->type == SEAM_PICKLE_INT)
		*ret_number = node->as.i64;
	else if (node->type == SEAM_PICKLE_BOOL)
		*ret_number = node->count;
	else
		return false;
	return true;
}

bool seam__pickle_get_text(
	const struct seam_pickle *pickle, struct seam_pickle_value value, const char **ret_text, size_t *ret_bytes)
{
	const struct seam_pickle_node *node = seam__pickle_node(pickle, value.index);
	if (node->type != SEAM_PICKLE_TEXT)
		return false;
	const char *base = node->owned ? pickle->decoded.items : (const char *)pickle->data;
	*ret_text = node->count == 0 ? "" : base + node->as.offset;
	*ret_bytes = node->count;
	return true;
}

bool seam__pickle_text_is(const struct seam_pickle *pickle, struct seam_pickle_value value, const char *text)
{
	const char *own;
	size_t bytes;
	return seam__pickle_get_text(pickle, value, &own, &bytes) && bytes == strlen(text) &&
		memcmp(own, text, bytes) == 0;
}

struct seam_pickle_walk seam__pickle_walk_begin(const struct seam_pickle *pickle)
{
	return (struct seam_pickle_walk){
		.pickle = pickle, .steps_left = (uint64_t)pickle->bytes * STEPS_PER_BYTE + STEPS_AT_LEAST};
}

bool seam__pickle_walk_is_spent(const struct seam_pickle_walk *walk)
{
	return walk->steps_left == 0;
}

struct seam_pickle_cursor seam__pickle_first(const struct seam_pickle *pickle, struct seam_pickle_value container)
{
	const struct seam_pickle_node *node = seam__pickle_node(pickle, container.index);
	if (node->type < SEAM_PICKLE_LIST)
		return (struct seam_pickle_cursor){0};
	return (struct seam_pickle_cursor){.extent = node->as.extents.first};
}

bool seam__pickle_next(
	struct seam_pickle_walk *walk, struct seam_pickle_cursor *cursor, struct seam_pickle_value *ret_value)
{
	if (cursor->extent == 0 || walk->steps_left == 0)
		return false;
	walk->steps_left--;
	const uint32_t *pool = walk->pickle->pool.items;
	const uint32_t extent = cursor->extent;
	ret_value->index = pool[extent + SEAM_PICKLE_EXTENT_HEAD + cursor->next];
	cursor->next++;
	if (cursor->next == pool[extent + 1])
		*cursor = (struct seam_pickle_cursor){.extent = pool[extent]};
	return true;
}

bool seam__pickle_find(struct seam_pickle_walk *walk, struct seam_pickle_value dict, const char *key,
	struct seam_pickle_value *ret_value)
{
	if (seam__pickle_type(walk->pickle, dict) != SEAM_PICKLE_DICT)
		return false;
	bool found = false;
	struct seam_pickle_value name;
	struct seam_pickle_value value;
	struct seam_pickle_value last = {0};
	struct seam_pickle_cursor cursor = seam__pickle_first(walk->pickle, dict);
	while (seam__pickle_next(walk, &cursor, &name) && seam__pickle_next(walk, &cursor, &value)) {
		if (seam__pickle_text_is(walk->pickle, name, key)) {
			last = value;
			found = true;
		}
	}
	if (found && !seam__pickle_walk_is_spent(walk))
		*ret_value = last;
	return found && !seam__pickle_walk_is_spent(walk);
}

static const char *check_extents(const struct seam_pickle *pickle, const struct seam_pickle_node *node)
{
	const uint32_t *pool = pickle->pool.items;
	uint32_t before = 0;
	for (uint32_t extent = node->as.extents.first; extent != 0; extent = pool[extent]) {
		if (extent <= before)
			return "pickle PT2: links go to younger extents";
		if (extent + SEAM_PICKLE_EXTENT_HEAD > pickle->pool.count ||
			pool[extent + 1] > pickle->pool.count - extent - SEAM_PICKLE_EXTENT_HEAD)
			return "pickle PT2: an extent lies inside the pool";
		for (uint32_t i = 0; i < pool[extent + 1]; i++) {
			if (pool[extent + SEAM_PICKLE_EXTENT_HEAD + i] >= pickle->nodes.count)
				return "pickle PT1: an element is a node";
		}
		before = extent;
	}
	return before == node->as.extents.last ? NULL : "pickle PT2: the last extent ends the chain";
}

const char *seam__pickle_check(const struct seam_pickle *pickle)
{
	if (pickle->root >= pickle->nodes.count)
		return "pickle PT1: the root is a node";
	for (uint32_t i = 0; i < pickle->nodes.count; i++) {
		const struct seam_pickle_node *node = seam__pickle_node(pickle, i);
		if (node->type >= SEAM_PICKLE_LIST) {
			const char *broken = check_extents(pickle, node);
			if (broken != NULL)
				return broken;
		} else if (node->type >= SEAM_PICKLE_TEXT) {
			const size_t whole = node->owned ? pickle->decoded.count : pickle->bytes;
			if (node->as.offset > whole || node->count > whole - node->as.offset)
				return "pickle PT3: a text lies inside its bytes";
		}
	}
	return NULL;
}
