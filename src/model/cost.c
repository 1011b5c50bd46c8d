/* SPDX-License-Identifier: MIT */
/*
 * The account of a piece: an analytic model, no simulation.  Slots bound the front end; for ports,
 * each union of two sets of ports bounds what can only go there; chains are followed from value to
 * value.
 *
 * Latencies and ports: tools/gen-costs.sh, which asks LLVM; Intel 64 and IA-32 Architectures
 * Optimization Reference Manual (248966), chapters on Skylake, Ice Lake and Golden Cove and
 * appendix "Instruction latency and throughput"; AMD Software Optimization Guide for the AMD Family
 * 19h Processors (56665, 57647).
 */
#include "model/cost.h"

#include "base/mem.h"

#define CYCLE 256U

/* Ports of Intel: 0, 1, 5, 6 and, from six slots on, 10; then the divider. */
#define P0    0x01
#define P1    0x02
#define P5    0x04
#define P6    0x08
#define P10   0x10
#define P_ALL (P0 | P1 | P5 | P6)
#define IDIV  0x20
/* AMD: four of integers, four of vectors, the divider of integers. */
#define A_0   0x01
#define A_1   0x02
#define A_2   0x04
#define A_3   0x08
#define A_ALL 0x0f
#define A_BR  0x800 /* branches alone */
#define F0    0x40
#define F1    0x80
#define F2    0x100
#define F3    0x200
#define F_ALL 0x3c0
/* The divider of floating point, of both. */
#define FDIV 0x400

/* By generation: Intel of four slots, Intel of more, AMD. */
enum { SKYLAKE, ICELAKE, ZEN, GENERATIONS };

struct cost_row {
	u8 latency[GENERATIONS];
	u8 ops;
	u16 intel, amd;	      /* ports; 0: none */
	u8 busy[GENERATIONS]; /* cycles that its port is taken; 0: one */
};

/*
 * Most are LLVM's.  Written here is what no one instruction stands for, and where LLVM's tables are
 * not what the manuals say: dividers of integers (microcode of older CPUs), lea of three parts,
 * shifts by cl (flags apart), ways between general and vector registers, x87.
 */
/* clang-format off */
static const struct cost_row rows[AP_COST_CLASSES] = {
#include "model/gen/cost_rows.inc"
	[AP_COST_NOTHING]  = { { 0, 0, 0 }, 1, 0, 0, { 0 } },
	[AP_COST_MOVE]	   = { { 0, 0, 0 }, 1, 0, 0, { 0 } },
	[AP_COST_LEA]	   = { { 3, 1, 2 }, 1, P1 | P5, A_ALL, { 0 } },
	[AP_COST_SHIFT_CL] = { { 2, 2, 1 }, 2, P0 | P6, A_1 | A_2, { 0 } },
	[AP_COST_DIV32]	   = { { 26, 12, 10 }, 4, IDIV, IDIV, { 6, 6, 6 } },
	[AP_COST_DIV64]	   = { { 42, 15, 17 }, 4, IDIV, IDIV, { 24, 10, 10 } },
	[AP_COST_TO_GPR]   = { { 2, 3, 3 }, 1, P0, F1 | F2, { 0 } },
	[AP_COST_FROM_GPR] = { { 2, 2, 3 }, 1, P5, F1 | F2, { 0 } },
	[AP_COST_X87]	   = { { 4, 4, 6 }, 1, P0 | P5, F0 | F1, { 0 } },
	[AP_COST_ATOMIC]   = { { 18, 18, 8 }, 8, P0, A_1, { 18, 18, 8 } },
	[AP_COST_STRING]   = { { 2, 2, 2 }, 4, P0 | P6, A_ALL, { 0 } },
	[AP_COST_SLOW]	   = { { 30, 30, 30 }, 20, P0 | P6, A_1 | A_2, { 20, 20, 20 } },
};
/* clang-format on */

static u32 generation(const struct ap_machine *m)
{
	if (m->vendor == AP_VENDOR_AMD)
		return ZEN;
	return m->pipe.issue > 4 ? ICELAKE : SKYLAKE;
}

static u32 load_ports(const struct ap_machine *m)
{
	return m->vendor == AP_VENDOR_AMD || m->pipe.issue > 5 ? 3 : 2;
}

static u32 store_ports(const struct ap_machine *m)
{
	return m->vendor == AP_VENDOR_AMD || m->pipe.issue > 4 ? 2 : 1;
}

/* One that does a thing after the other, and each in a cycle: simulators like cachegrind. */
static bool is_plain(const struct ap_machine *m)
{
	return m->pipe.rob <= 1;
}

void ap_cost_begin(struct ap_cost_account *a, const struct ap_machine *machine)
{
	memset(a, 0, offsetof(struct ap_cost_account, value));
	a->machine = machine;
}

