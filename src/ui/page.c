#include "ui/page.h"

#include <errno.h>

int page_check(struct err *err)
{
	if (page_before_length)
		return 0;
	return err_set(err, -ENOTSUP, "this build of Argus has no page: it was built without esbuild (Debian's package of that name); "
		       "`argus why` tells the same in words, `argus why --json` and `argus export` as data");
}

/* Inside its element the document must not contain what ends it: in JSON a "<" stands in
 * texts alone. */
static void put_document(const struct buf *document, struct buf *buf)
{
	size_t from = 0;

	for (size_t i = 0; i < document->length; i++) {
		if (document->data[i] != '<')
			continue;
		buf_add(buf, document->data + from, i - from);
		buf_text(buf, "\\u003c");
		from = i + 1;
	}
	buf_add(buf, document->data + from, document->length - from);
}

const char *page_policy(void)
{
	return page_served_policy;
}

void page_write(const struct buf *document, bool served, struct buf *buf)
{
	buf_add(buf, page_before, page_before_length);
	if (!served)
		buf_printf(buf, "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; %s; img-src data:; "
			   "base-uri 'none'; form-action 'none'\">", page_sums);
	buf_add(buf, page_middle, page_middle_length);
	put_document(document, buf);
	buf_add(buf, page_behind, page_behind_length);
}

int page_make(const struct buf *document, struct buf *page, struct err *err)
{
	int r = page_check(err);

	if (!r)
		page_write(document, false, page);
	return r;
}
