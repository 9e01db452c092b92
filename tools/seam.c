/* seam.c: the command `seam`: finds the sub-command and hands the rest of the command line to it.
 *
 * Not here: any work; that is in cmd_<name>.c.
 */
#include <stdio.h>
#include <string.h>

#include "cmd.h"

static const struct command {
	const char *name;
	const char *full_name;
	const char *summary;
	int (*run)(int argc, char **argv);
} commands[] = {
#define SEAM_COMMAND(function, name, summary) {name, "seam " name, summary, cmd_##function},
#include "commands.def"
#undef SEAM_COMMAND
};

#define COMMAND_COUNT (sizeof(commands) / sizeof(commands[0]))

static void print_help(void)
{
	printf("Usage: seam COMMAND [OPTION...] ...\n"
	       "Seam: a GPU memory allocator that removes fragmentation by stitching.\n\n");
	for (size_t i = 0; i < COMMAND_COUNT; i++)
		printf("  %-10s %s\n", commands[i].name, commands[i].summary);
	printf("\n  --help     show this text; `seam COMMAND --help` says more\n"
	       "  --version  show the version\n");
}

/* What was printed must have arrived: a full disk is an error too. */
static int finish(int status)
{
	if (fflush(stdout) != 0 && status == CMD_OK)
		return cmd_fail("cannot write to standard output");
	return status;
}

int main(int argc, char **argv)
{
	const char *word = argc > 1 ? argv[1] : "";
	if (strcmp(word, "--help") == 0 || strcmp(word, "help") == 0 || strcmp(word, "-h") == 0) {
		print_help();
		return finish(CMD_OK);
	}
	if (strcmp(word, "--version") == 0) {
		printf("seam %s\n", SEAM_VERSION_TEXT);
		return finish(CMD_OK);
	}
	for (size_t i = 0; i < COMMAND_COUNT; i++) {
		if (strcmp(word, commands[i].name) == 0) {
			char name[64];
			(void)snprintf(name, sizeof(name), "%s", commands[i].full_name);
			argv[1] = name;
			return finish(commands[i].run(argc - 1, argv + 1));
		}
	}
	if (argc < 2)
		fprintf(stderr, "seam: no command given; see seam --help\n");
	else
		fprintf(stderr, "seam: no command '%s'; see seam --help\n", word);
	return CMD_USAGE;
}
