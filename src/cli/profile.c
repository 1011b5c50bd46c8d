/* SPDX-License-Identifier: MIT */
#include "cli/profile.h"

#include <errno.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/memory.h"
#include "files/error.h"
#include "files/in.h"
#include "print/print.h"

const char *ap_profile_path(const char *path)
{
	struct stat st;

	if (path)
		return path;
	return !fstat(STDIN_FILENO, &st) && S_ISFIFO(st.st_mode) ? "-" : "perf.data";
}

/* Which command writes what this one reads. */
static const char *remedy(const char *command)
{
	static const char *const by_command[][2] = {
		{ "anyperf stat report", " (try 'anyperf stat record' first, or -i file)" },
		{ "anyperf mem report", " (try 'anyperf mem record' first, or -i file)" },
		{ "anyperf c2c", " (try 'anyperf c2c record' first, or -i file)" },
		{ "anyperf diff", " (try 'anyperf record -o file' first)" },
	};

	for (size_t i = 0; i < sizeof(by_command) / sizeof(*by_command); i++) {
		if (!strcmp(command, by_command[i][0]))
			return by_command[i][1];
	}
	return " (try 'anyperf record' first, or -i file)";
}

struct ap_data *ap_profile_open(const char *command, const char *path, bool force)
{
	struct ap_data *d = NULL;
	char why[AP_DATA_WHY];
	int err;

	path = ap_profile_path(path);
	err = ap_data_open(&d, path, force, why);
	if (!err)
		return d;
	ap_print(stderr, "%s: %s: %s%s\n", command, path, why,
		 err <= -AP_FILE_LINK ? " (--force reads it)"
		 : err == -ENOENT     ? remedy(command)
				      : "");
	return NULL;
}

bool ap_profile_can_read(const char *command, const char *option, const char *path)
{
	int fd = path ? ap_in_open(path, 0) : -1;

	if (!path)
		return true;
	if (fd < 0)
		ap_print(stderr, "%s: %s: %s: %s\n", command, option, path, ap_file_error(fd));
	else
		close(fd);
	return fd >= 0;
}

void ap_profile_complain(const char *path, int error)
{
	ap_print(stderr, "anyperf: %s: %s; it was not used\n", path, ap_file_error(error));
}

void ap_profile_symbols(struct ap_symbols *symbols, bool force)
{
	symbols->force = force;
	symbols->complain = ap_profile_complain;
}

int ap_profile_close(const char *command, const char *path, struct ap_data *d)
{
	const char *why = ap_data_damage(d);
	int status = 0;

	if (why) {
		ap_print(stderr, "%s: %s: %s; what came before was used\n", command,
			 ap_profile_path(path), why);
		status = AP_EXIT_FAILURE;
	} else if (ap_data_unfinished(d)) {
		ap_print(stderr,
			 "%s: %s: was not finished by its recorder; all that is in it was used\n",
			 command, ap_profile_path(path));
	}
	ap_data_close(d);
	return status;
}

void ap_profile_tell_lost(const char *command, const char *path, u64 lost)
{
	if (lost)
		ap_print(stderr,
			 "%s: %s: %llu samples were lost when it was recorded, and are in no sum\n",
			 command, ap_profile_path(path), (unsigned long long)lost);
}
