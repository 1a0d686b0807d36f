/* Edit distance: optimal string alignment. */
#include "config/suggest.h"

#include <ctype.h>
#include <string.h>

#define MAX_LENGTH 32

static int least(int a, int b)
{
	return a < b ? a : b;
}

static int same(char a, char b)
{
	return tolower((unsigned char)a) == tolower((unsigned char)b);
}

static int edits(const char *a, int n, const char *b, int m)
{
	int cost[MAX_LENGTH + 1][MAX_LENGTH + 1];

	for (int i = 0; i <= n; i++)
		cost[i][0] = i;
	for (int j = 0; j <= m; j++)
		cost[0][j] = j;
	for (int i = 1; i <= n; i++)
		for (int j = 1; j <= m; j++) {
			int replace = cost[i - 1][j - 1] + !same(a[i - 1], b[j - 1]);
			int shift = least(cost[i - 1][j], cost[i][j - 1]) + 1;
			cost[i][j] = least(replace, shift);
			if (i > 1 && j > 1 && same(a[i - 1], b[j - 2]) && same(a[i - 2], b[j - 1]))
				cost[i][j] = least(cost[i][j], cost[i - 2][j - 2] + 1);
		}
	return cost[n][m];
}

int suggest_distance(const char *written, const char *known)
{
	size_t n = strlen(written), m = strlen(known);

	if (n == 0 || n > MAX_LENGTH || m > MAX_LENGTH)
		return SUGGEST_FAR;
	int distance = edits(written, (int)n, known, (int)m);
	int allowed = (int)(m < 4 ? 1 : m < 9 ? 2 : 3);
	return distance <= allowed && distance < (int)n ? distance : SUGGEST_FAR;
}

int suggest_nearest(const char *written, const char *const *known, size_t n)
{
	int best = -1, best_distance = SUGGEST_FAR;

	for (size_t i = 0; i < n; i++) {
		int distance = suggest_distance(written, known[i]);
		if (distance < best_distance) {
			best = (int)i;
			best_distance = distance;
		}
	}
	return best;
}
