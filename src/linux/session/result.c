/* SPDX-License-Identifier: MIT */
/*
 * Filling struct ap_run_result: tasks that were cut short, and notes.  A note that says what
 * an earlier one said is left out: a make that runs sudo a hundred times has one thing to tell.
 */
#include "linux/session/result.h"
#include "linux/session/errors.h"
#include "linux/session/regions.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Longest way through translated code without a count: a superblock. */
#define SUPERBLOCK_MAX 64

int ap_result_add_note(struct ap_run_result *res, u32 kind, u32 pid, const char *text)
{
	struct ap_note_line *more, *line;

	for (unsigned int i = 0; i < res->nnotes; i++)
		if (res->notes[i].kind == kind && !strcmp(res->notes[i].text, text))
			return 0;
	more = realloc(res->notes, (res->nnotes + 1) * sizeof(*more));
	if (!more)
		return -ENOMEM;
	res->notes = more;
	line = &more[res->nnotes++];
	line->kind = kind;
	line->pid = pid;
	snprintf(line->text, sizeof(line->text), "%s", text);
	return 0;
}

void ap_result_not_counted(struct ap_run_result *res, u32 pid, const char *path, const char *why)
{
	char text[sizeof(res->notes->text)];

	snprintf(text, sizeof(text), "not counted: %.160s: %.60s", path, why);
	/* without memory for a note the table still says that nothing was counted */
	(void)!ap_result_add_note(res, AP_NOTE_NOT_COUNTED, pid, text);
}

/* A process may have left out the NUL, and may have written anything. */
static void take_text(char *to, const char *from)
{
	const size_t size = sizeof(((struct ap_note *)0)->text);
	u32 i;

	/* a copy, which does not change */
	memcpy(to, from, size);
	to[size - 1] = '\0';
	for (i = 0; to[i]; i++)
		if ((u8)to[i] < ' ' || to[i] == 0x7f)
			to[i] = '?';
}

static int take_notes(struct ap_run_result *res, const struct ap_session_file *s, u32 root)
{
	const struct ap_note *notes = ap_notes_of(s->head);
	u32 n = __atomic_load_n(&ap_board_of(s->head)->nnotes, __ATOMIC_ACQUIRE), taken = 0;
	char text[sizeof(notes->text)];
	int ret = 0;

	for (u32 i = 0; !ret && (i = ap_session_next_note(s, i)) < AP_NOTE_MAX; i++) {
		u32 ready = __atomic_load_n(&notes[i].ready, __ATOMIC_ACQUIRE);

		taken += ready != AP_NOTE_FREE;
		if (ready != AP_NOTE_READY || !ap_root_is_within(s, notes[i].root, root))
			continue;
		take_text(text, notes[i].text);
		ret = ap_result_add_note(res, notes[i].kind, notes[i].pid, text);
	}
	if (!ret && taken == AP_NOTE_MAX && n > AP_NOTE_MAX) {
		snprintf(text, sizeof(text), "%u more notes did not fit", n - AP_NOTE_MAX);
		ret = ap_result_add_note(res, AP_NOTE_INFO, 0, text);
	}
	return ret;
}

/* Of our own memory, where we are the session's supervisor. */
static int take_own_notes(struct ap_run_result *res, const struct ap_session_file *s, u32 root)
{
	char text[sizeof(s->notes->text)];
	int ret = 0;

	for (u32 i = 0; i < s->nnotes && !ret; i++) {
		/*
		 * tasks can write which root is within which; a report of the whole session does
		 * not ask
		 */
		if (root && !ap_root_is_within(s, s->notes[i].root, root))
			continue;
		take_text(text, s->notes[i].text);
		ret = ap_result_add_note(res, s->notes[i].kind, s->notes[i].pid, text);
	}
	if (!ret && s->nlost) {
		snprintf(text, sizeof(text), "%u more notes of the supervisor did not fit",
			 s->nlost);
		ret = ap_result_add_note(res, AP_NOTE_INFO, 0, text);
	}
	return ret;
}

static int take_all_notes(struct ap_run_result *res, const struct ap_session_file *s, u32 root)
{
	const struct ap_session_file *f;
	int ret = take_own_notes(res, s, root);

	for (u32 p = 0; !ret && (f = ap_session_next_party(s, &p));)
		ret = take_notes(res, f, root);
	return ret;
}

int ap_result_take(struct ap_run_result *res, const struct ap_session_file *s, u32 root)
{
	int ret = ap_session_short(s, root, &res->tasks_short);

	if (ret)
		return ret;
	if (s->head->model_sample > 1 && ap_session_has_estimates(s))
		res->model_sample = s->head->model_sample;
	ret = res->model_sample ? ap_session_errors(s, root, &res->errors) : 0;
	if (ret)
		return ret;
	ret = ap_session_regions(s, &res->regions);
	if (ret)
		return ret;
	res->max_short = res->tasks_short ? SUPERBLOCK_MAX : 0;
	return take_all_notes(res, s, root);
}

void ap_run_result_fini(struct ap_run_result *res)
{
	free(res->notes);
	res->notes = NULL;
	res->nnotes = 0;
	free(res->regions.line);
	res->regions = (struct ap_region_lines){ 0 };
}
