/* pickle_container.c: the opcodes that move the stack, the marks and the memo, and those that make containers. */
#include "pickle_machine.h"

/* A real pickle nests marks as deep as its data; no snapshot comes near this. */
#define MARKS_MAX 1000u

enum seam_rc seam__pickle_read_mark(struct seam_pickle_machine *machine)
{
	if (machine->marks.count == MARKS_MAX)
		return seam__pickle_fail(machine, "nested too deeply");
	const uint32_t height = (uint32_t)machine->stack.count;
	return seam__grow_append(&machine->marks, &height, 1);
}

/* Removes the last mark; ret_count: how many elements stood above it, which stay. False: there is no mark. */
static bool pop_mark(struct seam_pickle_machine *machine, size_t *ret_count)
{
	if (machine->marks.count == 0)
		return false;
	const uint32_t *marks = machine->marks.items;
	*ret_count = machine->stack.count - marks[--machine->marks.count];
	return true;
}

static enum seam_rc fail_without_mark(struct seam_pickle_machine *machine)
{
	return seam__pickle_fail(machine, "no MARK before it");
}

/* Removes the top element, or, as Python does, a mark where it is on top. */
enum seam_rc seam__pickle_read_pop(struct seam_pickle_machine *machine)
{
	if (seam__pickle_peek(machine, 1) != NULL) {
		machine->stack.count--;
		return SEAM_OK;
	}
	if (machine->marks.count == 0)
		return seam__pickle_fail(machine, "an empty stack");
	machine->marks.count--;
	return SEAM_OK;
}

enum seam_rc seam__pickle_read_pop_mark(struct seam_pickle_machine *machine)
{
	size_t count;
	if (!pop_mark(machine, &count))
		return fail_without_mark(machine);
	machine->stack.count -= count;
	return SEAM_OK;
}

enum seam_rc seam__pickle_read_dup(struct seam_pickle_machine *machine)
{
	const uint32_t *top = seam__pickle_peek(machine, 1);
	if (top == NULL)
		return seam__pickle_fail(machine, "an empty stack");
	return seam__pickle_push(machine, *top);
}

/* Replaces the topmost `count` elements by a new container that holds them. */
static enum seam_rc gather(struct seam_pickle_machine *machine, enum seam_pickle_type type, size_t count)
{
	const uint32_t *items = count == 0 ? NULL : seam__pickle_peek(machine, count);
	if (count > 0 && items == NULL)
		return seam__pickle_fail(machine, "too few values on the stack");
	uint32_t container;
	enum seam_rc rc =
		seam__pickle_node_add(machine->pickle, (struct seam_pickle_node){.type = (uint8_t)type}, &container);
	if (rc == SEAM_OK)
		rc = seam__pickle_extend(machine->pickle, container, items, count);
	if (rc != SEAM_OK)
		return rc;
	machine->stack.count -= count;
	return seam__pickle_push(machine, container);
}

static enum seam_rc gather_to_mark(struct seam_pickle_machine *machine, enum seam_pickle_type type)
{
	size_t count;
	if (!pop_mark(machine, &count))
		return fail_without_mark(machine);
	if (type == SEAM_PICKLE_DICT && count % 2 != 0)
		return seam__pickle_fail(machine, "a key without a value");
	return gather(machine, type, count);
}

enum seam_rc seam__pickle_read_list(struct seam_pickle_machine *machine)
{
	return gather_to_mark(machine, SEAM_PICKLE_LIST);
}

enum seam_rc seam__pickle_read_tuple(struct seam_pickle_machine *machine)
{
	return gather_to_mark(machine, SEAM_PICKLE_TUPLE);
}

enum seam_rc seam__pickle_read_dict(struct seam_pickle_machine *machine)
{
	return gather_to_mark(machine, SEAM_PICKLE_DICT);
}

enum seam_rc seam__pickle_read_frozenset(struct seam_pickle_machine *machine)
{
	return gather_to_mark(machine, SEAM_PICKLE_SET);
}

enum seam_rc seam__pickle_read_empty_list(struct seam_pickle_machine *machine)
{
	return gather(machine, SEAM_PICKLE_LIST, 0);
}

enum seam_rc seam__pickle_read_empty_tuple(struct seam_pickle_machine *machine)
{
	return gather(machine, SEAM_PICKLE_TUPLE, 0);
}

enum seam_rc seam__pickle_read_empty_dict(struct seam_pickle_machine *machine)
{
	return gather(machine, SEAM_PICKLE_DICT, 0);
}

enum seam_rc seam__pickle_read_empty_set(struct seam_pickle_machine *machine)
{
	return gather(machine, SEAM_PICKLE_SET, 0);
}

enum seam_rc seam__pickle_read_tuple1(struct seam_pickle_machine *machine)
{
	return gather(machine, SEAM_PICKLE_TUPLE, 1);
}

enum seam_rc seam__pickle_read_tuple2(struct seam_pickle_machine *machine)
{
	return gather(machine, SEAM_PICKLE_TUPLE, 2);
}

enum seam_rc seam__pickle_read_tuple3(struct seam_pickle_machine *machine)
{
	return gather(machine, SEAM_PICKLE_TUPLE, 3);
}

