"""Hooks in shared libraries that a configuration names."""

load("@rules_cc//cc:defs.bzl", "cc_binary")
load("//plugin:plugin_rules.bzl", "own_libraries")

_EXPORTS = Label("//plugin:plugin.exports")

def millrace_hook_plugin(name, srcs, deps = [], visibility = None, testonly = False, **kwargs):
    """A plugin, NAME.so, for `plugin { path: ".../NAME.so" }` in the hooks of a configuration (docs/plugins.md).

        ./bazelw build //my:click_count.so
        install -m 644 bazel-bin/my/click_count.so /srv/plugins/    # bazel-bin is a link, which is refused
        ./bazelw run //:program -- plugin inspect /srv/plugins/click_count.so

    Of `deps`, what every program of Millrace has (//:hook, //:millrace, ...) is compiled against and not linked.

    Args:
      name: name of the plugin. The file is target NAME.so.
      srcs: sources; they register hooks with MILLRACE_PLUGIN_HOOK (plugin/hook_plugin.h).
      deps: what they include. A library of one's own becomes part of the plugin.
      visibility: of the file.
      testonly: as of any target.
      **kwargs: for cc_binary.
    """
    own_libraries(
        name = name + "_libraries",
        testonly = testonly,
        visibility = ["//visibility:private"],
        deps = deps + [Label("//plugin:hook_plugin")],
    )
    cc_binary(
        name = name + ".so",
        srcs = srcs,
        testonly = testonly,
        visibility = visibility,
        additional_linker_inputs = [_EXPORTS],
        linkopts = [
            "-Wl,--version-script=$(location %s)" % _EXPORTS,
            "-Wl,-z,now,-z,relro,-z,noexecstack",
        ],
        linkshared = True,
        deps = [":%s_libraries" % name],
        **kwargs
    )
