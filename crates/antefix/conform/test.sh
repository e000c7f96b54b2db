#!/bin/sh
# Tests sum.sh.
[ "$(sh sum.sh 2 3)" = 5 ] && echo "all is well"
