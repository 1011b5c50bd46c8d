/* SPDX-License-Identifier: MIT */
/*
 * Names are paths below the mount of cgroup2, which is where perf looks too where no other
 * hierarchy has the controller of perf events.
 */
#include "cli/cgroups.h"

#include <errno.h>
#include <fcntl.h>
#include <mntent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/memory.h"
#include "files/in.h"

/* Where cgroup2 is mounted, to be freed; NULL: nowhere. */
static char *mount_point(void)
{
	FILE *mounts = setmntent("/proc/self/mounts", "re");
	struct mntent *m = NULL;
	char *point = NULL;

	while (mounts && !point && (m = getmntent(mounts)))
		if (!strcmp(m->mnt_type, "cgroup2"))
			point = ap_xstrdup(m->mnt_dir);
	if (mounts)
		endmntent(mounts);
	return point;
}

static int open_one(struct ap_evlist *list, const char *name, size_t len, struct ap_evcgroup **out,
		    char *why, size_t size)
{
	struct ap_evcgroup *cg;
	char *point, *path;
	int fd;

	for (cg = list->cgroups; cg; cg = cg->next) {
		if (strlen(cg->name) == len && !strncmp(cg->name, name, len)) {
			*out = cg;
			return 0;
		}
	}
	point = mount_point();
	if (!point) {
		snprintf(why, size, "no cgroup2 is mounted here");
		return -EINVAL;
	}
	path = ap_xasprintf("%s/%.*s", point, (int)len, name);
	fd = ap_in_folder(path);
	if (fd < 0)
		snprintf(why, size, "no access to cgroup %s: %s", path, strerror(-fd));
	free(path);
	free(point);
	if (fd < 0)
		return -EINVAL;
	cg = ap_xgrow(NULL, 1, sizeof(*cg));
	*cg = (struct ap_evcgroup){ .name = ap_xstrndup(name, len),
				    .fd = fd,
				    .next = list->cgroups };
	list->cgroups = cg;
	*out = cg;
	return 0;
}

int ap_cgroups_assign(struct ap_evlist *list, const char *names, char *why, size_t size)
{
	struct ap_evcgroup *cg = NULL;
	const char *p = names;
	size_t i = 0, len;
	int ret;

	for (;; p++, i++) {
		len = strcspn(p, ",");
		if (i == list->n) {
			snprintf(why, size, "more cgroups than events");
			return -EINVAL;
		}
		ret = len ? open_one(list, p, len, &cg, why, size) : 0;
		if (ret)
			return ret;
		list->sel[i].cgroup = len ? cg : NULL;
		p += len;
		if (!*p)
			break;
	}
	/* one is for all */
	for (; !strchr(names, ',') && i < list->n; i++)
		list->sel[i].cgroup = cg;
	for (i = 0; i < list->n; i++) {
		size_t leader = list->sel[i].leader;

		if (leader != AP_EVSEL_ALONE && list->sel[i].cgroup != list->sel[leader].cgroup) {
			snprintf(why, size, "the events of a group need the same cgroup");
			return -EINVAL;
		}
	}
	return 0;
}

/* The first n events once more, of that cgroup. */
static void repeat(struct ap_evlist *list, size_t n, struct ap_evcgroup *cg)
{
	size_t first = list->n;

	list->sel = ap_xgrow(list->sel, first + n, sizeof(*list->sel));
	list->n += n;
	for (size_t i = 0; i < n; i++) {
		struct ap_evsel *sel = &list->sel[first + i];

		*sel = list->sel[i];
		sel->name = ap_xstrdup(sel->name);
		if (sel->filter)
			sel->filter = ap_xstrdup(sel->filter);
		if (sel->own) {
			sel->own = ap_xgrow(NULL, 1, sizeof(*sel->own));
			*sel->own = *list->sel[i].own;
			sel->desc = sel->own;
		}
		if (sel->leader != AP_EVSEL_ALONE)
			sel->leader += first;
		sel->cgroup = cg;
	}
}

int ap_cgroups_for_each(struct ap_evlist *list, const char *names, char *why, size_t size)
{
	size_t n = list->n, len, i;
	struct ap_evcgroup *cg;
	const char *p = names;
	bool is_first = true;
	int ret;

	for (;; p++) {
		len = strcspn(p, ",");
		if (!len) {
			snprintf(why, size, "'%s': the name of a cgroup is missing", names);
			return -EINVAL;
		}
		ret = open_one(list, p, len, &cg, why, size);
		if (ret)
			return ret;
		for (i = 0; i < n && is_first; i++)
			list->sel[i].cgroup = cg;
		if (!is_first)
			repeat(list, n, cg);
		is_first = false;
		p += len;
		if (!*p)
			return 0;
	}
}

void ap_cgroups_free(struct ap_evcgroup *all)
{
	struct ap_evcgroup *next;

	for (; all; all = next) {
		next = all->next;
		close(all->fd);
		free(all->name);
		free(all);
	}
}
