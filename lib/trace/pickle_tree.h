/* pickle_tree.h: how a pickle lies in memory; for pickle_read.c, pickle_text.c and pickle_tree.c only.
 *
 * Invariants:
 *   PT1  every index in the pool and on the stack is below nodes.count
 *   PT2  an extent's elements and its link lie inside the pool; links go to younger extents only, so a chain ends
 *   PT3  a text lies inside the input or, where `owned`, inside `decoded`
 * Sizes: a byte of input makes at most one node (16 bytes), one stack or memo slot (4 each) and three pool slots (12).
 */
#ifndef SEAM_PICKLE_TREE_H
#define SEAM_PICKLE_TREE_H

#include "grow.h"
#include "pickle.h"

struct seam_pickle_node {
	uint8_t type;   /* enum seam_pickle_type */
	uint8_t owned;  /* text: 1 when it lies in `decoded` */
	uint32_t count; /* see seam__pickle_count(); a bool's value */
	union {
		int64_t i64;     /* INT */
		uint64_t u64;    /* UINT */
		uint64_t offset; /* TEXT, BYTES: where it begins */
		struct {
			uint32_t first; /* containers: position of the first extent, 0 when empty */
			uint32_t last;  /* of the last one */
		} extents;
	} as;
};

/* In the pool an extent is its successor's position (0: none), its number of elements, and the elements. */
#define SEAM_PICKLE_EXTENT_HEAD 2u

struct seam_pickle {
	const unsigned char *data;
	size_t bytes;
	struct seam_grow nodes;   /* struct seam_pickle_node */
	struct seam_grow pool;    /* uint32_t: extents; position 0 is not used */
	struct seam_grow decoded; /* char: texts that do not stand in the input as they are */
	uint32_t root;
};

static inline struct seam_pickle_node *seam__pickle_node(const struct seam_pickle *pickle, uint32_t index)
{
	return (struct seam_pickle_node *)pickle->nodes.items + index;
}

/* A new node. Errors: SEAM_OOM_META. */
SEAM_MUST_USE enum seam_rc seam__pickle_node_add(
	struct seam_pickle *pickle, struct seam_pickle_node node, uint32_t *ret_index);

/* Appends elements to a container (two for each pair of a dict). Errors: SEAM_OOM_META. */
SEAM_MUST_USE enum seam_rc seam__pickle_extend(
	struct seam_pickle *pickle, uint32_t container, const uint32_t *elements, size_t count);

/* Decimal digits with an optional sign, `bytes` of them. False where it is no integer. */
bool seam__pickle_parse_integer(const char *text, size_t bytes, struct seam_pickle_node *ret_node);

/* A little-endian two's complement integer of any length. */
struct seam_pickle_node seam__pickle_parse_long(const unsigned char *data, size_t bytes);

/* True where the text is one float literal. */
bool seam__pickle_is_float(const char *text, size_t bytes);

/* Decodes the line of a STRING opcode (quoted, Python's escapes) or of a UNICODE opcode (raw-unicode-escape) into
 * `decoded` and describes it in ret_node. Errors: SEAM_CORRUPT (malformed), SEAM_OOM_META. */
SEAM_MUST_USE enum seam_rc seam__pickle_decode_string(
	struct seam_pickle *pickle, const char *text, size_t bytes, struct seam_pickle_node *ret_node);
SEAM_MUST_USE enum seam_rc seam__pickle_decode_unicode(
	struct seam_pickle *pickle, const char *text, size_t bytes, struct seam_pickle_node *ret_node);

#endif
