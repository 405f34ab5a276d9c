/* Of a build without esbuild: no page (ui/page.h). */
#include "ui/page.h"

const char page_before[1], page_middle[1], page_behind[1], page_sums[1], page_served_policy[1];
const size_t page_before_length, page_middle_length, page_behind_length;
