"""The package for developers: what programs of other repositories build against, compiled."""

_Parts = provider(fields = {"parts": "depset of one struct for each compiled target of this repository"})

# Their BUILD files are part of the package as they are.
_AS_SOURCES = ["third_party", "bazel"]

# Attributes whose effect on dependents the package would lose.
_REFUSED = ["defines", "includes", "include_prefix", "strip_include_prefix"]

def _is_own(label):
    return label.workspace_name == Label("//:millrace").workspace_name

def _text(label):
    """Returns the label as BUILD files of the package write it."""
    return "//%s:%s" % (label.package, label.name) if _is_own(label) else str(label)

def _labels(targets):
    return [_text(target.label) for target in targets if CcInfo in target]

def _part(target, ctx):
    for attribute in _REFUSED:
        if getattr(ctx.rule.attr, attribute, None):
            fail("%s has `%s`, which the package for developers does not carry" % (ctx.label, attribute))
    context = target[CcInfo].compilation_context
    inputs = target[CcInfo].linking_context.linker_inputs.to_list()
    own = [entry for entry in inputs if entry.owner == ctx.label]
    libraries = [library for entry in own for library in entry.libraries]
    return struct(
        label = ctx.label,
        kind = ctx.rule.kind,
        testonly = getattr(ctx.rule.attr, "testonly", False),
        is_public = "//visibility:public" in [str(label) for label in ctx.rule.attr.visibility],
        headers = tuple(context.direct_headers),
        archives = tuple([library.static_library or library.pic_static_library for library in libraries]),
        always = any([library.alwayslink for library in libraries]),
        sources = tuple(ctx.rule.files.srcs if ctx.rule.kind == "cc_binary" else getattr(ctx.rule.files, "list", [])),
        deps = tuple(_labels(getattr(ctx.rule.attr, "deps", []))),
        linkopts = tuple(getattr(ctx.rule.attr, "linkopts", [])),
    )

def _parts_impl(target, ctx):
    if ctx.rule.kind == "alias":
        return [ctx.rule.attr.actual[_Parts]]
    transitive = [dep[_Parts].parts for dep in getattr(ctx.rule.attr, "deps", []) if _Parts in dep]
    folder = ctx.label.package.split("/")[0]
    has_part = _is_own(ctx.label) and folder not in _AS_SOURCES and (CcInfo in target or ctx.rule.kind == "cc_binary")
    return [_Parts(parts = depset([_part(target, ctx)] if has_part else [], transitive = transitive))]

_parts_aspect = aspect(
    doc = "Collects the compiled targets of this repository that a target needs.",
    implementation = _parts_impl,
    attr_aspects = ["actual", "deps"],
)

def _files(files):
    """Returns where each file is, by its name in the repository."""
    return {file.short_path: file.path for file in files}

def _json(part):
    return struct(
        label = _text(part.label),
        kind = part.kind,
        testonly = part.testonly,
        public = part.is_public,
        headers = _files(part.headers),
        archives = _files(part.archives),
        always = part.always,
        sources = _files(part.sources),
        deps = list(part.deps),
        linkopts = list(part.linkopts),
    )

def _package_impl(ctx):
    parts = depset(transitive = [root[_Parts].parts for root in ctx.attr.roots]).to_list()
    manifest = ctx.actions.declare_file(ctx.label.name + ".json")
    ctx.actions.write(manifest, json.encode([_json(part) for part in parts]))
    folder = ctx.actions.declare_directory(ctx.label.name)
    inputs = [file for part in parts for files in [part.headers, part.archives, part.sources] for file in files]
    arguments = ctx.actions.args()
    arguments.add("-B")  # writes no byte code beside the sources
    arguments.add(ctx.file.script)
    arguments.add("--output", folder.path)
    arguments.add("--manifest", manifest)
    arguments.add("--version_header", ctx.file.version_header)
    arguments.add_all("--files", ctx.files.files)
    ctx.actions.run(
        executable = "/usr/bin/python3",
        arguments = [arguments],
        inputs = [ctx.file.script, ctx.file.version_header, manifest] + ctx.files.modules + ctx.files.files + inputs,
        outputs = [folder],
        # A package is larger than all its parts in the disk cache.
        execution_requirements = {"no-cache": "1"},
        mnemonic = "Package",
        progress_message = "Packing %s" % ctx.label,
    )
    return [DefaultInfo(files = depset([folder]), runfiles = ctx.runfiles(files = [folder]))]

developer_package = rule(
    doc = """Packs the compiled targets that `roots` need, and `files`, as a repository with the same labels.

    A library of the package has the headers and the archive of the library here, and the same dependences.""",
    implementation = _package_impl,
    attrs = {
        "roots": attr.label_list(aspects = [_parts_aspect], mandatory = True),
        "files": attr.label_list(allow_files = True, doc = "files that stand in the package where they stand here"),
        "script": attr.label(mandatory = True, allow_single_file = [".py"]),
        "modules": attr.label_list(allow_files = [".py"], doc = "what the script imports"),
        "version_header": attr.label(mandatory = True, allow_single_file = True),
    },
)
