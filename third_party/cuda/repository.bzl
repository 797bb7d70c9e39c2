"""The repository @cuda: the CUDA toolkit of the machine and the wheels of `./bazelw cuda_setup`.

It is there on every machine. Where the toolkit or the wheels are missing, its targets fail when they
are built, with a line that says what to do; targets of the CPU build depend on none of them.
"""

_WHEELS = "MILLRACE_CUDA_WHEELS"

_NO_TOOLKIT = "no nvcc in CUDA_HOME, /usr/local/cuda or PATH: install the CUDA toolkit 13.0, or set CUDA_HOME to its folder"
_NO_WHEELS = "the wheels of LibTorch for CUDA and of NCCL are missing: call ./bazelw cuda_setup"

def _toolkit(ctx):
    """The folder of the CUDA toolkit, or None."""
    folders = [ctx.os.environ.get("CUDA_HOME", ""), "/usr/local/cuda"]
    for folder in folders:
        if folder and ctx.path(folder + "/bin/nvcc").exists:
            return ctx.path(folder)
    nvcc = ctx.which("nvcc")
    if not nvcc:
        return None

    # A script in the PATH may stand for it.
    result = ctx.execute([nvcc, "--dryrun", "-c", "none.cu"])
    for line in result.stderr.split("\n"):
        if line.startswith("#$ TOP="):
            top = ctx.path(line[len("#$ TOP="):].strip())
            return top if top.exists else None
    return None

def _cpu_libtorch(ctx):
    """The folder of the LibTorch of the CPU build, or ""."""
    venv = ctx.os.environ.get("MILLRACE_VENV", "")
    found = ctx.execute(["sh", "-c", "echo \"$1\"/lib/python3*/site-packages/torch", "sh", venv])
    return ctx.os.environ.get("LIBTORCH", "") or (found.stdout.strip() if venv else "")

def _cuda_impl(ctx):
    toolkit = _toolkit(ctx)
    wheels = ctx.os.environ.get(_WHEELS, "")
    has_wheels = bool(wheels) and ctx.path(wheels).exists
    if toolkit:
        ctx.symlink(toolkit.get_child("include"), "toolkit/include")
        ctx.symlink(toolkit.get_child("lib64"), "toolkit/lib")
    if has_wheels:
        ctx.symlink(wheels + "/torch/include", "torch/include")
        ctx.symlink(wheels + "/torch/lib", "torch/lib")
        ctx.symlink(wheels + "/nvidia/nccl/include", "nccl/include")
    ctx.file("toolkit.bzl", "NVCC = %r\nHAS_WHEELS = %r\nNO_TOOLKIT = %r\nNO_WHEELS = %r\n" % (
        str(toolkit.get_child("bin").get_child("nvcc")) if toolkit else "",
        has_wheels,
        _NO_TOOLKIT,
        _NO_WHEELS,
    ))
    ctx.file("where.txt", "toolkit=%s\nwheels=%s\ncpu_libtorch=%s\n" % (
        toolkit if toolkit else "",
        wheels if has_wheels else "",
        _cpu_libtorch(ctx),
    ))
    ctx.file("BUILD.bazel", ctx.read(ctx.attr._build_file))

cuda_repository = repository_rule(
    implementation = _cuda_impl,
    environ = ["CUDA_HOME", "LIBTORCH", "MILLRACE_CUDA_WHEELS", "MILLRACE_VENV", "PATH"],
    local = True,
    attrs = {"_build_file": attr.label(default = "//third_party/cuda:cuda.BUILD")},
)
