#!/usr/bin/env python3
"""Prints, as a JSON object, the runs of an experiment of an MLflow tracking server.

    read_mlflow.py TRACKING_URI EXPERIMENT

    [{"name": NAME, "status": STATUS, "params": {NAME: TEXT},
      "metrics": {NAME: [[STEP, VALUE, MILLISECONDS], ...]}}, ...]
"""
import json
import sys

from mlflow.tracking import MlflowClient

client = MlflowClient(tracking_uri=sys.argv[1])
experiment = client.get_experiment_by_name(sys.argv[2])
shown = []
for run in client.search_runs([experiment.experiment_id]) if experiment else []:
  metrics = {}
  for name in run.data.metrics:
    history = client.get_metric_history(run.info.run_id, name)
    metrics[name] = [[point.step, point.value, point.timestamp] for point in history]
  shown.append({"name": run.info.run_name, "status": run.info.status, "params": run.data.params,
                "metrics": metrics})
print(json.dumps(shown))
