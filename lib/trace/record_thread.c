/* record_thread.c: see record_thread.h. */
#include "record_thread.h"

#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

#include "meta.h"

#define NEAR 4u /* recorders that a thread finds its context of at once */

/* All recorders of this process, for threads that end. */
static struct seam_mutex registry_lock = SEAM_MUTEX_INIT("recorders", SEAM_RANK_REGISTRY);
static LIST_HEAD(, seam_record_threads) registry = LIST_HEAD_INITIALIZER(registry);

static _Atomic uint64_t recorders_made;
static _Atomic uint64_t threads_seen;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static pthread_key_t leaving;
static bool has_leaving; /* without it thread contexts of threads that have ended are not used again */

/* A thread context is valid while its recorder's number is in use, and no number is ever used twice. global-dynamic: a
 * library that is loaded late finds no room in the static block. */
static _Thread_local struct {
	uint64_t self; /* the thread's number in the process; 0: none yet */
	struct {
		uint64_t recorder;
		struct seam_record_thread *context;
	} near[NEAR];
} thread __attribute__((tls_model("global-dynamic")));

/* Of all threads for which there is no memory; constant. */
static struct seam_record_thread shared = {.is = {.thread = UINT32_MAX}};

static void leave_one(struct seam_record_threads *contexts)
{
	struct seam_record_thread *context;
	seam__mutex_lock(contexts->gather);
	LIST_FOREACH(context, &contexts->list, link)
	{
		if (context->owner == thread.self)
			context->owner = 0;
	}
	seam__mutex_unlock(contexts->gather);
}

