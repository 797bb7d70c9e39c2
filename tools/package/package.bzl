"""Packages of a program, as a folder that holds one file."""

def _package_impl(ctx):
    folder = ctx.actions.declare_directory(ctx.label.name)
    arguments = ctx.actions.args()
    arguments.add("-B")  # writes no byte code beside the sources
    arguments.add(ctx.file.script)
    arguments.add("--output", folder.path)
    arguments.add("--program", ctx.executable.program)
    for file, flag in ctx.attr.flags.items() + ctx.attr.optional.items():
        arguments.add("--" + flag, file.files.to_list()[0])
    arguments.add_all("--examples", ctx.files.examples)
    ctx.actions.run(
        executable = "/usr/bin/python3",
        arguments = [arguments],
        inputs = depset(
            ctx.files.script + ctx.files.modules + ctx.files.flags + ctx.files.examples,
            # The runfiles have the libraries of the wheels.
            transitive = [
                target[DefaultInfo].default_runfiles.files
                for target in [ctx.attr.program] + ctx.attr.optional.keys()
            ],
        ),
        outputs = [folder],
        # A package is larger than all its parts in the disk cache.
        execution_requirements = {"no-cache": "1"},
        mnemonic = "Package",
        progress_message = "Packing %s" % ctx.label,
    )
    return [DefaultInfo(files = depset([folder]), runfiles = ctx.runfiles(files = [folder]))]

package_of_program = rule(
    doc = "Runs `script`, which writes one package into the folder of the rule's name.",
    implementation = _package_impl,
    attrs = {
        "program": attr.label(mandatory = True, executable = True, cfg = "target"),
        "script": attr.label(mandatory = True, allow_single_file = [".py"]),
        "modules": attr.label_list(allow_files = [".py"], doc = "what the script imports"),
        "flags": attr.label_keyed_string_dict(
            allow_files = True,
            doc = "file: name of the flag of the script that takes its path",
        ),
        "optional": attr.label_keyed_string_dict(
            doc = "the same, for a shared library, whose own libraries come with it",
        ),
        "examples": attr.label_list(allow_files = True),
    },
)
