/* plan.h: plans: where every request of a repeating stretch of allocations goes, made ahead from a trace.
 *
 * A plan names a period: the stretch of requests that a program repeats. For each request of the period it gives an
 * address in one arena, such that no two requests that may be live together share a byte: not within the period, not
 * across its boundary (a lifetime may end in the next repetition or later), and not across streams unless something
 * orders them. Where one address per request cannot do that (a request lives longer than a period), the plan has k
 * copies: repetition q of the period takes the addresses of copy q mod k.
 *
 * Not here: running with a plan (seam.h); recording a trace (trace.h).
 * All functions are pure: no device, no global state, no clock but the calling thread's processor time. With a node
 * limit instead of a time limit the same input gives the same plan on every machine. Different plans may be made and
 * read by different threads; one plan may be read by many.
 *
 * Words: a slot is one request of the period. Positions count the allocations and frees of blocks in the period, from
 * 0, in the order of the trace: the allocation of every slot has one, and so has every free (of a block of this
 * repetition or of an earlier one). Those of dynamic requests count; requests of 0 bytes have neither slot nor
 * position. In a plan of an operator graph positions are operators, and several slots may begin or end at one. A
 * resident is a block that lives through every period; it has no slot unless the plan is linear. The arena is the
 * address range that the plan lays out, [0, arena_bytes).
 *
 * Repetition q is at position p of the circle of copies * positions when it is at p - (q mod copies) * positions of its
 * period; slot i of copy c is live from c * positions + begin up to, but without, c * positions + end, around that
 * circle.
 *
 * The file, little-endian, one section behind the other without padding (every record stands at a multiple of its
 * alignment all the same):
 *
 * - header: struct seam_plan_header, 256 bytes
 * - slots: slot_count records of struct seam_plan_slot, 64 bytes each, in the order of their allocations
 * - offsets: slot_count * copies addresses of 8 bytes: that of slot i in copy c at index i * copies + c; for a slot
 *   without a place (SEAM_PLAN_DYNAMIC) SEAM_PLAN_NO_ADDRESS
 * - streams: stream_count values of 8 bytes: the program's stream of stream number i
 * - waits: wait_count records of struct seam_plan_wait, 32 bytes each: edges that the runtime must insert
 * - groups: group_count records of struct seam_plan_group, 48 bytes each: HomoLayer groups of dynamic requests,
 *   `copies` of them behind each other for every group: that of copy c is the c-th
 * - ranges: range_count records of struct seam_plan_range, 16 bytes each: the reusable space of the groups
 * - prologue: prologue_count records of struct seam_plan_prologue, 16 bytes each: what the program asked for first, in
 *   order, until all that stays had been made and it had begun to repeat
 * - strings: string_bytes bytes: zero-terminated UTF-8, the first one empty; named by byte offset
 *
 * checksum is XXH64 (seed 0) of everything behind the header, header_checksum XXH64 of the header's first 248 bytes.
 *
 * Invariants of a plan, checked when one is read, when one is used (seam_plan_use()) and by seam_plan_check():
 * - L0: the header is as it was made: magic, version, size, and header_checksum, so that its counts are those of the
 *   arrays; an array that it counts is there. A plan in memory may have other arrays of the same counts than it was
 *   made with; who changes its header writes a file image and reads that
 * - L1: sizes are positive, offsets multiples of align_bytes, and offset + size <= arena_bytes; a slot has addresses
 *   unless it is dynamic; align_bytes is a power of two; arena_bytes, chunk_bytes and resident_bytes are at most 2^62;
 *   the arena is not smaller than the lower bound, and equal to it where the plan says SEAM_PLAN_OPTIMAL
 * - L2: positions: begin < positions, begin < end <= begin + copies * positions; slots stand in order of begin, no two
 *   with the same (but in a graph). A linear plan has one copy, and nothing in it ends behind its last position
 * - L3: slots, groups, ranges, waits and strings refer to what exists; flags are known ones, reserved fields 0; ranges
 *   of a group ascend without touching; a group counts its dynamic slots; what is waited for has ended by then; what
 *   the prologue says to stay is of a known size and no more than resident_bytes, and a linear plan has none
 * - L4: arena_chunks and lower_bound_chunks are arena_bytes and lower_bound_bytes in chunks, rounded up
 * - L5: no two slots that live together share a byte, and the ranges of a group are idle all through its interval
 *
 * That a plan fits a trace, and that streams are ordered where they share memory, is another matter:
 * seam_plan_verify().
 */
