/* Argus, a debugger that answers one question: why was it stuck? */
#include "ui/cli.h"

int main(int count, char **words)
{
	return cli_main(count, words);
}
