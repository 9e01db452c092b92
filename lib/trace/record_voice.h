/* record_voice.h: what a recorder knows of its threads: their numbers, phases, and whether their requests depend on
 * data.
 *
 * A thread finds its voice in a small thread-local table, else by its own number in the recorder's list. A thread that
 * ends gives its voices back; another takes them over, under a new number.
 *
 * Not here: events (record_log.h).
 * Invariants: V1 numbers of voices in use differ; V2 a voice belongs to one thread at most.
 * Locks: the recorder's `gather` guards the list; a voice's fields are its thread's.
 */
#ifndef SEAM_RECORD_VOICE_H
#define SEAM_RECORD_VOICE_H

#include <stdbool.h>
#include <stdint.h>

#include "list.h"
#include "lockrank.h"
#include "record.h"

#define SEAM_RECORD_DEPTH 32u  /* phases of one thread inside each other */
#define SEAM_RECORD_NAMES 256u /* the last is that of all further ones */

struct seam_record_voice {
	struct seam_voice is; /* first: what the caller sees */
	LIST_ENTRY(seam_record_voice) link;
	uint64_t owner;                    /* number of the thread in the process; 0: of none */
	bool acted;                        /* made by seam__record_voice_act(); never given back */
	struct seam_record_voice *as;      /* of an owner's: the voice that the thread speaks with */
	uint8_t phases[SEAM_RECORD_DEPTH]; /* numbers of names, outermost first */
};

/* The voices of one recorder, and the names of phases. */
struct seam_record_voices {
	LIST_ENTRY(seam_record_voices) link; /* among those of all recorders */
	struct seam_mutex *gather;
	struct seam_meta *meta;
	uint64_t number; /* never that of another in this process */
	LIST_HEAD(, seam_record_voice) list;
	uint32_t next_thread;
	char (*names)[SEAM_RECORD_NAME_BYTES]; /* SEAM_RECORD_NAMES of them; NULL before the first. Constant once
						  counted */
	uint32_t name_count;
};

/* Allocates nothing. */
void seam__record_voices_init(struct seam_record_voices *voices, struct seam_meta *meta, struct seam_mutex *gather);
void seam__record_voices_fini(struct seam_record_voices *voices);

/* The calling thread's; the shared one without memory. */
struct seam_record_voice *seam__record_voice_get(struct seam_record_voices *voices);

/* As seam__recorder_act_as(). */
SEAM_MUST_USE enum seam_rc seam__record_voice_act(struct seam_record_voices *voices, uint32_t number);

/* Whether it is the one that threads without memory share. */
bool seam__record_voice_is_shared(const struct seam_record_voice *voice);

/* The number of a name, which is entered if it is new. Errors: SEAM_OOM_META. */
SEAM_MUST_USE enum seam_rc seam__record_name(struct seam_record_voices *voices, const char *text, uint8_t *ret_name);

const char *seam__record_voices_check(const struct seam_record_voices *voices);

#endif
