/* pickle_machine.h: the machine that a pickle's opcodes drive: input position, stack, marks, memo.
 *
 * For pickle_read.c (the loop), pickle_scalar.c and pickle_container.c (the opcodes). Each opcode is a function that
 * returns an error after machine_fail(), or SEAM_OOM_META.
 * Invariants:
 *   K1  a mark is at most the stack's height; nothing below the last mark is popped
 *   K2  a memo slot is 0 (empty) or 1 + an index of a node
 */
#ifndef SEAM_PICKLE_MACHINE_H
#define SEAM_PICKLE_MACHINE_H

#include "pickle_tree.h"

struct seam_pickle_machine {
	struct seam_pickle *pickle;
	size_t at;                      /* next byte of the input */
	size_t op_at;                   /* where the current opcode stands, for messages */
	struct seam_grow stack;         /* uint32_t: nodes */
	struct seam_grow marks;         /* uint32_t: heights of the stack */
	struct seam_grow memo;          /* uint32_t */
	size_t memo_entries;            /* slots of the memo that are not empty: what MEMOIZE counts */
	bool stopped;                   /* the STOP opcode was read */
	struct seam_trace_error *error; /* may be NULL */
};

typedef enum seam_rc (*seam_pickle_op)(struct seam_pickle_machine *machine);

struct seam_pickle_opcode {
	const char *name;    /* NULL: no such opcode */
	seam_pickle_op read; /* NULL: refused */
};

/* Says what is wrong with the current opcode. Returns SEAM_CORRUPT. */
enum seam_rc seam__pickle_fail(struct seam_pickle_machine *machine, const char *what);

/* The next `bytes` bytes of the input; the position moves behind them. Errors: SEAM_CORRUPT when there are fewer. */
SEAM_MUST_USE enum seam_rc seam__pickle_take(
	struct seam_pickle_machine *machine, uint64_t bytes, const unsigned char **ret_data);

/* A little-endian number of 1, 2, 4 or 8 bytes. */
SEAM_MUST_USE enum seam_rc seam__pickle_take_number(
	struct seam_pickle_machine *machine, size_t bytes, uint64_t *ret_number);

/* The rest of the line, without its newline (and a carriage return before it). */
SEAM_MUST_USE enum seam_rc seam__pickle_take_line(
	struct seam_pickle_machine *machine, const char **ret_text, size_t *ret_bytes);

/* Pushes a new node. */
SEAM_MUST_USE enum seam_rc seam__pickle_push_node(struct seam_pickle_machine *machine, struct seam_pickle_node node);

/* Pushes a node that exists. */
SEAM_MUST_USE enum seam_rc seam__pickle_push(struct seam_pickle_machine *machine, uint32_t index);

/* The topmost `count` elements, all above the last mark; they stay. NULL when there are fewer. */
const uint32_t *seam__pickle_peek(const struct seam_pickle_machine *machine, size_t count);

/* Every opcode's function, declared from the table. */
#define PICKLE_OP(byte, name, function) enum seam_rc seam__pickle_##function(struct seam_pickle_machine *machine);
#include "pickle_ops.def"
#undef PICKLE_OP

#endif
