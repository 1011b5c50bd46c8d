/* SPDX-License-Identifier: MIT */
/*
 * Where the program starts.  Nothing else is here, because unit tests have a main of their own
 * and take the rest of this folder as it is.
 */
#include <locale.h>

#include "cli/commands.h"

int main(int argc, char **argv)
{
	setlocale(LC_ALL, "");
	return ap_cli_main(argc, argv);
}
