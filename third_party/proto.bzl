"""C++ from .proto files with the protoc of the system."""

load("@rules_cc//cc:defs.bzl", "cc_library")

def _folder(repository):
    """Returns the folder of a repository's files, relative to where commands run."""
    return "external/" + repository if repository else "."

def millrace_cc_proto(name, src, deps = [], proto_deps = [], visibility = None):
    """A cc_library `name` made from one proto file.

    Args:
      name: name of the library, by custom `<stem>_cc_proto`.
      src: the .proto file, in this package.
      deps: cc_proto targets of the files that it imports.
      proto_deps: those files themselves, as labels.
      visibility: of the library.
    """
    stem = src[:-len(".proto")]

    # Names of files in imports are relative to a repository: that of `src`, or this one.
    own = _folder(native.repository_name().lstrip("@"))
    folders = [own]
    millrace = _folder(Label("//proto:config_imports").workspace_name)
    if millrace != own:
        folders.append(millrace)
    protoc = "protoc " + " ".join(["--proto_path=" + folder for folder in folders])
    output = "$(GENDIR)" if own == "." else "$(GENDIR)/" + own

    # A file that imports proto/config.proto needs the files which that imports, too.
    native.genrule(
        name = stem + "_protoc",
        srcs = [src] + proto_deps + [str(Label("//proto:config_imports"))],
        outs = [stem + ".pb.h", stem + ".pb.cc"],
        cmd = "%s --cpp_out=%s $(location %s)" % (protoc, output, src),
        message = "Generating C++ from " + src,
    )

    # The file once more with its comments, for `millrace hooks describe`.
    native.genrule(
        name = stem + "_documented",
        srcs = [src] + proto_deps + [str(Label("//proto:config_imports"))],
        outs = [stem + ".documented.cc"],
        cmd = """
%s --include_source_info --descriptor_set_out=$@.bytes $(location %s)
{
  echo '#include "proto/documented_protos.h"'
  echo 'static const unsigned char kBytes[] = {'
  od -An -v -tu1 $@.bytes | sed 's/ *\\([0-9][0-9]*\\)/\\1,/g'
  echo '};'
  echo '[[maybe_unused]] static const bool kRegistered ='
  echo '    ::millrace::register_documented_protos(kBytes, sizeof(kBytes));'
} > $@
rm $@.bytes""" % (protoc, src),
        message = "Keeping the comments of " + src,
    )
    cc_library(
        name = name,
        srcs = [
            stem + ".documented.cc",
            stem + ".pb.cc",
        ],
        hdrs = [stem + ".pb.h"],
        copts = ["-w"],
        visibility = visibility,
        deps = deps + [
            str(Label("//proto:documented_protos")),
            str(Label("//third_party:protobuf")),
        ],
        alwayslink = True,
    )
