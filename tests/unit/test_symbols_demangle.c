/* Names of functions, made shorter for sentences. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "symbols/demangle.h"

static void test_brief(void **state)
{
	static const char *const names[][2] = {
		{ "write", "write" },
		{ "llvm::SelectionDAG::RemoveDeadNodes()", "llvm::SelectionDAG::RemoveDeadNodes" },
		{ "std::map<std::string, std::vector<int> >::find(std::string const&) const", "std::map<...>::find" },
		{ "std::vector<int>::size() const", "std::vector<int>::size" },
		{ "void run<int>(std::function<void (int)>)", "run<int>" },
		{ "std::enable_if<true, unsigned long>::type fill<char>(char*)", "fill<char>" },
		{ "(anonymous namespace)::load(char const*)", "(anonymous namespace)::load" },
		{ "Job::operator()(int) const", "Job::operator()" },
		{ "std::ostream& operator<< <char>(std::ostream&, char)", "operator<< <char>" },
		{ "Handle::operator->() const", "Handle::operator->" },
		{ "Text::operator char const*() const", "Text::operator char const*" },
		{ "operator new(unsigned long)", "operator new" },
		{ "work(int)::{lambda(int)#1}::operator()(int) const", "work::{lambda(int)#1}::operator()" },
		{ "step(Item*) [clone .constprop.0]", "step" },
		{ "main.(*Server).Serve", "main.(*Server).Serve" },
		{ "<alloc::vec::Vec<T> as core::iter::Extend<T>>::extend", "<alloc::vec::Vec<T> as core::iter::Extend<T>>::extend" },
		{ "LazyCompile:~load file:///a (b).js:10", "LazyCompile:~load file:///a (b).js:10" },
		{ "open(", "open(" },
		{ "f<g(", "f<g(" },
		{ "f<(int)", "f<(int)" },
		{ "f<)", "f<)" },
		{ "()", "()" },
		{ "", "" },
	};
	struct arena arena;

	(void)state;
	arena_init(&arena);
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		assert_string_equal(demangle_brief(&arena, names[i][0]), names[i][1]);
	arena_done(&arena);
}

int main(void)
{
	static const struct CMUnitTest tests[] = { cmocka_unit_test(test_brief) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
