/* SPDX-License-Identifier: MIT */
/*
 * `anyperf perfex`: runs a command with the counters of a virtual CPU and prints their sums, as
 * perfctr's perfex.
 *
 * It is a program of perfctr itself: outside of a session it runs itself in one, with the CPU that
 * --cpu says, and there it does what perfex did.  The child makes its state, takes the control,
 * sends the descriptor and becomes the command; the parent waits for its end and reads the sums.
 */
#include <anyperf/perfctr.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/commands.h"
#include "cli/engine_opts.h"
#include "cli/memory.h"
#include "cli/opt_rows.h"
#include "cli/outfile.h"
#include "cli/perfex_event.h"
#include "cli/perfex_ppc.h"
#include "linux/run/run.h"
#include "print/print.h"

struct perfex_args {
	struct ap_run_options run; /* first: cli/engine_opts.h */
	struct ap_perfex_control control;
	const char *cpu, *output;
	const struct ap_ppcmodel_family *ppc; /* NULL: an x86 */
	bool info, list, long_list, is_inside;
};

static int opt_cpu(void *args, const char *value, char *why)
{
	struct perfex_args *a = args;

	int ret;

	a->cpu = value;
	a->ppc = ap_perfex_ppc_find(value);
	if (a->ppc)
		return 0;
	ret = ap_run_perfctr_cpu(&a->run.perf, value, why, AP_OPT_WHY);
	if (ret)
		ap_perfex_ppc_names(why, strlen(why), AP_OPT_WHY);
	return ret;
}

static int opt_event(void *args, const char *value, char *why)
{
	return ap_perfex_add(&((struct perfex_args *)args)->control, value, why, AP_OPT_WHY);
}

static int opt_decimal(void *args, const char *value, char *why)
{
	(void)value;
	(void)why;
	((struct perfex_args *)args)->control.radix = AP_PERFEX_C;
	return 0;
}

static int opt_hex(void *args, const char *value, char *why)
{
	(void)value;
	(void)why;
	((struct perfex_args *)args)->control.radix = AP_PERFEX_HEX;
	return 0;
}

static int opt_pebs_enable(void *args, const char *value, char *why)
{
	return ap_perfex_number(value, AP_PERFEX_C,
				&((struct perfex_args *)args)->control.pebs_enable, why,
				AP_OPT_WHY);
}

static int opt_pebs_matrix(void *args, const char *value, char *why)
{
	return ap_perfex_number(value, AP_PERFEX_C,
				&((struct perfex_args *)args)->control.pebs_matrix_vert, why,
				AP_OPT_WHY);
}

#define OPT_ARGS struct perfex_args

/* clang-format off */
static const struct ap_opt perfex_opts[] = {
	GROUP("What the CPU has"),
	CALL(0, "cpu", opt_cpu, "name", "the CPU: p5 p6 piii k7 k8 p4 c3 core2 nehalem generic ... (default k8); 604 750 7400 7450 ..."),
	FLAG('i', "info", info, "print what the CPU and its counters are"),
	FLAG('l', "list", list, "list the CPU's events"),
	FLAG('L', "long-list", long_list, "the same, with their codes"),
	GROUP("Events"),
	CALL('e', "event", opt_event, "event", "evntsel[/escr][@pmc], or an event's name; numbers are hexadecimal"),
	{ .letter = 'd', .name = "decimal", .type = AP_OPT_MAYBE, .call = opt_decimal, .help = "numbers of the events that follow are as in C" },
	{ .letter = 'x', .name = "hex", .type = AP_OPT_MAYBE, .call = opt_hex, .help = "they are hexadecimal, without a warning" },
	CALL(0, "p4_pebs_enable", opt_pebs_enable, "value", "PEBS_ENABLE of a P4"),
	CALL(0, "p4pe", opt_pebs_enable, "value", "the same"),
	CALL(0, "p4_pebs_matrix_vert", opt_pebs_matrix, "value", "PEBS_MATRIX_VERT of a P4"),
	CALL(0, "p4pmv", opt_pebs_matrix, "value", "the same"),
	CALL(0, "nhlm_offcore_rsp_0", opt_pebs_enable, "value", "OFFCORE_RSP_0 of a Nehalem"),
	CALL(0, "nhlm_offcore_rsp_1", opt_pebs_matrix, "value", "OFFCORE_RSP_1 of a Westmere; no counter here needs it"),
	GROUP("The run"),
	{ .letter = 'o', .name = "output", .type = AP_OPT_STR, .offset = offsetof(struct perfex_args, output), .value = "file", .help = "write the sums to this file" },
	FLAG(0, "deterministic", run.deterministic, "fixed addresses and random bytes: runs count alike"),
	{ .name = "inside", .type = AP_OPT_FLAG, .offset = offsetof(struct perfex_args, is_inside), .help = "in a session", .hidden = true },
	{ 0 }
};

