#!/bin/bash
# format.sh FILE...: formats C files in place.
#
# clang-format keeps the elements of an initialiser as they are laid out, and its closing brace
# on a line of its own, only where the last element ends in a comma: that is added first.
set -euo pipefail

CLANG_FORMAT=${CLANG_FORMAT:-clang-format-14}

perl -0777 -i -pe '
	s~^((?!\s*/?\*)[^\n]*=\s*\{\n(?:(?!\n\t*\}[;,]|;).)*?[^,;{\s])((?:[ \t]*/\*[^\n]*\*/)?\n\t*\};)~$1,$2~gsm' "$@"
# The second pass settles what the first one moved.
"$CLANG_FORMAT" -i "$@"
"$CLANG_FORMAT" -i "$@"
