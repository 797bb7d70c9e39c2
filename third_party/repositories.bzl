"""How each external library is found. Nothing here downloads anything.

System libraries (Abseil, protobuf, glog, ...) live in /usr and need no
repository: see third_party/BUILD.bazel. LibTorch and Arrow, librdkafka for
packages and tests, and the package safetensors for a test come out of Python
wheels in the environment that `./bazelw` prepares; `LIBTORCH` (a folder with
`include/` and `lib/`) replaces that of LibTorch. OpenSSL is changed before it is linked: see third_party/openssl.BUILD.
"""

load("//third_party:bazel4.bzl", "bazel4_repositories")
load("//third_party/cuda:repository.bzl", "cuda_repository")

def _wheel_folder(ctx, package):
    """The folder of an installed Python package, or fails saying what to do."""
    venv = ctx.os.environ.get("MILLRACE_VENV", "")
    if not venv:
        fail("MILLRACE_VENV is not set: call ./bazelw instead of bazel; it installs what is needed and sets it")
    found = ctx.execute(["sh", "-c", "echo \"$1\"/lib/python3*/site-packages/\"$2\"", "sh", venv, package])
    folder = ctx.path(found.stdout.strip())
    if not folder.exists:
        fail("no %s below %s: remove that folder and call ./bazelw again" % (package, venv))
    return folder

def _symlink_children(ctx, source, destination, skip = []):
    for child in source.readdir():
        if child.basename not in skip:
            ctx.symlink(child, destination + "/" + child.basename)

def _libtorch_impl(ctx):
    given = ctx.os.environ.get("LIBTORCH", "")
    folder = ctx.path(given) if given else _wheel_folder(ctx, "torch")
    include = folder.get_child("include")
    if not include.exists:
        fail("%s has no include/ folder: LIBTORCH must name an unpacked LibTorch or a torch package" % folder)

    # LibTorch carries headers of an older protobuf, which must not shadow the real ones.
    _symlink_children(ctx, include, "include", skip = ["google"])
    lib = folder.get_child("lib")
    for name in ["libtorch.so", "libtorch_cpu.so", "libc10.so"]:
        ctx.symlink(lib.get_child(name), "lib/" + name)
    for child in lib.readdir():
        if child.basename.startswith("libgomp"):
            ctx.symlink(child, "lib/" + child.basename)
    ctx.file("BUILD.bazel", ctx.read(ctx.attr._build_file))
    ctx.file("origin.bzl", "FROM_WHEEL = %s\n" % (not given))

libtorch_repository = repository_rule(
    implementation = _libtorch_impl,
    environ = ["LIBTORCH", "MILLRACE_VENV"],
    local = True,
    attrs = {"_build_file": attr.label(default = "//third_party:libtorch.BUILD")},
)

def _arrow_impl(ctx):
    folder = _wheel_folder(ctx, "pyarrow")
    _symlink_children(ctx, folder.get_child("include"), "include")
    for child in folder.readdir():
        for name in ["libarrow.so", "libarrow_compute.so", "libarrow_s3.so", "libparquet.so"]:
            if child.basename.startswith(name + "."):
                ctx.symlink(child, "lib/" + child.basename)
    ctx.file("BUILD.bazel", ctx.read(ctx.attr._build_file))

arrow_repository = repository_rule(
    implementation = _arrow_impl,
    environ = ["MILLRACE_VENV"],
    local = True,
    attrs = {"_build_file": attr.label(default = "//third_party:arrow.BUILD")},
)

def _safetensors_impl(ctx):
    _symlink_children(ctx, _wheel_folder(ctx, "safetensors"), "safetensors", skip = ["__pycache__"])
    ctx.file("BUILD.bazel", ctx.read(ctx.attr._build_file))

safetensors_repository = repository_rule(
    implementation = _safetensors_impl,
    environ = ["MILLRACE_VENV"],
    local = True,
    attrs = {"_build_file": attr.label(default = "//third_party:safetensors.BUILD")},
)

def _librdkafka_impl(ctx):
    folder = _wheel_folder(ctx, "confluent_kafka.libs")
    found = [child for child in folder.readdir() if child.basename.startswith("librdkafka")]
    if len(found) != 1:
        fail("%s has %d librdkafka instead of 1: remove %s and call ./bazelw again" % (folder, len(found), folder.dirname))
    ctx.symlink(found[0], "librdkafka.so.1")
    ctx.file("BUILD.bazel", "exports_files([\"librdkafka.so.1\"])\n")

librdkafka_repository = repository_rule(
    implementation = _librdkafka_impl,
    environ = ["MILLRACE_VENV"],
    local = True,
)

def _openssl_impl(ctx):
    for name in ["libssl.a", "libcrypto.a"]:
        archive = ctx.path("/usr/lib/x86_64-linux-gnu/" + name)
        if not archive.exists:
            fail("no %s: install the Debian package libssl-dev" % archive)
        ctx.symlink(archive, name)
    ctx.file("BUILD.bazel", ctx.read(ctx.attr._build_file))

openssl_repository = repository_rule(
    implementation = _openssl_impl,
    local = True,
    attrs = {"_build_file": attr.label(default = "//third_party:openssl.BUILD")},
)

def _python_impl(ctx):
    # The interpreter of the environment with LibTorch, whose wheel has the library for this version alone.
    problem = ""
    if ctx.os.environ.get("LIBTORCH", ""):
        problem = "LIBTORCH has no torch for Python"
    else:
        torch = _wheel_folder(ctx, "torch")
        python = torch.dirname.dirname.dirname.dirname.get_child("bin").get_child("python3")
        asked = "import sysconfig; print(sysconfig.get_python_version(), sysconfig.get_path('include'))"
        found = ctx.execute([python, "-c", asked])
        version, _, folder = found.stdout.strip().partition(" ")
        include = ctx.path(folder or "/nonexistent")
        if version != "3.11":
            problem = "the environment has Python %s, the extension is for 3.11" % version
        elif include.get_child("Python.h").exists:
            _symlink_children(ctx, include, "include")
            ctx.symlink(torch.get_child("lib").get_child("libtorch_python.so"), "lib/libtorch_python.so")
        else:
            problem = "no Python.h in %s: install the Debian package libpython3.11-dev" % include
    if problem:
        # buildifier: disable=print
        print("//python, the extension for training from Python, is left out: " + problem)
    ctx.file("BUILD.bazel", ctx.read(ctx.attr._build_file))
    ctx.file("origin.bzl", "HAS_EXTENSION = %s\n" % (not problem))

python_repository = repository_rule(
    implementation = _python_impl,
    environ = ["LIBTORCH", "MILLRACE_VENV"],
    local = True,
    attrs = {"_build_file": attr.label(default = "//third_party:python.BUILD")},
)

def millrace_repositories():
    bazel4_repositories()
    libtorch_repository(name = "libtorch")
    arrow_repository(name = "arrow")
    cuda_repository(name = "cuda")
    librdkafka_repository(name = "librdkafka")
    openssl_repository(name = "openssl")
    python_repository(name = "python")
    safetensors_repository(name = "safetensors")
