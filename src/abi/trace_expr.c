/* SPDX-License-Identifier: MIT */
/*
 * Does what a tracepoint has recorded match?  Runs in threads that are counted: whatever the nodes
 * are, it ends, and reads nothing but them and the record.
 */
#include "abi/trace_expr.h"

#include "base/mem.h"

u64 ap_trace_widened(u64 v, u32 size, bool is_signed)
{
	u32 shift = 64 - 8 * size;

	v <<= shift;
	return is_signed ? (u64)((s64)v >> shift) : v >> shift;
}

/* In the byte order of the recording machine, which is this one's. */
static u64 number_at(const u8 *at, u32 size)
{
	const u16 one = 1;
	u64 v = 0;

	memcpy((u8 *)&v + (*(const u8 *)&one ? 0 : sizeof(v) - size), at, size);
	return v;
}

static bool compares(const struct ap_trace_node *node, const u8 *raw, u32 size)
{
	u64 v;
	int order;

	if (!node->size || node->size > sizeof(v) || node->size > size ||
	    node->a > size - node->size)
		return false;
	v = ap_trace_widened(number_at(raw + node->a, node->size), node->size, node->is_signed);
	if (node->is_signed)
		order = (s64)v < (s64)node->value ? -1 : (s64)v > (s64)node->value;
	else
		order = v < node->value ? -1 : v > node->value;
	switch (node->op) {
	case AP_TRACE_EQ:
		return !order;
	case AP_TRACE_NE:
		return order;
	case AP_TRACE_LE:
		return order <= 0;
	case AP_TRACE_GE:
		return order >= 0;
	case AP_TRACE_LT:
		return order < 0;
	case AP_TRACE_GT:
		return order > 0;
	case AP_TRACE_BITS:
		return v & node->value;
	default:
		return false;
	}
}

/* Operands precede what is made of them. */
bool ap_trace_expr_match(const struct ap_trace_node *nodes, u32 n, const u8 *raw, u32 size)
{
	bool is[AP_TRACE_NODES_MAX];

	if (!n || n > AP_TRACE_NODES_MAX)
		return false;
	for (u32 i = 0; i < n; i++) {
		const struct ap_trace_node *node = &nodes[i];
		bool a, b;

		if (node->op >= AP_TRACE_EQ) {
			is[i] = compares(node, raw, size);
			continue;
		}
		a = node->a < i && is[node->a];
		b = node->b < i && is[node->b];
		if (node->op == AP_TRACE_NOT)
			is[i] = !a;
		else
			is[i] = node->op == AP_TRACE_AND ? a && b : a || b;
	}
	return is[n - 1];
}