/* Moves the topmost `count` elements into the container below them. */
static enum seam_rc extend_below(struct seam_pickle_machine *machine, enum seam_pickle_type type, size_t count)
{
	const uint32_t *items = seam__pickle_peek(machine, count + 1);
	if (items == NULL)
		return seam__pickle_fail(machine, "too few values on the stack");
	if (seam__pickle_node(machine->pickle, items[0])->type != type)
		return seam__pickle_fail(machine, "the value below is of another type");
	enum seam_rc rc = seam__pickle_extend(machine->pickle, items[0], items + 1, count);
	if (rc == SEAM_OK)
		machine->stack.count -= count;
	return rc;
}

static enum seam_rc extend_below_mark(struct seam_pickle_machine *machine, enum seam_pickle_type type)
{
	size_t count;
	if (!pop_mark(machine, &count))
		return fail_without_mark(machine);
	if (type == SEAM_PICKLE_DICT && count % 2 != 0)
		return seam__pickle_fail(machine, "a key without a value");
	return extend_below(machine, type, count);
}

enum seam_rc seam__pickle_read_append(struct seam_pickle_machine *machine)
{
	return extend_below(machine, SEAM_PICKLE_LIST, 1);
}

enum seam_rc seam__pickle_read_appends(struct seam_pickle_machine *machine)
{
	return extend_below_mark(machine, SEAM_PICKLE_LIST);
}

enum seam_rc seam__pickle_read_setitem(struct seam_pickle_machine *machine)
{
	return extend_below(machine, SEAM_PICKLE_DICT, 2);
}

enum seam_rc seam__pickle_read_setitems(struct seam_pickle_machine *machine)
{
	return extend_below_mark(machine, SEAM_PICKLE_DICT);
}

enum seam_rc seam__pickle_read_additems(struct seam_pickle_machine *machine)
{
	return extend_below_mark(machine, SEAM_PICKLE_SET);
}

/* A pickler numbers its memo from 0 without gaps, and each entry costs bytes: a slot beyond the position in the file is
 * hostile, and would buy memory for nothing. */
static enum seam_rc put(struct seam_pickle_machine *machine, uint64_t slot)
{
	const uint32_t *top = seam__pickle_peek(machine, 1);
	if (top == NULL)
		return seam__pickle_fail(machine, "an empty stack");
	if (slot > machine->at)
		return seam__pickle_fail(machine, "a memo slot beyond any that this file can have used");
	if (slot >= machine->memo.count) {
		const size_t missing = (size_t)slot + 1 - machine->memo.count;
		enum seam_rc rc = seam__grow_reserve(&machine->memo, missing);
		if (rc != SEAM_OK)
			return rc;
		for (size_t i = 0; i < missing; i++)
			((uint32_t *)machine->memo.items)[machine->memo.count++] = 0;
	}
	uint32_t *entry = (uint32_t *)machine->memo.items + slot;
	if (*entry == 0)
		machine->memo_entries++;
	*entry = *top + 1;
	return SEAM_OK;
}

static enum seam_rc get(struct seam_pickle_machine *machine, uint64_t slot)
{
	const uint32_t *memo = machine->memo.items;
	if (slot >= machine->memo.count || memo[slot] == 0)
		return seam__pickle_fail(machine, "an empty memo slot");
	return seam__pickle_push(machine, memo[slot] - 1);
}

enum seam_rc seam__pickle_read_memoize(struct seam_pickle_machine *machine)
{
	return put(machine, machine->memo_entries);
}

static enum seam_rc take_slot_line(struct seam_pickle_machine *machine, uint64_t *ret_slot)
{
	const char *text;
	size_t bytes;
	struct seam_pickle_node node;
	enum seam_rc rc = seam__pickle_take_line(machine, &text, &bytes);
	if (rc != SEAM_OK)
		return rc;
	if (!seam__pickle_parse_integer(text, bytes, &node) || node.type != SEAM_PICKLE_INT || node.as.i64 < 0)
		return seam__pickle_fail(machine, "not the number of a memo slot");
	*ret_slot = (uint64_t)node.as.i64;
	return SEAM_OK;
}

enum seam_rc seam__pickle_read_put_line(struct seam_pickle_machine *machine)
{
	uint64_t slot = 0;
	enum seam_rc rc = take_slot_line(machine, &slot);
	return rc == SEAM_OK ? put(machine, slot) : rc;
}

enum seam_rc seam__pickle_read_put1(struct seam_pickle_machine *machine)
{
	uint64_t slot;
	enum seam_rc rc = seam__pickle_take_number(machine, 1, &slot);
	return rc == SEAM_OK ? put(machine, slot) : rc;
}

enum seam_rc seam__pickle_read_put4(struct seam_pickle_machine *machine)
{
	uint64_t slot;
	enum seam_rc rc = seam__pickle_take_number(machine, 4, &slot);
	return rc == SEAM_OK ? put(machine, slot) : rc;
}

enum seam_rc seam__pickle_read_get_line(struct seam_pickle_machine *machine)
{
	uint64_t slot = 0;
	enum seam_rc rc = take_slot_line(machine, &slot);
	return rc == SEAM_OK ? get(machine, slot) : rc;
}

enum seam_rc seam__pickle_read_get1(struct seam_pickle_machine *machine)
{
	uint64_t slot;
	enum seam_rc rc = seam__pickle_take_number(machine, 1, &slot);
	return rc == SEAM_OK ? get(machine, slot) : rc;
}

enum seam_rc seam__pickle_read_get4(struct seam_pickle_machine *machine)
{
	uint64_t slot;
	enum seam_rc rc = seam__pickle_take_number(machine, 4, &slot);
	return rc == SEAM_OK ? get(machine, slot) : rc;
}
