"""C++ from .proto files with the protoc of the system."""

load("@rules_cc//cc:defs.bzl", "cc_library")

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
    native.genrule(
        name = stem + "_protoc",
        srcs = [src] + proto_deps,
        outs = [stem + ".pb.h", stem + ".pb.cc"],
        cmd = "protoc --proto_path=. --cpp_out=$(GENDIR) $(location %s)" % src,
        message = "Generating C++ from " + src,
    )
    cc_library(
        name = name,
        srcs = [stem + ".pb.cc"],
        hdrs = [stem + ".pb.h"],
        copts = ["-w"],
        visibility = visibility,
        deps = deps + ["//third_party:protobuf"],
    )
