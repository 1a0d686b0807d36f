/* C++ names: overloads, a constructor with its two symbols, templates, namespaces. */
#define KEPT __attribute__((noinline, used))

namespace shop
{

struct Order {
	explicit Order(int total);
	int pay(int amount);
	int pay(const char *card);
	int refund(int amount);
	int total;
};

KEPT Order::Order(int t) : total(t)
{
}
KEPT int Order::pay(int amount)
{
	return total - amount;
}
KEPT int Order::pay(const char *card)
{
	return total - *card;
}
KEPT int Order::refund(int amount)
{
	return total + amount;
}

} // namespace shop

template <class T> KEPT T biggest(T a, T b)
{
	return a > b ? a : b;
}

extern "C" KEPT int pay_by_c(int amount)
{
	return amount * 3;
}

int main(int argc, char **argv)
{
	shop::Order order(argc);
	return order.pay(1) + order.pay(argv[0]) + order.refund(2) + biggest(argc, 3) +
	       (int)biggest(1.5 * argc, 3.0) + pay_by_c(argc);
}
