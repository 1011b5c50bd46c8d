/* SPDX-License-Identifier: MIT */
/*
 * The files /proc/sys/kernel/perf_*: root writes them, by the kernel's parser (proc_dointvec_minmax) with its errnos, and
 * they act: levels of paranoid, the sample rate (EINVAL while perf_cpu_time_max_percent is 0 or 100), memory for rings,
 * the depth of callchains (EBUSY while any event has some).  They are the session's: the machine's stay what they are.
 */
/* CASE: session -- */
/* CASE: nobody session -- */
#include "check.h"
#include <sys/mount.h>
#include <sys/uio.h>
#define DIR "/proc/sys/kernel/"

static const char *path_of(const char *name)
{
	static char path[128];

	snprintf(path, sizeof(path), DIR "%s", name);
	return path;
}

/*
 * Whatever goes wrong, nothing reaches the machine: its /proc/sys is for reading in a mount namespace of this process, where
 * no write of a session's comes to.  False: there is no such thing to be had.
 */
static bool protect_machine(void)
{
	const char *dir = "/proc/sys";

	return !unshare(CLONE_NEWNS) && !mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) &&
	       !mount(dir, dir, NULL, MS_BIND, NULL) &&
	       !mount(NULL, dir, NULL, MS_BIND | MS_REMOUNT | MS_RDONLY, NULL);
}

/* The errno of writing that text by one call; 0: all of it was taken. */
static int put(const char *name, const char *text)
{
	int fd = open(path_of(name), O_WRONLY), ret;
	ssize_t n;

	if (fd < 0)
		return errno;
	n = write(fd, text, strlen(text));
	ret = n < 0 ? errno : n != (ssize_t)strlen(text) ? -1 : 0;
	close(fd);
	return ret;
}

static long get(const char *name)
{
	char text[32] = "";
	int fd = open(path_of(name), O_RDONLY);

	if (fd < 0 || read(fd, text, sizeof(text) - 1) < 2)
		exit(3);
	close(fd);
	return atol(text);
}

static void set(const char *name, const char *text, long value)
{
	int error = put(name, text);

	CHECK(!error && get(name) == value, "%s: %ld", name, get(name));
}

static void refuse(const char *name, const char *text, int error)
{
	long was = get(name);
	int got = put(name, text);

	CHECK(got == error && get(name) == was, "%s refuses \"%s\": %s", name, text, strerror(got));
}

static int open_error(struct perf_event_attr a, pid_t pid, int cpu)
{
	int fd = peo(&a, pid, cpu, -1, 0), error = fd < 0 ? errno : 0;

	if (fd >= 0)
		close(fd);
	return error;
}

static void parser(void)
{
	static const char *const wrong[] = { "",
					     " ",
					     "\n",
					     "x",
					     "-",
					     "1x",
					     "1.5",
					     "0x",
					     "08",
					     "2147483648",
					     "99999999999999999999",
					     "+1",
					     "1-" };
	const char *name = "perf_event_paranoid";

	for (unsigned int i = 1; i < sizeof(wrong) / sizeof(*wrong); i++)
		refuse(name, wrong[i], EINVAL);
	set(name, "", 2);
	set(name, "1", 1);
	set(name, " \t-1\n", -1);
	set(name, "0x10 \n", 16);
	set(name, "010", 8);
	set(name, "-2147483648", -2147483648L);
	CHECK(put(name, "1 2\n") == -1 && get(name) == 1,
	      "of two numbers the first is taken, and told");
	set(name, "2", 2);
}

