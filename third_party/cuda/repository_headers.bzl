"""Headers of this repository as files, for a test that compiles without Bazel."""

def _repository_headers_impl(ctx):
    headers = depset(transitive = [dep[CcInfo].compilation_context.headers for dep in ctx.attr.deps])
    files = [
        header
        for header in headers.to_list()
        if not header.path.startswith("external/") and "/precompiled/" not in header.path
    ]
    return [DefaultInfo(files = depset(files), runfiles = ctx.runfiles(files = files))]

repository_headers = rule(
    doc = "The headers that `deps` need, without those of external libraries.",
    implementation = _repository_headers_impl,
    attrs = {"deps": attr.label_list(providers = [CcInfo])},
)
