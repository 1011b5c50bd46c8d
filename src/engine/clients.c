/* SPDX-License-Identifier: MIT */
/*
 * The list of clients: their hooks are called in this order.  A client is its own files and a line here.
 */
#include "engine/client.h"

/* A breakpoint goes before what it stops at: the visit of a probed instruction, or of one that may access watched data.  What a
 * thread keeps of lanes is of the session's present set before its log looks at them. */
#define CLIENTS(X)                                                                                 \
	X(ap_watch_client)                                                                         \
	X(ap_probed_client)                                                                        \
	X(ap_data_client)                                                                          \
	X(ap_trace_client)                                                                         \
	X(ap_profile_client)                                                                       \
	X(ap_sample_client)                                                                        \
	X(ap_access_client)                                                                        \
	X(ap_request_client)

#define DECLARE(register) void register(struct ap_client * c);
CLIENTS(DECLARE)

#define ADD(register) register(ap_client_add());

void ap_clients_init(void)
{
	CLIENTS(ADD)
}
