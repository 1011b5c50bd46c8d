/* SPDX-License-Identifier: MIT */
/* Matrix product in AVX2 with FMA: long straight loops of wide vectors. */
#include <immintrin.h>
#include <stdio.h>
#include <stdlib.h>

#define N 512

static float a[N][N], b[N][N], c[N][N];

/* Four rows by sixteen columns of c at once, in eight accumulators. */
static void tile(int row, int col)
{
	__m256 acc[4][2];

	for (int r = 0; r < 4; r++)
		acc[r][0] = acc[r][1] = _mm256_setzero_ps();
	for (int k = 0; k < N; k++) {
		__m256 b0 = _mm256_loadu_ps(&b[k][col]);
		__m256 b1 = _mm256_loadu_ps(&b[k][col + 8]);

		for (int r = 0; r < 4; r++) {
			__m256 x = _mm256_broadcast_ss(&a[row + r][k]);

			acc[r][0] = _mm256_fmadd_ps(x, b0, acc[r][0]);
			acc[r][1] = _mm256_fmadd_ps(x, b1, acc[r][1]);
		}
	}
	for (int r = 0; r < 4; r++) {
		_mm256_storeu_ps(&c[row + r][col], acc[r][0]);
		_mm256_storeu_ps(&c[row + r][col + 8], acc[r][1]);
	}
}

int main(int argc, char **argv)
{
	int rounds = argc > 1 ? atoi(argv[1]) : 1;
	double sum = 0;

	for (int i = 0; i < N; i++) {
		for (int j = 0; j < N; j++) {
			a[i][j] = (float)((i * 7 + j * 3) % 11 - 5) / 16;
			b[i][j] = (float)((i * 5 + j * 13) % 17 - 8) / 16;
		}
	}
	for (int n = 0; n < rounds; n++) {
		for (int row = 0; row < N; row += 4)
			for (int col = 0; col < N; col += 16)
				tile(row, col);
		for (int i = 0; i < N; i++)
			a[i][i] = c[i][(i + n) % N] / 1024;
	}
	for (int i = 0; i < N; i++)
		for (int j = 0; j < N; j++)
			sum += c[i][j] * ((i + j) % 7);
	printf("%.6f\n", sum);
	return 0;
}
