"""Libraries with kernels for CUDA."""

load("@bazel_tools//tools/cpp:toolchain_utils.bzl", "find_cpp_toolchain")
load("@cuda//:toolkit.bzl", "NO_TOOLKIT", "NVCC")
load("@rules_cc//cc:defs.bzl", "cc_library")

# Hopper alone so far: its machine code, and PTX for what comes after it.
ARCHITECTURES = ["code=sm_90", "code=compute_90"]

# The bits of the host's kernels: no fused multiply-add, divisions and roots rounded to the nearest,
# subnormal numbers kept. The last three are nvcc's defaults.
ARITHMETIC = ["-fmad=false", "-prec-div=true", "-prec-sqrt=true", "-ftz=false"]

NVCC_FLAGS = ["-std=c++20", "-O3"] + ARITHMETIC + [
    "-gencode=arch=compute_90,%s" % code
    for code in ARCHITECTURES
] + ["-Xcompiler=-fPIC,-ffp-contract=off,-Wall"]

def _cuda_object_impl(ctx):
    toolchain = find_cpp_toolchain(ctx)
    context = cc_common.merge_cc_infos(
        cc_infos = [dep[CcInfo] for dep in ctx.attr.deps],
    ).compilation_context
    objects = []
    for src in ctx.files.srcs:
        output = ctx.actions.declare_file("%s/%s.pic.o" % (ctx.label.name, src.basename))
        objects.append(output)
        arguments = ctx.actions.args()
        arguments.add(NVCC)
        arguments.add_all(NVCC_FLAGS)
        arguments.add("-ccbin", toolchain.compiler_executable)
        arguments.add_all(depset(transitive = [context.defines, context.local_defines]), format_each = "-D%s")
        arguments.add_all(context.quote_includes, format_each = "-I%s")
        arguments.add_all(context.includes, format_each = "-I%s")
        arguments.add_all(context.system_includes, before_each = "-isystem")
        arguments.add("-c", src)
        arguments.add("-o", output)
        ctx.actions.run_shell(
            inputs = depset([src] + ctx.files.hdrs, transitive = [context.headers, toolchain.all_files]),
            outputs = [output],
            arguments = [arguments],
            command = "exec \"$@\"" if NVCC else "echo '%s' >&2; exit 1" % NO_TOOLKIT,
            env = {"PATH": "/usr/bin:/bin"},
            mnemonic = "CudaCompile",
            progress_message = "Compiling %s" % src.short_path,
        )
    return [DefaultInfo(files = depset(objects))]

_cuda_object = rule(
    implementation = _cuda_object_impl,
    attrs = {
        "srcs": attr.label_list(allow_files = [".cu"]),
        "hdrs": attr.label_list(allow_files = [".h"]),
        "deps": attr.label_list(providers = [CcInfo]),
        "_cc_toolchain": attr.label(default = "@bazel_tools//tools/cpp:current_cc_toolchain"),
    },
    toolchains = ["@bazel_tools//tools/cpp:toolchain_type"],
)

def cuda_library(name, srcs, hdrs, deps = [], **kwargs):
    """A library whose sources nvcc compiles, for --config=cuda.

    Tests of the CPU build instantiate a kernel's body with the host's compiler: it is a template over
    the index of block and thread in a header of its own (embedding/device/pool_rows.h is the pattern).
    A machine without nvcc can load the target; building it there fails with one line.

    Args:
      name: of the library.
      srcs: files .cu.
      hdrs: headers that both nvcc and g++ read. They include no LibTorch.
      deps: of all of them.
      **kwargs: for the library.
    """
    _cuda_object(
        name = name + "_object",
        srcs = srcs,
        hdrs = hdrs,
        tags = ["manual"],
        visibility = ["//visibility:private"],
        deps = deps + [str(Label("//third_party/cuda:cudart"))],
    )
    cc_library(
        name = name,
        srcs = [":%s_object" % name],
        hdrs = hdrs,
        tags = ["manual"],
        deps = deps + [str(Label("//third_party/cuda:cudart"))],
        **kwargs
    )