#ifndef SEAM_PLAN_H
#define SEAM_PLAN_H

#include <stddef.h>
#include <stdint.h>

#include <seam/rc.h>
#include <seam/trace.h>

#ifdef __cplusplus
extern "C" {
#endif

#define SEAM_PLAN_MAGIC "SEAMPLN\n"
#define SEAM_PLAN_VERSION 1u
#define SEAM_PLAN_NO_ADDRESS UINT64_MAX

/* flags of a plan */
#define SEAM_PLAN_LINEAR 0x1u    /* the stretch happens once: nothing crosses its end, and residents have slots */
#define SEAM_PLAN_OPTIMAL 0x2u   /* the peak equals the lower bound */
#define SEAM_PLAN_CANCELLED 0x4u /* the caller stopped the search: the best found so far */
#define SEAM_PLAN_GRAPH 0x8u     /* made from an operator graph: positions are operators, there is no trace */
#define SEAM_PLAN_FLAGS 0xFu     /* all of them */

struct seam_plan_header {
	char magic[8];         /* SEAM_PLAN_MAGIC */
	uint32_t version;      /* SEAM_PLAN_VERSION */
	uint32_t header_bytes; /* 256 */
	uint32_t slot_count;
	uint32_t copies;    /* k, at least 1 */
	uint32_t positions; /* of one period */
	uint32_t flags;
	uint64_t fingerprint; /* of the workload: seam_plan_fingerprint() of its trace and events */
	uint64_t first_event; /* the period in the trace that it was made from: events [first, last) */
	uint64_t last_event;
	uint64_t align_bytes;        /* power of two */
	uint64_t chunk_bytes;        /* at least 1 */
	uint64_t arena_bytes;        /* the peak of the placement */
	uint64_t resident_bytes;     /* live through every period, outside the arena; 0 for a linear plan */
	uint64_t lower_bound_bytes;  /* of the arena: no placement can be smaller */
	uint64_t unplaced_bytes;     /* largest sum of dynamic requests live at once: not in the arena */
	uint32_t lower_bound_chunks; /* P*: lower_bound_bytes rounded up to chunks */
	uint32_t arena_chunks;       /* arena_bytes rounded up to chunks */
	uint32_t reserved_backing;   /* 0; else a stitched plan of an earlier release, which is refused */
	uint32_t stream_count;
	uint32_t wait_count;
	uint32_t group_count;
	uint32_t range_count;
	uint32_t solver; /* string: whose placement it is */
	uint64_t string_bytes;
	uint64_t solve_ns;       /* processor time that the solvers took */
	uint32_t prologue_count; /* 0 where all that stays was there before the trace, or is not told apart */
	uint8_t reserved[84];    /* 0 */
	uint64_t checksum;
	uint64_t header_checksum;
};

/* flags of a slot */
#define SEAM_PLAN_DYNAMIC 0x1u    /* size depends on data: no address; its group says where it may go */
#define SEAM_PLAN_SHARED 0x2u     /* another stream used it (record_stream): its end is not known to the host */
#define SEAM_PLAN_SLOT_FLAGS 0x3u /* all of them */

struct seam_plan_slot {
	uint64_t size_bytes; /* as requested */
	uint32_t begin;      /* position of the allocation */
	uint32_t
		end; /* position of the free, counted from the begin's period: at or above `positions` in a later one */
	uint32_t stream; /* number into the streams */
	uint32_t thread; /* as in the trace */
	uint32_t flags;
	uint32_t module;      /* string */
	uint32_t phase_begin; /* string: phase of the allocation */
	uint32_t phase_end;   /* string: phase of the free */
	uint32_t microbatch;
	uint32_t
		group; /* dynamic: its group of copy 0, a multiple of `copies`; else 0, and where there are no groups */
	uint64_t event;       /* the allocation, as a number in the trace; a graph: number of the tensor */
	uint32_t free_thread; /* thread of the free; of the allocation when there is none */
	uint32_t reserved;    /* 0 */
};

/* Before the allocation of slot `waiter` is used, its stream must wait for an event recorded at the end of slot
 * `waited` (in the repetition `lag` periods before) on that slot's stream, and on the others that used it. */
struct seam_plan_wait {
	uint32_t waited;    /* slot; its end is not behind lag * positions + the waiter's begin */
	uint32_t waiter;    /* slot */
	uint32_t lag;       /* at most `copies`; 0 in a linear plan */
	uint32_t reserved0; /* 0 */
	uint64_t reserved1; /* 0 */
	uint64_t reserved2; /* 0 */
};

/* Dynamic requests that are allocated in one layer and freed in one layer (STAlloc Eq. 3). */
struct seam_plan_group {
	uint32_t module_begin; /* string: the layer of the allocations */
	uint32_t module_end;   /* string: the layer of the frees */
	uint32_t begin;        /* its interval in positions: [begin, end), end as in slots */
	uint32_t end;
	uint32_t first_range; /* its reusable space: ranges [first, first + count) */
	uint32_t range_count;
	uint64_t planned_bytes; /* largest sum of its requests live at once, as seen in the trace */
	uint32_t copy;          /* of the period: the group's number modulo `copies` */
	uint32_t slot_count;    /* dynamic slots that belong to it */
	uint64_t reserved;      /* 0 */
};

/* Idle addresses of the arena, [begin, end), begin < end (STAlloc Eq. 6). Ranges of groups whose intervals meet may
 * overlap: which of their requests lies where is decided when they come. */
struct seam_plan_range {
	uint64_t begin_bytes;
	uint64_t end_bytes;
};

/* flags of a request of the prologue */
#define SEAM_PLAN_STAYS 0x2u          /* a resident */
#define SEAM_PLAN_PROLOGUE_FLAGS 0x3u /* all of them: SEAM_PLAN_DYNAMIC too */

#define SEAM_PLAN_NO_SLOT UINT32_MAX

/* One of the first requests: of the common memory, on any stream. */
struct seam_plan_prologue {
	uint64_t size_bytes; /* as requested */
	uint32_t flags;
	uint32_t slot; /* which one of the period it is, as what came before the period was like it; SEAM_PLAN_NO_SLOT:
			  none, or it stays */
};

/* A plan in memory. Everything belongs to the plan; read-only for its users; may be shared between threads. */
struct seam_plan {
	struct seam_plan_header header;
	const struct seam_plan_slot *slots;
	const uint64_t *offsets;
	const uint64_t *streams;
	const struct seam_plan_wait *waits;
	const struct seam_plan_group *groups;
	const struct seam_plan_range *ranges;
	const struct seam_plan_prologue *prologue;
	const char *strings;
};

/* What stretch of the trace is planned. */
enum seam_plan_period {
	SEAM_PLAN_PERIOD_AUTO,  /* the period if the trace has one, else the whole trace once. A loop inside of an
				 * iteration,  across whose boundary most of its memory lives on, is none unless steps
				 * are  marked */
	SEAM_PLAN_PERIOD_FIND,  /* the period; SEAM_NOT_FOUND when there is none. Where no steps are marked, its
				 * repetitions,  two or more, are at least half of the requests, not counting what lives
				 * through them all */
	SEAM_PLAN_PERIOD_WHOLE, /* the whole trace, once */
	SEAM_PLAN_PERIOD_GIVEN  /* events [first_event, last_event), repeated */
};

/* What may share memory across streams. */
enum seam_plan_streams {
	SEAM_PLAN_STREAMS_EDGES,  /* what the trace's own edges order (event record and wait, synchronisation); without
				   * any edge nothing */
	SEAM_PLAN_STREAMS_APART,  /* nothing */
	SEAM_PLAN_STREAMS_INSERT, /* everything that program order allows; the plan lists the waits that make it safe */
	SEAM_PLAN_STREAMS_AUTO /* edges, where a plan of those is hardly larger than what lives at once. Else waits are
				* inserted, each as long after what it waits for as the plan can do with, so that that
				* has passed by then if it can be */
};

/* What is known while a plan is made; see seam_plan_options.progress. */
struct seam_plan_progress {
	const char *solver;  /* that found the best placement so far */
	uint64_t peak_bytes; /* its peak; UINT64_MAX before there is one */
	uint64_t lower_bound_bytes;
	uint64_t elapsed_ns; /* processor time */
};

/* A block that already has an address in the arena: the plan must leave it there. */
struct seam_plan_fixed {
	uint64_t event; /* number of its allocation in the trace; a resident's too: then nothing ever shares with it */
	uint64_t offset_bytes; /* a multiple of align_bytes */
	uint64_t room_bytes;   /* not 0: nothing else lies in so many bytes from there while it lives, if they are more
				  than its own */
	uint32_t copy;         /* in which copy of the period (below the k that the trace needs), 0 for residents */
	uint32_t reserved;     /* 0 */
};

/* Zero is the default of every field. */
struct seam_plan_options {
	size_t struct_bytes;    /* sizeof(struct seam_plan_options) */
	const char *solver;     /* a solver's name; NULL or "auto": all that help, in order */
	uint64_t time_limit_ns; /* processor time of the calling thread: what others do on the machine does not count.
				 * 0: 5 s. For placing; reading and checking come on top, and as much again where
				 * SEAM_PLAN_STREAMS_AUTO has to search for the distance of waits.
				 * No limit ends the quick constructors (first fit in the order of time and of size,
				 * layers): some 10 us for each request, and no plan by all solvers is worse */
	uint64_t node_limit;    /* not 0: this many steps instead of the time limit: the same plan on every machine */
	double target_gap; /* good enough: a peak within this fraction of the lower bound, any finite number from 0 on.
			      0: only the bound */
	uint64_t align_bytes; /* power of two; 0: 512, or 1 for a trace made of interval instances (CSV) */
	uint64_t chunk_bytes; /* 0: 2 MiB */
	enum seam_plan_period period;
	enum seam_plan_streams streams;
	uint64_t first_event; /* with SEAM_PLAN_PERIOD_GIVEN */
	uint64_t last_event;
	const struct seam_plan_fixed *fixed; /* fixed_count of them; two that may live together must not overlap */
	size_t fixed_count;
	const int *cancel; /* not NULL: once it is not 0, the best so far is returned, at least the quick constructors'.
			    * Set it by a signal handler or another thread; it is read as an atomic */
	const struct seam_plan_range *taken; /* taken_count ranges of the arena that no slot may touch, ascending,
					      * multiples of align_bytes: what somebody else occupies for good */
	size_t taken_count;
	/* Called from the calling thread: for every better placement, and about ten times a second in long searches. */
	void (*progress)(void *context, const struct seam_plan_progress *progress);
	void *progress_context;
};

/* Makes a plan. `error` (may be NULL) holds one line on failure. ret_plan: set on success only; seam_plan_free() it.
 * Sections of the papers: STAlloc 5 (layers, dynamic space), SOMAS 3 (safety).
 * Errors: SEAM_INVALID (options; nothing to plan is an empty plan, no error), SEAM_NOT_FOUND (no period, no such
 * solver), SEAM_UNSUPPORTED (the named solver cannot do what this trace needs), SEAM_OOM_META. */
SEAM_API SEAM_MUST_USE enum seam_rc seam_plan_make(const struct seam_trace *trace,
	const struct seam_plan_options *options, struct seam_trace_error *error, struct seam_plan **ret_plan);

SEAM_API void seam_plan_free(struct seam_plan *plan); /* NULL is allowed */

/* Reads and fully checks the plan at `path`.
 * Errors: SEAM_IO, SEAM_INVALID (a device, which may have no end), SEAM_FORMAT (not a plan), SEAM_VERSION, SEAM_CORRUPT
 * (truncated, checksum, L0-L5), SEAM_OOM_META. */
SEAM_API SEAM_MUST_USE enum seam_rc seam_plan_read_file(
	const char *path, struct seam_trace_error *error, struct seam_plan **ret_plan);

/* The same from memory; `data` is copied and may be freed at once. */
SEAM_API SEAM_MUST_USE enum seam_rc seam_plan_read_memory(
	const void *data, size_t data_bytes, struct seam_trace_error *error, struct seam_plan **ret_plan);

/* Writes the plan to `path`, once it has been checked, as seam_trace_write_file() writes: all or nothing, regular files
 * only. Errors: SEAM_IO, with errno saying why; SEAM_CORRUPT (L0-L5); SEAM_OOM_META. */
SEAM_API SEAM_MUST_USE enum seam_rc seam_plan_write_file(const struct seam_plan *plan, const char *path);

/* Checks L0-L5. Returns NULL, or the name of the first broken one with `error` (may be NULL) filled; for no plan, or
 * without memory for the check, a text that says so. */
SEAM_API const char *seam_plan_check(const struct seam_plan *plan, struct seam_trace_error *error);

/* Replays the plan's stretch of the trace, 2k repetitions of it back to back (a linear plan: once), with every block at
 * its planned place, and looks at every byte: what is live may not be handed out, nor what another stream may still
 * use. Shares no code with the planner. Errors: SEAM_NOT_FOUND (the plan was made from another workload: fingerprint,
 * or a request that differs), SEAM_CORRUPT (an overlap; `error` names the two slots; L0-L4), SEAM_INVALID (a plan of a
 * graph), SEAM_OOM_META. */
SEAM_API SEAM_MUST_USE enum seam_rc seam_plan_verify(
	const struct seam_trace *trace, const struct seam_plan *plan, struct seam_trace_error *error);

/* XXH64 (seed 0) over what a plan depends on in events [first, last): five little-endian values of 8 bytes for each
 * allocation, free, RECORD_STREAM, EVENT_RECORD, EVENT_WAIT, STREAM_SYNC and DEVICE_SYNC:
 *   kind, with 256 added for an allocation with SEAM_TRACE_DYNAMIC
 *   size of an allocation; 0 for dynamic ones and for other kinds
 *   stream and thread, each as a number by order of first appearance in the stretch; no stream for DEVICE_SYNC: 0
 *   what it refers to: for a free or RECORD_STREAM how many allocations ago the block was allocated (1: the last), for
 *   EVENT_WAIT how many records ago the event was recorded; else 0
 * So ids, times, names, marks and the numbers of streams do not count, nor what the allocator that was recorded did.
 * Errors: SEAM_INVALID, SEAM_OOM_META. */
SEAM_API SEAM_MUST_USE enum seam_rc seam_plan_fingerprint(
	const struct seam_trace *trace, uint64_t first_event, uint64_t last_event, uint64_t *ret_fingerprint);

/* The string at `offset`, "" for 0. NULL if the offset names no string, and for no plan. */
SEAM_API const char *seam_plan_string(const struct seam_plan *plan, uint32_t offset);

/* The solvers by number from 0: name and one line of text; NULL behind the last. Thread safe. */
SEAM_API const char *seam_plan_solver_name(size_t number);
SEAM_API const char *seam_plan_solver_text(size_t number);

#ifdef __cplusplus
}
#endif
#endif
