/* log.c: formats a line on the stack and hands it to the sink. */
#include "log.h"

#include <stdio.h>
#include <string.h>

void seam__log(const struct seam_log *log, enum seam_log_level level, const char *format, ...)
{
	if (log == NULL || log->callback == NULL || level > log->level)
		return;
	char line[SEAM_LOG_LINE_BYTES];
	va_list arguments;
	va_start(arguments, format);
	int length = vsnprintf(line, sizeof(line), format, arguments);
	va_end(arguments);
	if (length < 0)
		return;
	if ((size_t)length >= sizeof(line))
		memcpy(line + sizeof(line) - 4, "...", 4);
	log->callback(log->user, level, line);
}

const char *seam__log_level_name(enum seam_log_level level)
{
	switch (level) {
	case SEAM_LOG_ERROR:
		return "error";
	case SEAM_LOG_WARNING:
		return "warning";
	case SEAM_LOG_INFO:
		return "info";
	case SEAM_LOG_DEBUG:
		return "debug";
	case SEAM_LOG_LEVEL_COUNT:
		break;
	}
	return "?";
}
