/* FLAGS: -O2 -fPIE -pie -Iinclude */
/* The header in C++, where a region is in an inline function, a template and a lambda. */
#include "anyperf/region.h"

static inline void in_line()
{
	AP_REGION_BEGIN("inline");
	__asm__ volatile("nop; nop");
	AP_REGION_END("inline");
}

template <int n> void of_template()
{
	AP_REGION_BEGIN("template");
	for (int i = 0; i < n; i++)
		in_line();
	AP_REGION_END("template");
}

struct guard {
	guard()
	{
		AP_REGION_BEGIN("guard");
	}
	~guard()
	{
		AP_REGION_END("guard");
	}
};

int main()
{
	of_template<0>();
	of_template<3>();
	auto lambda = [] {
		AP_REGION_BEGIN("lambda");
		__asm__ volatile("nop");
		AP_REGION_END("lambda");
	};
	lambda();
	try {
		guard g;
		throw 1;
	} catch (int) {
	}
}
