/* SPDX-License-Identifier: MIT */
/*
 * Where a path leads: an open folder, and a name in it that is no link.  What is done there by that descriptor and
 * that name happens in the folder that was judged, whatever others rename meanwhile.
 */
#ifndef AP_FILES_LEAF_H
#define AP_FILES_LEAF_H

#include <limits.h>
#include <stdbool.h>
#include <sys/stat.h>

#include "base/types.h"

struct ap_leaf {
	int dir; /* O_PATH; -1: none */
	char name[NAME_MAX + 1];
	bool exists;
	bool is_magic;	/* a descriptor's name in /proc: only the kernel knows what is behind it */
	struct stat st; /* of what has the name, where it exists */
	struct stat dir_st;
};

/* The last name is no link, but for a magic one; keep_link: it may be, and is then what the leaf is. */
AP_MUST_CHECK int ap_leaf_find(struct ap_leaf *p, const char *path, bool keep_link);
void ap_leaf_close(struct ap_leaf *p);

/*
 * Is it owned by neither us nor the folder's owner, in such a folder?  (fs.protected_regular, protected_fifos.)
 */
bool ap_leaf_is_strangers(const struct ap_leaf *p);

/* May others than the folder's owner make files in it, which only their owners can rename: sticky, as /tmp? */
bool ap_folder_is_shared(const struct stat *dir);

#endif
