/* For step_taint.sh: a parser of a buffer whose values come from its input by way of registers, parts of registers,
 * memory and branches. Its way does not depend on the input's bytes but at the marked branch. */
#include <stdio.h>
#include <string.h>

#ifdef __clang__
#define KEPT __attribute__((noinline))
#else
#define KEPT __attribute__((noinline, noclone))
#endif

struct item {
	unsigned short kind;
	unsigned char length, spare;
	unsigned value;
	long own;                    /* never from the input */
};

static struct item items[8];
static const unsigned char table[16] = { 3, 1, 4, 1, 5, 9, 2, 6, 5, 3, 5, 8, 9, 7, 9, 3 };

static long KEPT keep(struct item *item, unsigned value, long own)
{
	item->value = value;
	item->own = own;
	return own + 1;
}

static unsigned KEPT look(const struct item *item, unsigned place)
{
	return item->value ^ table[place & 15];
}

/* What only the way depends on does not derive; so nothing but the sum at the end shows it. */
static void KEPT decide(unsigned value, unsigned *count)
{
	if (!(value & 1))
		++*count;
}

/* By way of memory that a library wrote. */
static unsigned KEPT copied(const unsigned char *bytes, unsigned count)
{
	unsigned char own[4096];

	memset(own, (int)count, sizeof(own));
	memcpy(own, bytes, count);
	return own[1] + (own[4095] & 1u);
}

static unsigned KEPT parse(const unsigned char *bytes, unsigned count)
{
	unsigned sum = copied(bytes, count), odd = 0;
	long own = 100;

	for (unsigned i = 0; i + 4 <= count; i += 4) {
		struct item *item = &items[i / 4];

		item->kind = (unsigned short)(bytes[i] << 8 | bytes[i + 1]);
		item->length = bytes[i + 2];
		item->spare = 1;
		own = keep(item, (unsigned)item->kind * 3u + (signed char)bytes[i + 3], own);
		sum += look(item, item->length);
		decide(item->length, &odd);
	}
	return sum + odd * 2;
}

int main(int count, char **words)
{
	if (count > 1)
		printf("%u\n", parse((const unsigned char *)words[1], (unsigned)strlen(words[1])));
	return 0;
}
