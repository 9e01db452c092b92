/* log.h: levels and callback of the library's log.
 *
 * The library never prints. Whoever wants to know what it does sets a callback in the configuration.
 */
#ifndef SEAM_LOG_H
#define SEAM_LOG_H

#ifdef __cplusplus
extern "C" {
#endif

enum seam_log_level {
	SEAM_LOG_ERROR,   /* a call failed in a way that the program should know of */
	SEAM_LOG_WARNING, /* it goes on, worse than it should */
	SEAM_LOG_INFO,    /* decisions of a whole step: adopted a plan, trimmed */
	SEAM_LOG_DEBUG,   /* single decisions */
	SEAM_LOG_LEVEL_COUNT
};

/* `line` has no newline and is valid during the call only. Called from any thread, possibly under the library's locks:
 * do not call Seam from it. */
typedef void (*seam_log_fn)(void *user, enum seam_log_level level, const char *line);

#ifdef __cplusplus
}
#endif
#endif
