/*
 * A library in C that calls back, and so has frames between those of whoever uses it: `visit`
 * calls out, `scale` and what it calls does not.
 */
#define KEPT __attribute__((noipa, used))

static volatile long sink;

KEPT long visit(long (*callback)(long), long i)
{
	sink = i;
	long result = callback(i);
	sink = result;
	return result + 1;
}

KEPT long scale(long x)
{
	sink = x;
	return x * 3;
}

KEPT long scale_twice(long x)
{
	return scale(x) + scale(x + 1);
}
