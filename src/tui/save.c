/* SPDX-License-Identifier: MIT */
/*
 * All lines of a view as a text file.  It gets a name that nothing has, when it is complete.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "print/print.h"
#include "tui/view.h"

#define TRIES 1000

/* As on the screen: a name with a line's end in it is no reason for another line. */
static void put_line(FILE *out, const char *text)
{
	char shown[sizeof(((struct ap_row *)0)->text) + 1];
	size_t n;

	ap_text_clip(text, 0, ~0U, shown, sizeof(shown));
	text = shown;
	n = strlen(text);
	while (n && text[n - 1] == ' ')
		n--;
	ap_print(out, "%.*s\n", (int)n, text);
}

static void put_all(struct ap_view *v, FILE *out)
{
	static struct ap_row r;
	char title[600];

	v->ops->title(v, title, sizeof(title));
	put_line(out, title);
	for (u32 i = 0; i <= v->n; i++) {
		r.len = r.nspans = 0;
		r.text[0] = 0;
		if (i)
			v->ops->row(v, i - 1, &r);
		else if (v->ops->head)
			v->ops->head(v, &r);
		if (i || r.len)
			put_line(out, r.text);
	}
}

/* path -> name, or name.1, name.2 ... where that is taken. */
static int give_name(const char *path, char *name, size_t size)
{
	size_t n = strlen(name);
	int i;

	for (i = 0; i < TRIES; i++) {
		if (i)
			snprintf(name + n, size - n, ".%d", i);
		if (!link(path, name))
			return 0;
		if (errno != EEXIST)
			return -errno;
	}
	return -EEXIST;
}

void ap_view_save(struct ap_view *v)
{
	char path[] = ".perf.save.XXXXXX", name[300] = "perf.hist";
	int fd = mkstemp(path), err = 0;
	FILE *out = fd >= 0 ? fdopen(fd, "w") : NULL;

	if (v->ops->save_name)
		v->ops->save_name(v, name, sizeof(name) - 16);
	if (!out) {
		err = errno;
		if (fd >= 0)
			close(fd);
	} else {
		/* as any new file: mkstemp is stricter */
		mode_t mask = umask(0);

		umask(mask);
		err = fchmod(fd, 0666 & ~mask) ? errno : 0;
		put_all(v, out);
		if ((fflush(out) || ferror(out)) && !err)
			err = errno ? errno : EIO;
		if (fclose(out) && !err)
			err = errno;
	}
	if (!err)
		err = -give_name(path, name, sizeof(name));
	if (fd >= 0)
		unlink(path);
	if (err)
		ap_tui_say(v->tui, "Cannot write %s: %s", name, strerror(err));
	else
		ap_tui_say(v->tui, "%u lines were written to %s", v->n, name);
}
