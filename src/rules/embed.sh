#!/bin/sh
# embed.sh FILE...: writes C that holds the packs (rules/rules.h) to stdout.
set -e
echo '#include "rules/rules.h"'
for file; do
	name=$(basename "$file" .rules | tr -c 'a-zA-Z0-9\n' _)
	echo "static const char text_${name}[] = {"
	od -An -v -tu1 "$file" | sed 's/  */,/g; s/^,//; s/$/,/'
	echo '0 };'
done
echo 'const struct rules_pack rules_packs[] = {'
for file; do
	name=$(basename "$file" .rules)
	echo "	{ \"$name\", text_$(echo "$name" | tr -c 'a-zA-Z0-9\n' _), sizeof(text_$(echo "$name" | tr -c 'a-zA-Z0-9\n' _)) - 1 },"
done
echo '};'
echo 'const size_t rules_pack_count = sizeof(rules_packs) / sizeof(*rules_packs);'
