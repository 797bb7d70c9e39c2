"""Joined units: the text of several sources of one library as one source (docs/building.md)."""

# Prints each source behind a line that names it, so that messages, assertions and debuggers name the
# source. Undefines the macros that it defines, but for fallbacks inside of #ifndef: the header that may have
# defined them is not read again. The unnamed namespace of a test becomes one named after its file: tests of
# one folder may use equal names for equal things.
_JOIN = """
set -eu
unit=$1; shift
for source; do
  echo "#line 1 \\"$source\\""
  case $source in
    *_test.cc)
      stem=${source##*/}
      sed "s/^namespace {$/namespace ${stem%.cc}_cc {/" "$source" ;;
    *) cat "$source" ;;
  esac
  echo
  awk '/^ *# *ifndef / { guarded[$NF] = 1 }
       /^ *# *define / { sub(/^ *# *define +/, ""); sub(/[^A-Za-z0-9_].*/, ""); if (!($0 in guarded)) print "#undef " $0 }' "$source"
done > "$unit"
"""

def _joined_unit_impl(ctx):
    unit = ctx.actions.declare_file(ctx.label.name + ".cc")
    arguments = ctx.actions.args()
    arguments.add(unit)
    arguments.add_all(ctx.files.srcs)
    ctx.actions.run_shell(
        inputs = ctx.files.srcs,
        outputs = [unit],
        arguments = [arguments],
        command = _JOIN,
        mnemonic = "JoinSources",
        progress_message = "Joining sources of " + unit.short_path,
    )
    return [DefaultInfo(files = depset([unit]))]

joined_unit = rule(
    doc = """Writes NAME.cc with the text of `srcs`, in their order.

    The text is copied, not included: sources that other sources include would be inputs of whatever
    depends on the library.""",
    implementation = _joined_unit_impl,
    attrs = {"srcs": attr.label_list(allow_files = [".cc"], mandatory = True)},
)