const struct ap_opt_spec ap_spec_perfex = {
	"anyperf perfex", "[-e event].. [options] [--] command [args] | -i | -l | -L", perfex_opts,
	{ { "-i", "tell which CPU and counters there are" },
	  { "-e RETIRED_INSTRUCTIONS -- ls", "count an event of that CPU" } },
};
/* clang-format on */

/* --- the descriptor's way from the child to us */

struct note {
	struct msghdr msg;
	struct iovec iov;
	int status; /* 0, or errno of the child's */
	union {
		struct cmsghdr align;
		char bytes[CMSG_SPACE(sizeof(int))];
	} ctl;
};

static void note_init(struct note *n)
{
	memset(n, 0, sizeof(*n));
	n->iov = (struct iovec){ &n->status, sizeof(n->status) };
	n->msg.msg_iov = &n->iov;
	n->msg.msg_iovlen = 1;
	n->msg.msg_control = n->ctl.bytes;
	n->msg.msg_controllen = sizeof(n->ctl.bytes);
}

static int send_note(int sock, int fd, int status)
{
	struct note n;
	struct cmsghdr *c;

	note_init(&n);
	n.status = status;
	c = CMSG_FIRSTHDR(&n.msg);
	if (fd < 0) {
		n.msg.msg_controllen = 0;
	} else {
		c->cmsg_level = SOL_SOCKET;
		c->cmsg_type = SCM_RIGHTS;
		c->cmsg_len = CMSG_LEN(sizeof(fd));
		memcpy(CMSG_DATA(c), &fd, sizeof(fd));
	}
	return sendmsg(sock, &n.msg, 0) < 0 ? -errno : 0;
}

static int receive_note(int sock, int *fd)
{
	struct note n;
	const struct cmsghdr *c;

	*fd = -1;
	note_init(&n);
	if (recvmsg(sock, &n.msg, MSG_DONTWAIT | MSG_CMSG_CLOEXEC) != sizeof(n.status))
		return -EPROTO;
	c = CMSG_FIRSTHDR(&n.msg);
	if (c && c->cmsg_type == SCM_RIGHTS)
		memcpy(fd, CMSG_DATA(c), sizeof(*fd));
	if (n.status)
		return -n.status;
	return *fd < 0 ? -EPROTO : 0;
}

static void be_command(int sock, struct vperfctr_control *control, char *const *argv)
{
	int fd = sys_vperfctr_open(0, 1), err = 0, status;
	char path[PATH_MAX];

	/* what is done here on the way is not the command's */
	control->flags = VPERFCTR_CONTROL_FROM_EXEC;
	if (fd < 0 || sys_vperfctr_control(fd, control))
		err = errno;
	if (send_note(sock, err ? -1 : fd, err) || err)
		_exit(AP_EXIT_FAILURE);
	close(fd);
	/* an exec closes the socket */
	err = -ap_run_find(argv[0], path, sizeof(path));
	if (!err) {
		execvp(path, argv);
		err = errno;
	}
	status = err == ENOENT ? 127 : 126;
	ap_print(stderr, "anyperf perfex: %s: %s\n", argv[0], strerror(err));
	(void)send_note(sock, -1, err);
	_exit(status);
}

/* --- the sums */

static int report(int fd, const struct perfctr_info *info, const char *path)
{
	struct vperfctr_control control;
	struct perfctr_sum_ctrs sum;
	char *text = NULL;
	size_t size = 0;
	FILE *out;
	int ret;

	if (sys_vperfctr_read(fd, &sum, &control)) {
		ap_print(stderr, "anyperf perfex: cannot read the counters: %s\n", strerror(errno));
		return AP_EXIT_FAILURE;
	}
	out = open_memstream(&text, &size);
	if (!out)
		return AP_EXIT_FAILURE;
	ap_perfex_print_sums(out, info, &control, &sum);
	fclose(out);
	ret = path ? ap_outfile_write(path, text, size, stderr)
		   : ap_outfile_print(stderr, text, size, stderr);
	free(text);
	return ret ? AP_EXIT_FAILURE : 0;
}