/* Where the file stands: numbers are read and written at its beginning. */
static void positions(void)
{
	int fd = open(path_of("perf_event_paranoid"), O_RDWR), other;
	struct iovec v[2] = { { (void *)"-", 1 }, { (void *)"1\n", 2 } };
	char text[8] = "", *volatile nowhere = (char *)1;

	CHECK(fd >= 0 && (fcntl(fd, F_GETFL) & O_ACCMODE) == O_RDWR, "open for both");
	CHECK(pread(fd, text, 8, 0) == 2 && text[0] == '2', "a value and its newline");
	CHECK(read(fd, text, 1) == 1 && read(fd, text, 1) == 0,
	      "behind the beginning there is nothing");
	CHECK(write(fd, "1\n", 2) == 2 && get("perf_event_paranoid") == 2,
	      "and what is written there is ignored");
	CHECK(lseek(fd, 0, SEEK_CUR) == 3, "the file's position follows");
	CHECK(pwrite(fd, "0\n", 2, 0) == 2 && get("perf_event_paranoid") == 0, "pwrite");
	CHECK(pread(fd, text, 8, 0) == 2 && text[0] == '0', "who has it open sees it");
	lseek(fd, 0, SEEK_SET);
	CHECK(writev(fd, v, 2) == 3 && get("perf_event_paranoid") == -1, "writev is one write");
	other = open(path_of("perf_event_paranoid"), O_RDONLY);
	CHECK(write(other, "1", 1) < 0 && errno == EBADF, "a descriptor for reading");
	close(other);
	other = open(path_of("perf_event_paranoid"), O_WRONLY | O_TRUNC);
	CHECK(other >= 0 && read(other, text, 1) < 0 && errno == EBADF, "and for writing");
	CHECK(write(other, nowhere, 2) < 0 && errno == EFAULT, "no address");
	CHECK(write(other, text, 0) == 0, "nothing at all");
	close(other);
	CHECK(!put("perf_event_paranoid", "2"), "as it was");
	close(fd);
}

/* As nobody in a child, since root may anything that the session's owner may. */
static void paranoid(void)
{
	struct perf_event_attr cpu = HWI, kernel = SWD;
	int status;

	kernel.exclude_kernel = 0;
	for (int level = -1; level < 4; level++) {
		char text[8];

		snprintf(text, sizeof(text), "%d", level);
		set("perf_event_paranoid", text, level);
		if (!fork()) {
			bool right;

			if (setresgid(65534, 65534, 65534) || setresuid(65534, 65534, 65534))
				_exit(1);
			right = open_error(cpu, -1, 0) == (level > 0 ? EACCES : 0) &&
				open_error(kernel, 0, -1) == (level > 1 ? EACCES : 0) &&
				open_error(cpu, 0, -1) == (level > 2 ? EACCES : 0) &&
				put("perf_event_paranoid", "0") == EACCES;
			_exit(!right);
		}
		CHECK(wait(&status) > 0 && !status, "at %d nobody may what they may", level);
	}
	set("perf_event_paranoid", "2", 2);
}

/* Who has it open and is root no more. */
static void dropped(void)
{
	int fd = open(path_of("perf_event_paranoid"), O_WRONLY), status;

	if (!fork()) {
		if (setresuid(65534, 65534, 65534))
			_exit(1);
		_exit(write(fd, "0", 1) >= 0 || errno != EPERM);
	}
	CHECK(wait(&status) > 0 && !status, "who is root no more may not write");
	close(fd);
}

static void rate(void)
{
	struct perf_event_attr a = HWI;

	a.freq = 1;
	a.sample_freq = 5000;
	set("perf_event_max_sample_rate", "4000", 4000);
	CHECK(open_error(a, 0, -1) == EINVAL, "no more samples than that");
	a.sample_freq = 4000;
	CHECK(open_error(a, 0, -1) == 0, "as many");
	refuse("perf_event_max_sample_rate", "0", EINVAL);
	refuse("perf_event_max_sample_rate", "-5", EINVAL);
	refuse("perf_cpu_time_max_percent", "101", EINVAL);
	refuse("perf_cpu_time_max_percent", "-1", EINVAL);
	set("perf_cpu_time_max_percent", "0", 0);
	refuse("perf_event_max_sample_rate", "9000", EINVAL);
	set("perf_cpu_time_max_percent", "100", 100);
	refuse("perf_event_max_sample_rate", "9000", EINVAL);
	set("perf_cpu_time_max_percent", "30", 30);
	set("perf_event_max_sample_rate", "9000", 9000);
}

