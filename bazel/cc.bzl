"""cc_library, cc_test and cc_binary of this repository: those of rules_cc with a precompiled header, unless
--config=headers_as_text, and with joined units, unless --config=separate_units (docs/building.md)."""

load("@rules_cc//cc:defs.bzl", _cc_binary = "cc_binary", _cc_library = "cc_library", _cc_test = "cc_test")
load("//bazel:joined_unit.bzl", "joined_unit")
load("//bazel/precompiled:classes.bzl", "CLASSES")

# Tests are compiled more often than they run long; -O0 halves the time of their units. The parts that they
# test are optimised.
TEST_COPTS = [
    "-O0",
    "-U_FORTIFY_SOURCE",
]

# Sources a unit, by the class of the precompiled header: a unit takes at most about 10 s.
_SOURCES_PER_UNIT = {
    "base": 12,
    "proto": 10,
    "tensor": 8,
    "torch": 7,
    "torch_test": 5,
}

def _joined(name, compiles, per_unit, testonly):
    """Returns `srcs` that compile `compiles`, in units of at most `per_unit` sources of about equal number."""
    if len(compiles) < 2 or per_unit < 2:
        return compiles
    number = (len(compiles) + per_unit - 1) // per_unit
    units = []
    for unit in range(number):
        first = unit * len(compiles) // number
        last = (unit + 1) * len(compiles) // number
        units.append("%s_unit_%d" % (name, unit + 1))
        joined_unit(
            name = units[-1],
            testonly = testonly,
            srcs = compiles[first:last],
            visibility = ["//visibility:private"],
        )
    return select({
        str(Label("//bazel:separate_units")): compiles,
        "//conditions:default": [":" + unit for unit in units],
    })

def _compiled(name, srcs, deps, kwargs, testonly):
    """Returns the arguments of a target that compiles `srcs`."""
    kwargs = dict(kwargs)
    per_unit = kwargs.pop("sources_per_unit", None)
    optimized = kwargs.pop("optimized", False)
    is_test = testonly and not optimized
    compiles = [src for src in srcs if src.endswith(".cc")]

    # A precompiled header that was made with other switches is ignored.
    if not compiles or "copts" in kwargs:
        return dict(kwargs, srcs = srcs, deps = deps)
    copts = TEST_COPTS if is_test else []
    kind = CLASSES.get(native.package_name(), {}).get(name, "base")
    header = kind + "_test" if is_test else kind
    package = "bazel/precompiled"
    off = str(Label("//bazel/precompiled:off"))
    kwargs["srcs"] = [src for src in srcs if not src.endswith(".cc")] + \
                     _joined(name, compiles, per_unit or _SOURCES_PER_UNIT.get(header, _SOURCES_PER_UNIT[kind]), testonly)
    kwargs["copts"] = copts + select({
        off: [],
        "//conditions:default": ["-include", "%s/%s.h" % (package, header), "-fpch-deps"],
    })
    kwargs["deps"] = deps + select({
        off: [],
        "//conditions:default": [str(Label("//%s:%s" % (package, header)))],
    })
    return kwargs

def cc_library(name, srcs = [], deps = [], **kwargs):
    """As rules_cc's, with `sources_per_unit`: the most sources that are joined; 1: none.

    A library with `testonly` may include GoogleTest. It is compiled as tests are, without optimisation, unless
    `optimized`. Sources of a library with `copts` are compiled alone."""
    in_tests = native.package_name().startswith("tests/")
    _cc_library(name = name, **_compiled(name, srcs, deps, kwargs, kwargs.get("testonly", in_tests)))

def cc_test(name, srcs = [], deps = [], **kwargs):
    """As rules_cc's, with `sources_per_unit` and `optimized` as in cc_library."""
    _cc_test(name = name, **_compiled(name, srcs, deps, kwargs, True))

def cc_binary(name, srcs = [], deps = [], **kwargs):
    """As rules_cc's, with `sources_per_unit` as in cc_library."""
    _cc_binary(name = name, **_compiled(name, srcs, deps, kwargs, kwargs.get("testonly", False)))
