"""Training jobs with parts of one's own."""

load("@rules_cc//cc:defs.bzl", "cc_binary")

_MAIN = """#include "tools/run_job.h"

int main(int argc, char** argv) { return millrace::run_job(argc, argv, "%s"); }
"""

def _job_main_impl(ctx):
    source = ctx.actions.declare_file(ctx.label.name + ".cc")
    path = ctx.workspace_name + "/" + ctx.file.config.short_path
    ctx.actions.write(source, _MAIN % path)
    return [DefaultInfo(files = depset([source]))]

_job_main = rule(
    implementation = _job_main_impl,
    attrs = {"config": attr.label(mandatory = True, allow_single_file = True)},
)

def millrace_job(name, config, deps = [], data = [], **kwargs):
    """The millrace program with parts and a configuration of one's own (docs/extending.md).

        ./bazelw run //my:job -- train                    # with `config`
        ./bazelw run //my:job -- train --max_steps 100
        ./bazelw run //my:job -- train other.textproto    # another one, right behind the command

    It has every command of //tools:millrace; train, evaluate, predict, config check and config defaults
    take `config` where no file is named. Paths in it are relative to where the user stands.

    Args:
      name: name of the program.
      config: the configuration, a JobConfig in text format; may be generated.
      deps: libraries that register parts: models, hooks, optimizers, … (`alwayslink = True`).
      data: files that the program finds in its runfiles.
      **kwargs: for cc_binary.
    """
    _job_main(
        name = name + "_main",
        config = config,
        testonly = kwargs.get("testonly", False),
        visibility = ["//visibility:private"],
    )
    cc_binary(
        name = name,
        srcs = [":" + name + "_main"],
        data = data + [config],
        deps = deps + [Label("//tools:run_job")],
        **kwargs
    )
