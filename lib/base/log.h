/* log.h: how the library says something without printing: levelled lines to a callback.
 *
 * Not here: errors; they are return values. Without a callback nothing is formatted.
 * Thread safe as far as the callback is; set the sink before other threads log.
 */
#ifndef SEAM_BASE_LOG_H
#define SEAM_BASE_LOG_H

#include <stdarg.h>

#include <seam/log.h>

#define SEAM_LOG_LINE_BYTES 512 /* longer lines are cut and end in "..." */

struct seam_log {
	seam_log_fn callback; /* NULL: silent */
	void *user;
	enum seam_log_level level; /* the least urgent level that is passed on */
};

/* `log` may be NULL: silent. The callback gets one line without a newline, valid during the call only. Allocates
 * nothing; may be called under any lock, and the callback must not call back into the pool. */
__attribute__((format(printf, 3, 4))) void seam__log(const struct seam_log *log, enum seam_log_level level,
                                                     const char *format, ...);

/* "error", "warning", ...; "?" for a number that is no level. */
const char *seam__log_level_name(enum seam_log_level level);

#endif
