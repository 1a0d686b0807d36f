/* Another variable named `twin`. */
static volatile int twin_there __asm__("twin") = 2;

int look_at_twin(void)
{
	return twin_there;
}
