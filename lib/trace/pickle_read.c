/* pickle_read.c: runs the opcodes of a pickle. See pickle.h for what is accepted, pickle_machine.h for the machine.
 *
 * No locks: one call owns everything that it touches.
 */
#include <string.h>

#include "check.h"
#include "meta.h"
#include "pickle_machine.h"
#include "trace_error.h"

#define PROTOCOL_MAX 5u

static const struct seam_pickle_opcode opcodes[256] = {
#define PICKLE_OP(byte, name, function) [byte] = {#name, seam__pickle_##function},
#include "pickle_ops.def"
#undef PICKLE_OP
};

static const char *name_of_op(const struct seam_pickle_machine *machine)
{
	return opcodes[machine->pickle->data[machine->op_at]].name;
}

enum seam_rc seam__pickle_fail(struct seam_pickle_machine *machine, const char *what)
{
	seam__trace_error_set(machine->error, machine->op_at, "damaged pickle: %s at byte %zu: %s", name_of_op(machine),
		machine->op_at, what);
	return SEAM_CORRUPT;
}

enum seam_rc seam__pickle_refuse(struct seam_pickle_machine *machine)
{
	seam__trace_error_set(machine->error, machine->op_at,
		"refused pickle: opcode %s at byte %zu asks for more than plain data; nothing was executed",
		name_of_op(machine), machine->op_at);
	return SEAM_FORMAT;
}

enum seam_rc seam__pickle_take(struct seam_pickle_machine *machine, uint64_t bytes, const unsigned char **ret_data)
{
	if (bytes > machine->pickle->bytes - machine->at)
		return seam__pickle_fail(machine, "the file ends inside it");
	*ret_data = machine->pickle->data + machine->at;
	machine->at += (size_t)bytes;
	return SEAM_OK;
}

enum seam_rc seam__pickle_take_number(struct seam_pickle_machine *machine, size_t bytes, uint64_t *ret_number)
{
	const unsigned char *data;
	enum seam_rc rc = seam__pickle_take(machine, bytes, &data);
	if (rc != SEAM_OK)
		return rc;
	uint64_t number = 0;
	for (size_t i = bytes; i-- > 0;)
		number = number << 8 | data[i];
	*ret_number = number;
	return SEAM_OK;
}

enum seam_rc seam__pickle_take_line(struct seam_pickle_machine *machine, const char **ret_text, size_t *ret_bytes)
{
	const char *text = (const char *)machine->pickle->data + machine->at;
	const char *end = memchr(text, '\n', machine->pickle->bytes - machine->at);
	if (end == NULL)
		return seam__pickle_fail(machine, "the file ends inside its line");
	size_t bytes = (size_t)(end - text);
	machine->at += bytes + 1;
	if (bytes > 0 && text[bytes - 1] == '\r')
		bytes--;
	*ret_text = text;
	*ret_bytes = bytes;
	return SEAM_OK;
}

enum seam_rc seam__pickle_push(struct seam_pickle_machine *machine, uint32_t index)
{
	return seam__grow_append(&machine->stack, &index, 1);
}

enum seam_rc seam__pickle_push_node(struct seam_pickle_machine *machine, struct seam_pickle_node node)
{
	uint32_t index;
	enum seam_rc rc = seam__pickle_node_add(machine->pickle, node, &index);
	return rc == SEAM_OK ? seam__pickle_push(machine, index) : rc;
}

static size_t last_mark(const struct seam_pickle_machine *machine)
{
	const uint32_t *marks = machine->marks.items;
	return machine->marks.count == 0 ? 0 : marks[machine->marks.count - 1];
}

const uint32_t *seam__pickle_peek(const struct seam_pickle_machine *machine, size_t count)
{
	if (machine->stack.count - last_mark(machine) < count)
		return NULL;
	return (const uint32_t *)machine->stack.items + machine->stack.count - count;
}

