"""Precompiled headers: a header of other headers that the compiler has read already."""

load("@bazel_tools//tools/build_defs/cc:action_names.bzl", "CPP_COMPILE_ACTION_NAME")
load("@bazel_tools//tools/cpp:toolchain_utils.bzl", "find_cpp_toolchain")

def _precompiled_header_impl(ctx):
    toolchain = find_cpp_toolchain(ctx)
    header = ctx.actions.declare_file(ctx.label.name + ".h")
    context = cc_common.merge_cc_infos(
        cc_infos = [dep[CcInfo] for dep in ctx.attr.deps],
    ).compilation_context
    features = cc_common.configure_features(
        ctx = ctx,
        cc_toolchain = toolchain,
        requested_features = ctx.features,
        unsupported_features = ctx.disabled_features,
    )
    variables = cc_common.create_compile_variables(
        feature_configuration = features,
        cc_toolchain = toolchain,
        use_pic = True,
        user_compile_flags = ctx.fragments.cpp.copts + ctx.fragments.cpp.cxxopts + ctx.attr.copts,
        include_directories = context.includes,
        quote_include_directories = context.quote_includes,
        system_include_directories = context.system_includes,
        preprocessor_defines = depset(transitive = [context.defines, context.local_defines]),
    )
    flags = cc_common.get_memory_inefficient_command_line(
        feature_configuration = features,
        action_name = CPP_COMPILE_ACTION_NAME,
        variables = variables,
    )

    # GCC's precompiled headers differ in a few bytes each time they are made. As a declared output the
    # header would change every key of the disk cache, so it is a by-product that Bazel does not know.
    # -MD: the compiler can list the headers that it stands for only if they were listed here.
    arguments = ctx.actions.args()
    arguments.add(ctx.file.src)
    arguments.add(header)
    arguments.add(cc_common.get_tool_for_action(
        feature_configuration = features,
        action_name = CPP_COMPILE_ACTION_NAME,
    ))
    arguments.add_all(flags)
    ctx.actions.run_shell(
        inputs = depset([ctx.file.src], transitive = [context.headers, toolchain.all_files]),
        outputs = [header],
        arguments = [arguments],
        command = """
source=$1 header=$2 compiler=$3; shift 3
cp -f "$source" "$header" && chmod u+w "$header" || exit 1
"$compiler" "$@" -x c++-header -MD -MF "$header.d" -o "$header.gch.new" "$header" &&
mv -f "$header.gch.new" "$header.gch"
""",
        env = cc_common.get_environment_variables(
            feature_configuration = features,
            action_name = CPP_COMPILE_ACTION_NAME,
            variables = variables,
        ),
        # Only where it was made is the by-product there.
        execution_requirements = {"no-cache": "1", "no-remote": "1", "no-sandbox": "1"},
        mnemonic = "CppPrecompile",
        progress_message = "Precompiling %s" % header.short_path,
    )
    own = cc_common.create_compilation_context(
        headers = depset([header], transitive = [context.headers]),
        includes = context.includes,
        quote_includes = context.quote_includes,
        system_includes = context.system_includes,
        defines = context.defines,
    )
    return [
        DefaultInfo(files = depset([header])),
        CcInfo(compilation_context = own),
    ]

precompiled_header = rule(
    doc = """Makes NAME.h of `src` and, beside it, NAME.h.gch, which GCC reads instead.

    A file that is compiled with `-include PACKAGE/NAME.h` and depends on this target is the same with
    and without NAME.h.gch; GCC ignores one that was made with other switches. `deps` are those of the
    headers in `src`: users get their include paths and definitions, and nothing to link.""",
    implementation = _precompiled_header_impl,
    attrs = {
        "src": attr.label(allow_single_file = [".h.in"], mandatory = True),
        "copts": attr.string_list(doc = "Switches of the targets that use it."),
        "deps": attr.label_list(providers = [CcInfo]),
        "_cc_toolchain": attr.label(default = "@bazel_tools//tools/cpp:current_cc_toolchain"),
    },
    fragments = ["cpp"],
    toolchains = ["@bazel_tools//tools/cpp:toolchain_type"],
)