/* A thread ends. It may come back: destructors of other keys may still free blocks. */
static void leave(void *ignored)
{
	struct seam_record_threads *contexts;
	(void)ignored;
	seam__mutex_lock(&registry_lock);
	LIST_FOREACH(contexts, &registry, link)
	leave_one(contexts);
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

void seam__record_threads_init(struct seam_record_threads *contexts, struct seam_meta *meta, struct seam_mutex *gather)
{
	(void)pthread_once(&once, begin);
	*contexts = (struct seam_record_threads){.meta = meta, .gather = gather};
	contexts->number = atomic_fetch_add(&recorders_made, 1) + 1;
	LIST_INIT(&contexts->list);
	seam__mutex_lock(&registry_lock);
	LIST_INSERT_HEAD(&registry, contexts, link);
	seam__mutex_unlock(&registry_lock);
}

void seam__record_threads_fini(struct seam_record_threads *contexts)
{
	struct seam_record_thread *context;
	seam__mutex_lock(&registry_lock);
	LIST_REMOVE(contexts, link);
	seam__mutex_unlock(&registry_lock);
	while ((context = LIST_FIRST(&contexts->list)) != NULL) {
		LIST_REMOVE(context, link);
		seam__meta_free(contexts->meta, context, sizeof *context);
	}
	seam__meta_free(contexts->meta, contexts->names, SEAM_RECORD_NAMES * sizeof *contexts->names);
}

/* With `gather`, as the next ones. */
static struct seam_record_thread *find_number(struct seam_record_threads *contexts, uint32_t number)
{
	struct seam_record_thread *context;
	LIST_FOREACH(context, &contexts->list, link)
	{
		if (context->is.thread == number && (context->owner != 0 || context->acted))
			return context;
	}
	return NULL;
}

static struct seam_record_thread *make(struct seam_record_threads *contexts)
{
	struct seam_record_thread *context;
	LIST_FOREACH(context, &contexts->list, link)
	{
		if (context->owner == 0 && !context->acted)
			break;
	}
	if (context == NULL) {
		context = seam__meta_alloc(contexts->meta, sizeof *context);
		if (context == NULL)
			return NULL;
		LIST_INSERT_HEAD(&contexts->list, context, link);
	}
	context->is = (struct seam_thread_context){0};
	context->as = context;
	return context;
}

/* The calling thread's own context, made if it has none; NULL without memory. */
static struct seam_record_thread *own(struct seam_record_threads *contexts)
{
	struct seam_record_thread *context;
	LIST_FOREACH(context, &contexts->list, link)
	{
		if (context->owner == thread.self && !context->acted)
			return context;
	}
	context = make(contexts);
	if (context == NULL)
		return NULL;
	while (find_number(contexts, contexts->next_thread) != NULL)
		contexts->next_thread++;
	context->is.thread = contexts->next_thread++;
	context->owner = thread.self;
	return context;
}

static void note_self(void)
{
	if (thread.self != 0)
		return;
	thread.self = atomic_fetch_add(&threads_seen, 1) + 1;
	if (has_leaving)
		(void)pthread_setspecific(leaving, &thread);
}

static void put_near(const struct seam_record_threads *contexts, struct seam_record_thread *context)
{
	thread.near[contexts->number % NEAR].recorder = contexts->number;
	thread.near[contexts->number % NEAR].context = context;
}

__attribute__((noinline, cold)) static struct seam_record_thread *look_up(struct seam_record_threads *contexts)
{
	note_self();
	seam__mutex_lock(contexts->gather);
	struct seam_record_thread *context = own(contexts);
	if (context != NULL)
		context = context->as;
	seam__mutex_unlock(contexts->gather);
	if (context == NULL)
		return &shared;
	put_near(contexts, context);
	return context;
}

struct seam_record_thread *seam__record_thread_get(struct seam_record_threads *contexts)
{
	unsigned place = (unsigned)(contexts->number % NEAR);
	if (__builtin_expect(thread.near[place].recorder == contexts->number, 1))
		return thread.near[place].context;
	return look_up(contexts);
}

static struct seam_record_thread *find_or_make(struct seam_record_threads *contexts, uint32_t number)
{
	struct seam_record_thread *context = find_number(contexts, number);
	if (context == NULL) {
		context = make(contexts);
		if (context == NULL)
			return NULL;
		context->is.thread = number;
		context->acted = true;
	}
	return context;
}

enum seam_rc seam__record_thread_act(struct seam_record_threads *contexts, uint32_t number)
{
	note_self();
	seam__mutex_lock(contexts->gather);
	struct seam_record_thread *mine = own(contexts);
	struct seam_record_thread *context = mine != NULL ? find_or_make(contexts, number) : NULL;
	if (context != NULL)
		mine->as = context;
	seam__mutex_unlock(contexts->gather);
	if (context == NULL)
		return SEAM_OOM_META;
	put_near(contexts, context);
	return SEAM_OK;
}

bool seam__record_thread_is_shared(const struct seam_record_thread *context)
{
	return context == &shared;
}

/* Where it stands, or is to stand. */
static uint32_t find_name(const struct seam_record_threads *contexts, const char *text)
{
	uint32_t name = 0;
	if (strncmp(contexts->names[SEAM_RECORD_NAMES - 1], text, SEAM_RECORD_NAME_BYTES - 1) == 0)
		return SEAM_RECORD_NAMES - 1;
	while (name < contexts->name_count && strncmp(contexts->names[name], text, SEAM_RECORD_NAME_BYTES - 1) != 0)
		name++;
	return name;
}

static bool make_names(struct seam_record_threads *contexts)
{
	static const char others[] = "others";
	if (contexts->names != NULL)
		return true;
	contexts->names = seam__meta_array(contexts->meta, SEAM_RECORD_NAMES, sizeof *contexts->names);
	if (contexts->names != NULL)
		memcpy(contexts->names[SEAM_RECORD_NAMES - 1], others, sizeof others);
	return contexts->names != NULL;
}

enum seam_rc seam__record_name(struct seam_record_threads *contexts, const char *text, uint8_t *ret_name)
{
	enum seam_rc rc = SEAM_OOM_META;
	seam__mutex_lock(contexts->gather);
	if (make_names(contexts)) {
		uint32_t name = find_name(contexts, text);
		if (name == contexts->name_count && name < SEAM_RECORD_NAMES - 1) {
			memcpy(contexts->names[name], text, strnlen(text, SEAM_RECORD_NAME_BYTES - 1));
			contexts->name_count++;
		}
		*ret_name = (uint8_t)name;
		rc = SEAM_OK;
	}
	seam__mutex_unlock(contexts->gather);
	return rc;
}

const char *seam__record_threads_check(const struct seam_record_threads *contexts)
{
	const struct seam_record_thread *context, *other;
	LIST_FOREACH(context, &contexts->list, link)
	{
		for (other = LIST_NEXT(context, link); other != NULL; other = LIST_NEXT(other, link)) {
			bool both = (context->owner != 0 || context->acted) && (other->owner != 0 || other->acted);
			if (both && context->is.thread == other->is.thread)
				return "RT1 numbers of thread contexts differ";
			if (both && !context->acted && !other->acted && context->owner == other->owner)
				return "RT2 a context for each thread";
		}
	}
	return NULL;
}
