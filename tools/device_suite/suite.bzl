"""Programs of --config=cuda in an archive that a machine with a GPU runs."""

def _device_suite_impl(ctx):
    output = ctx.actions.declare_file(ctx.label.name + ".tar.xz")
    arguments = ctx.actions.args()
    arguments.add("-B")
    arguments.add(ctx.file._pack)
    arguments.add("--output", output)
    arguments.add_all("--scripts", ctx.files._scripts)
    arguments.add_all("--programs", [program.files_to_run.executable for program in ctx.attr.programs])
    arguments.add_all("--files", ctx.files.files)
    ctx.actions.run(
        executable = "/usr/bin/python3",
        arguments = [arguments],
        inputs = depset(
            [ctx.file._pack] + ctx.files._scripts + ctx.files._modules + ctx.files.files,
            transitive = [program[DefaultInfo].default_runfiles.files for program in ctx.attr.programs],
        ),
        outputs = [output],
        env = {"PYTHONPATH": ctx.files._modules[0].dirname},
        mnemonic = "PackDeviceSuite",
    )
    return [DefaultInfo(files = depset([output]))]

device_suite = rule(
    implementation = _device_suite_impl,
    attrs = {
        "programs": attr.label_list(cfg = "target"),
        "files": attr.label_list(allow_files = True),
        "_pack": attr.label(default = "//tools/device_suite:pack.py", allow_single_file = True),
        "_scripts": attr.label_list(
            default = ["//tools/device_suite:run.py", "//tools/device_suite:trainer_steps.py"],
            allow_files = True,
        ),
        "_modules": attr.label_list(
            default = ["//tools/package:carried_libraries.py", "//tools/package:elf_file.py"],
            allow_files = True,
        ),
    },
)
