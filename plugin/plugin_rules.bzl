"""How programs and plugins are linked with one another."""

# Packages in every program that loads plugins: a plugin compiles against them and finds them in the
# program.
_IN_PROGRAMS = [
    "base",
    "checkpoint",
    "config",
    "distributed",
    "embedding",
    "framework",
    "hook",
    "hooks",
    "io",
    "job",
    "losses",
    "metrics",
    "models",
    "optim",
    "proto",
    # Names of shared libraries, which differ between packages: a plugin that names none works with each package.
    "third_party",
]

def _is_shared(library):
    return library.static_library == None and library.pic_static_library == None

def _in_programs(linker_input):
    owner = linker_input.owner
    if owner.workspace_name == Label("//:millrace").workspace_name:
        return owner.package.split("/")[0] in _IN_PROGRAMS

    # LibTorch. Linking a shared library known to Bazel creates a search path, too, which a plugin
    # must not have.
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

def _in_repository(file):
    """The path of a file as `#include` names it, the same in every workspace."""
    path = file.short_path
    return path[path.index("/", len("../")) + 1:] if path.startswith("../") else path

def _is_own(file):
    """True for a header of this repository, except precompiled ones, which no `#include` names."""
    own = file.owner.workspace_name == Label("//:millrace").workspace_name
    return own and not file.is_directory and not _in_repository(file).startswith("bazel/")

def _border_digest_impl(ctx):
    contexts = [dep[CcInfo].compilation_context for dep in ctx.attr.deps]
    all_headers = depset(transitive = [context.headers for context in contexts]).to_list()
    headers = [header for header in all_headers if _is_own(header)]
    digest = ctx.actions.declare_file(ctx.label.name + ".h")
    listed = ctx.actions.declare_file(ctx.label.name + ".txt")
    arguments = ctx.actions.args()
    arguments.add_all([digest, listed])
    arguments.add_all(ctx.attr.headers)
    arguments.add("--")
    arguments.add_all(["%s=%s" % (_in_repository(header), header.path) for header in headers])
    ctx.actions.run(
        inputs = headers,
        outputs = [digest, listed],
        executable = ctx.executable._write,
        arguments = [arguments],
        mnemonic = "BorderDigest",
        progress_message = "Digesting the headers that plugins share with programs",
    )
    return [
        DefaultInfo(files = depset([digest])),
        OutputGroupInfo(headers = depset([listed] + headers)),
    ]

border_digest = rule(
    doc = """Makes NAME.h with the digest of `headers` and of all headers of this repository that they include.

    Bazel knows which headers these are, the generated ones among them. Comments, white space, the configuration
    and the workspace in which Millrace is built change nothing. Output group `headers`: NAME.txt, their paths, and the headers among which they are.""",
    implementation = _border_digest_impl,
    attrs = {
        "headers": attr.string_list(doc = "Headers of `deps`, as `#include` names them.", mandatory = True),
        "deps": attr.label_list(providers = [CcInfo], mandatory = True),

        # Not for the machine that builds: the libraries of the program would be compiled once more for it.
        "_write": attr.label(default = "//plugin:write_border_digest", executable = True, cfg = "target"),
    },
)
