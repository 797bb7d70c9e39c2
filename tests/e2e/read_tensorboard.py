#!/usr/bin/env python3
"""Prints, as a JSON object, what TensorBoard shows of a directory of event files.

    read_tensorboard.py DIRECTORY

    {"scalars": {TAG: [[STEP, VALUE], ...]}, "text": {TAG: TEXT},
     "histograms": {TAG: [[STEP, ELEMENTS, SUM], ...]},
     "curves": {TAG: [[STEP, [ROW, ...]], ...]},  # rows of the plugin pr_curves
     "hparams": {NAME: VALUE}}
"""
import json
import sys

from google.protobuf import json_format
from tensorboard.backend.event_processing import event_accumulator
from tensorboard.plugins.hparams import plugin_data_pb2
from tensorboard.util import tensor_util

accumulator = event_accumulator.EventAccumulator(
    sys.argv[1],
    size_guidance={event_accumulator.SCALARS: 0, event_accumulator.TENSORS: 0,
                   event_accumulator.HISTOGRAMS: 0})
accumulator.Reload()
shown = {"scalars": {}, "text": {}, "histograms": {}, "curves": {}, "hparams": {}}
for tag in accumulator.Tags()["scalars"]:
  shown["scalars"][tag] = [[event.step, event.value] for event in accumulator.Scalars(tag)]
for tag in accumulator.Tags()["histograms"]:
  shown["histograms"][tag] = [
      [event.step, event.histogram_value.num, event.histogram_value.sum]
      for event in accumulator.Histograms(tag)]
for tag in accumulator.Tags()["tensors"]:
  metadata = accumulator.SummaryMetadata(tag)
  events = accumulator.Tensors(tag)
  plugin = metadata.plugin_data.plugin_name
  if plugin == "text":
    shown["text"][tag] = events[-1].tensor_proto.string_val[0].decode()
  elif plugin == "pr_curves":
    shown["curves"][tag] = [
        [event.step, tensor_util.make_ndarray(event.tensor_proto).tolist()] for event in events]
  elif plugin == "hparams":
    data = plugin_data_pb2.HParamsPluginData.FromString(metadata.plugin_data.content)
    shown["hparams"] = json_format.MessageToDict(data.session_start_info)["hparams"]
  else:  # scalars of newer versions are tensors
    shown["scalars"][tag] = [[event.step, event.tensor_proto.float_val[0]] for event in events]
print(json.dumps(shown))
