/* SPDX-License-Identifier: MIT */
/*
 * The screens of a profile as one state: a stack of views, a line that is being typed, a message.  A key
 * changes it, drawing shows all of it; nothing in here waits.  docs/design/tui.md.
 */
#ifndef AP_TUI_TUI_H
#define AP_TUI_TUI_H

#include "profile/hist/annotate.h"
#include "profile/hist/hist.h"
#include "tui/screen.h"

struct ap_view;

/* Called with what was typed; not when it was given up. */
typedef void ap_tui_typed(void *arg, const char *text);

struct ap_tui {
	struct ap_view *view; /* the uppermost */
	struct {
		const char *label; /* NULL: nobody types */
		char text[200];
		ap_tui_typed *done;
		void *arg;
	} ask;
	char wanted[200]; /* what was last searched for */
	char message[300];
	char *file; /* to be shown next, where another one was chosen; the caller's */
	bool is_over;
};

void ap_tui_fini(struct ap_tui *t);
void ap_tui_push(struct ap_tui *t, struct ap_view *v);
void ap_tui_pop(struct ap_tui *t); /* the last one: is_over */
void ap_tui_key(struct ap_tui *t, u32 key);
void ap_tui_draw(struct ap_tui *t, struct ap_screen *s);
/* Until the next key. */
void ap_tui_say(struct ap_tui *t, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void ap_tui_ask(struct ap_tui *t, const char *label, ap_tui_typed *done, void *arg);

/* --- what is shown */

struct ap_tui_event {
	const char *name;
	struct ap_hist *hist; /* NULL: no sample */
	u32 index;	      /* of the notes: of a group's, those of its leader */
	const char *leader;   /* whose name is this; NULL: name */
	u64 samples, total;   /* of a group, of all of it */
};

struct ap_tui_profile {
	struct ap_tui_event *event;
	u32 nevents;
	struct ap_annotate *notes; /* NULL: functions cannot be opened */
	u64 lost;		   /* samples */
	/* grows when tables or notes are others than before */
	u64 generation;
	const char *style;			  /* of instructions: "intel", or NULL */
	const char *objdump;			  /* the program that shows them, or NULL */
	bool full_paths, no_source, with_samples; /* how many in place of percent */
	/* what the file says of itself; NULL: nothing */
	void (*header)(void *arg, FILE *out);
	void *header_arg;
	/* the samples of a command or function (NULL: any) as `anyperf script` prints them; NULL: not here */
	bool (*samples)(void *arg, const char *comm, const char *symbol, FILE *out);
	void *samples_arg;
	const char *file;    /* where it is from, NULL: from none that could be left for another */
	const char *message; /* at the start, or NULL */
	bool is_live, is_forgetful; /* top; -z */
	struct ap_disasm *disasm;   /* made when it is needed */
};

/* The table of the event; from several one may choose. */
void ap_tui_show_profile(struct ap_tui *t, struct ap_tui_profile *p);
/* A function; false with a message where its code cannot be shown. */
bool ap_tui_show_function(struct ap_tui *t, struct ap_tui_profile *p, u32 event, struct ap_dso *dso,
			  const struct ap_symbol *sym);
void ap_tui_profile_fini(struct ap_tui_profile *p);

#endif
