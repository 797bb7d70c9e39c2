"""cc_library, cc_test and cc_binary of this repository: those of rules_cc with a precompiled header, but for
--config=headers_as_text."""

load("@rules_cc//cc:defs.bzl", _cc_binary = "cc_binary", _cc_library = "cc_library", _cc_test = "cc_test")
load("//bazel/precompiled:classes.bzl", "CLASSES")

def _precompiled(name, srcs, deps, kwargs, testonly):
    """The arguments of a target that compiles `srcs`, with the precompiled header of its class."""
    compiles = [src for src in srcs if src.endswith(".cc")]
    kwargs = dict(kwargs, srcs = srcs, deps = deps)

    # A header that was made with other switches is ignored.
    if not compiles or "copts" in kwargs:
        return kwargs
    header = CLASSES.get(native.package_name(), {}).get(name, "base")
    if testonly:
        header += "_test"
    package = "bazel/precompiled"
    off = str(Label("//bazel/precompiled:off"))
    kwargs["copts"] = select({
        off: [],
        "//conditions:default": ["-include", "%s/%s.h" % (package, header), "-fpch-deps"],
    })
    kwargs["deps"] = deps + select({
        off: [],
        "//conditions:default": [str(Label("//%s:%s" % (package, header)))],
    })
    return kwargs

def cc_library(name, srcs = [], deps = [], **kwargs):
    """As rules_cc's. A library with `testonly` may include GoogleTest."""
    _cc_library(name = name, **_precompiled(name, srcs, deps, kwargs, kwargs.get("testonly", False)))

def cc_test(name, srcs = [], deps = [], **kwargs):
    """As rules_cc's."""
    _cc_test(name = name, **_precompiled(name, srcs, deps, kwargs, True))

def cc_binary(name, srcs = [], deps = [], **kwargs):
    """As rules_cc's."""
    _cc_binary(name = name, **_precompiled(name, srcs, deps, kwargs, kwargs.get("testonly", False)))
