/* record_voice.c: see record_voice.h. */
#include "record_voice.h"

#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

#include "meta.h"

#define NEAR 4u /* recorders that a thread finds its voice of at once */

/* All recorders of this process, for threads that end. */
static struct seam_mutex registry_lock = SEAM_MUTEX_INIT("recorders", SEAM_RANK_REGISTRY);
static LIST_HEAD(, seam_record_voices) registry = LIST_HEAD_INITIALIZER(registry);

static _Atomic uint64_t recorders_made;
static _Atomic uint64_t threads_seen;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static pthread_key_t leaving;
static bool has_leaving; /* without it voices of threads that have ended are not used again */

/* A voice is valid while its recorder's number is in use, and no number is ever used twice. global-dynamic: a library
 * that is loaded late finds no room in the static block. */
static _Thread_local struct {
	uint64_t self; /* the thread's number in the process; 0: none yet */
	struct {
		uint64_t recorder;
		struct seam_record_voice *voice;
	} near[NEAR];
} thread __attribute__((tls_model("global-dynamic")));

/* Of all threads for which there is no memory; constant. */
static struct seam_record_voice shared = {.is = {.thread = UINT32_MAX}};

static void leave_one(struct seam_record_voices *voices)
{
	struct seam_record_voice *voice;
	seam__mutex_lock(voices->gather);
	LIST_FOREACH(voice, &voices->list, link)
	{
		if (voice->owner == thread.self)
			voice->owner = 0;
	}
	seam__mutex_unlock(voices->gather);
}

/* A thread ends. It may come back: destructors of other keys may still free blocks. */
static void leave(void *ignored)
{
	struct seam_record_voices *voices;
	(void)ignored;
	seam__mutex_lock(&registry_lock);
	LIST_FOREACH(voices, &registry, link)
	leave_one(voices);
	seam__mutex_unlock(&registry_lock);
	memset(&thread, 0, sizeof thread);
}

/* Its parent's recorders are not the child's, and their locks may be held by threads that it does not have. */
static void after_fork_in_child(void)
{
	registry_lock = (struct seam_mutex)SEAM_MUTEX_INIT("recorders", SEAM_RANK_REGISTRY);
	LIST_INIT(&registry);
}

static void begin(void)
{
	has_leaving = pthread_key_create(&leaving, leave) == 0 && pthread_atfork(NULL, NULL, after_fork_in_child) == 0;
}

void seam__record_voices_init(struct seam_record_voices *voices, struct seam_meta *meta, struct seam_mutex *gather)
{
	(void)pthread_once(&once, begin);
	*voices = (struct seam_record_voices){.meta = meta, .gather = gather};
	voices->number = atomic_fetch_add(&recorders_made, 1) + 1;
	LIST_INIT(&voices->list);
	seam__mutex_lock(&registry_lock);
	LIST_INSERT_HEAD(&registry, voices, link);
	seam__mutex_unlock(&registry_lock);
}

void seam__record_voices_fini(struct seam_record_voices *voices)
{
	struct seam_record_voice *voice;
	seam__mutex_lock(&registry_lock);
	LIST_REMOVE(voices, link);
	seam__mutex_unlock(&registry_lock);
	while ((voice = LIST_FIRST(&voices->list)) != NULL) {
		LIST_REMOVE(voice, link);
		seam__meta_free(voices->meta, voice, sizeof *voice);
	}
	seam__meta_free(voices->meta, voices->names, SEAM_RECORD_NAMES * sizeof *voices->names);
}

/* With `gather`, as the next ones. */
static struct seam_record_voice *find_number(struct seam_record_voices *voices, uint32_t number)
{
	struct seam_record_voice *voice;
	LIST_FOREACH(voice, &voices->list, link)
	{
		if (voice->is.thread == number && (voice->owner != 0 || voice->acted))
			return voice;
	}
	return NULL;
}

static struct seam_record_voice *make(struct seam_record_voices *voices)
{
	struct seam_record_voice *voice;
	LIST_FOREACH(voice, &voices->list, link)
	{
		if (voice->owner == 0 && !voice->acted)
			break;
	}
	if (voice == NULL) {
		voice = seam__meta_alloc(voices->meta, sizeof *voice);
		if (voice == NULL)
			return NULL;
		LIST_INSERT_HEAD(&voices->list, voice, link);
	}
	voice->is = (struct seam_voice){0};
	voice->as = voice;
	return voice;
}

