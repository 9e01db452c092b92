/* private.c: private pools and the routes that lead requests to them.
 *
 * Invariants (seam__private_check): PR1 ids differ, and none is 0; PR2 a private pool has references; PR3 its memory is
 * that of its id; PR4 routes lead to private pools.
 */
#include "check.h"
#include "meta.h"
#include "recording.h"

struct seam_private *seam__private_find(struct seam_pool *pool, uint64_t id)
{
	struct seam_private *private;
	LIST_FOREACH(private, &pool->privates, link)
	{
		if (private->id == id)
			return private;
	}
	return NULL;
}

static bool matches(const struct seam_open_route *route, uint64_t stream, bool capturing, uint64_t capture_id)
{
	switch (route->kind) {
	case SEAM_ROUTE_ALL:
		return true;
	case SEAM_ROUTE_STREAM:
		return route->value == stream;
	case SEAM_ROUTE_CAPTURE:
		return capturing && route->value == capture_id;
	case SEAM_ROUTE_THREAD:
		return pthread_equal(route->thread, pthread_self()) != 0;
	}
	return false;
}

struct seam_private *seam__private_route(struct seam_pool *pool, uint64_t stream, bool capturing, uint64_t capture_id)
{
	struct seam_open_route *route;
	LIST_FOREACH(route, &pool->routes, link)
	{
		if (matches(route, stream, capturing, capture_id))
			return route->to;
	}
	return NULL;
}

static enum seam_rc find_or_make(struct seam_pool *pool, uint64_t id, struct seam_private **ret_private)
{
	struct seam_private *private = seam__private_find(pool, id);
	if (private == NULL) {
		private = seam__meta_alloc(pool->meta, sizeof *private);
		if (private == NULL)
			return SEAM_OOM_META;
		enum seam_rc rc = seam__engine_group_create(&pool->engine, id, &private->group);
		if (rc != SEAM_OK) {
			seam__meta_free(pool->meta, private, sizeof *private);
			return rc;
		}
		private->id = id;
		LIST_INSERT_HEAD(&pool->privates, private, link);
	}
	*ret_private = private;
	return SEAM_OK;
}

enum seam_rc seam_private_begin(struct seam_pool *pool, uint64_t id, enum seam_route kind, uint64_t value)
{
	if (id == 0 || (unsigned)kind > SEAM_ROUTE_THREAD)
		return SEAM_INVALID;
	enum seam_rc rc = seam__pool_enter_mapped(pool);
	if (rc != SEAM_OK)
		return rc;
	struct seam_open_route *route = seam__meta_alloc(pool->meta, sizeof *route);
	if (route == NULL)
		return SEAM_OOM_META;
	seam__mutex_lock(&pool->engine.lock);
	rc = find_or_make(pool, id, &route->to);
	if (rc == SEAM_OK) {
		route->kind = kind;
		route->value = value;
		route->thread = pthread_self();
		route->to->references++;
		LIST_INSERT_HEAD(&pool->routes, route, link);
	}
	seam__mutex_unlock(&pool->engine.lock);
	if (rc != SEAM_OK)
		seam__meta_free(pool->meta, route, sizeof *route);
	return rc;
}

enum seam_rc seam_private_end(struct seam_pool *pool, uint64_t id)
{
	enum seam_rc rc = seam__pool_enter(pool);
	if (rc != SEAM_OK)
		return rc;
	if (pool->plain != NULL)
		return SEAM_NOT_FOUND;
	seam__mutex_lock(&pool->engine.lock);
	struct seam_open_route *route;
	LIST_FOREACH(route, &pool->routes, link)
	{
		if (route->to->id == id)
			break;
	}
	if (route != NULL)
		LIST_REMOVE(route, link);
	seam__mutex_unlock(&pool->engine.lock);
	seam__meta_free(pool->meta, route, sizeof *route);
	return route != NULL ? SEAM_OK : SEAM_NOT_FOUND;
}

/* Closes the routes to a private pool that is about to go. With `lock`. */
static void close_routes(struct seam_pool *pool, const struct seam_private *private)
{
	struct seam_open_route *route, *next;
	LIST_FOREACH_SAFE(route, &pool->routes, link, next)
	{
		if (route->to != private)
			continue;
		LIST_REMOVE(route, link);
		seam__meta_free(pool->meta, route, sizeof *route);
	}
}

enum seam_rc seam_private_release(struct seam_pool *pool, uint64_t id)
{
	enum seam_rc rc = seam__pool_enter(pool);
	if (rc != SEAM_OK)
		return rc;
	if (pool->plain != NULL)
		return SEAM_NOT_FOUND;
	/* `change`: nobody is between a claim and its commit in this group. */
	seam__mutex_lock(&pool->engine.change);
	seam__mutex_lock(&pool->engine.lock);
	struct seam_private *private = seam__private_find(pool, id);
	struct seam_record record = {.kind = SEAM_TRACE_POOL_RELEASE, .pool = seam__recording_pool(id)};
	if (private != NULL && --private->references == 0) {
		close_routes(pool, private);
		seam__engine_group_merge(&pool->engine, private->group);
		LIST_REMOVE(private, link);
		seam__meta_free(pool->meta, private, sizeof *private);
		seam__recording_draw(pool, &record);
	}
	seam__mutex_unlock(&pool->engine.lock);
	seam__mutex_unlock(&pool->engine.change);
	seam__recording_add(pool, &record);
	return private != NULL ? SEAM_OK : SEAM_NOT_FOUND;
}

const char *seam__private_check(struct seam_pool *pool)
{
	const struct seam_private *private;
	LIST_FOREACH(private, &pool->privates, link)
	{
		if (private->id == 0 || seam__private_find(pool, private->id) != private)
			return "PR1 one private pool an id";
		if (private->references == 0)
			return "PR2 a private pool without references is gone";
		if (private->group->private_id != private->id)
			return "PR3 a private pool has the memory of its id";
	}
	const struct seam_open_route *route;
	LIST_FOREACH(route, &pool->routes, link)
	{
		if (seam__private_find(pool, route->to->id) != route->to)
			return "PR4 routes lead to private pools";
	}
	return NULL;
}

void seam__private_fini(struct seam_pool *pool)
{
	struct seam_private *private;
	while ((private = LIST_FIRST(&pool->privates)) != NULL) {
		close_routes(pool, private);
		LIST_REMOVE(private, link);
		seam__meta_free(pool->meta, private, sizeof *private);
	}
}
