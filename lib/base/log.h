/* log.h: how the library says something without printing: one line at a time to the process's log callback.
 *
 * The callback is set by seam_set_log_callback() (seam.h), which log.c implements.
 * Not here: errors; they are return values. Without a callback nothing is formatted.
 * Lock: a mutex of rank SEAM_RANK_LOG is held during the callback, so that lines do not mix and a removed callback does
 * not run any more.
 */
#ifndef SEAM_BASE_LOG_H
#define SEAM_BASE_LOG_H

#include <seam/seam.h>

#define SEAM_LOG_LINE_BYTES 512 /* with the final zero; longer lines are cut and end in "..." */

/* `format` without a newline. Allocates nothing; may be called under any lock. Thread safe. */
__attribute__((format(printf, 2, 3))) void seam__log(enum seam_log_level level, const char *format, ...);

#endif
