/* The same in C++: exceptions being thrown, virtual and template functions,
 * lambdas in std::function, sorting with callbacks. Works until it is killed. */
#include <algorithm>
#include <functional>
#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

static volatile unsigned long sink;

struct Shape {
	virtual ~Shape() = default;
	virtual unsigned area(unsigned n) = 0;
};

template <unsigned N> struct Nested : Shape {
	Nested<N - 1> inner;
	__attribute__((noinline)) unsigned area(unsigned n) override { return inner.area(n + N) + N; }
};

template <> struct Nested<0> : Shape {
	__attribute__((noinline)) unsigned area(unsigned n) override
	{
		if (n % 7 == 0)
			throw std::runtime_error("seven " + std::to_string(n));
		std::this_thread::sleep_for(std::chrono::microseconds(n % 40));
		return n;
	}
};

__attribute__((noinline)) static unsigned call(const std::function<unsigned(unsigned)> &f, unsigned n)
{
	return f(n) + 1;
}

static void work(unsigned n)
{
	auto shape = std::make_unique<Nested<20>>();
	for (;; n++) {
		try {
			sink = sink + call([&](unsigned m) { return call([&](unsigned k) { return shape->area(k); }, m * 2); }, n);
		} catch (const std::exception &e) {
			sink = sink + e.what()[0];
		}
		std::vector<std::string> words;
		for (unsigned i = 0; i < 200; i++)
			words.push_back(std::to_string(i * n));
		std::sort(words.begin(), words.end(), [](const std::string &a, const std::string &b) { return a > b; });
		std::map<std::string, unsigned> index;
		for (auto &w : words)
			index[w]++;
		sink = sink + index.size();
	}
}

int main()
{
	std::thread one(work, 1), two(work, 100);
	work(1000);
}
