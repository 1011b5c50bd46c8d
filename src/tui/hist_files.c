/* SPDX-License-Identifier: MIT */
/*
 * What the table leads to beside itself: the samples behind it as text, and other files.
 */
#include <dirent.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "files/in.h"
#include "tui/hist_view.h"

/* --- samples */

struct samples {
	struct hist_view *h;
	const char *comm, *symbol; /* interned */
	u8 what[3], n;
};

enum { OF_COMMAND, OF_SYMBOL, OF_ALL };

static void samples_chosen(void *arg, u32 choice)
{
	struct samples *c = arg;
	const char *comm = c->what[choice] == OF_COMMAND ? c->comm : NULL;
	const char *symbol = c->what[choice] == OF_SYMBOL ? c->symbol : NULL;
	const struct ap_tui_profile *p = c->h->p;
	char *text = NULL, title[100] = "All samples";
	size_t size;
	FILE *out = open_memstream(&text, &size);
	bool is_done;

	if (!out)
		return;
	is_done = p->samples(p->samples_arg, comm, symbol, out);
	fclose(out);
	if (!is_done || !size) {
		free(text);
		ap_tui_say(c->h->v.tui, is_done ? "There are no such samples"
						: "anyperf script did not print them");
		return;
	}
	if (comm || symbol)
		snprintf(title, sizeof(title), "Samples of %s", comm ? comm : symbol);
	ap_tui_push(c->h->v.tui, ap_text_view(title, text));
}

void hist_samples(struct hist_view *h)
{
	static struct samples c;
	const struct hist_row *r = hist_current(h);
	const struct ap_symbol *sym = NULL;
	struct ap_menu *m;

	if (!h->p->samples) {
		ap_tui_say(h->v.tui, "There is no file whose samples could be listed");
		return;
	}
	m = ap_menu_new("Samples as 'anyperf script' prints them", samples_chosen, &c);
	c = (struct samples){ .h = h };
	if (r && ap_hist_has(hist_of(h), AP_KEY_COMM)) {
		c.comm = r->e->comm;
		c.what[c.n++] = OF_COMMAND;
		ap_menu_add(m, "Of command %s", c.comm);
	}
	if (r && (r->frame || ap_hist_has(hist_of(h), AP_KEY_SYM)))
		sym = r->frame ? r->frame->frame.sym : r->e->sym;
	/* in a list of names a comma begins the next one */
	if (sym && !strchr(sym->name, ',')) {
		c.symbol = sym->name;
		c.what[c.n++] = OF_SYMBOL;
		ap_menu_add(m, "Of function %s", c.symbol);
	}
	c.what[c.n++] = OF_ALL;
	ap_menu_add(m, "All");
	ap_tui_push(h->v.tui, ap_menu_view(m));
}

/* --- other files */

#define MAX_FILES 1000U

struct files {
	struct hist_view *h;
	char **name;
	u32 n;
};

/* As a menu of its own is not told when it is left, the list stays until the next one is made. */
static struct files files;

static bool is_profile(const char *name)
{
	char magic[8];
	int fd = ap_in_open(name, AP_IN_FILE | AP_IN_OURS);
	bool is = fd >= 0 && read(fd, magic, sizeof(magic)) == (ssize_t)sizeof(magic) &&
		  (!memcmp(magic, "PERFILE2", 8) || !memcmp(magic, "2ELIFREP", 8));

	if (fd >= 0)
		close(fd);
	return is;
}

static int by_name(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

static void find_files(void)
{
	DIR *dir = opendir(".");
	struct dirent *entry;

	while (files.n)
		free(files.name[--files.n]);
	while (dir && files.n < MAX_FILES && (entry = readdir(dir))) {
		size_t size = strlen(entry->d_name) + 1;

		if (!is_profile(entry->d_name))
			continue;
		files.name = ap_profile_realloc(files.name, files.n + 1, sizeof(char *));
		files.name[files.n] = ap_profile_calloc(1, size);
		memcpy(files.name[files.n++], entry->d_name, size);
	}
	if (dir)
		closedir(dir);
	if (files.n)
		qsort(files.name, files.n, sizeof(char *), by_name);
}

static void file_chosen(void *arg, u32 choice)
{
	struct ap_tui *t = files.h->v.tui;

	(void)arg;
	free(t->file);
	t->file = files.name[choice];
	files.name[choice] = files.name[--files.n];
	t->is_over = true;
}

void hist_other_file(struct hist_view *h)
{
	struct ap_menu *m;

	if (!h->p->file) {
		ap_tui_say(h->v.tui, "This is not from a file that could be left for another");
		return;
	}
	find_files();
	files.h = h;
	if (!files.n) {
		ap_tui_say(h->v.tui, "There is no data file in this folder");
		return;
	}
	m = ap_menu_new("Data files of this folder", file_chosen, NULL);
	for (u32 i = 0; i < files.n; i++)
		ap_menu_add(m, "%s%s", files.name[i],
			    strcmp(files.name[i], h->p->file) ? "" : "  (shown)");
	ap_tui_push(h->v.tui, ap_menu_view(m));
}
