/* Orders for qsort() and bsearch(). */
#ifndef BASE_SORT_H
#define BASE_SORT_H

static inline int sort_by_number(const void *left, const void *right)
{
	int a = *(const int *)left, b = *(const int *)right;

	return (a > b) - (a < b);
}

#endif
