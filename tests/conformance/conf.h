/* conf.h: what the parts of the conformance suite share: the device under test and short forms of its calls.
 *
 * A part leaves the device as it found it, whatever was answered: a mapping that should have been refused is taken away
 * again. What the library relies on is asserted. What only an assumption says of real drivers is observed (tap.h), and
 * so is what drivers are known to answer differently.
 */
#ifndef SEAM_TESTS_CONF_H
#define SEAM_TESTS_CONF_H

#include "driver.h"

struct conf {
	struct seam_driver *d;
	struct seam_driver *peer; /* device 1, or NULL */
	bool has_contents;        /* memory is real: bytes can be compared */
	bool is_emu;
	uint64_t g;          /* granularity of plain device memory */
	const char *program; /* argv[0] */
};
extern struct conf conf;

extern const struct seam_phys_props conf_plain;
extern const struct seam_access conf_read_write;

/* One line of TAP: the call's result is `wanted`. Returns whether it is. */
bool conf_result(int cu, int wanted, const char *file, int line, const char *call);
#define wants(wanted, call) conf_result((call), (wanted), __FILE__, __LINE__, #call)
#define works(call) wants(SEAM_CU_SUCCESS, call)
#define refuses(call) wants(SEAM_CU_INVALID_VALUE, call)

/* One line of TAP that cannot fail, with the answer and the assumed one. True: the call worked. */
bool conf_observe(int cu, int assumed, const char *call);
#define observes(assumed, call) conf_observe((call), (assumed), #call)

/* Likewise of a call that is known to work with some drivers and to be refused by others. */
bool conf_differ(int cu, const char *call);
#define differs(call) conf_differ((call), #call)

/* The set-up of a test; if it fails the rest of the part is given up, and the next one runs. The reverse of each is not
 * checked. */
uint64_t conf_reserve(uint64_t bytes);
struct seam_phys conf_create(uint64_t bytes);
void conf_map(uint64_t va, struct seam_phys phys, uint64_t bytes); /* and grants access */
uint64_t conf_stream(enum seam_stream_kind kind);
struct seam_event conf_event(void);
void conf_sync(void);

/* Undo, results ignored: after a refused call these may have nothing to do. */
void conf_unmap(uint64_t va, uint64_t bytes);
void conf_release(struct seam_phys phys);
void conf_free(uint64_t va, uint64_t bytes);

/* Writes a pattern made of `seed`; looks whether it is there and can be read. In book mode a check is left out. */
void conf_write(uint64_t va, uint64_t bytes, uint32_t seed);
bool conf_holds(uint64_t va, uint64_t bytes, uint32_t seed);

/* Pending work: a host function that waits until the gate is open, or for so long that something must be waiting for
 * it: then it lets go, and what was to be seen behind a closed gate is not. */
struct conf_gate {
	_Atomic int open;
	_Atomic int passed;
};
void conf_gate_close(struct conf_gate *gate, uint64_t stream);
void conf_gate_open(struct conf_gate *gate);

void part_queries(void);
void part_reserve(void);
void part_create(void);
void part_map(void);
void part_unmap(void);
void part_access(void);
void part_references(void);
void part_aliases(void);
void part_export(void);
void part_direct(void);
void part_host(void);
void part_host_node(void);
void part_copies(void);
void part_streams(void);
void part_events(void);
void part_order(void);
void part_legacy(void);
void part_per_thread(void);
void part_capture(void);
void part_capture_refusals(void);
void part_injection(void);
void part_counters(void);
void part_threads(void);
void part_peers(void);
void part_stray_direct(void);
void part_stray_copies(void);
void part_stray_peers(void);

#endif