/* An entry for the mode, then frames. */
static u64 depth(void)
{
	struct perf_event_attr a = HWI;
	static char buf[65536];
	struct ring r = { 0 };
	u64 n = ~0ULL;
	int fd;

	a.sample_period = 1000;
	a.sample_type = PERF_SAMPLE_CALLCHAIN;
	fd = xo(&a, 0, -1, -1, 0);
	if (rmap(&r, fd, 8, RW))
		exit(3);
	EN(fd);
	spin(5000);
	DIS(fd);
	if (rnext(&r, buf))
		n = *(u64 *)(buf + 8);
	munmap(r.pg, 9 * 4096);
	close(fd);
	return n;
}

static void stack(void)
{
	struct perf_event_attr a = HWI;
	int fd;

	a.sample_period = 1000;
	a.sample_type = PERF_SAMPLE_CALLCHAIN;
	a.sample_max_stack = 100;
	CHECK(open_error(a, 0, -1) == 0, "100 frames of 127");
	set("perf_event_max_stack", "50", 50);
	CHECK(open_error(a, 0, -1) == EOVERFLOW, "of 50");
	a.sample_max_stack = 0;
	fd = xo(&a, 0, -1, -1, 0);
	refuse("perf_event_max_stack", "60", EBUSY);
	refuse("perf_event_max_contexts_per_stack", "4", EBUSY);
	close(fd);
	refuse("perf_event_max_stack", "-1", EINVAL);
	refuse("perf_event_max_stack", "655361", EINVAL);
	refuse("perf_event_max_contexts_per_stack", "1001", EINVAL);
	set("perf_event_max_stack", "1", 1);
	CHECK(depth() == 2, "one frame");
	set("perf_event_max_stack", "0", 0);
	CHECK(depth() == 1, "none");
	set("perf_event_max_stack", "127", 127);
	set("perf_event_max_contexts_per_stack", "0", 0);
	CHECK(depth() == 0, "without contexts there is nothing");
	set("perf_event_max_contexts_per_stack", "8", 8);
	CHECK(depth() >= 2, "as it was");
}

/* Rings of who may not lock what he likes, beyond the limit of his own. */
static void memory(void)
{
	struct rlimit none = { 0, 0 };
	int status;

	set("perf_event_mlock_kb", "0", 0);
	for (int i = 0; i < 2; i++) {
		if (!fork()) {
			struct perf_event_attr a = SWD;
			struct ring r;
			int error;

			if (setrlimit(RLIMIT_MEMLOCK, &none) || setresuid(65534, 65534, 65534))
				_exit(1);
			error = rmap(&r, xo(&a, 0, -1, -1, 0), 8, RW) ? errno : 0;
			_exit(error != (i ? 0 : EPERM));
		}
		CHECK(wait(&status) > 0 && !status, "%s for a ring", i ? "room" : "no room");
		set("perf_event_mlock_kb", "516", 516);
	}
}

int main(void)
{
	if (geteuid()) {
		CHECK(put("perf_event_paranoid", "-1") == EACCES &&
			      access(path_of("perf_event_paranoid"), W_OK) && errno == EACCES,
		      "who is not root may not write");
		CHECK(get("perf_event_paranoid") == 2 && get("perf_event_max_stack") == 127,
		      "but read");
		return done();
	}
	if (!protect_machine()) {
		printf("no mount namespace to try this in\n");
		return 0;
	}
	CHECK(!access(path_of("perf_event_paranoid"), R_OK | W_OK), "root may write");
	parser();
	positions();
	paranoid();
	dropped();
	rate();
	stack();
	memory();
	return done();
}
