/* SPDX-License-Identifier: MIT */
/* LIBS: -lpthread */
/* /proc/self/maps by all its names: the program's mappings, all of them, and nothing else. */
#include <fcntl.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#include "task_test.h"

static void show(const char *path)
{
	FILE *f = fopen(path, "r");
	unsigned long start, end, off, last = 0, inode;
	char perms[8], dev[16], name[4096], line[4352];
	bool sorted = true;

	while (f && fgets(line, sizeof(line), f)) {
		name[0] = 0;
		if (sscanf(line, "%lx-%lx %7s %lx %15s %lu %4095s", &start, &end, perms, &off, dev,
			   &inode, name) < 6)
			continue;
		sorted = sorted && start >= last && end > start;
		last = end;
		if (strcmp(name, "[heap]") && strcmp(name, "[stack]"))
			printf("%s %lx %lx %s\n", perms, end - start, off, name);
	}
	if (f)
		fclose(f);
	CHECK(f && sorted, "sorted");
}

static bool is_mapped_rwx(void *p)
{
	FILE *f = fopen("/proc/self/maps", "r");
	unsigned long start, end;
	char perms[8], line[4352];
	bool found = false;

	while (f && fgets(line, sizeof(line), f))
		if (sscanf(line, "%lx-%lx %7s", &start, &end, perms) == 3 &&
		    start <= (unsigned long)p && end > (unsigned long)p)
			found = !strcmp(perms, "rwxp");
	fclose(f);
	return found;
}

/* Code that was executed in a page that stays writable. */
static void test_generated(void)
{
	unsigned char *code = mmap(NULL, 5 * 4096, PROT_READ | PROT_WRITE | PROT_EXEC,
				   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	static const unsigned char ret7[] = { 0xb8, 7, 0, 0, 0, 0xc3 };
	int (*fn)(void);

	for (int i = 0; i < 5; i += 2)
		memcpy(code + i * 4096, ret7, sizeof(ret7));
	for (int i = 0; i < 5; i += 2) {
		memcpy(&fn, &(void *){ code + i * 4096 }, sizeof(fn));
		CHECK(fn() == 7, "generated code");
	}
	for (int i = 0; i < 5; i++)
		CHECK(is_mapped_rwx(code + i * 4096), "rwx page");
	show("/proc/self/maps");
	CHECK(!munmap(code, 5 * 4096), "munmap");
}

static void *in_thread(void *arg)
{
	(void)arg;
	show("/proc/thread-self/maps");
	return NULL;
}

/* Does the text that is read from there show a mapping that was made just now? */
static bool shows_new(int fd)
{
	void *p = mmap(NULL, 4096, PROT_NONE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	static char text[1 << 18];
	size_t n = 0;
	ssize_t got;
	char line[32];

	lseek(fd, 0, SEEK_SET);
	while ((got = read(fd, text + n, sizeof(text) - 1 - n)) > 0)
		n += (size_t)got;
	text[n] = 0;
	munmap(p, 4096);
	snprintf(line, sizeof(line), "%lx-", (unsigned long)p);
	return strstr(text, line);
}

/* A number that was something else before, and was read, becomes a descriptor of the maps. */
static void reuse_numbers(void)
{
	int maps = open("/proc/self/maps", O_RDONLY), null = open("/dev/null", O_RDONLY);
	char c;

	for (int way = 0; way < 4; way++) {
		for (int i = 0; i < 3; i++)
			CHECK(!read(null, &c, 1), "nothing is read");
		if (way == 0)
			dup2(maps, null);
		else if (way == 1)
			dup3(maps, null, O_CLOEXEC);
		else if (way == 2 && !close(null))
			CHECK(fcntl(maps, F_DUPFD, null) == null, "a duplicate");
		else if (way == 3 && !close_range((unsigned)null, (unsigned)null, 0))
			CHECK(dup(maps) == null, "the lowest number");
		CHECK(shows_new(null), "maps under a number that was another file's");
		CHECK(shows_new(maps), "and under the one that they had");
		close(null);
		CHECK(open("/dev/null", O_RDONLY) == null, "the number is free again");
	}
	close(null);
	close(maps);
}

int main(void)
{
	char path[64];
	pthread_t t;
	int fd;

	close_range(3, ~0U, 0);
	setvbuf(stdout, NULL, _IONBF, 0);
	show("/proc/self/maps");
	show("/proc/self/smaps");
	snprintf(path, sizeof(path), "/proc/%d/maps", (int)getpid());
	show(path);
	snprintf(path, sizeof(path), "/proc/self/task/%d/maps", (int)getpid());
	show(path);
	pthread_create(&t, NULL, in_thread, NULL);
	pthread_join(t, NULL);
	test_generated();
	fd = open("/proc/self/maps", O_RDONLY | O_CLOEXEC);
	CHECK(fd == 3 && fcntl(fd, F_GETFD) == FD_CLOEXEC, "number and close-on-exec");
	close(fd);
	fd = (int)syscall(SYS_open, "/proc/self/maps", O_RDONLY);
	CHECK(fd == 3 && fcntl(fd, F_GETFD) == 0, "open");
	reuse_numbers();
	return task_failed;
}
