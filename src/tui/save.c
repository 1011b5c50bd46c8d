/* SPDX-License-Identifier: MIT */
/*
 * All lines of a view as a text file.  It gets a name that nothing has, when it is complete.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "files/error.h"
#include "files/out.h"
#include "print/print.h"
#include "tui/view.h"

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

static int write_all(struct ap_view *v, struct ap_out *out, char *name, size_t size)
{
	int ret = ap_out_open(out);
	FILE *f = ret ? NULL : fdopen(dup(out->fd), "w");

	if (ret)
		return ret;
	if (!f)
		return -errno;
	put_all(v, f);
	if (fflush(f) || ferror(f))
		ret = errno ? -errno : -EIO;
	if (fclose(f) && !ret)
		ret = -errno;
	return ret ? ret : ap_out_commit_new(out, name, size);
}

void ap_view_save(struct ap_view *v)
{
	char name[300] = "perf.hist", given[sizeof(name)];
	struct ap_out out;
	int ret;

	if (v->ops->save_name)
		v->ops->save_name(v, name, sizeof(name) - 16);
	ret = ap_out_begin(&out, name, AP_OUT_NEW);
	if (!ret) {
		ret = write_all(v, &out, given, sizeof(given));
		ap_out_end(&out);
	}
	if (ret)
		ap_tui_say(v->tui, "Cannot write %s: %s", name, ap_file_error(ret));
	else
		ap_tui_say(v->tui, "%u lines were written to %s", v->n, given);
}
