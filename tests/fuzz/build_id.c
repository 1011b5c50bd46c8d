/* SPDX-License-Identifier: MIT */
/*
 * ~/.debug as somebody else may have left it, below a folder of our own, where a DSO with a build-id looks for its
 * symbols.  Three bytes make a file: what it is, which of the paths it has, and what a link leads to or a file holds.
 */
#include <elf.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "fuzz.h"
#include "profile/symbols/buildid.h"
#include "profile/symbols/symbol.h"

#define BUILD  ".debug/.build-id"
#define FIRST  BUILD "/ab"
#define OWN    FIRST "/cdef0102030405060708090a0b0c0d0e0f1011"
#define CLIENT ".cache/debuginfod_client"
#define THEIRS CLIENT "/abcdef0102030405060708090a0b0c0d0e0f1011"

static char home[] = "/tmp/anyperf-fuzz.XXXXXX";
static const uint8_t id[20] = { 0xab, 0xcd, 0xef, 1,  2,  3,  4,  5,  6,  7,
				8,    9,    10,	  11, 12, 13, 14, 15, 16, 17 };

static const char *const paths[16] = { ".debug",
				       BUILD,
				       FIRST,
				       OWN,
				       OWN "/elf",
				       OWN "/debug",
				       ".cache",
				       CLIENT,
				       THEIRS,
				       THEIRS "/debuginfo",
				       THEIRS "/executable",
				       ".debug/prog",
				       ".debug/prog/elf",
				       "a",
				       "a/b",
				       "a/b/elf" };

static const char *const targets[16] = { ".",	       "..",
					 "elf",	       "debug",
					 "../../prog", "../../../a/b",
					 "/dev/zero",  "/proc/self/mem",
					 "/",	       "",
					 "/dev/tty",   "/proc/self/exe",
					 "../elf",     "ab",
					 "cdef",       "a/b/elf" };

static int drop(const char *path, const struct stat *st, int type, struct FTW *at)
{
	(void)st;
	(void)type;
	return at->level ? remove(path) : 0;
}

static void forget(void)
{
	nftw(home, drop, 16, FTW_DEPTH | FTW_PHYS);
	rmdir(home);
}

/* A note, and nothing else. */
static void write_elf(int fd)
{
	struct {
		Elf64_Ehdr eh;
		Elf64_Phdr ph;
		Elf64_Nhdr note;
		char name[4];
		uint8_t id[20];
	} f = { .eh = { .e_ident = { 0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB, EV_CURRENT },
			.e_type = ET_DYN,
			.e_machine = EM_X86_64,
			.e_version = EV_CURRENT,
			.e_phoff = sizeof(Elf64_Ehdr),
			.e_ehsize = sizeof(Elf64_Ehdr),
			.e_phentsize = sizeof(Elf64_Phdr),
			.e_phnum = 1 },
		.ph = { .p_type = PT_NOTE,
			.p_offset = sizeof(Elf64_Ehdr) + sizeof(Elf64_Phdr),
			.p_filesz = 36,
			.p_align = 4 },
		.note = { 4, 20, 3 },
		.name = "GNU" };

	memcpy(f.id, id, sizeof(id));
	if (write(fd, &f, sizeof(f)) != sizeof(f))
		abort();
}

static void make_folders(const char *path)
{
	char part[128];

	for (const char *slash = strchr(path, '/'); slash; slash = strchr(slash + 1, '/')) {
		snprintf(part, sizeof(part), "%.*s", (int)(slash - path), path);
		mkdir(part, 0700);
	}
}

/* A link in the way would lead out of the folder. */
static bool is_below(const char *path)
{
	const char *slash = strrchr(path, '/');
	char real[4096], part[128];

	snprintf(part, sizeof(part), "%.*s", slash ? (int)(slash - path) : 1, slash ? path : ".");
	return realpath(part, real) && !strncmp(real, home, strlen(home));
}

static void make(uint8_t kind, const char *path, uint8_t what)
{
	int fd;

	make_folders(path);
	if (!is_below(path))
		return;
	switch (kind & 7) {
	case 0:
		mkdir(path, 0700);
		return;
	case 1:
		(void)!symlink(targets[what & 15], path);
		return;
	case 2:
		mkfifo(path, 0600);
		return;
	default:
		break;
	}
	fd = open(path, O_CREAT | O_EXCL | O_WRONLY | O_NOFOLLOW, 0600);
	if (fd < 0)
		return;
	if (kind & 4)
		write_elf(fd);
	if (what) /* cut, or with a hole */
		(void)!ftruncate(fd, what & 1 ? what : (off_t)1 << (what >> 3));
	close(fd);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	uint8_t found[AP_BUILD_ID_MAX];
	struct ap_symbols all;
	struct ap_dso *dso;
	static bool made;

	if (!made) { /* not by its letters: those that mkdtemp picks may be X, too */
		made = true;
		if (!mkdtemp(home) || setenv("HOME", home, 1) || chdir(home))
			abort();
		atexit(forget);
	}
	for (size_t i = 0; i + 3 <= size && i < 48; i += 3)
		make(bytes[i], paths[bytes[i + 1] & 15], bytes[i + 2]);
	ap_symbols_init(&all);
	dso = ap_dso_get(&all, "/nonexistent/program", AP_DSO_FILE);
	ap_dso_set_build_id(dso, id, sizeof(id));
	ap_dso_symbol(dso, 0x1000);
	ap_dso_vaddr(dso, 0x1000);
	ap_symbols_fini(&all);
	ap_build_id_of_file(OWN "/elf", found);
	nftw(home, drop, 16, FTW_DEPTH | FTW_PHYS);
	return 0;
}