/* The calling thread's own voice, made if it has none; NULL without memory. */
static struct seam_record_voice *own(struct seam_record_voices *voices)
{
	struct seam_record_voice *voice;
	LIST_FOREACH(voice, &voices->list, link)
	{
		if (voice->owner == thread.self && !voice->acted)
			return voice;
	}
	voice = make(voices);
	if (voice == NULL)
		return NULL;
	while (find_number(voices, voices->next_thread) != NULL)
		voices->next_thread++;
	voice->is.thread = voices->next_thread++;
	voice->owner = thread.self;
	return voice;
}

static void note_self(void)
{
	if (thread.self != 0)
		return;
	thread.self = atomic_fetch_add(&threads_seen, 1) + 1;
	if (has_leaving)
		(void)pthread_setspecific(leaving, &thread);
}

static void put_near(const struct seam_record_voices *voices, struct seam_record_voice *voice)
{
	thread.near[voices->number % NEAR].recorder = voices->number;
	thread.near[voices->number % NEAR].voice = voice;
}

__attribute__((noinline, cold)) static struct seam_record_voice *look_up(struct seam_record_voices *voices)
{
	note_self();
	seam__mutex_lock(voices->gather);
	struct seam_record_voice *voice = own(voices);
	if (voice != NULL)
		voice = voice->as;
	seam__mutex_unlock(voices->gather);
	if (voice == NULL)
		return &shared;
	put_near(voices, voice);
	return voice;
}

struct seam_record_voice *seam__record_voice_get(struct seam_record_voices *voices)
{
	unsigned place = (unsigned)(voices->number % NEAR);
	if (__builtin_expect(thread.near[place].recorder == voices->number, 1))
		return thread.near[place].voice;
	return look_up(voices);
}

static struct seam_record_voice *find_or_make(struct seam_record_voices *voices, uint32_t number)
{
	struct seam_record_voice *voice = find_number(voices, number);
	if (voice == NULL) {
		voice = make(voices);
		if (voice == NULL)
			return NULL;
		voice->is.thread = number;
		voice->acted = true;
	}
	return voice;
}

enum seam_rc seam__record_voice_act(struct seam_record_voices *voices, uint32_t number)
{
	note_self();
	seam__mutex_lock(voices->gather);
	struct seam_record_voice *mine = own(voices);
	struct seam_record_voice *voice = mine != NULL ? find_or_make(voices, number) : NULL;
	if (voice != NULL)
		mine->as = voice;
	seam__mutex_unlock(voices->gather);
	if (voice == NULL)
		return SEAM_OOM_META;
	put_near(voices, voice);
	return SEAM_OK;
}

bool seam__record_voice_is_shared(const struct seam_record_voice *voice)
{
	return voice == &shared;
}

/* Where it stands, or is to stand. */
static uint32_t find_name(const struct seam_record_voices *voices, const char *text)
{
	uint32_t name = 0;
	if (strncmp(voices->names[SEAM_RECORD_NAMES - 1], text, SEAM_RECORD_NAME_BYTES - 1) == 0)
		return SEAM_RECORD_NAMES - 1;
	while (name < voices->name_count && strncmp(voices->names[name], text, SEAM_RECORD_NAME_BYTES - 1) != 0)
		name++;
	return name;
}

static bool make_names(struct seam_record_voices *voices)
{
	static const char others[] = "others";
	if (voices->names != NULL)
		return true;
	voices->names = seam__meta_array(voices->meta, SEAM_RECORD_NAMES, sizeof *voices->names);
	if (voices->names != NULL)
		memcpy(voices->names[SEAM_RECORD_NAMES - 1], others, sizeof others);
	return voices->names != NULL;
}

enum seam_rc seam__record_name(struct seam_record_voices *voices, const char *text, uint8_t *ret_name)
{
	enum seam_rc rc = SEAM_OOM_META;
	seam__mutex_lock(voices->gather);
	if (make_names(voices)) {
		uint32_t name = find_name(voices, text);
		if (name == voices->name_count && name < SEAM_RECORD_NAMES - 1) {
			memcpy(voices->names[name], text, strnlen(text, SEAM_RECORD_NAME_BYTES - 1));
			voices->name_count++;
		}
		*ret_name = (uint8_t)name;
		rc = SEAM_OK;
	}
	seam__mutex_unlock(voices->gather);
	return rc;
}

const char *seam__record_voices_check(const struct seam_record_voices *voices)
{
	const struct seam_record_voice *voice, *other;
	LIST_FOREACH(voice, &voices->list, link)
	{
		for (other = LIST_NEXT(voice, link); other != NULL; other = LIST_NEXT(other, link)) {
			bool both = (voice->owner != 0 || voice->acted) && (other->owner != 0 || other->acted);
			if (both && voice->is.thread == other->is.thread)
				return "V1 numbers of voices differ";
			if (both && !voice->acted && !other->acted && voice->owner == other->owner)
				return "V2 a voice for each thread";
		}
	}
	return NULL;
}