static int measure(const struct perfex_args *args, const struct perfctr_info *info,
		   char *const *argv)
{
	struct vperfctr_control control;
	int socks[2], status, fd, none, ret;
	char why[AP_OPT_WHY];
	pid_t pid;

	if (ap_perfex_resolve(&args->control, info, &control, why, sizeof(why))) {
		ap_print(stderr, "anyperf perfex: %s\n", why);
		return AP_EXIT_USAGE;
	}
	if (args->output && ap_outfile_check(args->output, 0, stderr))
		return AP_EXIT_FAILURE;
	if (socketpair(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0, socks))
		return AP_EXIT_FAILURE;
	pid = fork();
	if (!pid)
		be_command(socks[1], &control, argv);
	if (pid < 0 || waitpid(pid, &status, 0) != pid)
		return AP_EXIT_FAILURE;
	ret = receive_note(socks[0], &fd);
	if (ret) {
		ap_print(
			stderr,
			"anyperf perfex: the CPU does not take these events: %s "
			"(-L lists codes, -i says how many counters; docs/perfctr.md has the rules)\n",
			strerror(-ret));
		return AP_EXIT_FAILURE;
	}
	/* a second note: there was no command, and nothing to count */
	ret = receive_note(socks[0], &none);
	if (ret != -EPROTO) {
		close(fd);
		return ap_engine_exit_status(status);
	}
	ret = report(fd, info, args->output);
	close(fd);
	if (!WIFEXITED(status))
		fputs("anyperf perfex: child did not exit normally\n", stderr);
	return ret ? ret : ap_engine_exit_status(status);
}

static int inside(const struct perfex_args *args, char *const *argv)
{
	struct perfctr_info info;

	if (sys_perfctr_info(&info, NULL, NULL)) {
		ap_print(stderr, "anyperf perfex: /dev/perfctr: %s\n", strerror(errno));
		return AP_EXIT_FAILURE;
	}
	if (args->cpu && ap_perfex_type(args->cpu) != info.cpu_type) {
		ap_print(
			stderr,
			"anyperf perfex: the session around us has the CPU %s: give --cpu %s to the outer anyperf\n",
			ap_perfex_cpu_name(&info), args->cpu);
		return AP_EXIT_FAILURE;
	}
	if (args->info)
		return ap_perfex_print_info(stdout, &info);
	if (args->list || args->long_list)
		return ap_perfex_print_list(stdout, &info, args->long_list);
	return measure(args, &info, argv);
}

/* --- the session around it */

static int in_session(struct perfex_args *args, int argc, char **argv)
{
	char self[PATH_MAX], option[] = "--inside";
	char **words = calloc((size_t)argc + 3, sizeof(*words));
	/* argv[0] is the command's name */
	ssize_t n = readlink("/proc/self/exe", self, sizeof(self) - 1);
	struct ap_run_result res;
	int ret;

	if (!words || n < 0) {
		free(words);
		return AP_EXIT_FAILURE;
	}
	self[n] = '\0';
	words[0] = self;
	words[1] = argv[0];
	words[2] = option;
	for (int i = 1; i < argc; i++)
		words[i + 2] = argv[i];
	args->run.argv = words;
	memset(&res, 0, sizeof(res));
	ret = ap_run(&args->run, &res);
	/* what ran natively is in no sum */
	for (unsigned int i = 0; !ret && i < res.nnotes; i++)
		ap_print(stderr, "%s\n", res.notes[i].text);
	if (!ret)
		ret = ap_engine_exit_status(res.wait_status);
	ap_run_result_fini(&res);
	free(words);
	return ret;
}

/* No program of ours is one of a PowerPC, so there is no session with a device around it. */
static int with_ppc(struct perfex_args *args, char *const *argv)
{
	if (args->info)
		return ap_perfex_ppc_info(stdout, args->ppc);
	if (args->list || args->long_list)
		return ap_perfex_ppc_list(stdout, args->ppc, args->long_list);
	if (args->control.pebs_enable || args->control.pebs_matrix_vert)
		return ap_opts_wrong(&ap_spec_perfex, "a PowerPC has no PEBS and no OFFCORE_RSP",
				     NULL);
	args->run.argv = argv;
	return ap_perfex_ppc_measure(&args->run, args->ppc, &args->control, args->output);
}

int ap_cmd_perfex(int argc, char **argv)
{
	struct perfex_args args = { .run = { .err = stderr,
					     .count = true,
					     .perf = { .is_served = true, .paranoid = 2 } } };
	bool is_told;
	int rest, status;

	if (!ap_opts_begin(&ap_spec_perfex, &args, argc, argv, &rest, &status))
		return status;
	is_told = args.info || args.list || args.long_list;
	if (rest >= argc && !is_told)
		return ap_opts_wrong(&ap_spec_perfex, "no command to run", NULL);
	if (args.ppc)
		return with_ppc(&args, argv + rest);
	return args.is_inside ? inside(&args, argv + rest) : in_session(&args, argc, argv);
}
