#!/usr/bin/env bash
# Checks that the digest of headers follows from their code alone.
set -euo pipefail
cd "$TEST_TMPDIR"
tool=$TEST_SRCDIR/millrace/plugin/header_digest.sh

digest() { "$tool" out.h "$@" && grep -o '[0-9a-f]\{64\}' out.h; }
fail() { echo "$1" >&2; exit 1; }

printf '// A hook.\nclass Hook {\n  virtual void start();\n  virtual void end();  // last\n};\n' > a.h
printf 'class Hook {\n\n  // Begins.\n  virtual void start();  \n  virtual void end();  // last\n};\n' > b.h
printf 'class Hook {\n  virtual void end();  // last\n  virtual void start();\n};\n' > c.h
printf 'int other();\n' > d.h

[ "$(digest a.h d.h)" = "$(digest b.h d.h)" ] || fail "comments and white space change the digest"
[ "$(digest a.h)" != "$(digest c.h)" ] || fail "the order of virtual functions does not change the digest"
[ "$(digest a.h)" != "$(digest a.h d.h)" ] || fail "a further header does not change the digest"
if "$tool" out.h missing.h 2> /dev/null; then fail "a missing header is no error"; fi
