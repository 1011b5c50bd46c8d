/* SPDX-License-Identifier: MIT */
/* Five bodies and their gravitation: scalar floating point in short loops. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#define N 5

struct body {
	double x[3], v[3], mass;
};

static struct body b[N] = {
	{ { 0, 0, 0 }, { 0, 0, 0 }, 39.478 },
	{ { 4.84, -1.16, -0.10 }, { 0.606, 2.81, -0.025 }, 0.0377 },
	{ { 8.34, 4.12, -0.40 }, { -1.01, 1.82, 0.0084 }, 0.0113 },
	{ { 12.89, -15.11, -0.22 }, { 1.08, 0.868, -0.0108 }, 0.0017 },
	{ { 15.37, -25.91, 0.179 }, { 0.979, 0.594, -0.0347 }, 0.0020 },
};

static void advance(double dt)
{
	for (int i = 0; i < N; i++) {
		for (int j = i + 1; j < N; j++) {
			double d[3], d2 = 0, mag;

			for (int k = 0; k < 3; k++) {
				d[k] = b[i].x[k] - b[j].x[k];
				d2 += d[k] * d[k];
			}
			mag = dt / (d2 * sqrt(d2));
			for (int k = 0; k < 3; k++) {
				b[i].v[k] -= d[k] * b[j].mass * mag;
				b[j].v[k] += d[k] * b[i].mass * mag;
			}
		}
	}
	for (int i = 0; i < N; i++)
		for (int k = 0; k < 3; k++)
			b[i].x[k] += dt * b[i].v[k];
}

int main(int argc, char **argv)
{
	long n = argc > 1 ? atol(argv[1]) : 1000;

	for (long i = 0; i < n; i++)
		advance(0.001);
	for (int i = 0; i < N; i++)
		printf("%.9f %.9f %.9f\n", b[i].x[0], b[i].x[1], b[i].x[2]);
	return 0;
}
