#!/usr/bin/env python3
"""embed.py PAGE.html PAGE.css SCRIPT.js: writes C that holds the page (ui/page.h) to stdout:
what stands before the policy, between it and the data, and behind them. The policy of a
file allows this one script and this one style, by their sums, and nothing else."""
import base64
import hashlib
import re
import sys


def sum_of(text):
    return "'sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode() + "'"


def array(name, text):
    data = text.encode()
    rows = [','.join(map(str, data[at:at + 40])) for at in range(0, len(data), 40)]
    print(f'const char {name}[] = {{\n' + ',\n'.join(rows) + (',' if rows else '') + ' 0 };')
    print(f'const size_t {name}_length = {len(data)};')


html, style, script = (open(path, encoding='utf-8').read() for path in sys.argv[1:4])
style = re.sub(r'\s*\n\s*', '\n', style).strip()
script = script.strip()
if '</script' in script.lower() or '</style' in style.lower():
    sys.exit('embed.py: the script or the style would end its element')
before, rest = html.split('@POLICY@')
middle, behind = rest.replace('@STYLE@', style).split('@DATA@')
print('#include "ui/page.h"')
array('page_before', before)
array('page_middle', middle)
array('page_behind', behind.replace('@SCRIPT@', script))
sums = f'script-src {sum_of(script)}; style-src {sum_of(style)}'
print(f'const char page_sums[] = "{sums}";')
print(f"""const char page_served_policy[] = "default-src 'none'; {sums}; connect-src 'self'; img-src data:; "
	"base-uri 'none'; form-action 'none'; frame-ancestors 'none'";""")
