/* Argus, a debugger that answers one question: why was it stuck? */
#include "build.h"
#include "ui/cli.h"

int main(int count, char **words)
{
	return cli_main(count, words, ARGUS_BUILD);
}
