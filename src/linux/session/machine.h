/* SPDX-License-Identifier: MIT */
/* The machine that is modelled, and the CPU whose raw codes events have. */
#ifndef AP_LINUX_MACHINE_H
#define AP_LINUX_MACHINE_H

#include "abi/cpuid.h"

struct ap_machine;

/* machine.c: the machine that is modelled where none is asked for. */
const struct ap_machine *ap_machine_default(void);
/* Kinds of what the machine does not have. */
u64 ap_machine_absent(const struct ap_machine *m);
/* cpu_id.c: whose raw codes events have; the CPU, NULL where that is the CPU that we run on. */
enum ap_cpu ap_host_cpu(void);
/* What CPUID says. */
struct ap_cpuid ap_cpu_ask(u32 leaf, u32 subleaf);
const struct ap_cpu_id *ap_host_cpu_id(void);
enum ap_cpu ap_cpu_of_id(const struct ap_cpu_id *id);
/* --machine names a machine: NULL or one that is no CPU's leaves the host's. */
void ap_cpu_id_of_machine(const char *name);
/* The built-in machine that is nearest to the CPU. */
const char *ap_cpu_id_machine(void);

#endif