/* Most pieces have to do with few of them. */
static struct ap_cost_chain *value_of(struct ap_cost_account *a, u32 r)
{
	if (!(a->known >> r & 1)) {
		a->known |= 1ULL << r;
		a->value[r] = (struct ap_cost_chain){ .n = 1, .in[0] = (u8)r };
	}
	return &a->value[r];
}

static void set_value(struct ap_cost_account *a, u32 r, const struct ap_cost_chain *chain)
{
	a->known |= 1ULL << r;
	a->value[r] = *chain;
}

/* --- chains */

static void join_input(struct ap_cost_chain *to, u8 in, u32 lat)
{
	u32 least = 0;

	for (u32 k = 0; k < to->n; k++) {
		if (to->in[k] == in) {
			if (lat > to->lat[k])
				to->lat[k] = lat;
			return;
		}
		if (to->lat[k] < to->lat[least])
			least = k;
	}
	if (to->n < AP_COST_INPUTS)
		least = to->n++;
	else if (lat <= to->lat[least])
		return;
	to->in[least] = in;
	to->lat[least] = lat;
}

/* to is there when from is, too, and so many cycles have gone */
static void join(struct ap_cost_chain *to, const struct ap_cost_chain *from, u32 cycles)
{
	u32 lat = cycles * CYCLE;

	if (from->start + lat > to->start)
		to->start = from->start + lat;
	for (u32 k = 0; k < from->n; k++)
		if (from->in[k] != 4) /* rsp */
			join_input(to, from->in[k], from->lat[k] + lat);
	to->loads |= from->loads;
}

static void join_all(struct ap_cost_account *a, struct ap_cost_chain *to, u64 mask, u32 cycles)
{
	for (; mask; mask &= mask - 1)
		join(to, value_of(a, (u32)__builtin_ctzll(mask)), cycles);
}

/* --- ports and slots */

static void take(struct ap_cost_account *a, u16 ports, u32 n)
{
	u32 k;

	if (!ports)
		return;
	for (k = 0; k < a->ngroups; k++)
		if (a->group[k].ports == ports)
			break;
	if (k == AP_COST_GROUPS)
		return;
	if (k == a->ngroups) {
		a->group[k].ports = ports;
		a->ngroups++;
	}
	a->group[k].n += n;
}

static u16 ports_of(const struct ap_machine *m, const struct cost_row *row)
{
	if (m->vendor == AP_VENDOR_AMD)
		return row->amd;
	/* the fifth of those that do all that is simple; LLVM's tables are of four */
	return m->pipe.issue > 5 && (row->intel & P_ALL) == P_ALL ? row->intel | P10 : row->intel;
}

/* A fused pair goes where the branch goes. */
static void give_back(struct ap_cost_account *a, u16 ports)
{
	for (u32 k = 0; k < a->ngroups; k++)
		if (a->group[k].ports == ports && a->group[k].n)
			a->group[k].n--;
}

static void take_slots(struct ap_cost_account *a, const struct ap_cost *c, u32 ops, bool taken)
{
	bool fused = c->class == AP_COST_BRANCH && a->fuses;

	a->fuses = c->fuses;
	a->ninsns++;
	a->taken += taken;
	a->loads += c->load;
	a->stores += c->store;
	if (fused)
		give_back(a, ports_of(a->machine, &rows[AP_COST_ALU]));
	else
		a->slots += ops;
}

/* --- instructions */

static u16 waits_of(const struct ap_cost_chain *address)
{
	u16 waits = address->loads ? AP_PIPE_WAIT_LOAD : 0;

	for (u32 k = 0; k < address->n; k++)
		if (address->in[k] < AP_COST_VEC && address->in[k] != 4)
			waits |= (u16)(1U << address->in[k]);
	return waits;
}

static bool is_to_vector(const struct ap_cost *c)
{
	return c->write >> AP_COST_VEC & 0xffffffff;
}

static u32 load_latency(const struct ap_machine *m, const struct ap_cost *c)
{
	return m->l1d.latency + (!is_to_vector(c) ? 0 : m->vendor == AP_VENDOR_AMD ? 3 : 1);
}

/*
 * Cells are on the stack or fixed; loads of general registers may be answered when they are
 * renamed.
 */
static u32 forward_latency(const struct ap_machine *m, const struct ap_cost *c)
{
	return m->pipe.rename_memory && !is_to_vector(c) ? 0 : m->pipe.forward;
}

/* Golden Cove has adders of floating point of their own. */
static u32 latency(const struct ap_machine *m, u8 class, u32 generation)
{
	if (class == AP_COST_FADD && m->vendor == AP_VENDOR_INTEL && m->pipe.issue > 5)
		return 3;
	return rows[class].latency[generation];
}

