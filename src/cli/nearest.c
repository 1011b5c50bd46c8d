/* SPDX-License-Identifier: MIT */
/*
 * Edit distance with transpositions (optimal string alignment) over short words.  Words longer
 * than WORD_MAX are never near to anything: suggestions are for typing errors.
 */
#include "cli/nearest.h"

#include <string.h>

#include "base/types.h"

#define WORD_MAX 40
#define FAR	 1000u

static unsigned int least(unsigned int a, unsigned int b, unsigned int c)
{
	unsigned int m = a < b ? a : b;

	return m < c ? m : c;
}

unsigned int ap_edit_distance(const char *a, const char *b)
{
	unsigned int row[3][WORD_MAX + 1];
	size_t la = strlen(a), lb = strlen(b), i, j;

	if (la > WORD_MAX || lb > WORD_MAX)
		return FAR;
	for (j = 0; j <= lb; j++)
		row[0][j] = (unsigned int)j;
	for (i = 1; i <= la; i++) {
		unsigned int *now = row[i % 3], *up = row[(i - 1) % 3], *up2 = row[(i + 1) % 3];

		now[0] = (unsigned int)i;
		for (j = 1; j <= lb; j++) {
			now[j] = least(up[j] + 1, now[j - 1] + 1,
				       up[j - 1] + (a[i - 1] != b[j - 1]));
			if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
				now[j] = least(now[j], up2[j - 2] + 1, FAR);
		}
	}
	return row[la % 3][lb];
}

void ap_nearest_init(struct ap_nearest *near, const char *word)
{
	size_t len = strlen(word);

	/* more than a third of the letters wrong is another word; of short ones a letter */
	*near = (struct ap_nearest){ .word = word,
				     .edits = (unsigned int)(len < 3 ? 2 : len / 3 + 1) };
}

void ap_nearest_offer(struct ap_nearest *near, const char *name)
{
	size_t word = strlen(near->word), len = strlen(name);
	unsigned int edits;

	/* each letter too many, or too few, is an edit: most names are too long or too short */
	if ((word > len ? word - len : len - word) >= near->edits)
		return;
	edits = ap_edit_distance(near->word, name);
	if (edits < near->edits) {
		near->edits = edits;
		near->name = name;
	}
}
