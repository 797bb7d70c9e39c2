"""Prints what the safetensors package finds in a checkpoint: one line for each tensor.

usage: read_checkpoint.py DIRECTORY

Finds files through manifest.json, as docs/checkpoint_format.md says, and compares what it says of
tensors with what the package reads. Prints "FILE NAME DTYPE SHAPE BYTES", bytes in hexadecimal.
"""

import json
import os
import sys

import safetensors


def main(directory):
    with open(os.path.join(directory, "manifest.json"), encoding="utf-8") as file:
        manifest = json.load(file)
    for entry in manifest["files"]:
        if not entry["name"].endswith(".safetensors"):
            continue
        path = os.path.join(directory, entry["name"])
        with open(path, "rb") as file:
            content = file.read()
        read = dict(safetensors.deserialize(content))
        stated = {tensor["name"]: tensor for tensor in entry.get("tensors", [])}
        if sorted(read) != sorted(stated):
            sys.exit("%s: the manifest names %s, the package %s"
                     % (path, sorted(stated), sorted(read)))
        for name, tensor in sorted(read.items()):
            data = bytes(tensor["data"])
            shape = [int(size) for size in stated[name].get("shape", [])]
            offset = int(stated[name]["offset"])
            if (tensor["dtype"], tensor["shape"]) != (stated[name]["dtype"], shape):
                sys.exit("%s, %s: the manifest says %s" % (path, name, stated[name]))
            if content[offset:offset + len(data)] != data:
                sys.exit("%s, %s: not at the offset of the manifest" % (path, name))
            print(entry["name"], name, tensor["dtype"], ",".join(map(str, shape)) or "-",
                  data.hex() or "-")


if __name__ == "__main__":
    main(sys.argv[1])
