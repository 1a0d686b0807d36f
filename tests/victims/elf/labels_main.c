/* See labels.S. */
#include "offsets.h"

int no_type(void);
int no_size(void);
int too_long(void);

int main(void)
{
	PRINT_OFFSET(no_type);
	PRINT_OFFSET(no_size);
	PRINT_OFFSET(too_long);
	return 0;
}
