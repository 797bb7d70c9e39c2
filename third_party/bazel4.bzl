"""Rules for Bazel 4.2 as Debian packages it.

A newer Bazel brings rules_cc, rules_java and rules_proto from their releases;
this file is then the only one to replace.
"""

_RULES = "/usr/share/bazel/rules/"

def _patched_rules_cc_impl(ctx):
    """Copies Debian's rules_cc without `use_cpp_toolchain`, which this Bazel lacks."""
    source = ctx.path(_RULES + "cc")
    if not source.exists:
        fail("no %s: install bazel-rules-cc (./bazelw does)" % source)
    ctx.execute(["cp", "-R", str(source) + "/.", "."])
    folder = "cc/private/rules_impl/"
    for name in ["compiler_flag.bzl", "cc_flags_supplier.bzl"]:
        text = ctx.read(folder + name)
        text = text.replace(", \"use_cpp_toolchain\"", "")
        text = text.replace("use_cpp_toolchain()", "[\"@bazel_tools//tools/cpp:toolchain_type\"]")
        ctx.file(folder + name, text)

_patched_rules_cc = repository_rule(implementation = _patched_rules_cc_impl, local = False)

def _coverage_stub_impl(ctx):
    ctx.file("BUILD.bazel", """
package(default_visibility = ["//visibility:public"])
filegroup(name = "coverage_report_generator")
filegroup(name = "lcov_merger")
""")

_coverage_stub = repository_rule(implementation = _coverage_stub_impl)

def bazel4_repositories():
    _patched_rules_cc(name = "rules_cc")
    native.local_repository(name = "rules_java", path = _RULES + "java")
    native.local_repository(name = "rules_proto", path = _RULES + "proto")
    _coverage_stub(name = "remote_coverage_tools")
