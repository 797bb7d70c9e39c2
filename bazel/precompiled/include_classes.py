"""The class of a source by the widest headers that it reaches; bazel/precompiled has a header for each."""
import os
import re

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
INCLUDE = re.compile(r'^\s*#\s*include\s*[<"]([^">]+)[">]', re.M)
NARROW = ("ATen/core/Tensor.h", "c10/")


def closure(path, seen):
    """Adds to `seen` what the file includes, through files of this repository."""
    with open(os.path.join(ROOT, path), encoding="utf-8") as file:
        for name in INCLUDE.findall(file.read()):
            if name not in seen:
                seen.add(name)
                if os.path.exists(os.path.join(ROOT, name)):
                    closure(name, seen)


def class_of(names):
    """The class of sources that include `names`."""
    libtorch = [name for name in names if name.startswith(("ATen/", "c10/", "torch/"))]
    if any(not name.startswith(NARROW) for name in libtorch):
        return "torch"
    if "ATen/core/Tensor.h" in names:
        return "tensor"
    if "proto/config.pb.h" in names:
        return "proto"
    return "base"
