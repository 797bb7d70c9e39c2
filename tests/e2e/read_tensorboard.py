#!/usr/bin/env python3
"""Prints, as a JSON object, what TensorBoard shows of a directory of event files.

    read_tensorboard.py DIRECTORY

    {"scalars": {TAG: [[STEP, VALUE], ...]}, "text": {TAG: TEXT}}
"""
import json
import sys

from tensorboard.backend.event_processing import event_accumulator

accumulator = event_accumulator.EventAccumulator(
    sys.argv[1], size_guidance={event_accumulator.SCALARS: 0, event_accumulator.TENSORS: 0})
accumulator.Reload()
shown = {"scalars": {}, "text": {}}
for tag in accumulator.Tags()["scalars"]:
  shown["scalars"][tag] = [[event.step, event.value] for event in accumulator.Scalars(tag)]
for tag in accumulator.Tags()["tensors"]:
  metadata = accumulator.SummaryMetadata(tag)
  events = accumulator.Tensors(tag)
  if metadata.plugin_data.plugin_name == "text":
    shown["text"][tag] = events[-1].tensor_proto.string_val[0].decode()
  else:  # scalars of newer versions are tensors
    shown["scalars"][tag] = [[event.step, event.tensor_proto.float_val[0]] for event in events]
print(json.dumps(shown))
