/* SPDX-License-Identifier: MIT */
/*
 * Where the program starts.  Nothing else is here, because unit tests have a main of their own
 * and take the rest of this folder as it is.
 */
#include <fcntl.h>
#include <unistd.h>

#include "cli/commands.h"
#include "cli/engine_opts.h"

/*
 * A standard descriptor that is closed would become the number of a file of ours, to which a
 * report or a complaint would go.  These refuse to be read and written, and the command gets none.
 */
static void occupy_standard_fds(void)
{
	int fd;

	do
		fd = open("/", O_PATH | O_CLOEXEC);
	while (fd >= 0 && fd <= STDERR_FILENO);
	if (fd >= 0)
		close(fd);
}

int main(int argc, char **argv)
{
	int status;

	occupy_standard_fds();
	status = ap_cli_main(argc, argv);
	ap_engine_die_as_command(status);
	return status;
}
