/* The command line: finds the command, parses its options, gives it standard
 * output and standard error as sinks, prints failures. Returns the exit status. */
#ifndef UI_CLI_H
#define UI_CLI_H

/* `build`: what was built, for --version. */
int cli_main(int count, char *const *words, const char *build);

#endif