u16 ap_cost_add(struct ap_cost_account *a, const struct ap_cost *c, u8 cell, bool taken)
{
	const struct ap_machine *m = a->machine;
	const struct cost_row *row = &rows[c->class];
	u32 g = generation(m);
	struct ap_cost_chain value = { .n = 0 }, address = { .n = 0 };
	u16 waits = 0;

	value.start = address.start = a->slots * CYCLE / (m->pipe.issue ? m->pipe.issue : 1);
	take_slots(a, c, row->ops, taken);
	take(a, ports_of(m, row), row->busy[g] ? row->busy[g] : row->ops);
	if (c->load) {
		join_all(a, &address, c->address, 0);
		waits = waits_of(&address);
		join(&value, &address, load_latency(m, c));
		if (cell)
			join(&value, value_of(a, cell), forward_latency(m, c));
		if (a->nloads < 64)
			value.loads |= 1ULL << a->nloads;
		a->nloads++;
	}
	join_all(a, &value, c->read, 0);
	address = (struct ap_cost_chain){ .n = 0 };
	join(&address, &value, latency(m, c->class, g));
	for (u64 w = c->write; w; w &= w - 1)
		set_value(a, (u32)__builtin_ctzll(w), &address);
	a->written |= c->write;
	if (c->store && cell) {
		set_value(a, cell, &address);
		a->written |= 1ULL << cell;
	}
	if (address.start > a->depth && !is_plain(m))
		a->depth = address.start;
	return waits;
}

u16 ap_cost_late(const struct ap_cost_account *a, u32 n)
{
	u64 made = a->written & ((1ULL << AP_COST_VEC) - 1) & ~(1ULL << 4);
	u16 late = 0;

	if (n >= 64)
		return 0;
	for (; made; made &= made - 1)
		if (a->value[__builtin_ctzll(made)].loads >> n & 1)
			late |= (u16)(made & -made);
	if (a->written >> AP_COST_FLAGS & 1 && a->value[AP_COST_FLAGS].loads >> n & 1)
		late |= AP_PIPE_LATE_FLAGS;
	return late;
}

/* --- the sum */

static u32 more(u32 a, u32 b)
{
	return a > b ? a : b;
}

static u32 bits_of(u32 mask)
{
	u32 n = 0;

	for (; mask; mask &= mask - 1)
		n++;
	return n;
}

static u32 ports_busy(const struct ap_cost_account *a)
{
	u32 most = 0;

	for (u32 i = 0; i < a->ngroups; i++)
		for (u32 j = i; j < a->ngroups; j++) {
			u16 both = a->group[i].ports | a->group[j].ports;
			u32 n = 0;

			for (u32 k = 0; k < a->ngroups; k++)
				if (!(a->group[k].ports & ~both))
					n += a->group[k].n;
			most = more(most, n * CYCLE / bits_of(both));
		}
	return most;
}

u32 ap_cost_busy(const struct ap_cost_account *a)
{
	const struct ap_machine *m = a->machine;
	u32 busy;

	if (is_plain(m))
		return a->ninsns * CYCLE;
	busy = a->slots * CYCLE / (m->pipe.issue ? m->pipe.issue : 1);
	busy = more(busy, a->slots * CYCLE / (m->pipe.retire ? m->pipe.retire : 1));
	busy = more(busy, a->taken * CYCLE);
	busy = more(busy, a->loads * CYCLE / load_ports(m));
	busy = more(busy, a->stores * CYCLE / store_ports(m));
	return more(busy, ports_busy(a));
}

/* n entries of a smaller buffer, in entries of the reorder buffer. */
static u32 room_in(const struct ap_machine *m, u32 n, u32 buffer)
{
	return buffer ? (u32)(((u64)n * m->pipe.rob + buffer - 1) / buffer) : 0;
}

/*
 * Loads and stores keep entries of their own buffers until they retire, as all keep one here: the
 * scarcest counts.
 */
u32 ap_cost_room(const struct ap_cost_account *a, u32 ninsns)
{
	const struct ap_machine *m = a->machine;

	return more(ninsns, more(room_in(m, a->loads, m->pipe.load_buffer),
				 room_in(m, a->stores, m->pipe.store_buffer)));
}

static void put(struct ap_pipe_link *l, u8 in, u8 out, u32 lat)
{
	lat >>= AP_PIPE_LINK_SHIFT;
	*l = (struct ap_pipe_link){ in, out, lat < 0xffff ? (u16)lat : 0xffff };
}

u32 ap_cost_links(const struct ap_cost_account *a, struct ap_pipe_link *links)
{
	u32 n = 0;

	if (is_plain(a->machine))
		return 0;
	for (u64 w = a->written; w; w &= w - 1) {
		u8 out = (u8)__builtin_ctzll(w);
		const struct ap_cost_chain *v = &a->value[out];

		if (n + 1 + v->n > AP_PIPE_LINKS)
			break;
		put(&links[n++], AP_PIPE_START, out, v->start);
		/*
		 * what changes here may be carried from one iteration to the next; the rest is
		 * mostly old
		 */
		for (u32 k = 0, old = 0; k < v->n; k++)
			if (a->written >> v->in[k] & 1 || old++ < 2)
				put(&links[n++], v->in[k], out, v->lat[k]);
	}
	return n;
}
