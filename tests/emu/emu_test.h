/* emu_test.h: what the parts of the emulator's own suite share. */
#ifndef SEAM_TESTS_EMU_TEST_H
#define SEAM_TESTS_EMU_TEST_H

#include "driver.h"
#include "emu.h"

#define MIB UINT64_C(1048576)
#define G (2 * MIB) /* the default granularity */

extern const struct seam_phys_props plain;
extern const struct seam_access read_write;

/* A device; bails out where there is none. close checks its invariants first. */
struct seam_driver *open_emu(const struct seam_emu_config *config);
void close_emu(struct seam_driver *d);

/* Set-up steps that must work. */
void must(struct seam_driver *d, int cu, const char *call, int line);
#define MUST(call) must(d, (call), #call, __LINE__)

/* `chunks` handles of G mapped side by side with access. Released handles: they die with their mappings. */
uint64_t map_chunks(struct seam_driver *d, uint64_t chunks);
uint64_t map_alias(struct seam_driver *d, uint64_t va); /* the handle at va once more, elsewhere */
uint64_t make_stream(struct seam_driver *d, enum seam_stream_kind kind);

/* A kernel on [va, va + bytes). */
int launch(struct seam_driver *d, uint64_t stream, uint64_t va, uint64_t bytes, bool write, uint64_t duration_ns);

/* How a child ends that loads or stores one byte: 0, or the signal that killed it; -1: there was no child. */
int touch(uint64_t va, bool write);

void part_violations(void);
void part_edges(void);
void part_devices(void);
void part_sticky(void);
void part_time(void);
void part_costs(void);
void part_limits(void);
void part_handles(void);
void part_registered(void);
void part_memory(void);
void part_failures(void);
void part_fork(void);
void part_full_map(void);
void part_model(void);
void part_metadata(void);
void part_graph(void);
void part_strict(void);
void part_engine(void);

#endif
