/* What instructions do with values. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "probe/flow.h"

static struct flow decode(const char *code, size_t bytes)
{
	struct flow flow;

	assert_true(flow_decode(code, bytes, &flow));
	return flow;
}
#define DECODE(code) decode(code, sizeof(code) - 1)

static void how(void **state)
{
	(void)state;
	assert_int_equal(DECODE("\x8b\x47\x10").how, FLOW_copied);          /* mov eax, [rdi+0x10] */
	assert_int_equal(DECODE("\x0f\xb6\xc4").how, FLOW_copied);          /* movzx eax, ah */
	assert_int_equal(DECODE("\x48\x63\xc1").how, FLOW_extended);        /* movsxd rax, ecx */
	assert_int_equal(DECODE("\x31\xc0").how, FLOW_cleared);             /* xor eax, eax */
	assert_int_equal(DECODE("\x31\xc8").how, FLOW_bytewise);            /* xor eax, ecx */
	assert_int_equal(DECODE("\x01\xc8").how, FLOW_mixed);               /* add eax, ecx */
	assert_int_equal(DECODE("\x19\xc0").how, FLOW_mixed);               /* sbb eax, eax depends on the carry */
	assert_int_equal(DECODE("\x66\x0f\xef\xc0").how, FLOW_cleared);     /* pxor xmm0, xmm0 */
	assert_true(DECODE("\xf3\xa4").repeated);                           /* rep movsb */
}

static void operands(void **state)
{
	(void)state;
	struct flow high = DECODE("\x0f\xb6\xc4");
	assert_int_equal(high.operands[1].place, REGISTER_rax);
	assert_int_equal(high.operands[1].first, 1);
	assert_int_equal(high.operands[1].bytes, 1);
	struct flow push = DECODE("\x55");
	bool pushed = false;
	for (unsigned i = 0; i < push.count; i++)
		pushed |= push.operands[i].kind == FLOW_memory && push.operands[i].pushed && push.operands[i].bytes == 8;
	assert_true(pushed);
	struct flow conditional = DECODE("\x0f\x44\xc1"); /* cmove eax, ecx */
	assert_true(conditional.operands[0].kept);
	bool flags = false;
	for (unsigned i = 0; i < conditional.count; i++)
		flags |= conditional.operands[i].kind == FLOW_register && conditional.operands[i].place == FLOW_FLAGS && conditional.operands[i].read;
	assert_true(flags);
}

static void values(void **state)
{
	(void)state;
	assert_int_equal(DECODE("\x55").value.constant, -8);
	struct flow_value lea = DECODE("\x48\x8d\x44\x8f\x10").value; /* lea rax, [rdi+rcx*4+0x10] */
	assert_int_equal(lea.to, REGISTER_rax);
	assert_int_equal(lea.left, REGISTER_rdi);
	assert_int_equal(lea.right, REGISTER_rcx);
	assert_int_equal(lea.scale, 4);
	assert_int_equal(lea.constant, 0x10);
	struct flow_value sub = DECODE("\x48\x83\xec\x10").value; /* sub rsp, 0x10 */
	assert_int_equal(sub.to, REGISTER_rsp);
	assert_int_equal(sub.constant, -0x10);
	assert_int_equal(DECODE("\x8b\x07").value.to, REGISTER_none); /* mov eax, [rdi] */
	assert_int_equal(DECODE("\xc9").value.left, REGISTER_rbp);    /* leave */
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(how), cmocka_unit_test(operands), cmocka_unit_test(values) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
