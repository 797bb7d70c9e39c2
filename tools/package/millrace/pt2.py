"""Writes an exported program of torch.export from what `millrace export` wrote.

  millrace export --checkpoint out --output model.pt
  python3 -m millrace.pt2 model.pt model.pt2

model.pt2 is loaded by torch.export.load(), compiled ahead of time by torch._inductor.aoti_compile_and_package(),
and takes the tensors of model.pt in the same order, with any batch size. The program is compared with the script
before it is written: batches of 1, 2, 3 and 64 examples, predictions p within 1e-6 + 1e-5 |p|.
"""
from __future__ import annotations

import argparse
import json
import logging
import os
import re
import secrets
import sys
import warnings
from collections.abc import Sequence
from typing import Any

CANNOT_RUN, USAGE, MISSING, OUTPUT = 71, 64, 66, 73
ABOUT = "millrace.json"
BATCHES = (1, 2, 3, 64)
TYPE = re.compile(r"(float32|int64) \[(.*)\]")


class Pt2Error(Exception):
  """A program cannot be made. The arguments are the exit code and the message."""


def sample(torch: Any, inputs: Sequence[dict[str, Any]], batch: int, seed: int) -> tuple[Any, ...]:
  """Returns tensors of the types that the description names, for `batch` examples."""
  generator = torch.Generator().manual_seed(seed)
  ids = 2 * batch + 1  # of a feature that is not pooled
  tensors = []
  for entry in inputs:
    found = TYPE.fullmatch(entry["type"])
    if not found:
      raise Pt2Error(USAGE, "input %s has the type %s, which this version does not know" % (entry["name"], entry["type"]))
    if found[1] == "int64":  # the ends of the lists: the first has one id, the others two, the last the rest
      tensors.append(torch.tensor([0] + [2 * row + 1 for row in range(batch - 1)] + [ids]))
      continue
    sizes = [{"batch": batch, "ids": ids}.get(size) or int(size) for size in found[2].split(", ")]
    tensors.append(torch.rand(sizes, generator=generator) * 2 - 1)
  return tuple(tensors)


def convert(script: str) -> tuple[Any, str]:
  """Returns the exported program of a script, and the description of its inputs."""
  try:
    import torch  # pylint: disable=import-outside-toplevel
    from torch._export.converter import TS2EPConverter  # pylint: disable=import-outside-toplevel
  except ImportError as missing:
    raise Pt2Error(CANNOT_RUN, "millrace.pt2 needs %s, which is not installed" % missing.name) from missing
  # About columns whose number is fixed, and about TorchScript, which is what is left behind here.
  logging.getLogger("torch").setLevel(logging.ERROR)
  warnings.filterwarnings("ignore", category=DeprecationWarning, module="torch")
  files = {ABOUT: ""}
  try:
    model = torch.jit.load(script, _extra_files=files)
  except (RuntimeError, ValueError, OSError) as error:
    code = USAGE if os.path.exists(script) else MISSING
    raise Pt2Error(code, "%s cannot be read as TorchScript: %s" % (script, str(error).split("\n", maxsplit=1)[0])) from error
  text = files[ABOUT].decode() if isinstance(files[ABOUT], bytes) else files[ABOUT]
  if not text:
    raise Pt2Error(USAGE, "%s has no %s: it is not of `millrace export`" % (script, ABOUT))
  inputs = json.loads(text)["inputs"]
  model.eval()
  try:
    program = TS2EPConverter(model, sample(torch, inputs, 7, seed=0)).convert()
  except Exception as error:  # pylint: disable=broad-except
    raise Pt2Error(USAGE, "torch.export does not take the script: %s" % error) from error
  run = program.module()
  for batch in BATCHES:
    given = sample(torch, inputs, batch, seed=batch)
    with torch.no_grad():
      expected, computed = model(*given), run(*given)
    computed = computed[0] if isinstance(computed, (tuple, list)) else computed
    if expected.shape != computed.shape or not torch.allclose(computed, expected, rtol=1e-5, atol=1e-6):
      raise Pt2Error(USAGE, "the exported program differs from the script for a batch of %d" % batch)
  return program, text


def write(script: str, output: str) -> None:
  """Converts the script and writes the program aside, then renames it."""
  if os.path.exists(output) and not os.path.isfile(output):
    raise Pt2Error(OUTPUT, "%s is there and is no file" % output)
  if os.path.exists(output) and os.path.exists(script) and os.path.samefile(script, output):
    raise Pt2Error(USAGE, "%s is the script itself" % output)
  if not os.path.isdir(os.path.dirname(output) or "."):
    raise Pt2Error(OUTPUT, "%s: there is no such directory" % os.path.dirname(output))
  program, about = convert(script)
  import torch  # pylint: disable=import-outside-toplevel
  aside = "%s.millrace.tmp-%s.pt2" % (output, secrets.token_hex(8))
  try:
    torch.export.save(program, aside, extra_files={ABOUT: about})
    with open(aside, "rb") as file:
      os.fsync(file.fileno())
    os.replace(aside, output)
  except (OSError, RuntimeError) as error:  # torch's writer raises the latter for a full disk
    raise Pt2Error(OUTPUT, "%s cannot be written: %s" % (output, str(error).split("\n", maxsplit=1)[0])) from error
  finally:
    if os.path.exists(aside):
      os.remove(aside)


def main(arguments: Sequence[str] | None = None) -> int:
  """Runs the command. Returns its exit code."""
  parser = argparse.ArgumentParser(prog="python3 -m millrace.pt2", description=(__doc__ or "").split("\n", maxsplit=1)[0])
  parser.add_argument("script", help="what `millrace export` wrote")
  parser.add_argument("output", help="the exported program, NAME.pt2; replaces a file")
  flags = parser.parse_args(arguments)
  try:
    write(flags.script, flags.output)
  except Pt2Error as error:
    print("millrace: %s" % error.args[1], file=sys.stderr)
    return int(error.args[0])
  print("exported %s to %s" % (flags.script, flags.output))
  return 0


if __name__ == "__main__":
  sys.exit(main())
