/* SPDX-License-Identifier: MIT */
/*
 * Doubly linked lists whose links lie in the elements.  A head is a link of its own; a link that is
 * on no list points to itself, so that taking it off twice is harmless.
 */
#ifndef AP_BASE_LIST_H
#define AP_BASE_LIST_H

#include "base/types.h"

struct ap_list {
	struct ap_list *next, *prev;
};

static inline void ap_list_init(struct ap_list *l)
{
	l->next = l->prev = l;
}

static inline bool ap_list_empty(const struct ap_list *l)
{
	return l->next == l;
}

static inline void ap_list_add_tail(struct ap_list *head, struct ap_list *l)
{
	l->prev = head->prev;
	l->next = head;
	head->prev->next = l;
	head->prev = l;
}

static inline void ap_list_del(struct ap_list *l)
{
	l->prev->next = l->next;
	l->next->prev = l->prev;
	ap_list_init(l);
}

#define ap_list_entry(l, type, member) ap_container_of(l, type, member)

/* The element at hand may be taken off, and nothing else, in the _safe form. */
#define ap_list_for_each(l, head) for (l = (head)->next; l != (head); l = l->next)
#define ap_list_for_each_safe(l, n, head)                                                          \
	for (l = (head)->next, n = l->next; l != (head); l = n, n = l->next)

#endif
