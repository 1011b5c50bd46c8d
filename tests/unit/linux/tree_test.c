/* SPDX-License-Identifier: MIT */
/* The packed tree is well formed, whatever the session and the CPU. */
#include "linux/host/tree.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tap/tap.h"

static struct ap_tree *pack(enum ap_cpu cpu, s32 paranoid)
{
	const struct ap_tree_config config = { .arch = ap_pmu_arch(cpu),
					       .paranoid = paranoid,
					       .max_sample_rate = 100000,
					       .max_stack = 127,
					       .mlock_kb = 516 };
	struct ap_tree *t = calloc(1, AP_TREE_SIZE);

	REQUIRE(!ap_tree_pack(t, &config));
	return t;
}

static void check_children(const struct ap_tree *t, u32 dir)
{
	const struct ap_tree_node *v = ap_tree_nodes(t), *n = v + dir;
	u32 dirs = 0;

	REQUIRE(n->first <= t->nnodes && n->n <= t->nnodes - n->first);
	for (u32 i = n->first; i < n->first + n->n; i++) {
		const char *name = ap_tree_text(t, v[i].name);

		dirs += (v[i].mode & AP_TREE_FMT) == AP_TREE_DIR;
		EXPECT(*name && !strchr(name, '/'));
		EXPECT(i > dir);
		if (i > n->first)
			EXPECT(strcmp(ap_tree_text(t, v[i - 1].name), name) < 0);
	}
	EXPECT_U64(n->nlink, dirs + 2);
}

static void every_node_is_well_formed(void)
{
	static const enum ap_cpu cpus[] = { AP_CPU_OTHER, AP_CPU_SKYLAKE, AP_CPU_ICELAKE,
					    AP_CPU_ZEN };

	for (u32 c = 0; c < AP_ARRAY_SIZE(cpus); c++) {
		struct ap_tree *t = pack(cpus[c], 2);
		const struct ap_tree_node *v = ap_tree_nodes(t);

		EXPECT(t->magic == AP_TREE_MAGIC && t->size <= AP_TREE_SIZE);
		for (u32 i = 0; i < t->nnodes; i++) {
			u32 type = v[i].mode & AP_TREE_FMT;

			REQUIRE(v[i].name < t->size && v[i].text < t->size);
			REQUIRE(v[i].size == AP_TREE_EIO || v[i].size < t->size - v[i].text);
			EXPECT(!i || (v[i].parent < i &&
				      (v[v[i].parent].mode & AP_TREE_FMT) == AP_TREE_DIR));
			EXPECT(type == AP_TREE_DIR || type == AP_TREE_FILE || type == AP_TREE_LINK);
			EXPECT(!v[i].is_shared || type == AP_TREE_DIR ||
			       v[i].fs == AP_TREE_TRACEFS);
			EXPECT(!v[i].is_shared || v[v[i].parent].is_shared);
			if (type == AP_TREE_DIR)
				check_children(t, i);
			else if (v[i].size != AP_TREE_EIO)
				EXPECT_U64(strlen(ap_tree_text(t, v[i].text)), v[i].size);
		}
		free(t);
	}
}

static const struct ap_tree_node *find(const struct ap_tree *t, const char *path)
{
	const struct ap_tree_node *v = ap_tree_nodes(t), *n = v;
	char copy[128], *save = NULL;

	snprintf(copy, sizeof(copy), "%s", path);
	for (char *w = strtok_r(copy, "/", &save); w; w = strtok_r(NULL, "/", &save)) {
		u32 i = n->first;

		while (i < n->first + n->n && strcmp(ap_tree_text(t, v[i].name), w))
			i++;
		if (i == n->first + n->n)
			return NULL;
		n = v + i;
	}
	return n;
}

static void it_says_what_the_session_is_like(void)
{
	struct ap_tree *t = pack(AP_CPU_ZEN, -1);
	const struct ap_tree_node *n = find(t, "/proc/sys/kernel/perf_event_paranoid");

	REQUIRE(n);
	EXPECT_STR(ap_tree_text(t, n->text), "-1\n");
	n = find(t, "/sys/devices/cpu/type");
	REQUIRE(n);
	EXPECT_STR(ap_tree_text(t, n->text), "4\n");
	EXPECT(n->fs == AP_TREE_SYSFS && n->mode == 0100444);
	n = find(t, "/sys/bus/event_source/devices/cpu");
	REQUIRE(n);
	EXPECT_STR(ap_tree_text(t, n->text), "../../../devices/cpu");
	/* one file system at two places */
	n = find(t, "/sys/kernel/debug/tracing/events/raw_syscalls/sys_enter/id");
	EXPECT(n && n == find(t, "/sys/kernel/tracing/events/raw_syscalls/sys_enter/id"));
	EXPECT(n && n->fs == AP_TREE_TRACEFS);
	EXPECT(!find(t, "/proc/sys/kernel/perf_user_access")); /* no x86 has it */
	free(t);
}

int main(int argc, char **argv)
{
	static const struct tap_test tests[] = {
		TAP(every_node_is_well_formed),
		TAP(it_says_what_the_session_is_like),
		{ 0 },
	};

	return tap_main(tests, argc, argv);
}
