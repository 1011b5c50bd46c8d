/* SPDX-License-Identifier: MIT */
/*
 * The limits of perf events that can be written, /proc/sys/kernel/perf_*: of this session, by root,
 * with the kernel's parser, bounds and errors.  A new value holds from then on; that of the sample
 * rate for what is sampled already as well.
 */
#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "abi/tree.h"
#include "linux/host/host_internal.h"

#define NUMBER_MAX 21		/* characters of a number, as the kernel has it */
#define STACK_MAX  (640 * 1024) /* its sysctl's bound */
#define TEXT_SIZE  16

static const struct {
	const char *name;
	s64 min, max;
} limits[AP_HOST_LIMITS] = {
	[AP_LIMIT_CPU_PERCENT] = { "perf_cpu_time_max_percent", 0, 100 },
	[AP_LIMIT_CONTEXTS] = { "perf_event_max_contexts_per_stack", 0, 1000 },
	[AP_LIMIT_SAMPLE_RATE] = { "perf_event_max_sample_rate", 1, INT_MAX },
	[AP_LIMIT_STACK] = { "perf_event_max_stack", 0, STACK_MAX },
	[AP_LIMIT_MLOCK_KB] = { "perf_event_mlock_kb", INT_MIN, INT_MAX },
	[AP_LIMIT_PARANOID] = { "perf_event_paranoid", INT_MIN, INT_MAX },
};

static bool is_space(char c)
{
	return c == ' ' || c == '\t' || c == '\n';
}

static size_t skip(const char *text, size_t at, size_t size)
{
	while (at < size && isspace((unsigned char)text[at]))
		at++;
	return at;
}

/* How many bytes the number and what is blank around it have; -EINVAL. */
static s64 parse(const char *text, size_t size, s64 *value)
{
	size_t at = skip(text, 0, size), left = size - at, len;
	char number[NUMBER_MAX + 1], *end;
	const char *p = number;
	unsigned long v;

	if (!left)
		return -EINVAL;
	len = left < NUMBER_MAX ? left : NUMBER_MAX;
	memcpy(number, text + at, len);
	number[len] = '\0';
	p += *p == '-' && left > 1;
	if (!isdigit((unsigned char)*p))
		return -EINVAL;
	errno = 0;
	v = strtoul(p, &end, 0);
	len = (size_t)(end - number);
	if (errno || len == NUMBER_MAX || (len < left && !is_space(text[at + len])))
		return -EINVAL;
	if (v > (p > number ? 1UL + INT_MAX : (unsigned long)INT_MAX))
		return -EINVAL;
	*value = p > number ? -(s64)v : (s64)v;
	return (s64)skip(text, at + len, size);
}

void ap_host_limits_init(struct ap_host *host, u32 max_sample_rate, u32 max_stack)
{
	s32 *v = host->limits;

	v[AP_LIMIT_CPU_PERCENT] = 25;
	v[AP_LIMIT_CONTEXTS] = 8;
	v[AP_LIMIT_SAMPLE_RATE] = (s32)max_sample_rate;
	v[AP_LIMIT_STACK] = (s32)max_stack;
	v[AP_LIMIT_MLOCK_KB] = AP_HOST_MLOCK_KB;
	v[AP_LIMIT_PARANOID] = host->config.paranoid;
}

/* The kernel shares buffers of one size among all events with callchains. */
static s64 may_be(struct ap_host *host, u32 which)
{
	if ((which == AP_LIMIT_STACK || which == AP_LIMIT_CONTEXTS) &&
	    ap_core_has_callchains(host->core))
		return -EBUSY;
	return 0;
}

static void apply(struct ap_host *host, u32 which)
{
	struct ap_core_config *core = ap_core_config(host->core);
	s32 v = host->limits[which];

	switch (which) {
	case AP_LIMIT_PARANOID:
		host->config.paranoid = core->paranoid = v;
		break;
	case AP_LIMIT_SAMPLE_RATE:
		host->config.max_sample_rate = (u32)v;
		ap_core_set_sample_rate(host->core, (u32)v);
		break;
	case AP_LIMIT_STACK:
		core->max_stack = v < USHRT_MAX ? (u32)v : USHRT_MAX;
		break;
	case AP_LIMIT_CONTEXTS:
		core->has_no_contexts = !v;
		break;
	default: /* looked at where it matters */
		break;
	}
}

/* The text has two places behind the tree, of which readers see one. */
static void show(struct ap_host *host, struct ap_tree *t, u32 node, u32 which)
{
	struct ap_tree_node *n = (struct ap_tree_node *)(uintptr_t)ap_tree_nodes(t) + node;
	u32 at = AP_TREE_LIMITS + which * 2 * TEXT_SIZE;
	int size;

	if (n->text == at)
		at += TEXT_SIZE;
	size = snprintf((char *)t + at, TEXT_SIZE, "%d\n", host->limits[which]);
	__atomic_store_n((u64 *)(void *)&n->text, (u64)(u32)size << 32 | at, __ATOMIC_RELEASE);
}

/* The tree lies in the session's file, where a wild program may have changed it. */
static bool is_called(const struct ap_tree *t, u32 off, const char *name)
{
	size_t size = strlen(name) + 1;

	return off < AP_TREE_SIZE && size <= AP_TREE_SIZE - off &&
	       !memcmp(ap_tree_text(t, off), name, size);
}

static s64 find(const struct ap_tree *t, u64 node, u32 *which)
{
	const struct ap_tree_node *n = ap_tree_nodes(t);
	u32 name;

	if (node >= (AP_TREE_SIZE - sizeof(*t)) / sizeof(*n) || n[node].fs != AP_TREE_PROC)
		return -EINVAL;
	name = __atomic_load_n(&n[node].name, __ATOMIC_RELAXED);
	for (*which = 0; *which < AP_HOST_LIMITS; (*which)++)
		if (is_called(t, name, limits[*which].name))
			return 0;
	return -EINVAL;
}

static s64 set(struct ap_host *host, u32 which, const char *text, size_t size)
{
	s32 percent = host->limits[AP_LIMIT_CPU_PERCENT];
	s64 v, used, ret;

	/* nobody adapts the rate: then it is not to be set either */
	if (which == AP_LIMIT_SAMPLE_RATE && (!percent || percent == 100))
		return -EINVAL;
	used = parse(text, size, &v);
	if (used < 0)
		return used;
	if (v < limits[which].min || v > limits[which].max)
		return -EINVAL;
	ret = may_be(host, which);
	if (ret)
		return ret;
	host->limits[which] = (s32)v;
	__atomic_store_n(&host->ses->head->limits_set, 1, __ATOMIC_RELEASE);
	apply(host, which);
	return used;
}

s64 ap_host_limit_write(struct ap_host *host, struct ap_host_task *t, u64 node, const char *text,
			size_t size)
{
	struct ap_tree *tree;
	u32 which;
	s64 ret;

	if (!host->has_tree)
		return -EINVAL;
	if (!ap_host_is_root(t))
		return -EPERM;
	tree = ap_session_part(host->ses, AP_TREE_OFF);
	ret = find(tree, node, &which);
	if (!ret)
		ret = set(host, which, text, size);
	if (ret >= 0)
		show(host, tree, (u32)node, which);
	return ret;
}
