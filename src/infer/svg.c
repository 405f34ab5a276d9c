/* See svg.h. */
#include "infer/svg.h"

#include <string.h>

void svg_begin(struct buf *buf, double width, double height)
{
	buf_printf(buf,
		   "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
		   "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%.0f\" height=\"%.0f\" viewBox=\"0 0 %.0f %.0f\" "
		   "font-family=\"sans-serif\" font-size=\"11\">\n"
		   "<rect width=\"100%%\" height=\"100%%\" fill=\"white\"/>\n",
		   width, height, width, height);
}

void svg_end(struct buf *buf)
{
	buf_text(buf, "</svg>\n");
}

void svg_text(struct buf *buf, const char *text)
{
	struct buf plain;

	buf_init(&plain);
	buf_escaped(&plain, text, strlen(text), NULL);
	for (const char *c = buf_str(&plain); *c; c++)
		switch (*c) {
		case '<': buf_text(buf, "&lt;"); break;
		case '>': buf_text(buf, "&gt;"); break;
		case '&': buf_text(buf, "&amp;"); break;
		case '"': buf_text(buf, "&quot;"); break;
		default: buf_char(buf, *c);
		}
	buf_done(&plain);
}
