"""Kernels that are compiled once for each instruction set and chosen when the program runs."""

load("@rules_cc//cc:defs.bzl", "cc_library")

# By the names of base/isa/instruction_set.h. No -mfma: contraction is off all the same, and what is
# not there cannot be used.
INSTRUCTION_SETS = {
    "baseline": [],
    "avx2": [
        "-mavx2",
        "-mbmi2",
    ],
    "avx512": [
        "-mbmi2",
        "-mavx512f",
        "-mavx512vl",
        "-mavx512bw",
        "-mavx512dq",
        "-mprefer-vector-width=512",
    ],
}

# Turn loops over columns into vector code. The switches about errors of mathematical functions
# change no result.
VECTOR_COPTS = [
    "-O3",
    "-fno-math-errno",
    "-fno-trapping-math",
]

KERNEL_COPTS = VECTOR_COPTS + ["-ffp-contract=off"]

# Prints every symbol of an archive that the linker could take for another file's, or take another
# file's for.
_FOREIGN_SYMBOLS = " ".join([
    "nm -C --defined-only --extern-only $(SRCS)",
    "| awk 'NF >= 3 && !/ millrace::%s::/ && !/ __odr_asan/ && !/ DW[.]ref/'",
])

def isa_kernels(name, src, hdrs, srcs = [], deps = [], **kwargs):
    """A library of `srcs`, if it chooses itself, and of `src`, compiled once for each instruction set.

    `src` puts all it defines into namespace millrace::MILLRACE_ISA, which is baseline, avx2 or avx512 in
    turn. Of all it includes, nothing may define an inline function, a template or a class with
    members outside that namespace: not the standard library, not Abseil. The compiler would put a
    copy of such a function, with AVX-512 in it, into the object file; the linker keeps one copy of
    those in the whole program, maybe that one, and the program dies on machines without AVX-512.
    So: <cstdint>, headers of plain structs, base/isa/isa_namespace.h, compiler builtins
    (__builtin_sqrtf). The build fails if an object file has a symbol outside the namespace.

        isa_kernels(
            name = "row_kernels",
            src = "row_kernels.cc",    # namespace millrace::MILLRACE_ISA { void update_sgd(...) {...} }
            hdrs = ["row_kernels.h"],  # callers: base/isa/instruction_set_choice.h
        )

    Args:
      name: of the library.
      src: the file that is compiled several times.
      hdrs: plain headers that all of them may include.
      srcs: ordinary files.
      deps: of all of them.
      **kwargs: for the library.
    """
    checked = []
    for isa, copts in INSTRUCTION_SETS.items():
        library = "%s_%s" % (name, isa)
        cc_library(
            name = library,
            srcs = [src] + hdrs,
            copts = KERNEL_COPTS + copts + ["-DMILLRACE_ISA=" + isa],
            linkstatic = True,
            visibility = ["//visibility:private"],
            deps = deps,
        )
        native.genrule(
            name = library + "_check",
            srcs = [library],
            outs = [library + "_checked.h"],
            cmd = "foreign=$$(%s); " % (_FOREIGN_SYMBOLS % isa) +
                  "if [ -n \"$$foreign\" ]; then echo '%s defines symbols outside millrace::%s:'" % (src, isa) +
                  " \"$$foreign\" >&2; exit 1; fi; echo '// No foreign symbols.' > $@",
            visibility = ["//visibility:private"],
        )
        checked.append(library + "_checked.h")
    cc_library(
        name = name,
        srcs = srcs + checked,
        hdrs = hdrs,
        deps = deps + [":%s_%s" % (name, isa) for isa in INSTRUCTION_SETS],
        **kwargs
    )
