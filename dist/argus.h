/* For programs that want to tell Argus what they do: callbacks, work handed on, flags.
 *
 * Each mark costs a nop while nobody records (a USDT note tells where it is). Copy this file
 * into a program; it needs gcc or clang on x86-64 Linux, where it is something else it does nothing.
 *
 *	argus record --pack argus=./program -- ./program
 *
 * Keys are numbers or addresses that tell one piece of work from others at the same time. */
#ifndef ARGUS_H
#define ARGUS_H

#if defined(__x86_64__) && defined(__linux__) && defined(__GNUC__)

#define ARGUS_MARK(name, key, value) \
	__asm__ volatile( \
		"990: nop\n" \
		".pushsection .note.stapsdt, \"?\", \"note\"\n" \
		".balign 4\n" \
		".4byte 992f - 991f, 994f - 993f, 3\n" \
		"991: .asciz \"stapsdt\"\n" \
		"992: .balign 4\n" \
		"993: .8byte 990b, _.stapsdt.base, 0\n" \
		".asciz \"argus\"\n" \
		".asciz \"" name "\"\n" \
		".asciz \"8@%0 8@%1\"\n" \
		"994: .balign 4\n" \
		".popsection\n" \
		".ifndef _.stapsdt.base\n" \
		".pushsection .stapsdt.base, \"aG\", \"progbits\", .stapsdt.base, comdat\n" \
		".weak _.stapsdt.base\n" \
		".hidden _.stapsdt.base\n" \
		"_.stapsdt.base: .space 1\n" \
		".size _.stapsdt.base, 1\n" \
		".popsection\n" \
		".endif\n" \
		: : "nor"((unsigned long)(key)), "nor"((unsigned long)(value)))

#else
#define ARGUS_MARK(name, key, value) ((void)(key), (void)(value))
#endif

/* A callback, request or turn begins and ends in this thread; they nest. */
#define argus_begin(key) ARGUS_MARK("begin", key, 0)
#define argus_end(key) ARGUS_MARK("end", key, 0)

/* Work is handed to another thread or to later, and taken up: before it is put where the other
 * looks for it, and when it has been taken from there. */
#define argus_submit(key) ARGUS_MARK("submit", key, 0)
#define argus_invoke(key) ARGUS_MARK("invoke", key, 0)

/* A flag that loops look at: behind a write, and behind each look. */
#define argus_flag_set(address, value) ARGUS_MARK("flag_set", address, value)
#define argus_flag_get(address, value) ARGUS_MARK("flag_get", address, value)

#endif
