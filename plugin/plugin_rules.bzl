"""How programs and plugins are linked with one another."""

# What of Millrace is in every program that loads plugins: a plugin compiles against it and finds it there.
_IN_PROGRAMS = [
    "base",
    "checkpoint",
    "config",
    "distributed",
    "embedding",
    "framework",
    "hooks",
    "io",
    "job",
    "losses",
    "metrics",
    "models",
    "optim",
    "proto",
]

def _is_shared(library):
    return library.static_library == None and library.pic_static_library == None

def _in_programs(linker_input):
    owner = linker_input.owner
    if owner.workspace_name == Label("//:millrace").workspace_name:
        return owner.package.split("/")[0] in _IN_PROGRAMS

    # LibTorch. Linking a shared library that Bazel knows makes a search path, too, which a plugin must not have.
    return len(linker_input.libraries) > 0 and all([_is_shared(library) for library in linker_input.libraries])

def _own_libraries_impl(ctx):
    infos = [dep[CcInfo] for dep in ctx.attr.deps]
    inputs = []
    for info in infos:
        inputs += [i for i in info.linking_context.linker_inputs.to_list() if not _in_programs(i)]
    return [CcInfo(
        compilation_context = cc_common.merge_cc_infos(cc_infos = infos).compilation_context,
        linking_context = cc_common.create_linking_context(linker_inputs = depset(inputs, order = "topological")),
    )]

own_libraries = rule(
    doc = "What a plugin compiles against: `deps`. It links those alone that a program does not have.",
    implementation = _own_libraries_impl,
    attrs = {"deps": attr.label_list(providers = [CcInfo])},
)

def _exported_symbols_impl(ctx):
    flag = "-Wl,--dynamic-list=" + ctx.file.list.path
    linker_input = cc_common.create_linker_input(
        owner = ctx.label,
        user_link_flags = depset([flag]),
        additional_inputs = depset([ctx.file.list]),
    )
    return [CcInfo(linking_context = cc_common.create_linking_context(linker_inputs = depset([linker_input])))]

exported_symbols = rule(
    doc = "A library without code: programs that link it export the symbols of `list`.",
    implementation = _exported_symbols_impl,
    attrs = {"list": attr.label(mandatory = True, allow_single_file = True)},
)

def _is_own_header(file):
    return file.extension == "h" and file.owner.workspace_name == Label("//:millrace").workspace_name

def _path_in_repository(file):
    return file.owner.package + "/" + file.basename

def _header_digest_impl(ctx):
    headers = depset(transitive = [dep[CcInfo].compilation_context.headers for dep in ctx.attr.deps])
    own = sorted([file for file in headers.to_list() if _is_own_header(file)], key = _path_in_repository)
    arguments = ctx.actions.args()
    arguments.add(ctx.outputs.out)
    arguments.add_all(own)
    ctx.actions.run(
        executable = ctx.executable._tool,
        arguments = [arguments],
        inputs = own,
        outputs = [ctx.outputs.out],
        mnemonic = "HeaderDigest",
        progress_message = "Digesting %d headers for plugins" % len(own),
        use_default_shell_env = True,
    )

header_digest = rule(
    doc = """A header, `out`, with the digest of all headers of this repository that `deps` can include.

The digest of a plugin and of its program are equal only if both were compiled against the same classes.""",
    implementation = _header_digest_impl,
    attrs = {
        "deps": attr.label_list(providers = [CcInfo]),
        "out": attr.output(mandatory = True),
        "_tool": attr.label(default = "//plugin:header_digest.sh", allow_single_file = True, executable = True, cfg = "host"),
    },
)