enum seam_rc seam__pickle_read_proto(struct seam_pickle_machine *machine)
{
	uint64_t protocol;
	enum seam_rc rc = seam__pickle_take_number(machine, 1, &protocol);
	if (rc != SEAM_OK || protocol <= PROTOCOL_MAX)
		return rc;
	seam__trace_error_set(machine->error, machine->op_at, "pickle of protocol %u; protocols 0 to %u are read",
		(unsigned)protocol, PROTOCOL_MAX);
	return SEAM_VERSION;
}

enum seam_rc seam__pickle_read_frame(struct seam_pickle_machine *machine)
{
	uint64_t bytes;
	enum seam_rc rc = seam__pickle_take_number(machine, 8, &bytes);
	if (rc == SEAM_OK && bytes > machine->pickle->bytes - machine->at)
		return seam__pickle_fail(machine, "the frame is longer than the file");
	return rc;
}

enum seam_rc seam__pickle_read_stop(struct seam_pickle_machine *machine)
{
	const uint32_t *root = seam__pickle_peek(machine, 1);
	if (root == NULL || machine->stack.count != 1 || machine->marks.count != 0)
		return seam__pickle_fail(machine, "not exactly one value is left");
	if (machine->at != machine->pickle->bytes)
		return seam__pickle_fail(machine, "more bytes follow");
	machine->pickle->root = *root;
	machine->stopped = true;
	return SEAM_OK;
}

static enum seam_rc read_op(struct seam_pickle_machine *machine)
{
	if (machine->at == machine->pickle->bytes) {
		seam__trace_error_set(
			machine->error, machine->at, "truncated pickle: it ends at byte %zu without STOP", machine->at);
		return SEAM_CORRUPT;
	}
	machine->op_at = machine->at++;
	const unsigned byte = machine->pickle->data[machine->op_at];
	if (opcodes[byte].name == NULL) {
		seam__trace_error_set(machine->error, machine->op_at,
			"damaged pickle: unknown opcode 0x%02x at byte %zu", byte, machine->op_at);
		return SEAM_CORRUPT;
	}
	return opcodes[byte].read(machine);
}

static enum seam_rc run(struct seam_pickle *pickle, struct seam_trace_error *error)
{
	struct seam_pickle_machine machine = {.pickle = pickle, .error = error};
	seam__grow_init(&machine.stack, sizeof(uint32_t));
	seam__grow_init(&machine.marks, sizeof(uint32_t));
	seam__grow_init(&machine.memo, sizeof(uint32_t));
	enum seam_rc rc = SEAM_OK;
	while (rc == SEAM_OK && !machine.stopped)
		rc = read_op(&machine);
	seam__grow_fini(&machine.memo);
	seam__grow_fini(&machine.marks);
	seam__grow_fini(&machine.stack);
	return rc;
}

enum seam_rc seam__pickle_read(
	const void *data, size_t bytes, struct seam_trace_error *error, struct seam_pickle **ret_pickle)
{
	if (bytes == 0) {
		seam__trace_error_set(error, 0, "an empty file is no pickle");
		return SEAM_CORRUPT;
	}
	if (bytes > SEAM_PICKLE_LIMIT_BYTES) {
		seam__trace_error_set(
			error, 0, "pickle of %zu bytes; at most %zu are read", bytes, SEAM_PICKLE_LIMIT_BYTES);
		return SEAM_INVALID;
	}
	struct seam_pickle *pickle = seam__meta_alloc(seam__meta_process(), sizeof(*pickle));
	if (pickle == NULL)
		return seam__trace_error_rc(error, SEAM_OOM_META);
	pickle->data = data;
	pickle->bytes = bytes;
	seam__grow_init(&pickle->nodes, sizeof(struct seam_pickle_node));
	seam__grow_init(&pickle->pool, sizeof(uint32_t));
	seam__grow_init(&pickle->decoded, sizeof(char));
	enum seam_rc rc = run(pickle, error);
	if (rc == SEAM_OOM_META)
		(void)seam__trace_error_rc(error, rc);
	if (rc != SEAM_OK) {
		seam__pickle_free(pickle);
		return rc;
	}
	SEAM_ASSERT_DEEP(seam__pickle_check(pickle));
	*ret_pickle = pickle;
	return SEAM_OK;
}
